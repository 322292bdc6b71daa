#!/usr/bin/env bash
# One would guess that a program appends to a file by MPI_File_seek(file, 0, MPI_SEEK_END) and MPI_File_write, whatever the file's
# size and view.
# In Open MPI, the end of a file of 10,000,000 bytes is at 6,291,456, 6 MiB, in the view that a file has when it is opened: what
# is written there replaces the middle of the file, which keeps its size, and no call fails. With an int in every second place
# as file type, the end is at 1, however many there are. OMPIO looks for the end in a single copy of the file type, and the type
# of the first view is 6 MiB of bytes. MPI_MODE_APPEND, which starts from the same size, and the shared file pointer are right,
# and so are ROMIO in Open MPI and MPICH, which count the copies that fit.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); mca_io_ompio_file_get_eof_offset in io_ompio_file_open.c and
# MCA_IO_DEFAULT_FILE_VIEW_SIZE in common_ompio.h. Open MPI's issue 12952 and pull request 13007 (December 2024) are about it.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/end.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const char *name;

/* Prints where the end of a file with so many bytes is, in ints of the file type if there is one. */
static void print_end(MPI_Offset bytes, MPI_Datatype filetype) {
    MPI_File file;
    MPI_Offset end;
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, bytes);
    if (filetype != MPI_DATATYPE_NULL)
        MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL);
    MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_get_position(file, &end);
    printf("%lld ", (long long)end);
    MPI_File_close(&file);
}

/* Prints the size of a file of so many bytes after one more was written at its end. */
static void print_appended(MPI_Offset bytes, int mode) {
    MPI_File file;
    MPI_Offset size;
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, bytes);
    MPI_File_close(&file);
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | mode, MPI_INFO_NULL, &file);
    if (mode == 0)
        MPI_File_seek(file, 0, MPI_SEEK_END);
    MPI_File_write(file, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_get_size(file, &size);
    printf("%lld ", (long long)size);
    MPI_File_close(&file);
}

int main(int argc, char **argv) {
    MPI_Datatype every_second;
    MPI_Init(&argc, &argv);
    name = argv[1];
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_second);
    MPI_Type_commit(&every_second);
    print_end(6000000, MPI_DATATYPE_NULL);
    print_end(10000000, MPI_DATATYPE_NULL);
    print_end(5 * 2 * sizeof(int), every_second);
    print_appended(10000000, 0);
    print_appended(10000000, MPI_MODE_APPEND);
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/end.c"

openmpi() { run_openmpi 1 --mca btl self,vader "$@" "$work/openmpi" "$work/file"; } # [OPTION...]

echo "the end of 6000000 bytes, of 10000000, and of 5 ints with gaps; 10000000 bytes and one appended by a seek, by the mode:"
expect "Open MPI" "6000000 6291456 1 10000000 10000001 " "$(openmpi)"
expect "Open MPI with ROMIO" "6000000 10000000 5 10000001 10000001 " "$(openmpi --mca io romio321)"
expect "MPICH" "6000000 10000000 5 10000001 10000001 " "$(run_mpich 1 "$work/mpich" "$work/file")"
exit "$failed"
