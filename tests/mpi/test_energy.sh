#!/usr/bin/env bash
# portolan-validate's energy under mpirun, with a folder in the place of the kernel's RAPL counters, whose
# counters fake_rapl.c reads; and NVML's counters, with made-up libraries in the place of the driver's.
# BUILD: where the programs were built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
validate=$build/portolan-validate
fake=$(realpath -m "$build/tests/fake/librapl.so")
meter=$build/tests/test_meter
nvml=$(realpath -m "$build/tests/fake_nvml") cuda=$(realpath -m "$build/tests/fake_cuda")
built "$validate" "$fake" "$meter" "$nvml/libnvidia-ml.so.1" "$cuda/libcuda.so.1"

tagged=() # --tag-output: say whose each line is
run() { # ARGUMENTS...
    launch 120 -n 2 "${tagged[@]}" -x LD_PRELOAD="$fake" "$validate" \
        --machine tests/fixtures/energy.yaml --collective allreduce --nodes 1 --gpus-per-node 1 --procs-per-gpu 2 \
        --bytes 4KiB --strategy three_step,dup_devptr --repeats 5 --energy-seconds 0.3 "$@"
}
# That a number in `before NUMBER after` lies within bounds.
between() { # LOW HIGH NUMBER
    awk -v low="$1" -v high="$2" -v number="$3" 'BEGIN { exit !(number != "" && number >= low && number <= high) }'
}

zone() { # ZONE NAME WATTS
    mkdir -p "$work/powercap/$1"
    echo "$2" >"$work/powercap/$1/name"
    echo 262143328850 >"$work/powercap/$1/max_energy_range_uj"
    echo "$3" >"$work/powercap/$1/energy_uj"
}

mkdir "$work/powercap"
tagged=(--tag-output)
check "without counters --energy fails" exits 1 run --energy --powercap "$work/powercap"
check "and rank 0 says why, of GPUs and of CPUs" has \
    "1,0]<stderr>.*no energy can be measured here. GPUs: the device is host memory.*CPUs: .*shows no RAPL counters" "$work/stderr"
check "and no other" lacks "1,1]<stderr>.*no energy can be measured" "$work/stderr"
tagged=()
check "without --energy nothing asks for counters" run --powercap "$work/powercap"
check "and no joules are shown" lacks "mJ" "$work/stdout"

zone intel-rapl:0 package-0 0
check "counters that stand still are none" exits 1 run --energy --powercap "$work/powercap"
check "and that is said" has "CPUs: a counter has not changed for 1 s" "$work/stderr"

zone intel-rapl:0 package-0 100
zone intel-rapl:0:0 dram 10
zone intel-rapl:1 psys 1000
# 110 W: the power is exact, but a process may be interrupted between reading it and its clock, which a busy machine
# does to some measurement, but not to each.
is_power() { between 80 140 "$(watts)"; }
measured() { # COMMAND...
    local tries
    for tries in 1 2 3 4 5; do
        "$@" || return
        ! is_power || return 0
    done
    echo "     $tries measurements, the last of $(watts) W"
    return 1
}
watts() { awk '$2 == "three_step" { print $(NF - 1) }' "$work/stdout"; }
check "joules stand beside times, at the power of package and memory, not of psys" \
    measured run --energy --powercap "$work/powercap" --out "$work/energy.csv" --force
check "with what was read" has "# energy: CPUs by rapl, 1 counters" "$work/stdout"
check "and what was not" has "# energy: GPUs not measured: the device is host memory" "$work/stdout"
check "the csv has a column of joules" has ",seconds,joules," "$work/energy.csv"
millijoules() { awk '$2 == "dup_devptr" { print $(NF - 2) }' "$work/stdout"; }
# The table rounds to microjoules.
check "the table's" test "$(awk -F, 'END { printf "%.3f", $10 * 1e3 }' "$work/energy.csv")" = "$(millijoules)"
predicted_watts() { awk -v strategy="$1" '$2 == strategy { printf "%.0f", $NF / $(NF - 7) * 1e3 }' "$work/stdout"; }
check "the prediction is the CPU's idle power and a core's" test "$(predicted_watts three_step)" = 205
check "or those of two cores" test "$(predicted_watts dup_devptr)" = 210
check "and says whose they are" has "^# energy=rapl$" "$work/energy.csv"
check "score reads the file" quietly "$build/portolan" score "$work/energy.csv" --machine tests/fixtures/energy.yaml
watts() { sed -n 's/.*{idle_w: \([^,]*\),.*/\1/p' "$work/stdout"; }
check "powers are measured, from package and memory, not from psys" measured run --powers --powercap "$work/powercap"
check "as a machine file has them" has "^  cpu: {idle_w: .*, idle_w_95: .*, core_w: .*, core_w_95: .*}$" "$work/stdout"

check "the driver and NVML are loaded" quietly env FAKE_GPUS=2 LD_LIBRARY_PATH="$nvml:$cuda" "$meter"
if ! ldconfig -p | grep -c 'libnvidia-ml\.so\.1' >/dev/null; then
    check "without NVML there is nothing to read" quietly env FAKE_GPUS=none LD_LIBRARY_PATH="$cuda" "$meter"
fi

finish
