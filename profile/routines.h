/* The routines of MPI that the profiler counts, without the prefix MPI_. */
#ifndef PROF_ROUTINES_H
#define PROF_ROUTINES_H

#define PROF_ROUTINES(X)                                                                                     \
    X(Send)                                                                                                  \
    X(Bsend)                                                                                                 \
    X(Ssend)                                                                                                 \
    X(Rsend)                                                                                                 \
    X(Isend)                                                                                                 \
    X(Ibsend)                                                                                                \
    X(Issend)                                                                                                \
    X(Irsend)                                                                                                \
    X(Send_init)                                                                                             \
    X(Bsend_init)                                                                                            \
    X(Ssend_init)                                                                                            \
    X(Rsend_init)                                                                                            \
    X(Sendrecv)                                                                                              \
    X(Sendrecv_replace)                                                                                      \
    X(Recv)                                                                                                  \
    X(Irecv)                                                                                                 \
    X(Recv_init)                                                                                             \
    X(Mrecv)                                                                                                 \
    X(Imrecv)                                                                                                \
    X(Probe)                                                                                                 \
    X(Iprobe)                                                                                                \
    X(Mprobe)                                                                                                \
    X(Improbe)                                                                                               \
    X(Start)                                                                                                 \
    X(Startall)                                                                                              \
    X(Wait)                                                                                                  \
    X(Waitall)                                                                                               \
    X(Waitany)                                                                                               \
    X(Waitsome)                                                                                              \
    X(Test)                                                                                                  \
    X(Testall)                                                                                               \
    X(Testany)                                                                                               \
    X(Testsome)                                                                                              \
    X(Barrier)                                                                                               \
    X(Bcast)                                                                                                 \
    X(Gather)                                                                                                \
    X(Gatherv)                                                                                               \
    X(Scatter)                                                                                               \
    X(Scatterv)                                                                                              \
    X(Allgather)                                                                                             \
    X(Allgatherv)                                                                                            \
    X(Alltoall)                                                                                              \
    X(Alltoallv)                                                                                             \
    X(Alltoallw)                                                                                             \
    X(Reduce)                                                                                                \
    X(Allreduce)                                                                                             \
    X(Reduce_scatter)                                                                                        \
    X(Reduce_scatter_block)                                                                                  \
    X(Scan)                                                                                                  \
    X(Exscan)                                                                                                \
    X(Neighbor_allgather)                                                                                    \
    X(Neighbor_allgatherv)                                                                                   \
    X(Neighbor_alltoall)                                                                                     \
    X(Neighbor_alltoallv)                                                                                    \
    X(Neighbor_alltoallw)                                                                                    \
    X(Ibarrier)                                                                                              \
    X(Ibcast)                                                                                                \
    X(Igather)                                                                                               \
    X(Igatherv)                                                                                              \
    X(Iscatter)                                                                                              \
    X(Iscatterv)                                                                                             \
    X(Iallgather)                                                                                            \
    X(Iallgatherv)                                                                                           \
    X(Ialltoall)                                                                                             \
    X(Ialltoallv)                                                                                            \
    X(Ialltoallw)                                                                                            \
    X(Ireduce)                                                                                               \
    X(Iallreduce)                                                                                            \
    X(Ireduce_scatter)                                                                                       \
    X(Ireduce_scatter_block)                                                                                 \
    X(Iscan)                                                                                                 \
    X(Iexscan)                                                                                               \
    X(Ineighbor_allgather)                                                                                   \
    X(Ineighbor_allgatherv)                                                                                  \
    X(Ineighbor_alltoall)                                                                                    \
    X(Ineighbor_alltoallv)                                                                                   \
    X(Ineighbor_alltoallw)

#define PROF_ROUTINE(name) PROF_##name,
typedef enum { PROF_ROUTINES(PROF_ROUTINE) PROF_ROUTINE_COUNT } prof_routine_t;
#undef PROF_ROUTINE

#endif
