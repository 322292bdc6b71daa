/* Shared copies: 1 .. cores_per_gpu processes of every GPU of a node copy at once, each the full size between
 * pinned memory and a buffer of its own. `procs` counts the processes of one GPU. */
#include <stdio.h>

#include "benchmark.h"
#include "check.h"
#include "copying.h"

/* The index-th process of node 0 that drives a device; -1: none. */
static int process_of_device(const job_t *job, int device, int index) {
    for (int rank = 0; rank < job->size; rank++) {
        const process_t *process = &job->process[rank];
        if (process->node == job->process[0].node && process->device == device && index-- == 0) {
            return rank;
        }
    }
    return -1;
}

/* Processes that every device has. */
static int fewest_of_a_device(const job_t *job) {
    for (int count = 0;; count++) {
        for (int device = 0; device < job->device_count; device++) {
            if (process_of_device(job, device, count) < 0) {
                return count;
            }
        }
    }
}

static void add_case(const job_t *job, gpu_copy_t kind, int procs, case_list_t *list) {
    char name[CASE_NAME_MAX];
    snprintf(name, sizeof name, "memcpy_shared_%s", copying_name(kind));
    case_t *added = case_add(list, name, procs * job->device_count);
    added->procs = procs;
    added->buffers = PTO_SPACE_GPU;
    added->detail[0] = (int)kind;
    bool on_socket = true;
    for (int i = 0; i < added->member_count; i++) {
        int device = i % job->device_count;
        added->member[i] = process_of_device(job, device, i / job->device_count);
        on_socket = on_socket && job_on_socket(job, added->member[i], device);
    }
    added->level = on_socket ? "on_socket" : "off_socket";
}

static void list_cases(const job_t *job, case_list_t *list) {
    if (job->no_gpu[0] != '\0') {
        case_skip(list, "memcpy_shared", job->no_gpu);
        return;
    }
    int most = fewest_of_a_device(job);
    if (most == 0) {
        case_skip(list, "memcpy_shared", "fewer processes than GPUs on the node");
        return;
    }
    for (gpu_copy_t kind = GPU_H2D; kind <= GPU_D2H; kind++) {
        for (int procs = 1; procs != 0; procs = next_count(procs, most)) {
            add_case(job, kind, procs, list);
        }
    }
    if (most == 1) {
        case_skip(list, "memcpy_shared_more", "the job has one process for each GPU");
    }
}

static void *open_case(const work_t *work) {
    copying_t *copying = must_allocate(1, sizeof *copying);
    copying->kind = (gpu_copy_t)work->what->detail[0];
    copying->device = work->job->process[work->job->rank].device;
    copying->home = copying->device;
    copying_open(copying, work->most_bytes);
    return copying;
}

const benchmark_t bench_memcpy_shared = {
    .name = "memcpy_shared",
    .group = "copies",
    .rows = "memcpy_shared_h2d, memcpy_shared_d2h",
    .summary = "1 .. n processes of each GPU of a node copying at once",
    .list = list_cases,
    .open = open_case,
    .trial = copying_trial,
    .close = copying_close,
};
