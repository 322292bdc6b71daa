/* The collectives that the drop-in can take over, for each_count.h: TAKE(name, parameters up to the
 * communicator, arguments, declarations, initializer of drop_call_t). COUNT and the names in _PARAMS and
 * _ARGS are those of each_count.h, VECTOR, BLOCKS and the names in _COUNTS those of intercept.c. */
TAKE(Allreduce, (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op),
     (in, out, count, type, op), (void)0,
     {.collective = PTO_COLLECTIVE_ALLREDUCE, VECTOR, .op = op, .root = -1})
TAKE(Reduce, (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op, int root),
     (in, out, count, type, op, root), (void)0,
     {.collective = PTO_COLLECTIVE_REDUCE, VECTOR, .op = op, .root = root})
TAKE(Reduce_scatter_block, (const void *in, void *out, COUNT count, MPI_Datatype type, MPI_Op op),
     (in, out, count, type, op), (void)0,
     {.collective = PTO_COLLECTIVE_REDUCE_SCATTER, VECTOR, .op = op, .root = -1})
TAKE(Reduce_scatter, (const void *in, void *out, const COUNT counts[], MPI_Datatype type, MPI_Op op),
     (in, out, counts, type, op), COUNT count = counts ? counts[0] : 0,
     {.collective = PTO_COLLECTIVE_REDUCE_SCATTER,
      VECTOR,
      .out_counts = {counts, NULL, sizeof *counts > sizeof(int)},
      .op = op,
      .root = -1})
TAKE(Allgather, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS), (void)0,
     {.collective = PTO_COLLECTIVE_ALLGATHER, BLOCKS, .op = MPI_OP_NULL, .root = -1})
TAKE(Allgatherv, (IN_PARAMS, OUT_COUNTS_PARAMS), (IN_ARGS, OUT_COUNTS_ARGS), (void)0,
     {.collective = PTO_COLLECTIVE_ALLGATHERV,
      .in = in,
      .out = out,
      .in_count = in_count,
      .in_type = in_type,
      .out_type = out_type,
      .out_counts = OUT_COUNTS,
      .op = MPI_OP_NULL,
      .root = -1})
TAKE(Alltoall, (IN_PARAMS, OUT_PARAMS), (IN_ARGS, OUT_ARGS), (void)0,
     {.collective = PTO_COLLECTIVE_ALLTOALL, BLOCKS, .op = MPI_OP_NULL, .root = -1})
TAKE(Alltoallv, (IN_COUNTS_PARAMS, OUT_COUNTS_PARAMS), (IN_COUNTS_ARGS, OUT_COUNTS_ARGS), (void)0,
     {.collective = PTO_COLLECTIVE_ALLTOALLV, IN_AND_OUT_COUNTS, .op = MPI_OP_NULL, .root = -1})
TAKE(Bcast, (void *out, COUNT count, MPI_Datatype type, int root), (out, count, type, root),
     const void *in = out, {.collective = PTO_COLLECTIVE_BROADCAST, VECTOR, .op = MPI_OP_NULL, .root = root})
