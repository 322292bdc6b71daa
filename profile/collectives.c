/* Collectives, blocking and not. */
#include "intercept.h"
#include "parts.h"

static void note(const prof_call_t *call, int code, prof_note_t parts, MPI_Comm comm, int root,
                 prof_side_t in, prof_side_t out) {
    const prof_collective_t what = {call, comm, root, in, out};
    if (code == MPI_SUCCESS)
        parts(&what);
    else
        prof_note_barrier(&what);
}

static void note_started(const prof_call_t *call, int code, const MPI_Request *request) {
    if (code == MPI_SUCCESS && *request != MPI_REQUEST_NULL)
        prof_request_add(
            *request, &(prof_request_t){
                          .routine = (uint8_t)call->routine, .space = PROF_CPU, .active = true, .peer = -1});
}

#define EACH(...) __VA_ARGS__

/* The blocking function and the other one, whose name has another case. */
#define COLLECTIVE(name, iname, params, args, parts, root, in, out)                                          \
    PROF_SIMPLE(name, (EACH params, MPI_Comm comm), (EACH args, comm),                                       \
                note(&call, code, parts, comm, root, in, out))                                               \
    PROF_SIMPLE(iname, (EACH params, MPI_Comm comm, MPI_Request * request), (EACH args, comm, request),      \
                note(&call, code, parts, comm, root, in, out);                                               \
                note_started(&call, code, request))

static prof_side_t side_of(const void *buffer, int count, const int *counts, MPI_Datatype type,
                           const MPI_Datatype *types) {
    return (prof_side_t){.buffer = buffer, .count = count, .counts = counts, .type = type, .types = types};
}

#define NO_SIDE side_of(NULL, 0, NULL, MPI_DATATYPE_NULL, NULL)
#define IN side_of(in, in_count, NULL, in_type, NULL)
#define OUT side_of(out, out_count, NULL, out_type, NULL)
#define IN_COUNTS side_of(in, 0, in_counts, in_type, NULL)
#define OUT_COUNTS side_of(out, 0, out_counts, out_type, NULL)
#define IN_TYPES side_of(in, 0, in_counts, MPI_DATATYPE_NULL, in_types)
#define OUT_TYPES side_of(out, 0, out_counts, MPI_DATATYPE_NULL, out_types)
#define VECTOR_IN side_of(in, count, NULL, type, NULL)
#define VECTOR_OUT side_of(out, count, NULL, type, NULL)

#define IN_PARAMS const void *in, int in_count, MPI_Datatype in_type
#define OUT_PARAMS void *out, int out_count, MPI_Datatype out_type
#define IN_COUNTS_PARAMS const void *in, const int in_counts[], const int in_places[], MPI_Datatype in_type
#define OUT_COUNTS_PARAMS void *out, const int out_counts[], const int out_places[], MPI_Datatype out_type
#define IN_ARGS in, in_count, in_type
#define OUT_ARGS out, out_count, out_type
#define IN_COUNTS_ARGS in, in_counts, in_places, in_type
#define OUT_COUNTS_ARGS out, out_counts, out_places, out_type

PROF_SIMPLE(Barrier, (MPI_Comm comm), (comm),
            note(&call, code, prof_note_barrier, comm, -1, NO_SIDE, NO_SIDE))
PROF_SIMPLE(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request),
            note(&call, code, prof_note_barrier, comm, -1, NO_SIDE, NO_SIDE);
            note_started(&call, code, request))

COLLECTIVE(Bcast, Ibcast, (void *out, int count, MPI_Datatype type, int root), (out, count, type, root),
           prof_note_bcast, root, NO_SIDE, VECTOR_OUT)
COLLECTIVE(Gather, Igather, (IN_PARAMS, OUT_PARAMS, int root), (IN_ARGS, OUT_ARGS, root), prof_note_gather,
           root, IN, OUT)
COLLECTIVE(Gatherv, Igatherv, (IN_PARAMS, OUT_COUNTS_PARAMS, int root), (IN_ARGS, OUT_COUNTS_ARGS, root),
           prof_note_gather, root, IN, OUT_COUNTS)
COLLECTIVE(Scatter, Iscatter, (IN_PARAMS, OUT_PARAMS, int root), (IN_ARGS, OUT_ARGS, root), prof_note_scatter,
           root, IN, OUT)
COLLECTIVE(Scatterv, Iscatterv, (IN_COUNTS_PARAMS, OUT_PARAMS, int root), (IN_COUNTS_ARGS, OUT_ARGS, root),
           prof_note_scatter, root, IN_COUNTS, OUT)
COLLECTIVE(Allgather, Iallgather, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS), prof_note_allgather, -1, IN,
           OUT)
COLLECTIVE(Allgatherv, Iallgatherv, (IN_PARAMS, OUT_COUNTS_PARAMS), (IN_ARGS, OUT_COUNTS_ARGS),
           prof_note_allgatherv, -1, IN, OUT_COUNTS)
COLLECTIVE(Alltoall, Ialltoall, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS), prof_note_alltoall, -1, IN, OUT)
COLLECTIVE(Alltoallv, Ialltoallv, (IN_COUNTS_PARAMS, OUT_COUNTS_PARAMS), (IN_COUNTS_ARGS, OUT_COUNTS_ARGS),
           prof_note_alltoall, -1, IN_COUNTS, OUT_COUNTS)
COLLECTIVE(Alltoallw, Ialltoallw,
           (const void *in, const int in_counts[], const int in_places[], const MPI_Datatype in_types[],
            void *out, const int out_counts[], const int out_places[], const MPI_Datatype out_types[]),
           (in, in_counts, in_places, in_types, out, out_counts, out_places, out_types), prof_note_alltoall,
           -1, IN_TYPES, OUT_TYPES)
COLLECTIVE(Reduce, Ireduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root),
           (in, out, count, type, op, root), prof_note_reduce, root, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Allreduce, Iallreduce, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op),
           (in, out, count, type, op), prof_note_allreduce, -1, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           (const void *in, void *out, const int counts[], MPI_Datatype type, MPI_Op op),
           (in, out, counts, type, op), prof_note_reduce_scatter, -1, side_of(in, 0, NULL, type, NULL),
           side_of(out, 0, counts, type, NULL))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op), (in, out, count, type, op),
           prof_note_reduce_scatter, -1, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Scan, Iscan, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op),
           (in, out, count, type, op), prof_note_scan, -1, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Exscan, Iexscan, (const void *in, void *out, int count, MPI_Datatype type, MPI_Op op),
           (in, out, count, type, op), prof_note_scan, -1, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS),
           prof_note_neighbor_allgather, -1, IN, OUT)
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, (IN_PARAMS, OUT_COUNTS_PARAMS),
           (IN_ARGS, OUT_COUNTS_ARGS), prof_note_neighbor_allgather, -1, IN, OUT_COUNTS)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS),
           prof_note_neighbor_alltoall, -1, IN, OUT)
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, (IN_COUNTS_PARAMS, OUT_COUNTS_PARAMS),
           (IN_COUNTS_ARGS, OUT_COUNTS_ARGS), prof_note_neighbor_alltoall, -1, IN_COUNTS, OUT_COUNTS)
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
           (const void *in, const int in_counts[], const MPI_Aint in_places[], const MPI_Datatype in_types[],
            void *out, const int out_counts[], const MPI_Aint out_places[], const MPI_Datatype out_types[]),
           (in, in_counts, in_places, in_types, out, out_counts, out_places, out_types),
           prof_note_neighbor_alltoall, -1, IN_TYPES, OUT_TYPES)
