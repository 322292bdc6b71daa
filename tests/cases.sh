#!/usr/bin/env bash
# cases.sh: small inputs that portolan once refused or misread, each with its right answer in words: NN-name.txt in
# ../shared/cases, with its inputs beside it. Each case needs a function here. The inputs are not part of the project:
# skipped (77) where PORTOLAN_SHARED, or ../shared, does not hold them. Variants of each kind are in the unit tests.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/shell.sh
portolan=$build/portolan calibrate=$build/portolan-calibrate
cases=${PORTOLAN_SHARED:-../shared}/cases
[ -d "$cases" ] || { echo "$test_name: skipped: no $cases"; exit 77; }
built "$portolan"

# says STATUS COMMAND...: it exits with this status; what it prints, on both streams, has single blanks.
says() {
    local wanted=$1 status=0
    shift
    "$@" >"$work/raw" 2>&1 || status=$?
    tr -s ' ' <"$work/raw" >"$work/stdout"
    [ "$status" -eq "$wanted" ]
}
printed() { has "$1" "$work/stdout"; } # PATTERN
prints() { # PATTERN...: of what was printed, each has a line
    local pattern
    for pattern in "$@"; do printed "$pattern" || { echo "     no line has: $pattern"; return 1; }; done
}

# replays FILE OPTION...: on the machine and in the layout that most of the cases have
replays() { says 0 "$portolan" replay "$cases/$1" --machine h200-x2 --nodes 1 --gpus-per-node 2 "${@:2}"; }
# two_calls FIRST SECOND: two allreduces, of 1 and 2 KiB, took these microseconds; nothing else was replayed
two_calls() {
    prints '^# calls 2 of 2 kinds' "^allreduce 1x2 1 KiB 1 $1 us" "^allreduce 1x2 2 KiB 1 $2 us" && ! printed 'not replayed'
}
exported() { says "$1" "$portolan" export --for "$2" "${@:4}" --check "$3"; } # STATUS TARGET FILE OPTION...
topology_of() { says 0 "$calibrate" --topology --from "$cases/$1"; }

case_01_prefix() {
    local file
    for file in prefix-srun prefix-tag; do
        check "$file" replays "$file.txt" --collective allreduce
        check "$file: the calls" two_calls 11.0 12.0
    done
    for file in prefix-osu-srun prefix-osu-tag; do
        check "$file" replays "$file.txt"
        check "$file: the calls" two_calls 20.0 21.0
    done
}

case_02_table() {
    check "a table" replays table-only.txt --collective allreduce
    check "its calls" two_calls 11.0 12.0
    check "with its format" replays table-only.txt --collective allreduce --from nccl-tests
    check "the same calls" two_calls 11.0 12.0
}

case_03_separate_runs() {
    check "replay refuses" says 1 "$portolan" replay "$cases/separate-runs.txt" --machine dgx-h100 --collective allreduce
    check "with the reason" prints ':8:1: process 0 is listed twice.*build nccl-tests with MPI=1'
    check "score refuses" says 1 "$portolan" score --machine dgx-h100 "$cases/separate-runs.txt:2x1:allreduce"
    check "for the same reason" prints 'process 0 is listed twice'
}

case_04_two_programs() {
    check "it is read" replays two-programs.txt --collective allreduce
    check "the known program's call" prints '^# calls 1 of 1 kind' '^allreduce 1x2 1 KiB 1 11.0 us'
    check "the unknown one's is counted" prints 'not replayed: 1 call of no collective that portolan has'
}

case_05_torn_row() {
    local file
    for file in torn-row info-between; do
        check "$file" replays "$file.txt" --collective allreduce
        check "$file: the calls" two_calls 11.0 12.0
    done
}

case_06_osu_nonblocking() {
    check "it is read" says 0 "$portolan" replay "$cases/osu-nonblocking.txt" --machine cpu-2x64-200g --nodes 1 --gpus-per-node 4
    check "communication alone" prints '^measured 21.0 us' 'times of non-blocking collectives'
}

case_08_score_nameless() {
    check "score says how" says 1 "$portolan" score --machine h200-x2 "$cases/plain.txt:1x2"
    check "its advice" prints 'give FILE:NODESxGPUS:COLLECTIVE'
    check "the advice is taken" says 1 "$portolan" score --machine h200-x2 "$cases/plain.txt:1x2:allreduce"
    check "its rows are read" prints 'left out: one strategy alone'
    check "fit says the same" says 1 "$portolan" fit tests/fixtures/samples.csv --collectives "$cases/plain.txt:1x2" \
        --name fitted --out "$work/fit.yaml"
    check "its advice, too" prints 'give FILE:NODESxGPUS:COLLECTIVE'
}

case_10_nccl_tests_json() {
    local call='^allreduce 1x2 1 KiB 1 6.10 us'
    check "JSON" says 0 "$portolan" replay "$cases/nccl-tests-J.json" --machine h200-x2
    check "its call" prints '^# calls 1 of 1 kind' "$call"
    check "with its format" says 0 "$portolan" replay "$cases/nccl-tests-J.json" --machine h200-x2 --from nccl-tests
    check "the same call" prints '^# calls 1 of 1 kind' "$call"
}

case_11_ompi6_schema() {
    local shape=(--machine lassen-spectrum-refit --nodes 2 --gpus-per-node 4)
    check "it is accepted" exported 0 openmpi-6 "$cases/ompi6-schema-key.json" "${shape[@]}" --collective alltoall
    check "pairwise" prints '^alltoall on 8 ranks' '^4 B pairwise 147 us' '^64 MiB pairwise'
}

case_12_ompi507_v2() {
    local shape=(--machine lassen-spectrum-refit --nodes 2 --gpus-per-node 4)
    check "5.0 reads it" exported 0 openmpi-5.0 "$cases/ompi507-v2.conf" "${shape[@]}" --collective alltoall
    check "linear below 4096 B in total" prints '^256 B linear 102 us the same'
    check "linear_sync from there" prints '^512 B linear_sync, 16 requests' '^64 MiB linear_sync, 16 requests'
    check "4.1 refuses it" exported 1 openmpi-4.1 "$cases/ompi507-v2.conf" "${shape[@]}"
    check "and names the target that does not" prints '--for openmpi-5.0'
}

case_14_shell_export() {
    check "the script is read" exported 0 cray "$cases/cray-job.sh" --machine dgx-h100 --nodes 2
    check "CPU below 4096 B" prints '^2 KiB CPU'
    check "kernel from there" prints '^4 KiB kernel 9.* 0.0%' '^64 MiB kernel 61.4 us'
}

case_15_cray_block() {
    check "it is read" exported 0 cray "$cases/cray-blk-128m.env" --machine dgx-h100 --nodes 2
    check "each size is one block" prints '^4 B blocks of 64 MiB 1.80 us' '^64 MiB blocks of 64 MiB 1.59 ms'
    check "and loses nothing" prints '^# 25 sizes priced: the file loses 0.0% on average'
}

# dgx-h100 has costs of NCCL by now, of some protocols at some sizes; abci-a has none.
case_16_nccl_no_cost() {
    check "it is read" exported 0 nccl "$cases/nccl-no-cost.csv" --machine dgx-h100 --nodes 2
    check "each size has its rule, with its price" prints '^64 KiB tree,simple [0-9.]* us tree,ll ' '^128 KiB ring,simple [0-9.]* us'
    check "beside the price of the cheapest protocol" prints '^64 MiB ring,simple [0-9.]* us ring,ll128 [0-9.]* us' 'the file loses'
    check "also on a machine without costs" exported 0 nccl "$cases/nccl-no-cost.csv" --machine abci-a --nodes 2
    check "the rules are listed there" prints '^64 KiB tree,simple' '^128 KiB ring,simple'
    check "and what is missing is named" prints 'machine abci-a has no price for the algorithms' 'portolan-calibrate --only nccl'
}

case_17_hwloc_nic() {
    check "it is read" topology_of hwloc-slingshot.xml
    check "Slingshot's NIC counts" prints '^devices: {gpus: 4, sockets: 2, nics: 1}'
    check "with its link" prints 'between: \[nic.0, switch.0\]'
}

case_18_hwloc_idle() {
    check "it is read" topology_of hwloc-idle-gpus.xml
    check "sockets are joined as fast as the fastest link" prints 'between: \[socket.0, socket.1\], s_per_byte: 1.2698413e-10}'
}

case_20_halo_strided() {
    check "the machine is made" says 0 "$portolan" machine new --name box --sockets 2 --cores 64 --gpus 8 --gpu-link nvlink3 \
        --host-link pcie4 --nics 4 --nic "200 Gbit/s" --out "$work/box.yaml"
    check "a route is picked" says 0 "$portolan" pick --machine "$work/box.yaml" --collective halo --nodes 1 --gpus-per-node 2 \
        --procs-per-gpu 1 --dims 1x1x2 --extent 256x256x128 --halo 3 --bytes 8
    check "that packs" prints '^8 B \.\.\. \(pack_kernel\|gas_halo\) '
}

case_21_reduction_staged() {
    check "a route is picked" says 0 "$portolan" pick --machine abci-a --collective allreduce --nodes 2 --procs-per-gpu 1 \
        --bytes 4:32MiB --strategy cuda_aware,three_step
    check "three_step at every size" prints '^4 B \.\.\. three_step '
}

case_22_slower_advice() {
    check "it is read" says 0 "$portolan" replay "$cases/faster-than-best.txt" --machine dgx-h100
    check "no slower route is advised" fails printed '->'
    check "and why" prints '^# no advice for 1 call: measured faster than any predicted route'
}

case_23_ucc_tls() {
    check "it is read" exported 0 ucc "$cases/ucc-cl-basic-tls.conf" --machine h200-x2 --nodes 1
    check "UCP at every size" prints '^allgather on 2 ranks' '^4 B UCP 22.4 us' '^64 MiB UCP'
    check "and nothing else" fails printed 'the library decides'
}

case_25_mpich_names() {
    sed 's/MPIR_Bcast_intra_binomial/MPIR_Bcast_intra_binomal/' scenarios/libraries/mpich-4.0/generic.json >"$work/x.json"
    check "it is refused" exported 1 mpich-4.0 "$work/x.json" --machine lassen-spectrum-refit --nodes 2 --gpus-per-node 1
    check "with the path" prints "x.json: collective=bcast/.*algorithm=MPIR_Bcast_intra_binomal' is not one algorithm of MPICH 4.0"
}

for file in "$cases"/[0-9]*.txt; do
    name=$(basename "$file" .txt)
    echo "$name"
    case_of_file=case_${name//-/_}
    if [[ $name = *-hwloc-* && ! -e $calibrate ]]; then
        echo "$name: skipped: no $calibrate"
    elif [ "$(type -t "$case_of_file")" = function ]; then
        "$case_of_file"
    else
        check "a test of the case" false
    fi
done
finish
