/* Peer copies: a process copies from its GPU to that of another process, by CUDA IPC. The column `pair` has
 * the two processes. */
#include "ipc.h"
#include "memcpy_common.h"

static void list_cases(const job_t *job, case_list_t *list) { ipc_cases(job, "memcpy_peer", list); }

static void copy_once(const work_t *work, int64_t bytes) {
    const ipc_buffers_t *buffers = work->state;
    copy_and_wait(move_of_bytes(buffers->opened[1], buffers->source, (size_t)bytes));
}

const benchmark_t bench_memcpy_peer = {
    .name = "memcpy_peer",
    .group = "copies",
    .summary = "one process copying into another's GPU memory, by CUDA IPC",
    .gpu_only = "memcpy_peer",
    .state_bytes = sizeof(ipc_buffers_t),
    .list = list_cases,
    .open = ipc_buffers_open,
    .once = copy_once,
    .times = TIMES_LEAD,
};
