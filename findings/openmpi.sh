# shellcheck shell=bash disable=SC2154 # of packages.sh
# openmpi.sh, sourced after packages.sh: Open MPI 4.1.4, and the messages of one collective at its root.
unpack openmpi-bin=4.1.4-3+b1 openmpi-common=4.1.4-3 libopenmpi3=4.1.4-3+b1 libopenmpi-dev=4.1.4-3+b1 \
    libhwloc15=2.9.0-1 libpmix2=4.2.2-1+deb12u1 libevent-core-2.1-7=2.1.12-stable-8+deb12u1 \
    libevent-pthreads-2.1-7=2.1.12-stable-8+deb12u1 libmunge2=0.5.15-2+deb12u1
export LD_LIBRARY_PATH=$library PMIX_INSTALL_PREFIX=$library/pmix2
export OPAL_PREFIX=$root/usr OPAL_LIBDIR=$library/openmpi/lib
export OPAL_DATADIR=$root/usr/share OPAL_PKGDATADIR=$root/usr/share/openmpi OPAL_SYSCONFDIR=$root/etc

# run_openmpi PROCESSES [OPTION...] PROGRAM [ARGUMENT...]
run_openmpi() {
    local processes=$1
    shift
    "$root/usr/bin/mpirun.openmpi" --allow-run-as-root --oversubscribe --bind-to none -np "$processes" "$@" \
        2>"$work/run" || skip "mpirun: $(tail -3 "$work/run")"
}

# How processes tell each other what they have reached without MPI: by files.
cat >"$work/signs.h" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void make(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* Looks for the file for up to so many hundredths of a second, outside MPI. */
static int is_made(const char *folder, const char *name, int tries) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    while (access(path, F_OK) != 0 && tries-- > 0)
        usleep(10000);
    return access(path, F_OK) == 0;
}
END

cat >"$work/collective.c" <<'END'
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 65536, CALLS = 4 };

static void either(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((unsigned char *)inout)[i] |= ((unsigned char *)in)[i];
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    char *in = calloc(BYTES, 1), *out = calloc(BYTES, 1);
    MPI_Op ordered;
    MPI_Op_create(either, 0, &ordered);
    for (int i = 0; i < CALLS; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (strcmp(argv[1], "bcast") == 0)
            MPI_Bcast(in, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (strcmp(argv[1], "ibcast") == 0)
            MPI_Ibcast(in, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        if (strcmp(argv[1], "reduce") == 0)
            MPI_Reduce(in, out, BYTES, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
        if (strcmp(argv[1], "reduce-ordered") == 0)
            MPI_Reduce(in, out, BYTES, MPI_BYTE, ordered, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
END
compile "$work/collective.c" "$work/collective" -I"$library/openmpi/include" -L"$library/openmpi/lib" \
    "$library/libmpi.so.40"

# messages COLLECTIVE [MPIRUN'S OPTION...]: of one call on 8 ranks: "SENT by the root, RECEIVED by it, TOTAL"
messages() {
    local collective=$1
    shift
    rm -f "$work"/counts.*
    "$root/usr/bin/mpirun.openmpi" --allow-run-as-root --oversubscribe --bind-to none -np 8 --mca btl self,vader \
        --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename \
        "$work/counts" "$@" "$work/collective" "$collective" >"$work/run" 2>&1 || skip "mpirun: $(tail -3 "$work/run")"
    # Lines: E or I, sender, receiver, bytes, "bytes", messages, ...
    cat "$work"/counts.*.prof | awk '$1 ~ /^[EI]$/ {
            n = $6 / 4; total += n
            if ($2 == 0) sent += n
            if ($3 == 0) received += n
        }
        END { printf "%d sent by the root, %d received by it, %d in all\n", sent, received, total }'
}
