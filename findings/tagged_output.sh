#!/usr/bin/env bash
# One would guess that `mpirun --tag-output` prints each line of a process once, with its tag in front; at worst a long
# output is cut within a line.
# mpirun reads up to 4 KiB at a time and tags what it has read in a buffer of 8 KiB: what does not fit is dropped,
# without a message and with exit status 0. So a process that prints many lines at once loses some: with --tag-output
# where lines are shorter than their tag (14 bytes), with --timestamp-output where they are shorter than 33 bytes. Where
# a read ends within a line, the next tag comes into its middle, as in `[0] 12[0] 34`; Hydra's -prepend-rank does that,
# too, but loses nothing.
# Open MPI 4.1.4-3+b1 (Debian 12): ORTE_IOF_BASE_MSG_MAX and ORTE_IOF_BASE_TAGGED_OUT_MAX in orte/mca/iof/base;
# MPICH 4.0.2-3+b1.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
unpack mpich=4.0.2-3+b1 libmpich12=4.0.2-3+b1 libslurm38=22.05.8-4+deb12u3

# tagged WIDTH LAUNCHER...: what becomes of 20,000 numbered lines of WIDTH bytes
tagged() {
    local width=$1
    shift
    "$@" seq -f "%0$((width - 1)).f" 20000 >"$work/lines" 2>"$work/run" || skip "$1: $(tail -1 "$work/run")"
    # A line that ends in its whole number counts, whatever is in front of it.
    if [ "$(grep -cE "[0-9]{$((width - 1))}\$" "$work/lines")" -eq 20000 ]; then
        echo "all lines"
    elif [ "$(wc -l <"$work/lines")" -eq 20000 ]; then
        echo "all lines, some torn"
    else
        echo "lines lost"
    fi
}
openmpi=("$root/usr/bin/mpirun.openmpi" --allow-run-as-root -n 1)
hydra=(env HYDRA_LAUNCHER=fork "$root/usr/bin/mpiexec.hydra" -n 1)

expect "Open MPI, no tags, lines of 7 bytes" "all lines" "$(tagged 7 "${openmpi[@]}")"
expect "Open MPI --tag-output, lines of 7 bytes" "lines lost" "$(tagged 7 "${openmpi[@]}" --tag-output)"
expect "Open MPI --timestamp-output, lines of 21 bytes" "lines lost" "$(tagged 21 "${openmpi[@]}" --timestamp-output)"
expect "MPICH -prepend-rank, lines of 7 bytes" "all lines, some torn" "$(tagged 7 "${hydra[@]}" -prepend-rank)"
exit "$failed"
