#!/usr/bin/env bash
# One would guess that a type for struct {struct point point; double weight;}, made by MPI_Type_create_struct of a type for the
# inner struct, which was given its sizeof by MPI_Type_create_resized as one should, has the extent of the outer struct, 24, and
# that arrays of it can be sent.
# In Open MPI its extent is 16, that of the inner struct, so a message of 3 brings one right element and two wrong ones: they
# begin in the middle of one another. In MPICH it is 24. Without the resizing it is 24 in both. Open MPI keeps the ends
# that MPI_Type_create_resized set as marks, which decide over the extent of every type made of it, and MPICH forgets them. MPI
# 3.1, section 4.1.6, has the marks and the rule; a type with a subarray inside is as short. Resizing the outer type as well helps.
# Open MPI 4.1.4-3, MPICH 4.0.2-3+b1 (Debian 12); opal_datatype_add and OPAL_DATATYPE_FLAG_USER_UB, yaksi_type_create_struct.
# Open MPI's pull requests 8092 and 8095 set the mark, and in its issue 8560 a user takes that for a fault; MPICH's issue 2220
# calls the inherited marks one.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
. "$(dirname "$0")/mpich.sh"
cat >"$work/nested.c" <<'END_C'
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 3 };

struct point {
    float x, y, z;
    char kind;
};

struct particle {
    struct point point;
    double weight;
};

static MPI_Datatype pair(int first, MPI_Datatype first_type, MPI_Aint place, MPI_Datatype second_type) {
    const int counts[2] = {first, 1};
    const MPI_Aint displs[2] = {0, place};
    const MPI_Datatype types[2] = {first_type, second_type};
    MPI_Datatype made;
    MPI_Type_create_struct(2, counts, displs, types, &made);
    return made;
}

/* Prints the extent of a type for struct particle, and how many of 3 arrive. */
static void print(MPI_Datatype particle) {
    struct particle sent[ELEMENTS], got[ELEMENTS];
    MPI_Aint lower, extent;
    int packed[ELEMENTS * sizeof(struct particle)], bytes = 0, place = 0, right = 0;
    memset(got, 0, sizeof got);
    for (int i = 0; i < ELEMENTS; i++)
        sent[i] = (struct particle){{(float)i, (float)(10 * i), (float)(100 * i), (char)('a' + i)}, 1000 + i};
    MPI_Type_commit(&particle);
    MPI_Type_get_extent(particle, &lower, &extent);
    MPI_Pack(sent, ELEMENTS, particle, packed, sizeof packed, &bytes, MPI_COMM_SELF);
    /* The other side takes the message apart without the type. */
    for (int i = 0; i < ELEMENTS; i++) {
        MPI_Unpack(packed, bytes, &place, &got[i].point, 3, MPI_FLOAT, MPI_COMM_SELF);
        MPI_Unpack(packed, bytes, &place, &got[i].point.kind, 1, MPI_CHAR, MPI_COMM_SELF);
        MPI_Unpack(packed, bytes, &place, &got[i].weight, 1, MPI_DOUBLE, MPI_COMM_SELF);
        right += got[i].point.z == sent[i].point.z && got[i].point.kind == sent[i].point.kind && got[i].weight == sent[i].weight;
    }
    printf("%d with %d right, ", (int)extent, right);
}

int main(int argc, char **argv) {
    MPI_Datatype resized, outer;
    MPI_Init(&argc, &argv);
    const MPI_Datatype point = pair(3, MPI_FLOAT, offsetof(struct point, kind), MPI_CHAR);
    MPI_Type_create_resized(point, 0, sizeof(struct point), &resized);
    print(pair(1, resized, offsetof(struct particle, weight), MPI_DOUBLE));
    print(pair(1, point, offsetof(struct particle, weight), MPI_DOUBLE));
    MPI_Type_create_resized(pair(1, resized, offsetof(struct particle, weight), MPI_DOUBLE), 0, sizeof(struct particle), &outer);
    print(outer);
    printf("sizeof %d\n", (int)sizeof(struct particle));
    MPI_Finalize();
    return 0;
}
END_C
compile_both "$work/nested.c"

echo "extent of the outer type and right elements of 3, if the inner type is resized, if none is, if both are:"
expect "Open MPI" "16 with 1 right, 24 with 3 right, 24 with 3 right, sizeof 24" \
    "$(run_openmpi 1 --mca btl self,vader "$work/openmpi")"
expect "MPICH" "24 with 3 right, 24 with 3 right, 24 with 3 right, sizeof 24" "$(run_mpich 1 "$work/mpich")"
exit "$failed"
