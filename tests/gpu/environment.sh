# What visit.sh and suite.sh share: unpacking what a bare machine lacks, building, starting jobs. To be sourced,
# with the repository's root as the current folder.
# shellcheck shell=bash

: "${DEVICE:=cuda}" "${DEPS:=}"
export DEVICE
# A newer compiler's warnings must not stop a visit. A dry run keeps the flags, so that it rebuilds nothing.
if [ "$DEVICE" = cuda ]; then
    : "${CFLAGS:=-O2 -g -Wno-error}"
    export CFLAGS
fi
# What the make that started this was told is for this script: what it says itself counts for the makes it starts.
unset MAKEFLAGS MAKELEVEL MAKEOVERRIDES
# A dry run's processes may be more than the cores.
idle=()
[ "$DEVICE" = cuda ] || idle=(--mca mpi_yield_when_idle 1)

# unpack DEPS OPENMPI: into AT; sets DEPS and the paths that everything after this needs. Both may be empty: the
# machine has them.
unpack() {
    DEPS=$1
    local openmpi=$2 package
    if [ -n "$DEPS" ] && compgen -G "$DEPS/*.deb" >/dev/null; then
        for package in "$DEPS"/*.deb; do dpkg -x "$package" "$AT/deps" || return; done
        DEPS=$AT/deps
    fi
    if [ -n "$openmpi" ]; then
        [ -d "$AT/ompi-cuda" ] || tar -xf "$openmpi" -C "$AT" || return
        export OPAL_PREFIX=$AT/ompi-cuda
        export PATH=$OPAL_PREFIX/bin:$PATH LD_LIBRARY_PATH=$OPAL_PREFIX/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    fi
    export DEPS OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # After the others: a dry run must build with the nvcc that everything was built with.
    export PATH=$PATH:/usr/local/cuda/bin${DEPS:+:$DEPS/usr/bin:$DEPS/usr/sbin:$DEPS/bin:$DEPS/sbin}
    [ -z "$DEPS" ] || LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$DEPS/usr/lib/x86_64-linux-gnu:$DEPS/lib/x86_64-linux-gnu
    [ -z "${LD_LIBRARY_PATH:-}" ] || export LD_LIBRARY_PATH
    find_transport
}

# Sets `within`, the transport between the processes of a host. Only an Open MPI that takes GPU pointers has smcuda;
# with vader, it takes GPU memory for the host's.
find_transport() {
    within=vader
    if [ "$DEVICE" = cuda ] && ompi_info --parsable --all 2>/dev/null |
        grep -c mpi_built_with_cuda_support:value:true >/dev/null; then within=smcuda; fi
}
find_transport # of the machine's own; another Open MPI may be unpacked

# The build folder as `make` names it by itself: the name is among the compiler's flags, and other flags rebuild everything.
build_folder() { realpath -m --relative-base=. "$BUILD"; }

# compile TARGET...: all that builds of the programs and these; fails where calibrate has no CUDA but should, or
# what runs plans isn't there. Samples can be fitted elsewhere: the tool may be missing.
compile() {
    local processors folder
    processors=$(nproc)
    folder=$(build_folder)
    make -k -j$((processors < 16 ? processors : 16)) BUILD="$folder" build "${@/#"$BUILD"/"$folder"}"
    "$BUILD/portolan-calibrate" --version | tee "$BUILD/version"
    [ "$DEVICE" != cuda ] || grep -q 'with CUDA' "$BUILD/version" || return
    [ -x "$BUILD/portolan-validate" ] && [ -x "$BUILD/tests/test_exec" ]
}

# BOUND: cores that each process keeps to; none: wherever the kernel puts it
host_run() { # PROCESSES PROGRAM...
    local processes=$1 binding=(--bind-to none)
    shift
    [ -z "${BOUND:-}" ] || binding=(--map-by "slot:PE=$BOUND" --bind-to core:overload-allowed)
    mpirun -n "$processes" --oversubscribe "${binding[@]}" --mca pml ob1 --mca btl "self,$within" "${idle[@]}" "$@"
}

merge_rows() { awk -f tests/merge_rows.awk "$@"; }
