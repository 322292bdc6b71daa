#!/usr/bin/env bash
# One would guess that cudaMemcpyBatchAsync, which is given 64 small copies in one call, does away with most of what 64 calls
# of cudaMemcpyAsync cost, and the more so within a GPU, where nothing crosses a bus.
# Of copies to the host it saves more than half, but of 64 copies of 4 KiB within the GPU only a tenth: 337 us instead of 373,
# 5 us for each copy. One cudaMemcpy2DAsync of the same rows takes 12 us (and 16 of 64 KiB each). Rows at one distance, as the
# columns of a halo, should be a 2D copy or a kernel. And a batch cannot be captured: cudaErrorStreamCaptureUnsupported.
# CUDA 13.0, driver 580.159, one NVIDIA H200 (a GPU and nvcc are needed; times are ratios within this run).
. "$(dirname "$0")/packages.sh"
PATH=$PATH:/usr/local/cuda/bin
nvidia-smi -L >"$work/gpus" 2>&1 || skip "no NVIDIA GPU"
command -v nvcc >/dev/null || skip "no nvcc"
cat >"$work/batch.cu" <<'END_CU'
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

enum { COPIES = 64, BYTES = 4096, PITCH = 2 * BYTES, RUNS = 60 };

static cudaStream_t stream;
static std::vector<const void *> source(COPIES), target(COPIES);
static std::vector<size_t> bytes(COPIES, BYTES);

static cudaError_t batch() {
    cudaMemcpyAttributes attributes = {};
    size_t first = 0;
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    return cudaMemcpyBatchAsync(target.data(), source.data(), bytes.data(), COPIES, &attributes, &first, 1, stream);
}

static cudaError_t one_by_one() {
    for (int i = 0; i < COPIES; i++)
        cudaMemcpyAsync(const_cast<void *>(target[i]), source[i], BYTES, cudaMemcpyDefault, stream);
    return cudaGetLastError();
}

static cudaError_t rows() {
    return cudaMemcpy2DAsync(const_cast<void *>(target[0]), PITCH, source[0], PITCH, BYTES, COPIES, cudaMemcpyDefault, stream);
}

/* The median; -1: it fails. */
static double us_of(cudaError_t (*copy)()) {
    std::vector<double> us;
    for (int i = 0; i < RUNS; i++) {
        const auto begin = std::chrono::steady_clock::now();
        if (copy() != cudaSuccess || cudaStreamSynchronize(stream) != cudaSuccess)
            return -1;
        us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(us.begin(), us.end());
    return us[RUNS / 2];
}

static void print(const char *what, char *to, const char *from) {
    for (int i = 0; i < COPIES; i++) {
        target[i] = to + i * PITCH;
        source[i] = from + i * PITCH;
    }
    const double single_us = us_of(one_by_one), batch_us = us_of(batch), rows_us = us_of(rows);
    printf("%s %.1f %.1f %.1f\n", what, single_us, batch_us, rows_us);
}

int main() {
    char *one = nullptr, *other = nullptr, *host = nullptr;
    cudaGraph_t graph = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(&one, COPIES * PITCH);
    cudaMalloc(&other, COPIES * PITCH);
    cudaMallocHost(&host, COPIES * PITCH);
    print("host", host, one);
    print("within", other, one);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    printf("capture %s\n", cudaGetErrorName(batch()));
    cudaStreamEndCapture(stream, &graph);
    return 0;
}
END_CU
nvcc -std=c++17 -O2 -arch=native -o "$work/batch" "$work/batch.cu" >"$work/compile" 2>&1 || skip "nvcc: $(tail -1 "$work/compile")"
"$work/batch" >"$work/times" || skip "$(head -1 "$work/times")"
echo "us of 64 copies of 4 KiB one by one, as a batch, as rows:"
cat "$work/times"

# ratio WHERE: of the batch to the copies one by one, and of the rows to the batch
ratio() { awk -v where="$1" '$1 == where { print ($3 > 0.7 * $2 ? "above 0.7" : "below"), ($4 < 0.2 * $3 ? "below 0.2" : "above") }' "$work/times"; }
expect "within the GPU, batch and rows" "above 0.7 below 0.2" "$(ratio within)"
expect "to the host, batch" "below" "$(ratio host | cut -d' ' -f1)"
expect "capture" cudaErrorStreamCaptureUnsupported "$(awk '$1 == "capture" { print $2 }' "$work/times")"
exit "$failed"
