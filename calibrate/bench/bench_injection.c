/* Injection: 1 .. ppn processes of a node send to their partners on another node at the same time. This shows
 * when the node's limit R_N, instead of the processes' own rate, determines the time (the max-rate model of
 * Gropp, Olson and Samfass 2016).
 *
 * Messages go there and back, and half of the time is one way. Partners answer only when all of them have
 * their message: otherwise early answers would overlap with messages in the other direction, and half a round
 * trip would take less than one way. The barriers, in shared memory, take a fraction of a microsecond. */
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "memory.h"
#include "pairs.h"

static void list_cases(const job_t *job, pto_space_t space, case_list_t *list) {
    if (job->node_count < 2) {
        case_skip(list, "the job has one node", "injection_%s", pto_space_name(space));
        return;
    }
    int *from = must_allocate((size_t)job->size, sizeof *from);
    int *to = must_allocate((size_t)job->size, sizeof *to);
    int from_count = pairs_on_node(job, space, 0, from);
    int to_count = pairs_on_node(job, space, 1, to);
    int max = from_count < to_count ? from_count : to_count;
    for (int procs = 1; procs != 0; procs = next_count(procs, max)) {
        case_t *added = case_add_in(list, "injection", space, 2 * procs);
        added->level = pto_level_name(PTO_LEVEL_OFF_NODE);
        added->procs = procs;
        memcpy(added->member, from, (size_t)procs * sizeof *from);
        memcpy(added->member + procs, to, (size_t)procs * sizeof *to);
    }
    free(from);
    free(to);
}

static void go_and_return(const work_t *work, int64_t bytes) {
    const ping_pong_buffers_t *state = work->state;
    MPI_Comm comm = work->comm;
    int procs = work->bench_case->procs, count = (int)bytes;
    if (work->me < procs) {
        int partner = work->me + procs;
        together_wait(work->together);
        MPI_DO(MPI_Send(state->outgoing, count, MPI_BYTE, partner, 0, comm));
        MPI_DO(MPI_Recv(state->incoming, count, MPI_BYTE, partner, 0, comm, MPI_STATUS_IGNORE));
    } else {
        int partner = work->me - procs;
        MPI_DO(MPI_Recv(state->incoming, count, MPI_BYTE, partner, 0, comm, MPI_STATUS_IGNORE));
        together_wait(work->together);
        MPI_DO(MPI_Send(state->outgoing, count, MPI_BYTE, partner, 0, comm));
    }
}

const benchmark_t bench_injection = {
    .name = "injection",
    .summary = "1 .. ppn processes of a node sending to their partners on another at once",
    .state_bytes = sizeof(ping_pong_buffers_t),
    .list_in = list_cases,
    .open = ping_pong_open,
    .once = go_and_return,
    .times = TIMES_ROUND_TRIP,
};
