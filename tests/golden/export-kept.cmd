# Settings as they are kept: in a job script, as MPICH_ENV_DISPLAY prints them, in Open MPI 5.0.7's second format, in JSON with other keys; what no library reads is refused.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
check() { portolan export --for "$@" 2>&1 | sed "s|$dir/||; s|/.*/scenarios|scenarios|"; }
cray="--machine dgx-h100 --nodes 2 --bytes 1KiB:1MiB:32 --check"
printf '%s\n' '#!/bin/bash' '#SBATCH --nodes=2' 'if true; then' '  export MPICH_GPU_ALLREDUCE_USE_KERNEL=1' 'fi' 'export MPICH_GPU_ALLREDUCE_USE_KERNEL=1 MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD="4096" # bytes' 'setenv MPICH_GPU_ALLREDUCE_BLK_SIZE 134217728' 'srun ./program --size=7' >"$dir/job.sh"
check cray $cray "$dir/job.sh"
printf '%s\n' 'PE 0: MPICH environment settings =====' 'PE 0:   MPICH_GPU_ALLREDUCE_USE_KERNEL           = 0' 'PE 0:   MPICH_GPU_ALLREDUCE_BLK_SIZE = 8388608' >"$dir/display.txt"
check cray $cray "$dir/display.txt" | head -7
sed 's/^/0: /' "$dir/display.txt" >"$dir/labelled.txt"; check cray $cray "$dir/labelled.txt" | head -7
for line in 'srun --export=ALL,MPICH_GPU_ALLREDUCE_USE_KERNEL=1,MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=32768 ./x' 'mpirun -x HOME -x MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=32768 -x MPICH_GPU_ALLREDUCE_USE_KERNEL=1 -np 4 ./x' 'mpiexec --env MPICH_GPU_ALLREDUCE_USE_KERNEL 1 -genv MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD 32768 -n 4 ./x' 'aprun -e MPICH_GPU_ALLREDUCE_USE_KERNEL=1 -e MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=32768 -n 4 ./x' 'jsrun -E MPICH_GPU_ALLREDUCE_USE_KERNEL=1 -E MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=32768 -n 4 ./x' 'flux run --env=MPICH_GPU_ALLREDUCE_USE_KERNEL=1 --env=MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=32768 ./x' '#SBATCH --export=ALL,MPICH_GPU_ALLREDUCE_USE_KERNEL=1,MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=32768' '#PBS -v MPICH_GPU_ALLREDUCE_USE_KERNEL=1,MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=32768' 'srun -e errors.%j --export MPICH_GPU_ALLREDUCE_USE_KERNEL=1,MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=32768 ./x'; do
    echo "$line" >"$dir/launch.sh"; check cray $cray "$dir/launch.sh" | sed -n 5,6p
done
echo 'export MPICH_GPU_ALLREDUCE_BLK_SIZE=$((1 << 20))' >"$dir/computed.sh"; check cray $cray "$dir/computed.sh"
echo "export MPICH_GPU_ALLREDUCE_BLK_SIZE='1" >"$dir/open.sh"; check cray $cray "$dir/open.sh"
kernel="export MPICH_GPU_ALLREDUCE_USE_KERNEL" threshold="MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD"
printf '%s\n' 'export PATH=$HOME/bin:$PATH' "$kernel=1 $threshold=8192" "unset HOME $threshold" 'srun ./a' >"$dir/unset.sh"; check cray $cray "$dir/unset.sh" | sed -n 5,6p
printf '%s\n' "$kernel=1" 'srun ./a' "unset ${kernel#* }" >"$dir/late.sh"; check cray $cray "$dir/late.sh"
printf '%s\n' 'if [ "$1" = k ]; then' "$kernel=1" else "$kernel=0" fi 'srun ./a' >"$dir/two.sh"; check cray $cray "$dir/two.sh"
printf '%s\n' "export $threshold=8192" 'srun ./a' "export $threshold=65536" 'srun ./b' >"$dir/runs.sh"; check cray $cray "$dir/runs.sh"
printf '%s\n' 'for T in 4096 8192; do' " $threshold=\$T srun ./a" 'done' >"$dir/loop.sh"; check cray $cray "$dir/loop.sh"
printf '%s\n' 'if true; then echo; fi' "$kernel=0" >"$dir/after.sh"; check cray $cray "$dir/after.sh" | sed -n 2p
ucc="--machine h200-x2 --nodes 1 --collective allreduce --bytes 1KiB --check"
for line in UCC_CL_BASIC_TLS=ucp UCC_TLS=ucp UCC_TLS=ucp,nccl UCC_TLS=^nccl UCC_TLS=cuda,nccl "export UCC_CL_BASIC_TLS=ucp UCC_TLS=nccl"; do echo "$line" >"$dir/ucc"; check ucc $ucc "$dir/ucc" | sed -n 5p; done
echo 'if [ $X ]; then export UCC_TL_NCCL_TUNE=inf; else export UCC_TL_NCCL_TUNE=0; fi' >"$dir/if.sh"; check ucc $ucc "$dir/if.sh"
ompi="--machine lassen-spectrum-refit --nodes 2 --gpus-per-node 4 --collective alltoall --bytes 256:1KiB --check"
printf '%s\n' rule-file-version-2 1 3 1 8 2 '0 1 0 0 0' '4096 4 0 0 16' >"$dir/v2"
check openmpi-5.0 $ompi "$dir/v2"
check openmpi-4.1 $ompi "$dir/v2"
sed -i s/version-2/version-3/ "$dir/v2"; check openmpi-5.0 $ompi "$dir/v2"
echo '{"$schema": "tuned_schema.json", "rule_file_version": 3, "module": "tuned", "collectives": {"alltoall": [{"comm_size_min": 2, "comm_size_max": 8, "rules": [{"msg_size_min": 0, "msg_size_max": "inf", "alg": "pairwise"}]}]}}' >"$dir/rules.json"
check openmpi-6 $ompi "$dir/rules.json" | tail -4
printf 'allreduce,0,65536,tree,simple,-1,2,-1\nallreduce,65537,4294967295,ring,simple,-1,2,-1\n' >"$dir/rules.csv"
check nccl --machine cpu-2x64-200g --nodes 2 --check "$dir/rules.csv"
check nccl --machine summit-spectrum-refit --nodes 2 --bytes 64KiB:128KiB --check "$dir/rules.csv"
sed 's/MPIR_Bcast_intra_binomial/MPIR_Bcast_intra_binomal/' scenarios/libraries/mpich-4.0/generic.json >"$dir/mpich.json"
check mpich-4.0 --machine lassen-spectrum-refit --nodes 2 --gpus-per-node 1 --check "$dir/mpich.json"
printf '%s\n' '# tree' 'export NCCL_ALGO=Tree' 'torchrun train.py' >"$dir/nccl.sh"; check nccl --machine h200-x2 --nodes 1 --check "$dir/nccl.sh"
for line in 'coll_tuned_use_dynamic_rules = 1' 'export OMPI_MCA_coll_tuned_allreduce_algorithm=4'; do echo "$line" >"$dir/mca"; check openmpi-4.1 $ompi "$dir/mca"; done
# What may not run: the line of the value is named. The rest of each script does run.
conditional() { printf '%s\n' "$@" >"$dir/may.sh"; check cray $cray "$dir/may.sh" | sed -n '/conditional/p; s/^1 KiB *\(C[^ ]*\).*/\1/p; /may.sh:/p' | tr '\n' ' '; echo; }
set=MPICH_GPU_ALLREDUCE_USE_KERNEL
conditional 'if ($HOST == a) setenv '$set' 0' 'setenv MPICH_GPU_ALLREDUCE_BLK_SIZE 8388608'
conditional 'if ($?A) then' 'setenv A 1' 'else if ($?B) then' 'setenv B 1' 'endif' "setenv $set 0"
conditional 'switch ($A)' 'case a:' 'setenv A 1' breaksw 'endsw' "setenv $set 0"
conditional '[ "$A" = "b; c" ] && export A=1 '$set=0
conditional '[[ $A ]] && export A=1; export '$set=0
conditional 'export A=1 && export '$set=0
conditional 'cd /work || exit; export '$set=0
conditional 'test -f x && \' "export $set=0"
conditional 'module load a || export '$set=0 'export B=1'
conditional '[ $A ] && { export A=1' "export $set=0; }"
conditional '[ $A ] && { export A=1; }' "export $set=0"
conditional 'case $A in a|b) export '$set'=0;; *) export B=1;; esac'
conditional 'case "$A" in' '"a" | b)' "export $set=0" ';;' esac
conditional 'case $A in a) export A=1;; esac; export '$set=0
conditional 'setup() {' "export $set=0" '}' setup
conditional 'function setup {' 'export A=1' '}' "export $set=0"
conditional 'cat >wrap.sh <<"EOF"' "export $set=0" EOF 'srun wrap.sh'
conditional 'cat >wrap.sh <<EOF' 'export A=1' EOF "export $set=0" 'echo "a; export '$set'=1" # ; export '$set=1
conditional 'if [ $A ]' then "export $set=0" fi
conditional 'for A in a b; do' 'echo' 'done; export '$set=0
conditional '#!/bin/sh' '( export '$set'=0; srun ./a )'
conditional 'ARGS="-n 4 -x '$set'=0"' 'mpirun $ARGS ./a' 'export B=1'
# Makefiles, containers and units of systemd: `?=`, and `:=` without `export`, may not hold.
conditional "export $set := 0"; conditional "$set ?= 0"; conditional "export $set ?= 0" 'run:' '	@srun ./a'; conditional "$set ::= 0" "export $set"; conditional 'run:' "	@$set=0 srun ./a"
conditional "Environment=\"A=1\" \"$set=0\""; conditional "apptainer exec --env A=1,$set=0 image ./a"; conditional "docker run -e A=1 -e $set=0 image"; conditional "APPTAINERENV_$set=0"; conditional "typeset -x $set=0"; conditional "export $set += 0"
