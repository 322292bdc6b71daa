# shellcheck shell=bash disable=SC2154 # of packages.sh
# mpich.sh, sourced after openmpi.sh: MPICH 4.0.2, for findings that hold it beside Open MPI.
unpack mpich=4.0.2-3+b1 libmpich12=4.0.2-3+b1 libmpich-dev=4.0.2-3+b1 libslurm38=22.05.8-4+deb12u3 \
    libucx0=1.13.1-1 libfabric1=1.17.0-3 libnuma1=2.0.16-1

# compile_both SOURCE: $work/openmpi and $work/mpich
compile_both() {
    compile "$1" "$work/openmpi" -I"$library/openmpi/include" -L"$library/openmpi/lib" "$library/libmpi.so.40"
    compile "$1" "$work/mpich" -I"$root/usr/include/x86_64-linux-gnu/mpich" -lmpich
}

# run_mpich PROCESSES PROGRAM [ARGUMENT...]
run_mpich() {
    local processes=$1
    shift
    "$root/usr/bin/mpiexec.hydra" -launcher fork -n "$processes" "$@" 2>"$work/run" ||
        skip "mpiexec: $(tail -3 "$work/run")"
}
