/* GPUs whose threads are coroutines: what the code of kernels needs to run on the host as a whole, with
 * barriers, flags and waiting. One thread runs at a time, until it meets others, polls or signals; which one
 * goes on then is drawn. Each GPU begins its next run as soon as its blocks have ended the last one, so GPUs
 * drift apart as far as the program lets them. Include cmocka.h first; C++. */
#ifndef PTO_GPU_THREADS_H
#define PTO_GPU_THREADS_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ucontext.h>
#include <vector>

#include "test.h"

#define PTO_KERNEL_MEMORY_CUH
#define __device__
#define __noinline__
struct uint4 {
    uint32_t x, y, z, w;
};
struct place_t {
    unsigned x;
};
static place_t threadIdx, blockIdx, blockDim, gridDim;
using std::max;
using std::min;

static uint64_t random_state = 1;
static unsigned random_below(unsigned bound) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<unsigned>((random_state >> 33) % bound);
}

/* --- threads -------------------------------------------------------------------------------------------- */

enum { LANES = 32, STACK_BYTES = 1 << 16, STEPS_MAX = 100000000 };

struct meeting {
    unsigned here;
    bool vote;
};

struct emulated_block {
    volatile unsigned gave_up;
    meeting all;
    std::vector<meeting> warp;
    unsigned ended; /* threads */
};

struct emulated_thread {
    ucontext_t context;
    std::vector<char> stack;
    unsigned gpu, block, index;
    bool result; /* of the last vote */
};

struct emulated_gpu {
    unsigned blocks, threads; /* of each block */
    std::function<void(unsigned block)> kernel;
    std::function<bool()> next; /* between runs: whether there is another one */
    std::vector<emulated_block> block;
    unsigned ended; /* blocks */
};

static std::vector<emulated_gpu> gpus;
static std::vector<emulated_thread> threads;
static std::vector<emulated_thread *> ready;
static ucontext_t scheduler;
static emulated_thread *running;
static uint64_t steps;
static unsigned slow_gpu =
    UINT32_MAX; /* whose threads others overtake: it is drawn that often before it goes on */
static int slow_draws;

static emulated_block &own_block() { return gpus[running->gpu].block[running->block]; }

static void set_place() {
    threadIdx.x = running->index;
    blockIdx.x = running->block;
    blockDim.x = gpus[running->gpu].threads;
    gridDim.x = gpus[running->gpu].blocks;
}

/* The thread that goes on next; NULL: none can, or too many steps were taken. */
static emulated_thread *draw_thread() {
    if (ready.empty() || ++steps > STEPS_MAX)
        return nullptr;
    for (int draws = 0; draws == 0 || (draws < slow_draws && ready.back()->gpu == slow_gpu); draws++)
        std::swap(ready[random_below(static_cast<unsigned>(ready.size()))], ready.back());
    emulated_thread *drawn = ready.back();
    ready.pop_back();
    return drawn;
}

/* Let another thread go on; returns once this one may. */
static void leave() {
    emulated_thread *left = running;
    running = draw_thread();
    if (running == left)
        return;
    if (running)
        set_place();
    swapcontext(left ? &left->context : &scheduler, running ? &running->context : &scheduler);
}

static void yield() {
    ready.push_back(running);
    leave();
}

/* All `count` threads from `first` on meet; returns whether any of them voted for it. */
static bool meet(meeting &at, unsigned first, unsigned count, bool vote) {
    at.vote |= vote;
    if (++at.here < count) {
        leave();
        return running->result;
    }
    const bool result = at.vote;
    emulated_thread *begin = running - running->index + first;
    for (emulated_thread *other = begin; other < begin + count; other++) {
        other->result = result;
        if (other != running)
            ready.push_back(other);
    }
    at = {0, false};
    return result;
}

static void __syncthreads() { meet(own_block().all, 0, blockDim.x, false); }

static bool __any_sync(uint32_t, bool vote) {
    const unsigned warp = threadIdx.x / LANES;
    return meet(own_block().warp[warp], warp * LANES, LANES, vote);
}

static void __syncwarp() { __any_sync(UINT32_MAX, false); }

/* The next run of a GPU, if there is one. */
static void begin_run(unsigned number) {
    emulated_gpu &gpu = gpus[number];
    gpu.ended = 0;
    if (!gpu.next())
        return;
    for (emulated_block &block : gpu.block)
        block = {0xdead, {0, false}, std::vector<meeting>(gpu.threads / LANES), 0};
    for (emulated_thread &thread : threads)
        if (thread.gpu == number)
            ready.push_back(&thread);
}

static void run_thread() {
    for (;;) {
        emulated_gpu &gpu = gpus[running->gpu];
        gpu.kernel(running->block);
        if (++own_block().ended == gpu.threads && ++gpu.ended == gpu.blocks)
            begin_run(running->gpu);
        leave();
    }
}

static void make_thread(emulated_thread &made, unsigned gpu, unsigned block, unsigned index) {
    made.gpu = gpu, made.block = block, made.index = index;
    made.stack.resize(STACK_BYTES);
    getcontext(&made.context);
    made.context.uc_stack.ss_sp = made.stack.data();
    made.context.uc_stack.ss_size = made.stack.size();
    makecontext(&made.context, run_thread, 0);
}

static void run_all() {
    unsigned count = 0;
    for (const emulated_gpu &gpu : gpus)
        count += gpu.blocks * gpu.threads;
    threads = std::vector<emulated_thread>(count);
    emulated_thread *next = threads.data();
    for (unsigned gpu = 0; gpu < gpus.size(); gpu++) {
        gpus[gpu].block.resize(gpus[gpu].blocks);
        for (unsigned block = 0; block < gpus[gpu].blocks; block++)
            for (unsigned index = 0; index < gpus[gpu].threads; index++)
                make_thread(*next++, gpu, block, index);
    }
    for (unsigned gpu = 0; gpu < gpus.size(); gpu++)
        begin_run(gpu);
    steps = 0;
    running = nullptr;
    leave();
    if (!ready.empty())
        fail_msg("a thread waits for what never comes");
}

/* --- kernel_memory.cuh ---------------------------------------------------------------------------------- */

struct alignas(16) block_state {
    uint64_t last_run, gave_up_in;
};
struct line {
    uint64_t half[2];
};

static void after_others() {
    if (random_below(2))
        yield();
}
static void store_release(uint64_t *at, uint64_t value) {
    after_others();
    *at = value;
}
static uint64_t load_acquire(const uint64_t *at) {
    yield();
    return *at;
}
static block_state load_state(const block_state *at) {
    after_others();
    return *at;
}
static bool is_last_block(unsigned *blocks_completed) {
    after_others();
    *blocks_completed = (*blocks_completed + 1) % gridDim.x;
    return *blocks_completed == 0;
}
static void wait_for_run_before() { after_others(); }
static volatile unsigned *gave_up_here() { return &own_block().gave_up; }
static uint64_t now_ns() { return 1000 * (steps + 1); }
static uint64_t load_host(const uint64_t *at) { return *at; }
static uint4 load_now(const char *at) {
    uint4 data;
    after_others();
    memcpy(&data, at, sizeof data);
    return data;
}
static line load_line(const char *at) {
    line read;
    after_others();
    memcpy(&read, at, sizeof read);
    return read;
}
static void store_line(char *at, const line &value) { memcpy(at, &value, sizeof value); }
static uint8_t load_tag(const char *at) { return static_cast<uint8_t>(*at); }
static void store_tag(char *at, uint8_t tag) {
    after_others();
    *at = static_cast<char>(tag);
}

#endif
