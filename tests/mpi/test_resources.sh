#!/usr/bin/env bash
# Executors on a device that runs out of memory, thousands of executors, and messages of more than INT_MAX bytes, under
# mpirun on this machine, on the host device.
# BUILD: where the programs were built (default build). CREATIONS: of each kind (default 200).
# Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
needs mpirun
program=$build/tests/test_resources
built "$program"
export PORTOLAN_SEGMENTS=portolan-test$$
segments() { find /dev/shm -name "$PORTOLAN_SEGMENTS-*" | wc -l; }
run() { launch "$@"; } # SECONDS -n PROCESSES PROGRAM ARGUMENTS...

for processes in 2 4; do
    check "a device that is exhausted at any point is an error on all $processes processes" \
        run 300 -n $processes "$program" exhausted
done
check "${CREATIONS:-200} executors of each kind leave nothing on 2 processes" run 600 -n 2 "$program" creations "${CREATIONS:-200}"
check "nor do fewer on 4" run 600 -n 4 "$program" creations $((${CREATIONS:-200} / 4))
check "nor do 10000 runs with other buffers each" run 100 -n 2 "$program" rebinds 10000
check "no shared memory is left over" test "$(segments)" -eq 0

# Two buffers in shared memory, and what the message takes there.
free_kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
shm_kib=$(df --output=avail -k /dev/shm | tail -n 1)
if [ "$free_kib" -gt 10000000 ] && [ "$shm_kib" -gt 7000000 ]; then
    check "messages of more than INT_MAX bytes are right" run 300 -n 2 "$program" large
else
    echo "     less than 10 GB are free: messages of more than INT_MAX bytes are not tried"
fi
finish
