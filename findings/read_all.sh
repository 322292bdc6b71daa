#!/usr/bin/env bash
# One would guess that a collective read that meets the end of a file counts in its status what it read, as MPI_File_read_at does,
# and that beyond the end it counts 0, so that a program may read blocks until one is not full.
# A file has 10 ints, and four processes ask for 20 from the sixth on. MPI_File_read_at counts 5. MPI_File_read_at_all counts 20,
# and so it does where it reads nothing: in OMPIO (with up to two processes, which read for themselves, it counts 5 and 0), in
# the ROMIO of Open MPI and in MPICH's. MPI_File_read_all counts 20 everywhere and leaves the file pointer 15 ints behind the end, as
# OMPIO's MPI_File_read does. The processes that read the file for all do not tell the others how much they got, and the status
# is filled with the length of the request; MPICH's source calls that a temporary way. MPI 3.1, section 13.4, has the status tell
# how much was read.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); mca_io_ompio_file_read_all, mca_fcoll_vulcan_file_read_all,
# ADIOI_GEN_ReadStridedColl. MPICH's issue 1085 is from 2010, and its pull request 6117 of August 2022 mends it; Open MPI's issue
# 14015 is about it.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/read.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>

enum { STORED = 10, FIRST = 5, ASKED = 20 };

static int count_of(const MPI_Status *status) {
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    return count;
}

int main(int argc, char **argv) {
    int rank, ints[ASKED] = {0}, counts[5];
    MPI_Offset place[2];
    MPI_File file;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(file, 0, ints, rank == 0 ? STORED : 0, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);

    MPI_File_read_at(file, FIRST, ints, ASKED, MPI_INT, &status);
    counts[0] = count_of(&status);
    MPI_File_read_at_all(file, FIRST, ints, ASKED, MPI_INT, &status);
    counts[1] = count_of(&status);
    MPI_File_read_at_all(file, 2 * STORED, ints, ASKED, MPI_INT, &status);
    counts[2] = count_of(&status);
    MPI_File_seek(file, FIRST, MPI_SEEK_SET);
    MPI_File_read(file, ints, ASKED, MPI_INT, &status);
    counts[3] = count_of(&status);
    MPI_File_get_position(file, &place[0]);
    MPI_File_seek(file, FIRST, MPI_SEEK_SET);
    MPI_File_read_all(file, ints, ASKED, MPI_INT, &status);
    counts[4] = count_of(&status);
    MPI_File_get_position(file, &place[1]);
    if (rank == 0)
        printf("%d %d %d, %d at %lld, %d at %lld\n", counts[0], counts[1], counts[2], counts[3], (long long)place[0], counts[4],
               (long long)place[1]);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/read.c"

# openmpi PROCESSES [OPTION...]
openmpi() { run_openmpi "$@" --mca btl self,vader "$work/openmpi" "$work/file"; }

echo "read_at, read_at_all, read_at_all behind the end, read and the file pointer, read_all and the file pointer:"
expect "Open MPI, 2 processes" "5 5 0, 5 at 25, 20 at 25" "$(openmpi 2)"
expect "Open MPI, 4 processes" "5 20 20, 5 at 25, 20 at 25" "$(openmpi 4)"
expect "Open MPI with ROMIO, 4 processes" "5 20 20, 5 at 10, 20 at 25" "$(openmpi 4 --mca io romio321)"
expect "MPICH, 4 processes" "5 20 20, 5 at 10, 20 at 25" "$(run_mpich 4 "$work/mpich" "$work/file")"
exit "$failed"
