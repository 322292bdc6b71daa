/* Messages (portolan/messages.h) on NVIDIA GPUs, with a thread block for each channel of each pipe.
 * nccl_dropin calls cuda_pass for a group of ncclSend and ncclRecv.
 *
 * Why the data are visible. As in kernel_cuda.cu: the threads that fill a slot meet at a barrier before one
 * of them releases the count, and the thread that acquires it meets the others at a barrier before any of
 * them reads the slot. Emptying a slot is ordered in the same way.
 *
 * Why it terminates whenever NCCL does. All blocks are resident: there are at most PTO_PIPES_MAX times
 * PTO_PIPE_CHANNELS. A block waits only for the same channel at the other end of its pipe, and both ends pass
 * its chunks in the same order. So all pipes of a group make progress at the same time. */
#include <algorithm>

#include "device/device_cuda.h"
#include "kernel_memory.cuh"
#include "portolan/messages.h"

enum { MESSAGE_THREADS = 256, MESSAGES_NEAR = 64, POLLS_PER_STOP = 1024 };

/* Messages in a kernel's parameter. A longer list is in device memory (`far`). */
struct near_messages {
    pto_message_t message[MESSAGES_NEAR];
};

struct batch {
    pto_pipe_t pipe[PTO_PIPES_MAX];
    const pto_message_t *far; /* the messages; nullptr: they are in `near` */
    const uint64_t *stop;
    near_messages near;
};

/* Waits until a count is at least `least`. Returns false if stopped. */
static __device__ bool await_count(const uint64_t *count, uint64_t least, const uint64_t *stop) {
    for (unsigned polls = 1; load_acquire(count) < least; polls++)
        if (polls % POLLS_PER_STOP == 0 && load_host(stop) != 0)
            return false;
    return true;
}

static __device__ void copy_bytes(char *to, const char *from, int64_t bytes) {
    const bool wide =
        (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % sizeof(uint4) == 0;
    const int64_t words = wide ? bytes / static_cast<int64_t>(sizeof(uint4)) : 0;
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < words; i += MESSAGE_THREADS)
        reinterpret_cast<uint4 *>(to)[i] = reinterpret_cast<const uint4 *>(from)[i];
    for (int64_t i = words * static_cast<int64_t>(sizeof(uint4)) + threadIdx.x; i < bytes;
         i += MESSAGE_THREADS)
        to[i] = from[i];
}

/* Passes a chunk of a message, from byte `at` on, through a slot: the `number`-th chunk of this channel, from
 * 0. The sender waits for an empty slot, the receiver for a filled one. Returns false if stopped. */
static __device__ bool pass_chunk(const pto_pipe_t &pipe, unsigned channel, uint64_t number,
                                  const pto_message_t &message, int64_t at, int64_t bytes,
                                  const uint64_t *stop) {
    char *slot = pipe.target->slot[channel][number % PTO_PIPE_SLOTS];
    const uint64_t *awaited = pipe.sends ? &pipe.source->emptied[channel] : &pipe.target->filled[channel];
    const uint64_t empty_at_first =
        pipe.sends ? PTO_PIPE_SLOTS : 0; /* slots that need not be emptied before */
    const uint64_t least = number + 1 > empty_at_first ? number + 1 - empty_at_first : 0;
    if (!__syncthreads_and(threadIdx.x > 0 || await_count(awaited, least, stop)))
        return false;
    copy_bytes(pipe.sends ? slot : message.to + at, pipe.sends ? message.from + at : slot, bytes);
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(pipe.sends ? &pipe.target->filled[channel] : &pipe.source->emptied[channel],
                      number + 1);
    return true;
}

/* Passes all messages of a pipe through one of its channels. The count of chunks continues from kernel to
 * kernel; messages of the process to itself have none. */
__global__ void __launch_bounds__(MESSAGE_THREADS) pass_messages(const __grid_constant__ batch all) {
    const pto_pipe_t pipe = all.pipe[blockIdx.x / PTO_PIPE_CHANNELS];
    const unsigned channel = blockIdx.x % PTO_PIPE_CHANNELS;
    const pto_message_t *messages = all.far != nullptr ? all.far : all.near.message;
    uint64_t *count = nullptr;
    if (pipe.source != nullptr)
        count = pipe.sends ? &pipe.source->sent[channel] : &pipe.target->received[channel];
    uint64_t number = count != nullptr ? *count : 0;
    bool goes_on = true;
    __syncthreads(); /* all have read the count */
    for (int i = pipe.first; i < pipe.first + pipe.count && goes_on; i++) {
        const pto_message_t message = messages[i];
        for (int64_t at = static_cast<int64_t>(channel) * PTO_PIPE_SLOT_BYTES; at < message.bytes && goes_on;
             at += PTO_PIPE_CHANNELS * PTO_PIPE_SLOT_BYTES) {
            const int64_t bytes = min(message.bytes - at, static_cast<int64_t>(PTO_PIPE_SLOT_BYTES));
            if (count == nullptr)
                copy_bytes(message.to + at, message.from + at, bytes);
            else
                goes_on = pass_chunk(pipe, channel, number, message, at, bytes, all.stop);
            number += goes_on ? 1 : 0;
        }
    }
    if (count != nullptr && threadIdx.x == 0)
        *count = number;
}

/* Writes `count` messages of a list that is too long for a parameter to device memory. */
__global__ void write_messages(const __grid_constant__ near_messages some, pto_message_t *far, int count) {
    if (static_cast<int>(threadIdx.x) < count)
        far[threadIdx.x] = some.message[threadIdx.x];
}

static pto_status_t cuda_pass(const pto_messages_t *messages, pto_message_t *far, void *stream,
                              pto_error_t *err) {
    cudaStream_t on = static_cast<cudaStream_t>(stream);
    const bool is_far = messages->message_count > MESSAGES_NEAR;
    batch all = {};
    std::copy_n(messages->pipe, messages->pipe_count, all.pipe);
    all.stop = messages->stop;
    all.far = is_far ? far : nullptr;
    for (int first = 0; first < messages->message_count; first += MESSAGES_NEAR) {
        const int count = std::min(messages->message_count - first, int(MESSAGES_NEAR));
        std::copy_n(messages->message + first, count, all.near.message);
        if (is_far)
            write_messages<<<1, MESSAGES_NEAR, 0, on>>>(all.near, far + first, count);
    }
    pass_messages<<<static_cast<unsigned>(messages->pipe_count) * PTO_PIPE_CHANNELS, MESSAGE_THREADS, 0,
                    on>>>(all);
    return check(cudaGetLastError(), "launch of messages", err);
}

extern "C" {
extern const pto_messenger_t pto_messenger_cuda;
const pto_messenger_t pto_messenger_cuda = {MESSAGES_NEAR, cuda_pass};
}
