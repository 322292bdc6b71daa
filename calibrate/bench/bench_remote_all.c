/* Stores to remote memory: several GPUs of a node store to each other at the same time, each in one kernel
 * that stores different bytes to all others. In the rows, `procs` is the number of GPUs and `bytes` those for
 * one other GPU. The processes synchronize before and after each kernel, so that all kernels run together. */
#include "fatal.h"
#include "ipc.h"

enum { LEAST_BYTES = 16 }; /* a thread stores 16 bytes at a time */

_Static_assert(GPU_COUNT_MAX - 1 <= PTO_BENCH_TARGETS_MAX, "a kernel can store to all other GPUs of a node");

/* Returns how many of the node's GPUs, from GPU 0 on, have a process and reach each other's memory. */
static int count_gpus_in_reach(const job_t *job) {
    for (int device = 0; device < job->device_count; device++) {
        if (job_process_of_device(job, device, 0) < 0)
            return device; /* the number of devices before it */
        for (int other = 0; other < device; other++)
            if (!job->reach[device][other] || !job->reach[other][device])
                return device;
    }
    return job->device_count;
}

static void add_case(const job_t *job, int gpus, case_list_t *list) {
    case_t *added = case_add(list, "remote_store_all", gpus);
    added->procs = gpus;
    added->buffers = PTO_SPACE_GPU;
    added->min_bytes = LEAST_BYTES;
    added->room = gpus; /* a block for each member that stores here */
    bool on_socket = true;
    for (int i = 0; i < gpus; i++) {
        added->member[i] = job_process_of_device(job, i, 0);
        on_socket = on_socket && job_devices_share_socket(job, i, 0);
    }
    added->level = pto_reach_name(on_socket ? PTO_REACH_ON_SOCKET : PTO_REACH_OFF_SOCKET);
}

static void list_cases(const job_t *job, case_list_t *list) {
    int max = count_gpus_in_reach(job);
    if (max < 2) {
        case_skip(list,
                  "GPUs 0 and 1 of the node do not both have a process, or do not reach each other's memory",
                  "remote_store_all");
        return;
    }
    for (int gpus = 2; gpus != 0; gpus = next_count(gpus, max))
        add_case(job, gpus, list);
}

/* Sets where this member stores: its own block in the area of each other member. The order begins with the
 * next member, so that not all members store to the same one first. */
static void find_targets(const work_t *work, int64_t bytes, void *target[PTO_BENCH_TARGETS_MAX]) {
    const ipc_buffers_t *buffers = work->state;
    int count = work->bench_case->member_count;
    for (int i = 1; i < count; i++) {
        int other = (work->me + i) % count;
        target[i - 1] = (char *)buffers->opened[other] + work->me * bytes;
    }
}

static void store_once(const work_t *work, int64_t bytes) {
    const ipc_buffers_t *buffers = work->state;
    void *target[PTO_BENCH_TARGETS_MAX] = {NULL};
    find_targets(work, bytes, target);
    GPU_DO(gpu.bench->store_all(target, work->bench_case->member_count - 1, buffers->source, (size_t)bytes,
                                work->job->gpu_blocks, gpu.stream, &gpu_error));
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
}

const benchmark_t bench_remote_all = {
    .name = "remote_all",
    .group = "remote",
    .rows = "remote_store_all",
    .summary = "every GPU of a node storing to all others at once",
    .gpu_only = "remote_store_all",
    .state_bytes = sizeof(ipc_buffers_t),
    .list = list_cases,
    .open = ipc_buffers_open,
    .once = store_once,
    .times = TIMES_TOGETHER,
};
