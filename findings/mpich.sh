# shellcheck shell=bash
# mpich.sh, sourced after openmpi.sh: MPICH 4.0.2, for findings that hold it beside Open MPI.
unpack mpich=4.0.2-3+b1 libmpich12=4.0.2-3+b1 libmpich-dev=4.0.2-3+b1 libslurm38=22.05.8-4+deb12u3 \
    libucx0=1.13.1-1 libfabric1=1.17.0-3 libnuma1=2.0.16-1
