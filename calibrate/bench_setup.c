/* Setup: what a plan needs once before its first run, by all processes of the first node at once, as they do
 * it then. Opening GPU memory of another process by CUDA IPC (setup_open), allocating and exporting GPU
 * memory or allocating pinned host memory (setup_allocate), and a segment of shared memory that one process
 * makes and the others open (setup_segment). Undoing it is not timed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "benchmark.h"
#include "fatal.h"
#include "shm.h"

typedef enum { OPEN, ALLOCATE, SEGMENT } kind_t;

enum { SEGMENT_BYTES = 4096, PATH_MAX_CHARACTERS = 64 };

/* --- cases ---------------------------------------------------------------------------------------------- */

static case_t *add_case(case_list_t *list, kind_t kind, const char *name, pto_space_t space, int members) {
    case_t *added = case_add(list, name, members);
    added->space = pto_space_name(space);
    added->buffers = space;
    added->procs = members;
    added->detail[0] = kind;
    return added;
}

/* The first processes of node 0. */
static void fill_members(const job_t *job, case_t *added) {
    for (int i = 0; i < added->member_count; i++) {
        added->member[i] = job_rank_at(job, 0, i);
    }
}

static void list_allocations(const job_t *job, pto_space_t space, case_list_t *list) {
    int most = job_processes_on(job, 0);
    for (int count = 1; count > 0; count = next_count(count, most)) {
        fill_members(job, add_case(list, ALLOCATE, "setup_allocate", space, count));
    }
}

/* The processes of node 0 whose GPUs reach rank `owner`'s; returns how many. */
static int find_openers(const job_t *job, int owner, int *found) {
    int count = 0;
    for (int i = 0; i < job_processes_on(job, 0); i++) {
        int rank = job_rank_at(job, 0, i);
        int device = job->process[rank].device, there = job->process[owner].device;
        if (rank != owner && (device == there || job->reach[device][there])) {
            found[count++] = rank;
        }
    }
    return count;
}

static void list_openings(const job_t *job, case_list_t *list) {
    int *opener = must_allocate((size_t)job->size, sizeof *opener);
    int owner = job_rank_at(job, 0, 0);
    int most = find_openers(job, owner, opener);
    if (most == 0) {
        case_skip(list, "setup_open", "no other process of the first node reaches the first one's GPU");
    }
    for (int count = most > 0; count > 0; count = next_count(count, most)) {
        case_t *added = add_case(list, OPEN, "setup_open", PTO_SPACE_GPU, count + 1);
        added->procs = count;
        added->member[0] = owner;
        for (int i = 0; i < count; i++) {
            added->member[i + 1] = opener[i];
        }
    }
    free(opener);
}

static void list_cases(const job_t *job, case_list_t *list) {
    int most = job_processes_on(job, 0);
    if (job->no_gpu[0] == '\0') {
        list_openings(job, list);
        list_allocations(job, PTO_SPACE_GPU, list);
        list_allocations(job, PTO_SPACE_CPU, list);
    } else {
        case_skip(list, "setup_open", job->no_gpu);
        case_skip(list, "setup_allocate", job->no_gpu);
    }
    if (most > 1) {
        case_t *added = add_case(list, SEGMENT, "setup_segment", PTO_SPACE_CPU, most);
        added->sized = false;
        fill_members(job, added);
    } else {
        case_skip(list, "setup_segment", "only one process is on the first node");
    }
}

/* --- trials: seconds of what is timed; members start each iteration together ---------------------------- */

/* Member 0 owns the memory and only helps. */
static double open_memory(const work_t *work, int64_t bytes, int iterations) {
    void *memory = NULL;
    pto_memory_handle_t handle;
    double elapsed = 0.0;
    if (work->me == 0) {
        GPU_DO(gpu.device->allocate((size_t)bytes, &memory, &gpu_error));
        GPU_DO(gpu.device->export_memory(memory, &handle, &gpu_error));
    }
    MPI_DO(MPI_Bcast(&handle, (int)sizeof handle, MPI_BYTE, 0, work->comm));
    for (int i = 0; i < iterations; i++) {
        void *opened = NULL;
        together_wait(work->together);
        double start = now_s();
        if (work->me > 0) {
            GPU_DO(gpu.device->open_memory(&handle, &opened, &gpu_error));
            elapsed += now_s() - start;
        }
        together_wait(work->together);
        if (work->me > 0) {
            GPU_DO(gpu.device->close_memory(opened, &gpu_error));
        }
    }
    MPI_DO(MPI_Barrier(work->comm)); /* the memory may not be freed while another process has it open */
    if (work->me == 0) {
        GPU_DO(gpu.device->release(memory, &gpu_error));
    }
    return elapsed;
}

static double allocate_memory(const work_t *work, int64_t bytes, int iterations) {
    bool on_gpu = work->what->buffers == PTO_SPACE_GPU;
    double elapsed = 0.0;
    for (int i = 0; i < iterations; i++) {
        void *memory = NULL;
        pto_memory_handle_t handle;
        together_wait(work->together);
        double start = now_s();
        if (on_gpu) {
            GPU_DO(gpu.device->allocate((size_t)bytes, &memory, &gpu_error));
            GPU_DO(gpu.device->export_memory(memory, &handle, &gpu_error));
        } else {
            GPU_DO(gpu.device->allocate_staging((size_t)bytes, &memory, &gpu_error));
        }
        elapsed += now_s() - start;
        together_wait(work->together);
        GPU_DO((on_gpu ? gpu.device->release : gpu.device->release_staging)(memory, &gpu_error));
    }
    return elapsed;
}

/* As the executor does it: without a name as soon as it is there, so that none is left over. */
static void *make_segment(int *descriptor) {
    char name[PTO_SHARED_NAME_MAX];
    pto_shared_name(name);
    *descriptor = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (*descriptor >= 0) {
        shm_unlink(name);
    }
    if (*descriptor < 0 || posix_fallocate(*descriptor, 0, SEGMENT_BYTES) != 0) {
        die("no shared memory of %d bytes: /dev/shm is missing, full or not writable", SEGMENT_BYTES);
    }
    return mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *descriptor, 0);
}

static void *open_segment(const int place[2]) {
    char path[PATH_MAX_CHARACTERS];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", place[0], place[1]);
    int descriptor = open(path, O_RDWR);
    if (descriptor < 0) {
        die("another process's shared memory can't be opened at %s", path);
    }
    void *memory = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    return memory;
}

static double share_segment(const work_t *work, int iterations) {
    double elapsed = 0.0;
    for (int i = 0; i < iterations; i++) {
        void *memory = NULL;
        int place[2] = {(int)getpid(), -1}; /* the maker's process and descriptor */
        together_wait(work->together);
        double start = now_s();
        if (work->me == 0) {
            memory = make_segment(&place[1]);
        }
        MPI_DO(MPI_Bcast(place, 2, MPI_INT, 0, work->comm));
        if (work->me > 0) {
            memory = open_segment(place);
        }
        MPI_DO(MPI_Barrier(work->comm));
        elapsed += now_s() - start;
        if (memory == MAP_FAILED) {
            die("a segment of %d bytes of shared memory can't be mapped", SEGMENT_BYTES);
        }
        munmap(memory, SEGMENT_BYTES);
        if (work->me == 0) {
            close(place[1]);
        }
    }
    return elapsed;
}

static void *open_case(const work_t *work) { return (void *)work; }

static double trial(void *opaque, int64_t bytes, int iterations) {
    const work_t *work = opaque;
    switch ((kind_t)work->what->detail[0]) {
    case OPEN:
        return open_memory(work, bytes, iterations);
    case ALLOCATE:
        return allocate_memory(work, bytes, iterations);
    case SEGMENT:
        break;
    }
    return share_segment(work, iterations);
}

static void close_case(void *opaque) { (void)opaque; }

const benchmark_t bench_setup = {
    .name = "setup",
    .group = "setup",
    .rows = "setup_open, setup_allocate, setup_segment",
    .summary =
        "once before a plan's first run: opening others' GPU memory, allocating, shared memory for flags",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
