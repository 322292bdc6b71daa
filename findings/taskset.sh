#!/usr/bin/env bash
# One would guess that mpirun keeps to the CPUs that it may use, since it is started by `taskset` with one of two: it
# refuses two processes, for which there are not enough slots, or binds both to that CPU.
# It reads the whole machine from hwloc. There are as many slots as the machine has cores, and with --bind-to core rank 0
# is bound to the first core, which the mask excludes; Hydra does the same. `--cpu-set` does what the mask does not: every
# process is on these CPUs, also with --bind-to none.
# Open MPI 4.1.4-3+b1, MPICH 4.0.2-3+b1 (Debian 12).
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
unpack mpich=4.0.2-3+b1 libmpich12=4.0.2-3+b1 libslurm38=22.05.8-4+deb12u3
[ "$(taskset -cp $$ | sed 's/.*: //')" = 0,1 ] || [ "$(taskset -cp $$ | sed 's/.*: //')" = 0-1 ] ||
    skip "not on the CPUs 0 and 1 alone"

# cpus COMMAND...: the CPUs of the processes, in order of the CPUs
cpus() {
    # shellcheck disable=SC2016 # read by the processes
    "$@" sh -c 'taskset -cp $$ | sed "s/.*: //"' 2>"$work/run" | sort | paste -sd' ' || skip "$*: $(tail -1 "$work/run")"
}
openmpi=("$root/usr/bin/mpirun.openmpi" --allow-run-as-root)
hydra=(env HYDRA_LAUNCHER=fork "$root/usr/bin/mpiexec.hydra")

expect "Open MPI, CPU 1, two processes by core" "0 1" "$(cpus taskset -c 1 "${openmpi[@]}" -np 2 --bind-to core)"
expect "Open MPI, CPU 1, one process by core" "0" "$(cpus taskset -c 1 "${openmpi[@]}" -np 1 --bind-to core)"
expect "Open MPI, CPU 1, not bound" "1 1" "$(cpus taskset -c 1 "${openmpi[@]}" -np 2 --bind-to none)"
expect "Hydra, CPU 1, one process by core" "0" "$(cpus taskset -c 1 "${hydra[@]}" -n 1 -bind-to core)"
expect "Open MPI --cpu-set 1, one process, not bound" "1" "$(cpus "${openmpi[@]}" -np 1 --cpu-set 1 --bind-to none)"
exit "$failed"
