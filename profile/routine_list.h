/* ROUTINE(name) for each MPI routine that the profiler counts, in the order of the rows in its files. A form
 * with large counts (MPI_Send_c) is counted as the one without. */
ROUTINE(Send)
ROUTINE(Bsend)
ROUTINE(Ssend)
ROUTINE(Rsend)
ROUTINE(Isend)
ROUTINE(Ibsend)
ROUTINE(Issend)
ROUTINE(Irsend)
ROUTINE(Send_init)
ROUTINE(Bsend_init)
ROUTINE(Ssend_init)
ROUTINE(Rsend_init)
ROUTINE(Psend_init)
ROUTINE(Sendrecv)
ROUTINE(Sendrecv_replace)
ROUTINE(Isendrecv)
ROUTINE(Isendrecv_replace)
ROUTINE(Recv)
ROUTINE(Irecv)
ROUTINE(Recv_init)
ROUTINE(Precv_init)
ROUTINE(Mrecv)
ROUTINE(Imrecv)
ROUTINE(Probe)
ROUTINE(Iprobe)
ROUTINE(Mprobe)
ROUTINE(Improbe)
ROUTINE(Start)
ROUTINE(Startall)
ROUTINE(Wait)
ROUTINE(Waitall)
ROUTINE(Waitany)
ROUTINE(Waitsome)
ROUTINE(Test)
ROUTINE(Testall)
ROUTINE(Testany)
ROUTINE(Testsome)

ROUTINE(Barrier)
ROUTINE(Ibarrier)
ROUTINE(Barrier_init)
#define COLLECTIVE(name, iname, ...) ROUTINE(name) ROUTINE(iname) ROUTINE(name##_init)
#include "collective_list.h"
#undef COLLECTIVE

#define ACCESS(name, rname, ...) ROUTINE(name) ROUTINE(rname)
#define CREATES(...)
#include "one_sided_list.h"
#undef ACCESS
#undef CREATES
ROUTINE(Fetch_and_op)
ROUTINE(Compare_and_swap)

#define SYNC(name, ...) ROUTINE(name)
#include "synchronization_list.h"
#undef SYNC
