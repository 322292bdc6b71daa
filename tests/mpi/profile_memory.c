/* Memory in several spaces, by CUDA's driver through its library. */
#include "profile_memory.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const memory_names[MEMORY_SPACES] = {"cpu", "gpu", "managed"};

typedef unsigned long long address_t;

static struct {
    int (*init)(unsigned flags);
    int (*count)(int *devices);
    int (*get_device)(int *device, int ordinal);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*allocate)(address_t *memory, size_t bytes);
    int (*allocate_managed)(address_t *memory, size_t bytes, unsigned flags);
    int (*allocate_host)(void **memory, size_t bytes);
    int (*free)(address_t memory);
    int (*copy)(address_t to, address_t from, size_t bytes);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **graph);
    int (*graph_destroy)(void *graph);
} cuda;
static bool has_cuda;
static void *captured; /* the stream of memory_capture_begin */
static void *chosen;   /* the context of memory_use_cuda */

static bool find(void *library, const char *name, void *function, size_t size) {
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

/* To the library in front of MPI, if there is one. Not by a weak symbol, which some linkers drop if a library
 * of the program has the same one. */
static void name_memory(const void *memory, size_t bytes) {
    void (*name)(const void *memory, size_t bytes);
    if (find(dlopen(NULL, RTLD_NOW), "portolan_profile_memory", &name, sizeof name))
        name(memory, bytes);
}

bool memory_use_cuda(int ordinal) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    int device, devices = 0;
    has_cuda = find(library, "cuInit", &cuda.init, sizeof cuda.init) &&
               find(library, "cuDeviceGetCount", &cuda.count, sizeof cuda.count) &&
               find(library, "cuDeviceGet", &cuda.get_device, sizeof cuda.get_device) &&
               find(library, "cuDevicePrimaryCtxRetain", &cuda.retain, sizeof cuda.retain) &&
               find(library, "cuCtxSetCurrent", &cuda.set_current, sizeof cuda.set_current) &&
               find(library, "cuMemAlloc_v2", &cuda.allocate, sizeof cuda.allocate) &&
               find(library, "cuMemAllocManaged", &cuda.allocate_managed, sizeof cuda.allocate_managed) &&
               find(library, "cuMemAllocHost_v2", &cuda.allocate_host, sizeof cuda.allocate_host) &&
               find(library, "cuMemFree_v2", &cuda.free, sizeof cuda.free) &&
               find(library, "cuMemcpy", &cuda.copy, sizeof cuda.copy) &&
               find(library, "cuStreamCreate", &cuda.stream_create, sizeof cuda.stream_create) &&
               find(library, "cuStreamDestroy_v2", &cuda.stream_destroy, sizeof cuda.stream_destroy) &&
               find(library, "cuStreamBeginCapture_v2", &cuda.capture_begin, sizeof cuda.capture_begin) &&
               find(library, "cuStreamEndCapture", &cuda.capture_end, sizeof cuda.capture_end) &&
               find(library, "cuGraphDestroy", &cuda.graph_destroy, sizeof cuda.graph_destroy) &&
               cuda.init(0) == 0 && cuda.count(&devices) == 0 && devices > 0 &&
               cuda.get_device(&device, ordinal % devices) == 0 && cuda.retain(&chosen, device) == 0 &&
               memory_bind_thread();
    return has_cuda;
}

bool memory_bind_thread(void) { return cuda.set_current(chosen) == 0; }

int memory_spaces(void) { return has_cuda ? MEMORY_SPACES : MEMORY_MANAGED; }

static void *pointer_to(address_t at) {
    void *memory;
    uintptr_t address = (uintptr_t)at;
    memcpy(&memory, &address, sizeof memory);
    return memory;
}

static void *allocate_on_gpu(int space, size_t bytes) {
    const unsigned global = 1;
    address_t at = 0;
    void *zeros = calloc(1, bytes);
    int code =
        space == MEMORY_MANAGED ? cuda.allocate_managed(&at, bytes, global) : cuda.allocate(&at, bytes);
    if (code == 0 && zeros)
        memory_copy(pointer_to(at), zeros, bytes);
    free(zeros);
    return code == 0 ? pointer_to(at) : NULL;
}

void *memory_allocate(int space, size_t bytes) {
    if (has_cuda && space != MEMORY_CPU)
        return allocate_on_gpu(space, bytes);
    void *made = calloc(1, bytes);
    if (space == MEMORY_GPU)
        name_memory(made, bytes);
    return made;
}

void *memory_allocate_pinned(size_t bytes) {
    void *made = NULL;
    return has_cuda && cuda.allocate_host(&made, bytes) == 0 ? made : NULL;
}

void memory_free(int space, void *memory) {
    if (has_cuda && space != MEMORY_CPU) {
        cuda.free((address_t)(uintptr_t)memory);
        return;
    }
    if (space == MEMORY_GPU)
        name_memory(memory, 0);
    free(memory);
}

void memory_copy(void *to, const void *from, size_t bytes) {
    int code = has_cuda ? cuda.copy((address_t)(uintptr_t)to, (address_t)(uintptr_t)from, bytes) : 0;
    if (code != 0) {
        fprintf(stderr, "cuMemcpy of %zu bytes: error %d\n", bytes, code);
        abort();
    }
    if (!has_cuda)
        memcpy(to, from, bytes);
}

bool memory_capture_begin(bool waited_for) {
    const unsigned flags = waited_for ? 0 : 1; /* CU_STREAM_NON_BLOCKING */
    const int global = 0;
    return has_cuda && cuda.stream_create(&captured, flags) == 0 && cuda.capture_begin(captured, global) == 0;
}

bool memory_capture_end(void) {
    void *graph = NULL;
    bool ended = cuda.capture_end(captured, &graph) == 0;
    if (graph)
        cuda.graph_destroy(graph);
    cuda.stream_destroy(captured);
    return ended;
}
