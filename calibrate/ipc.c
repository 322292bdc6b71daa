/* GPU memory shared by CUDA IPC (ipc.h): members exchange handles by MPI and open those of the others. */
#include "ipc.h"

#include "fatal.h"
#include "memory.h"

int ipc_pairs(const job_t *job, pto_reach_t reach, pair_t pairs[PAIRS_MAX], const char *benchmark,
              case_list_t *list) {
    pto_level_t level = reach == PTO_REACH_ON_SOCKET ? PTO_LEVEL_ON_SOCKET : PTO_LEVEL_ON_NODE;
    pair_t found[PAIRS_MAX];
    int found_count = pairs_find(job, PTO_SPACE_GPU, level, found);
    int count = 0;
    for (int i = 0; i < found_count; i++) {
        int a = job->process[found[i].a].device;
        int b = job->process[found[i].b].device;
        if (job->reach[a][b] && job->reach[b][a])
            pairs[count++] = found[i];
    }
    if (count == 0) {
        case_skip(list,
                  found_count == 0 ? "no two processes of a node drive different GPUs so placed"
                                   : "the GPUs can't reach each other's memory",
                  "%s_%s", benchmark, pto_reach_name(reach));
    }
    return count;
}

void ipc_cases(const job_t *job, const char *benchmark, case_list_t *list) {
    for (pto_reach_t reach = PTO_REACH_ON_SOCKET; reach <= PTO_REACH_OFF_SOCKET; reach++) {
        pair_t pairs[PAIRS_MAX];
        int count = ipc_pairs(job, reach, pairs, benchmark, list);
        for (int i = 0; i < count; i++)
            pairs_case(list, benchmark, &pairs[i], pto_reach_name(reach), PTO_SPACE_GPU);
    }
}

void ipc_open(const work_t *work, void *own, void **opened) {
    int count = work->bench_case->member_count;
    pto_memory_handle_t mine;
    GPU_DO(gpu.device->export_memory(own, &mine, &gpu_error));
    pto_memory_handle_t *handles = memory_array(work, (size_t)count, sizeof *handles);
    MPI_DO(MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, handles, (int)sizeof mine, MPI_BYTE, work->comm));
    for (int i = 0; i < count; i++) {
        opened[i] = own;
        if (i != work->me)
            opened[i] = memory_opened(work, &handles[i]);
    }
    memory_is_shared(work);
}

void ipc_buffers_open(const work_t *work) {
    ipc_buffers_t *buffers = work->state;
    buffers->source = memory_buffer(work, PTO_SPACE_GPU, work->room_bytes);
    buffers->area = memory_buffer(work, PTO_SPACE_GPU, work->room_bytes);
    ipc_open(work, buffers->area, buffers->opened);
}
