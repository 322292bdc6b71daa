/* The functions of NCCL that the drop-in can run itself: FUNCTION(name, collective, parameters up to the
 * communicator, arguments, initializers of tap_call_t). Included several times, with different macros;
 * intercept.c defines IN_OUT and BUFFERS. */
FUNCTION(ncclAllReduce, PTO_COLLECTIVE_ALLREDUCE, (IN_OUT, int op), (in, out, count, datatype, op), BUFFERS,
         .op = op)
FUNCTION(ncclAllGather, PTO_COLLECTIVE_ALLGATHER, (IN_OUT), (in, out, count, datatype), BUFFERS)
FUNCTION(ncclReduceScatter, PTO_COLLECTIVE_REDUCE_SCATTER, (IN_OUT, int op), (in, out, count, datatype, op),
         BUFFERS, .op = op)
FUNCTION(ncclAlltoAll, PTO_COLLECTIVE_ALLTOALL, (IN_OUT), (in, out, count, datatype), BUFFERS)
FUNCTION(ncclBroadcast, PTO_COLLECTIVE_BROADCAST, (IN_OUT, int peer), (in, out, count, datatype, peer),
         BUFFERS, .peer = peer)
FUNCTION(ncclBcast, PTO_COLLECTIVE_BROADCAST, (void *out, size_t count, int datatype, int peer),
         (out, count, datatype, peer), .in = out, .out = out, .count = count, .datatype = datatype,
         .peer = peer)
FUNCTION(ncclReduce, PTO_COLLECTIVE_REDUCE, (IN_OUT, int op, int peer), (in, out, count, datatype, op, peer),
         BUFFERS, .op = op, .peer = peer)
FUNCTION(ncclSend, PTO_COLLECTIVE_MESSAGES, (const void *in, size_t count, int datatype, int peer),
         (in, count, datatype, peer), .in = in, .count = count, .datatype = datatype, .peer = peer)
FUNCTION(ncclRecv, PTO_COLLECTIVE_MESSAGES, (void *out, size_t count, int datatype, int peer),
         (out, count, datatype, peer), .out = out, .count = count, .datatype = datatype, .peer = peer)
