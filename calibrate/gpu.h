/* What calibrate asks of a GPU. gpu_cuda.cu fills it where the build has CUDA, gpu_none.c elsewhere.
 *
 * Calls return NULL, or what went wrong as a text that nobody frees. Copies run on one stream of the
 * process. Devices are numbered as the process sees them. */
#ifndef PORTOLAN_CALIBRATE_GPU_H
#define PORTOLAN_CALIBRATE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_NAME_MAX = 256, GPU_BUS_MAX = 32, GPU_HANDLE_BYTES = 64 };

typedef enum { GPU_H2D, GPU_D2H, GPU_D2D } gpu_copy_t;
typedef enum { GPU_INT32, GPU_INT64, GPU_FLOAT, GPU_DOUBLE, GPU_TYPE_COUNT } gpu_type_t;
typedef enum { GPU_SUM, GPU_PROD, GPU_MIN, GPU_MAX, GPU_OP_COUNT } gpu_op_t;

typedef struct {
    unsigned char byte[GPU_HANDLE_BYTES];
} gpu_handle_t;

/* "with CUDA 13.0" or "without CUDA": what this program was built with. */
const char *gpu_build(void);

/* How many devices this process may use; with an error, why none. */
const char *gpu_count(int *count);

/* Make `device` the one that the following calls are about. */
const char *gpu_select(int device);

const char *gpu_describe(int device, char name[GPU_NAME_MAX], char bus[GPU_BUS_MAX]);
const char *gpu_versions(int *driver_cuda, int *runtime_cuda);
const char *gpu_can_reach(int device, int peer, bool *can);

/* Let the selected device reach `peer`'s memory; harmless where it already may or never can. */
const char *gpu_reach(int peer);

const char *gpu_allocate(size_t bytes, void **memory);
const char *gpu_free(void *memory);
const char *gpu_pinned_allocate(size_t bytes, void **memory);
const char *gpu_pinned_free(void *memory);
const char *gpu_fill(void *memory, int byte, size_t bytes);

/* Start a copy, wait for all that was started. */
const char *gpu_copy(void *target, const void *source, size_t bytes, gpu_copy_t kind);
/* `rows` pieces of `bytes` each, `pitch` apart on the device and one after another in host memory. */
const char *gpu_copy_rows(void *target, const void *source, size_t bytes, size_t rows, size_t pitch,
                          gpu_copy_t kind);
const char *gpu_synchronize(void);

/* The selected device's stream, a cudaStream_t, for what is not of this table. */
const char *gpu_own_stream(void **stream);

/* CUDA IPC: memory of one process, opened by another of the same node. */
const char *gpu_export(void *memory, gpu_handle_t *handle);
const char *gpu_open(const gpu_handle_t *handle, void **memory);
const char *gpu_close(void *memory);

/* Start a kernel that does nothing, or target[i] = target[i] op source[i]. */
const char *gpu_launch_empty(void);
const char *gpu_reduce(void *target, const void *source, size_t count, gpu_type_t type, gpu_op_t op);

/* target[i * stride] = source[i] for `count` elements of `width` bytes (4, 8 or 16), by as many thread blocks
 * as told, whatever `count` is; either may be another GPU's memory. When it ends the stores are visible to
 * all. */
const char *gpu_move(void *target, const void *source, size_t count, int width, int stride, int blocks);

/* Store the j-th `bytes` of `source` in `target[j]`, in all of them at once. A multiple of 16 bytes. */
enum { GPU_TARGETS_MAX = 15 };
const char *gpu_store_all(void *const *target, int target_count, const void *source, size_t bytes,
                          int blocks);

/* Thread blocks of gpu_move that fill the device. */
const char *gpu_blocks(int device, int *blocks);

/* What one side of a ping-pong saw. */
typedef struct {
    uint64_t elapsed_ns;   /* of all rounds but the first, in which the two find each other */
    uint32_t failed_round; /* the round in which the other's flag did not come in time; 0: none */
    bool stale;            /* data were not there though their flag was */
} gpu_rounds_t;

/* Start a kernel of one block that stores a word of each thread in another GPU's memory `others`, raises a
 * flag there, and waits for the flag of its `own`, whose words it then loads: 1 + `rounds` times, from the
 * flags' value `from` on; the one that is `first` begins. It gives up a wait after `limit_s`. `result` is
 * pinned host memory, filled when the kernel has ended. Both memories begin as zeros. */
enum { GPU_HANDED_BYTES = 256 + 16 * 512 };
const char *gpu_ping_pong(void *own, void *others, bool first, uint32_t from, int rounds, double limit_s,
                          gpu_rounds_t *result);

/* A captured graph of one kernel that does nothing. */
const char *gpu_graph_create(void **graph);
const char *gpu_graph_destroy(void *graph);
const char *gpu_graph_launch(void *graph);

const char *gpu_event_create(void **event);
const char *gpu_event_destroy(void *event);
const char *gpu_event_record(void *event);
const char *gpu_event_query(void *event, bool *happened);

#ifdef __cplusplus
}
#endif

#endif
