# UCC's and Cray MPICH's variables, read back: portolan's own, others', and what these libraries would refuse or ignore.
export SOURCE_DATE_EPOCH=0
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
ask() { portolan export "$@" 2>&1 | sed "s|$dir/||g"; }
ucc="--for ucc --machine h200-x4 --nodes 1 --bytes 4:64MiB:16"
ask $ucc --out "$dir/rules"
ask $ucc --check "$dir/rules"
# UCC refuses ranges of one size.
ask --for ucc --machine h200-x2 --nodes 1 --bytes 1KiB | grep ^UCC
variables() { # LINE...
    printf '%s\n' "$@" >"$dir/rules"
}
check() { # COLLECTIVE LINE...
    variables "${@:2}"
    ask --for ucc --machine h200-x2 --nodes 1 --bytes 1KiB:4MiB:16 --collective "$1" --check "$dir/rules" | grep -v '^# '
}
echo "= in any order, with units, lists, lower and upper case, and a size that two ranges share"
check allreduce 'UCC_TL_NCCL_TUNE=inf:0-16k,64kb-1M:CUDA,host:[2-8]:AllReduce,bcast#allreduce:1m-inf:5' \
    'UCC_TL_UCP_TUNE=allreduce:16k-64k:[2]:inf:@sra_knomial#bcast:[3-inf]:inf#allreduce:64k-inf:cuda:inf'
echo "= the highest score, among layers of which one may be there or not"
check allreduce UCC_TL_NCCL_TUNE=allreduce:0-2k:50 'UCC_TL_UCP_TUNE=allreduce:0-32k:60#allreduce:1M-inf:30'
check allreduce UCC_TL_NCCL_TUNE=0
check allreduce UCC_TL_NCCL_TUNE=0 UCC_TL_CUDA_TUNE=0
check allreduce UCC_TL_NCCL_TUNE=inf UCC_CL_BASIC_TLS=^sharp,nccl
check allreduce UCC_TL_NCCL_TUNE=inf UCC_TL_UCP_TUNE=0-32k:inf UCC_TL_CUDA_TUNE=0
check allreduce UCC_TL_SHARP_TUNE=allreduce:0-32k:inf UCC_CL_HIER_TUNE=allreduce:32k-inf:inf
check allreduce UCC_TL_NCCL_TUNE=inf UCC_CLS=hier,basic
echo "= allgatherv, for which NCCL has three algorithms; other teams, memories and collectives"
check allgatherv 'UCC_TL_NCCL_TUNE=allgatherv:0-32k:inf:@2#allgatherv:32k-1M:inf:@p2p#allgatherv:1M-inf:inf'
check allgatherv 'UCC_TL_NCCL_TUNE=allgatherv:[4-inf]:inf#allgatherv:[2]:host,rocm:inf#bcast:inf'
echo "= sections, which hold for some CPUs and teams"
check allreduce UCC_TL_NCCL_TUNE=32k-inf:inf '[vendor=amd model=rome team_size=2 ppn=2]' '; a comment' \
    'UCC_TL_UCP_TUNE = allreduce:0-256k:@0#allreduce:256k-inf:@1  ; another' UCC_TL_UCP_ALLREDUCE_KN_RADIX=2 \
    '[team_size=4-8 nnodes=2]' UCC_TL_UCP_TUNE=0
echo "= refused"
for wrong in 'allreduce:inf:' 'allreduce:cuda' 'alreduce:inf' 'allreduce,cuda:inf' 'allreduce:bcast:inf' 'allreduce:inf:20' \
    'allreduce:4k-4k:inf' 'allreduce:8k-4k:inf' 'allreduce:4ki-8k:inf' 'allreduce:4k:inf' 'allreduce:1-2-3:inf' \
    'allreduce:0-99999999999999999999:inf' 'allreduce:0-9999999t:inf' 'allreduce:99999999999' 'allreduce:-5' \
    'allreduce:[2-1]:inf' 'allreduce:[2:inf' 'allreduce:[]:inf' 'allreduce:[2-4294967296]:inf' 'allreduce:[inf]:inf' \
    'allreduce:0-8k:inf#allreduce:4k-inf:20' 'allreduce:0-8k,4k-16k:inf' 'cuda:inf#bcast:0' \
    'allreduce:0-8k:[2-4]:inf#allreduce:[4-8]:inf' 'allreduce:@1' 'allgatherv:@ring' 'allreduce:inf:@' \
    $'allreduce:inf:@\033[2J' $'allreduce\033[2J:inf' '#,#' ':,:inf' "allreduce:inf$(printf '#%8200s')"; do
    variables "UCC_TL_NCCL_TUNE=$wrong"
    printf '%.50q ' "$wrong"
    ask --for ucc --machine h200-x2 --nodes 1 --collective allreduce --bytes 1KiB --check "$dir/rules" | tail -1
done
check allreduce UCC_TL_NCCL_TUNE=inf UCC_TL_NCCL_TUNE=0
check allreduce UCC_TL_NCLC_TUNE=inf
check allreduce UCC_CL_BASIC_TUNE=allreduce:inf:@1
check allreduce UCC_CL_BASIC_TLS=ucp,nclc
check allreduce OMPI_MCA_coll_ucc_enable=1
check allreduce 'export UCC_TL_NCCL_TUNE=inf'
check allreduce UCC_TL_NCCL_TUNE=allreduce:inf ' bcast:inf'
check allreduce '[team_size=2]' UCC_TL_NCCL_TUNE=inf
check allreduce '[team_size=2-x]' UCC_TL_UCP_TUNE=inf
check allreduce '[cores=2]' UCC_TL_UCP_TUNE=inf
check allreduce "[vendor=$(printf '%0200d')]" UCC_TL_UCP_TUNE=inf
check allreduce '[team_size=2' UCC_TL_UCP_TUNE=inf
echo "= Cray MPICH"
cray="--for cray --machine lassen-spectrum-refit --nodes 2 --what-if reduce.gpu.alpha_s=8e-6 --what-if reduce.gpu.beta_s_per_byte=1e-12"
ask $cray --out "$dir/rules" --force
ask $cray --bytes 4:64MiB:16 --check "$dir/rules"
check() { # LINE...
    variables "$@"
    ask $cray --bytes 64KiB:64MiB:32 --check "$dir/rules" | grep -v '^# '
}
check MPICH_GPU_ALLREDUCE_USE_KERNEL=1 MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=2097153 MPICH_GPU_ALLREDUCE_BLK_SIZE=65536
check MPICH_GPU_ALLREDUCE_USE_KERNEL=0 MPICH_GPU_ALLREDUCE_BLK_SIZE=5000000 MPICH_ENV_DISPLAY=1
check MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=0
for wrong in USE_KERNEL=2 USE_KERNEL=yes KERNEL_THRESHOLD=1M KERNEL_THRESHOLD=-1 KERNEL_THRESHOLD=99999999999999999999 \
    BLK_SIZE=0 BLK_SIZE= 'BLK_SIZE = 1' BLOCK_SIZE=1 $'USE_KERNEL=1\nMPICH_GPU_ALLREDUCE_USE_KERNEL=1'; do
    check "MPICH_GPU_ALLREDUCE_$wrong"
done
