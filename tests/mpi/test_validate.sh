#!/usr/bin/env bash
# portolan-validate under mpirun on this machine, on the host device: what it checks and the ways that it times.
# BUILD: where the programs were built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
validate=$build/portolan-validate
built "$validate" "$build/portolan"
export PORTOLAN_SEGMENTS=portolan-test$$
run() { launch 300 -n "$@"; } # PROCESSES PROGRAM ARGUMENTS...

two_by_two=(--placement identity --nodes 2 --gpus-per-node 2 --procs-per-gpu 2)
for collective in allreduce allgather alltoall alltoallv; do
    for how in "" --own-algorithms; do
        # shellcheck disable=SC2086
        check "validate $collective $how: results" run 8 "$validate" --machine summit-spectrum --collective \
            "$collective" "${two_by_two[@]}" --bytes 4:64KiB:16 --check-only $how
    done
done
check "validate skewed counts" run 8 "$validate" scenarios/problems/alltoallv-skewed-summit.yaml "${two_by_two[@]}" \
    --bytes 100:10000:10 --check-only
check "validate a pair, both ways, through rings" run 2 "$validate" --machine h200-x2 --collective pair --both-ways \
    --spaces gpu,cpu --strategy shm_ring --chunks 7 --bytes 1:64KiB:16 --check-only
check "validate messages" run 8 "$validate" scenarios/problems/messages-duplicate-summit.yaml "${two_by_two[@]}" \
    --check-only
check "validate times" run 8 "$validate" --machine summit-spectrum --collective allreduce "${two_by_two[@]}" \
    --bytes 4:4KiB:32 --repeats 5 --out "$work/collectives.csv"
check "its table tells picked, won and regret" has "picked .*, won .*, regret " "$work/stdout"
check "its table says that the device is no GPU" has "not GPU times" "$work/stdout"
check "its file names the device" has "^# device=host$" "$work/collectives.csv"
check "its file is readable" awk -F, '/^#/ { next } !head { head = NF; next }
    { rows++; if (NF != head || !($9 > 0)) bad = 1 } END { exit !(rows == 90 && !bad) }' "$work/collectives.csv"
check "its file tells each executor's setup" awk -F'[=,]' '/^# setup_s=/ { n++; if ($3 < 4 || !($4 > 0 && $4 < 20)) bad = 1 }
    END { exit !(n == 18 && !bad) }' "$work/collectives.csv"
check "and score reads it" quietly "$build/portolan" score "$work/collectives.csv" --machine summit-spectrum
check "validate times a pair" run 2 "$validate" --machine h200-x2 --collective pair --both-ways --spaces gpu,cpu \
    --chunks 3 --bytes 1KiB --repeats 5 --out "$work/pair.csv"
check "its file tells distance, spaces, ways and chunks" has ",on_socket,gpu,cpu,yes,3$" "$work/pair.csv"
priced=$(awk '$1 == 1024 && /\[/ { print $2, $(NF - 3) }' "$work/stdout")
check "and score reads it" quietly "$build/portolan" score "$work/pair.csv" --machine h200-x2 --cells --format csv
check "with the same predictions" test "$priced" = \
    "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { printf "%s %.2f\n", $at["strategy"], $at["predicted_s"] * 1e6 }' "$work/stdout")"
check "validate times queued runs" run 2 "$validate" --machine tests/fixtures/machine.yaml --collective allreduce \
    --nodes 1 --gpus-per-node 2 --procs-per-gpu 1 --bytes 4:4KiB:32 --repeats 5 --queued 20 --out "$work/queued.csv"
check "its table says so" has "^# queued: each measured time is that of 20 runs" "$work/stdout"
check "its table says what can't be queued, and why" has "three_step .*more than one kernel.*cannot be queued" \
    "$work/stdout"
check "its file says so" has "^# queued=20$" "$work/queued.csv"
check "its file has kernels' plans and NCCL's alone" awk -F, '/^#/ { next } !head { head = 1; next }
    { rows++; if ($3 !~ /^gas_|^nccl$/ || !($9 > 0)) bad = 1 } END { exit !(rows == 90 && !bad) }' "$work/queued.csv"
check "validate times enqueued runs" run 2 "$validate" --machine tests/fixtures/machine.yaml --collective allreduce \
    --nodes 1 --gpus-per-node 2 --procs-per-gpu 1 --bytes 4KiB --repeats 5 --queued 20 --enqueue
check "its table tells what a call takes" awk '$2 == "gas_read" && $1 == 4096 { found = $NF > 0 } END { exit !found }' \
    "$work/stdout"
check "validate times graphs" run 2 "$validate" --machine tests/fixtures/machine.yaml --collective allreduce \
    --nodes 1 --gpus-per-node 2 --procs-per-gpu 1 --bytes 4KiB --repeats 5 --queued 20 --graph 7 --out "$work/graph.csv"
check "its file says so" has "^# graph=7$" "$work/graph.csv"
runs_here() { # MACHINE OPTION...
    run 2 "$validate" --machine "$1" --collective allreduce --nodes 1 --gpus-per-node 2 --procs-per-gpu 1 --bytes 64 \
        --strategy gas_split --repeats 2 "${@:2}"
}
check "runs that are waited for" runs_here h200-x2-graph
check "are warned of where the machine's are not" has \
    "warning: runs are waited for one by one here, and the costs of .*h200-x2-graph.yaml are those of runs that are captured in graphs" \
    "$work/stderr"
check "so are graphs" runs_here h200-x2 --graph 5
check "where the machine's runs are waited for" has "captured in graphs here, and .*h200-x2.yaml .* waited for one by one" \
    "$work/stderr"
odd="$work/odd"$'\e'"name.yaml"
cp scenarios/machines/h200-x2.yaml "$odd"
check "whatever the machine file is called" runs_here "$odd" --graph 5
check "its name is printed without control characters" has "costs of .*odd\\\\u001bname.yaml are" "$work/stderr"
for agrees in "h200-x2-graph --graph 5" "h200-x2-enqueued --enqueue" "h200-x2-enqueued --queued 3" h200-x2; do
    # shellcheck disable=SC2086
    check "where both agree ($agrees)" runs_here $agrees
    check "nothing is warned of" lacks "warning" "$work/stderr"
done
check "and tells what each launch takes" awk -F'[=,]' '/^# call_s=/ { n++; if (!($4 > 0)) bad = 1 } END { exit n != 6 || bad }' \
    "$work/graph.csv"
check "validate times a global sum" run 3 "$validate" --machine tests/fixtures/machine.yaml --pattern global_sum \
    --local 64KiB --collective allreduce --datatype double --nodes 1 --gpus-per-node 3 --procs-per-gpu 1 --bytes 8 \
    --repeats 5 --out "$work/global.csv"
check "its table has the kernel and the exchange's share" has "gas_tree .* [0-9.]* *[0-9.]*%" "$work/stdout"
check "its file tells each strategy's kernel" awk -F'[=,]' '/^# kernel_s=/ { n++; if (!($3 > 0)) bad = 1 }
    !/^#/ && head++ && !($3 in seen) { seen[$3]; strategies++ }
    END { exit !(strategies >= 11 && n == strategies && !bad) }' "$work/global.csv"
check "a global sum of other than one double is refused" fails run 3 "$validate" --machine tests/fixtures/machine.yaml \
    --pattern global_sum --collective allreduce --nodes 1 --gpus-per-node 3 --procs-per-gpu 1 --bytes 8
check "validate times a stencil" run 4 "$validate" --machine tests/fixtures/machine.yaml --pattern stencil2d \
    --collective halo --nodes 1 --gpus-per-node 4 --procs-per-gpu 1 --bytes 8 --dims 2x2 --wrap 1,0 --extent 30x50 \
    --repeats 3 --out "$work/halo.csv"
check "its field agrees with the serial one" has "gas_halo .* [0-9.]* *[0-9.]*%" "$work/stdout"
check "its rows tell the grid" has ",dims=2x2 wrap=1x0 extent=30x50 halo=1 corners=two_phase" "$work/halo.csv"
check "and score reads them" "$BUILD/portolan" score --machine tests/fixtures/machine.yaml "$work/halo.csv"
mps_here() { # STATE MACHINE
    run 1 -x PORTOLAN_EMULATED_MPS="$1" "$validate" --machine "$2" --collective allreduce --nodes 1 \
        --gpus-per-node 1 --procs-per-gpu 1 --bytes 64 --strategy three_step --repeats 2 --force --out "$work/mps.csv"
}
check "validate finds MPS" mps_here yes h200-x2
check "and warns that the machine's costs hold without it" has \
    "warning: .* through MPS here, and the costs of .*h200-x2.yaml are those without MPS (mps: no)" "$work/stderr"
check "its file says so" has "^# mps=yes$" "$work/mps.csv"
check "validate finds no MPS" mps_here no h200-x2-mps
check "and warns that the machine's costs hold with it" has "without MPS here.* through MPS (mps: yes)" "$work/stderr"
check "where both agree" mps_here yes h200-x2-mps
check "nothing is warned of" lacks "warning" "$work/stderr"
check "where its state is nonsense" mps_here perhaps h200-x2-mps
check "that is said" has "warning: PORTOLAN_EMULATED_MPS is neither yes nor no" "$work/stderr"
check "where MPS is unknown" mps_here "" h200-x2-mps
check "nothing is warned of" lacks "warning" "$work/stderr"
check "validate every pair of numbers of staged members" run 4 "$validate" --machine h200-x2 --collective allgather --nodes 1 \
    --gpus-per-node 1 --owners-per-gpu 4 --procs-per-gpu 4 --strategy gsb,mix --staged all --bytes 64:4KiB:64 \
    --repeats 3 --out "$work/staged.csv"
check "its file has each of them" awk -F, '/^#/ { next } !head { head = 1; next } { n[$3 "-" $NF]++ }
    END { exit !(n["gsb-"] == 6 && n["mix-0"] == 24 && n["mix-3"] == 24 && !n["mix-4"]) }' "$work/staged.csv"
check "and score tells the regret of the predicted one" quietly "$build/portolan" score "$work/staged.csv" \
    --machine h200-x2
check "validate with processes that sleep" run 8 "$validate" --machine summit-spectrum --collective allreduce \
    "${two_by_two[@]}" --bytes 4:4KiB:32 --repeats 3 --own-algorithms --wait sleep --out "$work/sleep.csv"
check "its table says so" has "^# wait: processes sleep" "$work/stdout"
check "its file says so" has "^# wait=sleep$" "$work/sleep.csv"
check "a job that does not fit the layout is refused" fails run 3 "$validate" --machine summit-spectrum \
    --collective allreduce "${two_by_two[@]}" --bytes 4
check "and told why" has "the layout has 8 processes, the job 3" "$work/stderr"
check "rows on standard output, which has the table, are refused" fails run 1 "$validate" --machine summit-spectrum \
    --collective allreduce --nodes 1 --gpus-per-node 1 --procs-per-gpu 1 --bytes 4 --out -
check "and the option is named" has "^portolan-validate: --out: standard output has the table" "$work/stderr"
check "an unknown device is wrong usage" fails run 1 "$validate" --device tpu
check "and explained" has "unknown device 'tpu'" "$work/stderr"

finish
