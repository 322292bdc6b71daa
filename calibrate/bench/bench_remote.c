/* Remote memory: a kernel copies from another GPU's memory to its own (remote_load_W), or from its own to the
 * other's (remote_store_W), with accesses of W bytes; remote_store_strided stores to every second element of
 * 4 bytes, for which Oden, Klenk and Froening (section on GGAS) measured a tenth of the bandwidth of
 * contiguous elements. `procs` is the number of thread blocks; the largest number fills the GPU. Times
 * include the kernel's launch and the wait for its end. The rows of 0 bytes measure nothing else, so that the
 * fit can tell these from the access. */
#include <stdio.h>

#include "fatal.h"
#include "ipc.h"

enum { DETAIL_STORES, DETAIL_WIDTH, DETAIL_STRIDE };
enum { LEAST_BYTES = 16, WIDEST = 16, STRIDED_WIDTH = 4 };

/* Adds two cases: one of 0 bytes, and one of all sizes. */
static void add_cases(const pair_t *pair, pto_reach_t reach, bool stores, int width, int stride, int blocks,
                      case_list_t *list) {
    char name[CASE_NAME_MAX];
    snprintf(name, sizeof name, "remote_%s_%d", stores ? "store" : "load", width);
    for (int sized = 0; sized < 2; sized++) {
        case_t *added = pairs_case(list, stride > 1 ? "remote_store_strided" : name, pair,
                                   pto_reach_name(reach), PTO_SPACE_GPU);
        added->procs = blocks;
        added->sized = sized == 1;
        added->min_bytes = LEAST_BYTES;
        added->room = stride;
        added->detail[DETAIL_STORES] = stores;
        added->detail[DETAIL_WIDTH] = width;
        added->detail[DETAIL_STRIDE] = stride;
    }
}

static void list_accesses(const pair_t *pair, pto_reach_t reach, int blocks, case_list_t *list) {
    for (int stores = 0; stores < 2; stores++)
        for (int width = 4; width <= WIDEST; width *= 2)
            add_cases(pair, reach, stores, width, 1, blocks, list);
    add_cases(pair, reach, true, STRIDED_WIDTH, 2, blocks, list);
}

/* For pairs after the first, lists only the cases that show the fit how much pairs differ. */
static void list_reach(const job_t *job, pto_reach_t reach, case_list_t *list) {
    static const int some_blocks[] = {1, 8, 32};
    pair_t pairs[PAIRS_MAX];
    int count = ipc_pairs(job, reach, pairs, "remote", list);
    if (count == 0)
        return;
    for (size_t i = 0; i < sizeof some_blocks / sizeof *some_blocks; i++)
        if (some_blocks[i] < job->gpu_blocks)
            list_accesses(&pairs[0], reach, some_blocks[i], list);
    list_accesses(&pairs[0], reach, job->gpu_blocks, list);
    for (int i = 1; i < count; i++) {
        add_cases(&pairs[i], reach, false, WIDEST, 1, job->gpu_blocks, list);
        add_cases(&pairs[i], reach, true, WIDEST, 1, job->gpu_blocks, list);
    }
}

static void list_cases(const job_t *job, case_list_t *list) {
    list_reach(job, PTO_REACH_ON_SOCKET, list);
    list_reach(job, PTO_REACH_OFF_SOCKET, list);
}

static void access_once(const work_t *work, int64_t bytes) {
    const ipc_buffers_t *buffers = work->state;
    const int *detail = work->bench_case->detail;
    void *target = detail[DETAIL_STORES] ? buffers->opened[1] : buffers->area;
    const void *source = detail[DETAIL_STORES] ? buffers->source : buffers->opened[1];
    size_t count = (size_t)bytes / (size_t)detail[DETAIL_WIDTH];
    GPU_DO(gpu.bench->move(target, source, count, detail[DETAIL_WIDTH], detail[DETAIL_STRIDE],
                           work->bench_case->procs, gpu.stream, &gpu_error));
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
}

const benchmark_t bench_remote = {
    .name = "remote",
    .rows = "remote_load_4, _8, _16, remote_store_4, _8, _16, remote_store_strided",
    .summary = "a kernel loading from or storing to another GPU's memory, by width and thread blocks",
    .gpu_only = "remote",
    .state_bytes = sizeof(ipc_buffers_t),
    .list = list_cases,
    .open = ipc_buffers_open,
    .once = access_once,
    .times = TIMES_LEAD,
};
