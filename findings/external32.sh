#!/usr/bin/env bash
# One would guess that a long double which MPI_Pack_external has packed as "external32" comes out of MPI_Unpack_external as it was,
# and is the number's IEEE quadruple in between.
# In Open MPI 1.5 comes out as 1.26e-4932, the packed bytes are not big-endian, and no call fails; doubles are right. In MPICH 1.5
# comes out as 1.5, from 3f ff 80 and zeros. Open MPI has one function for this type in both directions, which takes a
# quadruple apart; when packing it gets the 80-bit number of the x86 and takes that for a quadruple.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); opal_dt_swap_long_double in opal_copy_functions_heterogeneous.c. Open MPI's
# issue 8918 tells of it, and its pull request 10933 mends it in 5.0.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/external.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { QUADRUPLE = 16 };

int main(int argc, char **argv) {
    const unsigned char quadruple[QUADRUPLE] = {0x3f, 0xff, 0x80};
    const long double number = 1.5L;
    const double shorter = 1.5;
    long double back = 0;
    double shorter_back = 0;
    char packed[QUADRUPLE];
    MPI_Aint bytes = 0, place = 0;
    MPI_Init(&argc, &argv);
    MPI_Pack_external("external32", &number, 1, MPI_LONG_DOUBLE, packed, sizeof packed, &bytes);
    MPI_Unpack_external("external32", packed, bytes, &place, &back, 1, MPI_LONG_DOUBLE);
    const int is_quadruple = bytes == QUADRUPLE && memcmp(packed, quadruple, QUADRUPLE) == 0;
    bytes = place = 0;
    MPI_Pack_external("external32", &shorter, 1, MPI_DOUBLE, packed, sizeof packed, &bytes);
    MPI_Unpack_external("external32", packed, bytes, &place, &shorter_back, 1, MPI_DOUBLE);
    printf("double %g, long double %.3Lg, %s\n", shorter_back, back, is_quadruple ? "a quadruple" : "no quadruple");
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/external.c"

expect "Open MPI, 1.5" "double 1.5, long double 1.26e-4932, no quadruple" "$(run_openmpi 1 --mca btl self,vader "$work/openmpi")"
expect "MPICH, 1.5" "double 1.5, long double 1.5, a quadruple" "$(run_mpich 1 "$work/mpich")"
exit "$failed"
