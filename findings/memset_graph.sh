#!/usr/bin/env bash
# One would guess that in a CUDA graph clearing 4 bytes takes no longer than clearing 1 MiB.
# Between kernels it takes longer: a pair of an empty kernel and a cudaMemsetAsync of 4 bytes takes 2.3 us, of 4 KiB 2.8, but
# of 64 KiB 1.5 and of 1 MiB 1.7, and a copy of 4 KiB on the GPU 1.4. Two empty kernels take 1.0, so a kernel that clears a
# counter adds 0.5 us where the memset adds 1.8. Cause unknown: small and large memsets seem to go different ways.
# CUDA 13.0, driver 580.159, one NVIDIA H200 (a GPU and nvcc are needed; times are ratios within this run).
. "$(dirname "$0")/packages.sh"
PATH=$PATH:/usr/local/cuda/bin
nvidia-smi -L >"$work/gpus" 2>&1 || skip "no NVIDIA GPU"
command -v nvcc >/dev/null || skip "no nvcc"
cat >"$work/pairs.cu" <<'END_CU'
#include <algorithm>
#include <cstdio>
#include <vector>

enum { PAIRS = 100, REPLAYS = 25 };

static __global__ void empty() {}

/* Of a chain of kernels, each followed by a memset of `bytes`, or by another kernel if that is 0. */
static float us_of_a_pair(size_t bytes, void *memory) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaEvent_t begin, end;
    std::vector<float> us;
    cudaStreamCreate(&stream);
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    for (int i = 0; i < PAIRS; i++) {
        empty<<<1, 1, 0, stream>>>();
        if (bytes > 0)
            cudaMemsetAsync(memory, 0, bytes, stream);
        else
            empty<<<1, 1, 0, stream>>>();
    }
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&replay, graph, 0);
    for (int i = 0; i < REPLAYS + 3; i++) {
        float ms = 0;
        cudaEventRecord(begin, stream);
        cudaGraphLaunch(replay, stream);
        cudaEventRecord(end, stream);
        cudaStreamSynchronize(stream);
        cudaEventElapsedTime(&ms, begin, end);
        if (i >= 3)
            us.push_back(ms * 1e3f / PAIRS);
    }
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
}

int main() {
    const size_t sizes[] = {0, 4, 64, 4096, 65536, 1 << 20};
    void *memory = nullptr;
    cudaMalloc(&memory, 1 << 20);
    for (size_t bytes : sizes)
        printf("%zu %.2f\n", bytes, us_of_a_pair(bytes, memory));
    return cudaGetLastError() != cudaSuccess;
}
END_CU
nvcc -O2 -arch=native -o "$work/pairs" "$work/pairs.cu" >"$work/compile" 2>&1 || skip "nvcc: $(tail -1 "$work/compile")"
"$work/pairs" >"$work/seen" || skip "CUDA fails"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1
awk '{ print $1 == 0 ? "kernel and kernel" : "kernel and memset of " $1 " bytes", $2, "us" }' "$work/seen"
expect "small memsets take at least 1.3 times as long as one of 64 KiB" yes \
    "$(awk '{ us[$1] = $2 } END { print((us[4] > 1.3 * us[65536] && us[4096] > 1.3 * us[65536]) ? "yes" : "no") }' "$work/seen")"
expect "and the pair at least 1.8 times as long as two kernels" yes \
    "$(awk '{ us[$1] = $2 } END { print((us[4] > 1.8 * us[0]) ? "yes" : "no") }' "$work/seen")"
exit "$failed"
