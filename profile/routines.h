/* The routines of MPI that the profiler counts, without the prefix MPI_. A form with large counts
 * (MPI_Send_c) counts as the one without. */
#ifndef PROF_ROUTINES_H
#define PROF_ROUTINES_H

#define PROF_MESSAGES(X)                                                                                     \
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
    X(Psend_init)                                                                                            \
    X(Sendrecv)                                                                                              \
    X(Sendrecv_replace)                                                                                      \
    X(Isendrecv)                                                                                             \
    X(Isendrecv_replace)                                                                                     \
    X(Recv)                                                                                                  \
    X(Irecv)                                                                                                 \
    X(Recv_init)                                                                                             \
    X(Precv_init)                                                                                            \
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
    X(Testsome)

/* Collectives: the names of the blocking and of the non-blocking form. */
#define PROF_COLLECTIVES(EACH, X)                                                                            \
    EACH(X, Barrier, Ibarrier)                                                                               \
    EACH(X, Bcast, Ibcast)                                                                                   \
    EACH(X, Gather, Igather)                                                                                 \
    EACH(X, Gatherv, Igatherv)                                                                               \
    EACH(X, Scatter, Iscatter)                                                                               \
    EACH(X, Scatterv, Iscatterv)                                                                             \
    EACH(X, Allgather, Iallgather)                                                                           \
    EACH(X, Allgatherv, Iallgatherv)                                                                         \
    EACH(X, Alltoall, Ialltoall)                                                                             \
    EACH(X, Alltoallv, Ialltoallv)                                                                           \
    EACH(X, Alltoallw, Ialltoallw)                                                                           \
    EACH(X, Reduce, Ireduce)                                                                                 \
    EACH(X, Allreduce, Iallreduce)                                                                           \
    EACH(X, Reduce_scatter, Ireduce_scatter)                                                                 \
    EACH(X, Reduce_scatter_block, Ireduce_scatter_block)                                                     \
    EACH(X, Scan, Iscan)                                                                                     \
    EACH(X, Exscan, Iexscan)                                                                                 \
    EACH(X, Neighbor_allgather, Ineighbor_allgather)                                                         \
    EACH(X, Neighbor_allgatherv, Ineighbor_allgatherv)                                                       \
    EACH(X, Neighbor_alltoall, Ineighbor_alltoall)                                                           \
    EACH(X, Neighbor_alltoallv, Ineighbor_alltoallv)                                                         \
    EACH(X, Neighbor_alltoallw, Ineighbor_alltoallw)

#define PROF_ONE_SIDED(X)                                                                                    \
    X(Put)                                                                                                   \
    X(Rput)                                                                                                  \
    X(Get)                                                                                                   \
    X(Rget)                                                                                                  \
    X(Accumulate)                                                                                            \
    X(Raccumulate)                                                                                           \
    X(Get_accumulate)                                                                                        \
    X(Rget_accumulate)                                                                                       \
    X(Fetch_and_op)                                                                                          \
    X(Compare_and_swap)                                                                                      \
    X(Win_fence)                                                                                             \
    X(Win_start)                                                                                             \
    X(Win_complete)                                                                                          \
    X(Win_post)                                                                                              \
    X(Win_wait)                                                                                              \
    X(Win_test)                                                                                              \
    X(Win_lock)                                                                                              \
    X(Win_unlock)                                                                                            \
    X(Win_lock_all)                                                                                          \
    X(Win_unlock_all)                                                                                        \
    X(Win_flush)                                                                                             \
    X(Win_flush_all)                                                                                         \
    X(Win_flush_local)                                                                                       \
    X(Win_flush_local_all)                                                                                   \
    X(Win_sync)

#define PROF_THREE_FORMS(X, name, iname) X(name) X(iname) X(name##_init)
#define PROF_ROUTINES(X) PROF_MESSAGES(X) PROF_COLLECTIVES(PROF_THREE_FORMS, X) PROF_ONE_SIDED(X)

#define PROF_ROUTINE(name) PROF_##name,
typedef enum { PROF_ROUTINES(PROF_ROUTINE) PROF_ROUTINE_COUNT } prof_routine_t;
#undef PROF_ROUTINE

#endif
