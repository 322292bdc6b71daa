#!/usr/bin/env bash
# One would guess that Hydra starts again at the front of a list of CPUs that is shorter than the number of processes,
# as it does with `-bind-to core`.
# Processes beyond the list of `-bind-to user:` are not bound at all: any CPU, no message.
# MPICH 4.0.2-3+b1 (Debian 12); HYDT_topo_hwloc_bind in src/pm/hydra/tools/topo/hwloc/topo_hwloc.c, "For processes where
# the user did not specify a binding unit, no binding is needed".
. "$(dirname "$0")/packages.sh"
unpack mpich=4.0.2-3+b1 libmpich12=4.0.2-3+b1 libhwloc15=2.9.0-1 libslurm38=22.05.8-4+deb12u3
export LD_LIBRARY_PATH=$library HYDRA_LAUNCHER=fork
read -r first second <<<"$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
    awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) printf "%d ", i }' | cut -d' ' -f1,2)"
[ -n "$second" ] || skip "one CPU alone"
all=$(taskset -cp $$ | sed 's/.*: //')

# bound OPTION...: the CPUs of three processes
bound() {
    # shellcheck disable=SC2016 # read by the processes
    "$root/usr/bin/mpiexec.hydra" -n 3 "$@" sh -c 'echo "$PMI_RANK:$(taskset -cp $$ | sed "s/.*: //")"' \
        2>"$work/run" | sort | sed 's/^[0-9]*://' | tr '\n' ' ' || skip "mpiexec: $(tail -1 "$work/run")"
}

expect "-bind-to user:$second,$first" "$second $first $all " "$(bound -bind-to "user:$second,$first")"
expect "-bind-to user:$second,$first,$second" "$second $first $second " \
    "$(bound -bind-to "user:$second,$first,$second")"
exit "$failed"
