/* Copies of one process: between host and device in both directions, with pinned and pageable memory, on the
 * GPU's socket and off it; and between two devices. The column `pair` has process-GPU, or process:GPU-GPU.
 * All other processes are idle. */
#include <stdio.h>

#include "fatal.h"
#include "memcpy_common.h"
#include "memory.h"
#include "pairs.h"

/* The details of a case. DETAIL_KIND is set by copying_case. DETAIL_PEER_OR_PAGEABLE: between devices, the
 * target device; otherwise whether host memory is pageable. */
enum { DETAIL_KIND, DETAIL_DEVICE, DETAIL_PEER_OR_PAGEABLE };

/* Returns a process of node 0 on the device's socket, or off it: the process that uses the device if there is
 * one, else the first; -1: none. */
static int process_for(const job_t *job, int device, bool on_socket) {
    int first = -1;
    for (int rank = 0; rank < job->size; rank++) {
        const process_t *process = &job->process[rank];
        if (process->node != job->process[0].node || job_on_socket(job, rank, device) != on_socket)
            continue;
        if (process->device == device)
            return rank;
        first = first < 0 ? rank : first;
    }
    return first;
}

static void list_host(const job_t *job, pto_copy_kind_t kind, bool pageable, bool on_socket,
                      case_list_t *list) {
    int count = 0;
    for (int device = 0; device < job->device_count && count < PAIRS_MAX; device++) {
        int rank = process_for(job, device, on_socket);
        if (rank < 0)
            continue;
        case_t *added = copying_case(list, pageable ? "memcpy_pageable" : "memcpy", kind, rank, on_socket);
        added->detail[DETAIL_DEVICE] = device;
        added->detail[DETAIL_PEER_OR_PAGEABLE] = pageable;
        snprintf(added->pair, sizeof added->pair, "%d-%d", rank, device);
        count++;
    }
}

static void list_device(const job_t *job, bool on_socket, case_list_t *list) {
    int count = 0;
    for (int device = 0; device < job->device_count; device++) {
        for (int peer = device + 1; peer < job->device_count && count < PAIRS_MAX; peer++) {
            if (job_devices_share_socket(job, device, peer) != on_socket)
                continue;
            int rank = process_for(job, device, true);
            rank = rank >= 0 ? rank : 0;
            case_t *added = copying_case(list, "memcpy", PTO_COPY_D2D, rank, on_socket);
            added->detail[DETAIL_DEVICE] = device;
            added->detail[DETAIL_PEER_OR_PAGEABLE] = peer;
            snprintf(added->pair, sizeof added->pair, "%d:%d-%d", rank, device, peer);
            count++;
        }
    }
}

static void list_cases(const job_t *job, case_list_t *list) {
    for (int on_socket = 1; on_socket >= 0; on_socket--) {
        int before = list->case_count;
        for (int pageable = 0; pageable <= 1; pageable++) {
            list_host(job, PTO_COPY_H2D, pageable, on_socket, list);
            list_host(job, PTO_COPY_D2H, pageable, on_socket, list);
        }
        if (list->case_count == before) {
            case_skip(list,
                      on_socket ? "no process sits on a GPU's socket" : "no process sits off a GPU's socket",
                      "memcpy_%s_socket", on_socket ? "on" : "off");
        }
        before = list->case_count;
        list_device(job, on_socket, list);
        if (list->case_count == before) {
            case_skip(list, on_socket ? "no two GPUs share a socket" : "no two GPUs sit on different sockets",
                      "memcpy_d2d_%s_socket", on_socket ? "on" : "off");
        }
    }
}

/* Selects a device, allocates memory on it, and lets it access the memory of `peer`. */
static void *memory_with_peer(const work_t *work, int device, int peer) {
    gpu_select(device);
    void *memory = memory_buffer(work, PTO_SPACE_GPU, work->max_bytes);
    GPU_DO(gpu.bench->reach(peer, &gpu_error));
    return memory;
}

static void open_case(const work_t *work) {
    copying_t *copying = work->state;
    const int *detail = work->bench_case->detail;
    pto_copy_kind_t kind = (pto_copy_kind_t)detail[DETAIL_KIND];
    int device = detail[DETAIL_DEVICE];
    if (kind == PTO_COPY_D2D) {
        int target_device = detail[DETAIL_PEER_OR_PAGEABLE];
        copying->target = memory_with_peer(work, target_device, device);
        copying->source = memory_with_peer(work, device, target_device);
    } else {
        gpu_select(device);
        copying_make(work, kind, detail[DETAIL_PEER_OR_PAGEABLE] != 0);
    }
}

static void close_case(const work_t *work) { gpu_select(work->job->process[work->job->rank].device); }

const benchmark_t bench_memcpy = {
    .name = "memcpy",
    .group = "copies",
    .rows = "memcpy_h2d, memcpy_d2h, memcpy_d2d, memcpy_pageable_h2d, memcpy_pageable_d2h",
    .summary = "one process copying between host and GPU, or between two GPUs",
    .gpu_only = "memcpy",
    .state_bytes = sizeof(copying_t),
    .list = list_cases,
    .open = open_case,
    .once = copying_once,
    .close = close_case,
};
