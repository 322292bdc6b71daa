/* The collectives that have counts, for each_count.h: COLLECTIVE(blocking name, non-blocking name, parameters
 * up to the communicator, arguments, function of parts.h, root, input side, output side). */
COLLECTIVE(Bcast, Ibcast, (void *out, COUNT count, MPI_Datatype type, int root), (out, count, type, root),
           prof_parts_of_bcast, root, NO_SIDE, VECTOR_OUT)
COLLECTIVE(Gather, Igather, (IN_PARAMS, OUT_PARAMS, int root), (IN_ARGS, OUT_ARGS, root),
           prof_parts_of_gather, root, IN, OUT)
COLLECTIVE(Gatherv, Igatherv, (IN_PARAMS, OUT_COUNTS_PARAMS, int root), (IN_ARGS, OUT_COUNTS_ARGS, root),
           prof_parts_of_gather, root, IN, OUT_COUNTS)
COLLECTIVE(Scatter, Iscatter, (IN_PARAMS, OUT_PARAMS, int root), (IN_ARGS, OUT_ARGS, root),
           prof_parts_of_scatter, root, IN, OUT)
COLLECTIVE(Scatterv, Iscatterv, (IN_COUNTS_PARAMS, OUT_PARAMS, int root), (IN_COUNTS_ARGS, OUT_ARGS, root),
           prof_parts_of_scatter, root, IN_COUNTS, OUT)
COLLECTIVE(Allgather, Iallgather, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS), prof_parts_of_allgather, -1,
           IN, OUT)
COLLECTIVE(Allgatherv, Iallgatherv, (IN_PARAMS, OUT_COUNTS_PARAMS), (IN_ARGS, OUT_COUNTS_ARGS),
           prof_parts_of_allgatherv, -1, IN, OUT_COUNTS)
COLLECTIVE(Alltoall, Ialltoall, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS), prof_parts_of_alltoall, -1, IN,
           OUT)
COLLECTIVE(Alltoallv, Ialltoallv, (IN_COUNTS_PARAMS, OUT_COUNTS_PARAMS), (IN_COUNTS_ARGS, OUT_COUNTS_ARGS),
           prof_parts_of_alltoall, -1, IN_COUNTS, OUT_COUNTS)
COLLECTIVE(Alltoallw, Ialltoallw,
           (const void *in, const COUNT in_counts[], const DISPL in_displs[], const MPI_Datatype in_types[],
            void *out, const COUNT out_counts[], const DISPL out_displs[], const MPI_Datatype out_types[]),
           (in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types),
           prof_parts_of_alltoall, -1, IN_TYPES, OUT_TYPES)
COLLECTIVE(Reduce, Ireduce, (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op, int root),
           (in, out, count, type, op, root), prof_parts_of_reduce, root, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Allreduce, Iallreduce, (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op),
           (in, out, count, type, op), prof_parts_of_allreduce, -1, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           (const void *in, void *out, const COUNT counts[], MPI_Datatype type, MPI_Op op),
           (in, out, counts, type, op), prof_parts_of_reduce_scatter, -1, side_of(in, 0, NULL, 0, type, NULL),
           side_of(out, 0, counts, sizeof *counts, type, NULL))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op), (in, out, count, type, op),
           prof_parts_of_reduce_scatter_block, -1, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Scan, Iscan, (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op),
           (in, out, count, type, op), prof_parts_of_scan, -1, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Exscan, Iexscan, (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op),
           (in, out, count, type, op), prof_parts_of_scan, -1, VECTOR_IN, VECTOR_OUT)
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS),
           prof_parts_of_neighbor_allgather, -1, IN, OUT)
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, (IN_PARAMS, OUT_COUNTS_PARAMS),
           (IN_ARGS, OUT_COUNTS_ARGS), prof_parts_of_neighbor_allgather, -1, IN, OUT_COUNTS)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS),
           prof_parts_of_neighbor_alltoall, -1, IN, OUT)
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, (IN_COUNTS_PARAMS, OUT_COUNTS_PARAMS),
           (IN_COUNTS_ARGS, OUT_COUNTS_ARGS), prof_parts_of_neighbor_alltoall, -1, IN_COUNTS, OUT_COUNTS)
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
           (const void *in, const COUNT in_counts[], const MPI_Aint in_displs[],
            const MPI_Datatype in_types[], void *out, const COUNT out_counts[], const MPI_Aint out_displs[],
            const MPI_Datatype out_types[]),
           (in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types),
           prof_parts_of_neighbor_alltoall, -1, IN_TYPES, OUT_TYPES)
