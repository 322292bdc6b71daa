/* CUDA's driver as far as the profiler and its tests use it. Memory "on the GPU" is host memory that this
 * library remembers;
 * freed, its addresses are free for any use. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, ALLOCATIONS = 64 };
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, TYPE_HOST = 1, TYPE_DEVICE = 2 };

typedef unsigned long long address_t;

static struct {
    address_t first;
    size_t bytes;
    unsigned type;
    unsigned managed;
} allocation[ALLOCATIONS];
static int initialized, has_context;

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(address_t *memory, size_t bytes);
int cuMemAllocManaged(address_t *memory, size_t bytes, unsigned flags);
int cuMemAllocHost_v2(void **memory, size_t bytes);
int cuMemFree_v2(address_t memory);
int cuMemcpy(address_t to, address_t from, size_t bytes);
int cuPointerGetAttributes(unsigned count, const int *attribute, void **data, address_t pointer);

int cuInit(unsigned flags) {
    initialized = 1;
    return flags == 0 ? OK : INVALID_VALUE;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return initialized ? OK : NOT_INITIALIZED;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = device == 0 ? allocation : NULL;
    return *context ? OK : INVALID_VALUE;
}

int cuCtxSetCurrent(void *context) {
    has_context = context != NULL;
    return OK;
}

static void *pointer_to(address_t at) {
    void *memory;
    uintptr_t address = (uintptr_t)at;
    memcpy(&memory, &address, sizeof memory);
    return memory;
}

static int allocate(address_t *memory, size_t bytes, unsigned type, unsigned managed) {
    int i = 0;
    while (i < ALLOCATIONS && allocation[i].bytes > 0)
        i++;
    if (!has_context || i == ALLOCATIONS)
        return OUT_OF_MEMORY;
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return OUT_OF_MEMORY;
    *memory = (address_t)(uintptr_t)made;
    allocation[i].first = *memory;
    allocation[i].bytes = bytes;
    allocation[i].type = type;
    allocation[i].managed = managed;
    return OK;
}

int cuMemAlloc_v2(address_t *memory, size_t bytes) { return allocate(memory, bytes, TYPE_DEVICE, 0); }

int cuMemAllocManaged(address_t *memory, size_t bytes, unsigned flags) {
    return flags == 1 ? allocate(memory, bytes, TYPE_DEVICE, 1) : INVALID_VALUE;
}

int cuMemAllocHost_v2(void **memory, size_t bytes) {
    address_t at = 0;
    int code = allocate(&at, bytes, TYPE_HOST, 0);
    memcpy(memory, &at, sizeof *memory);
    return code;
}

int cuMemFree_v2(address_t memory) {
    for (int i = 0; i < ALLOCATIONS; i++)
        if (allocation[i].bytes > 0 && allocation[i].first == memory) {
            munmap(pointer_to(memory), allocation[i].bytes);
            allocation[i].bytes = 0;
            return OK;
        }
    return INVALID_VALUE;
}

int cuMemcpy(address_t to, address_t from, size_t bytes) {
    memcpy(pointer_to(to), pointer_to(from), bytes);
    return OK;
}

/* Of memory that the driver does not know, the attributes are 0. */
int cuPointerGetAttributes(unsigned count, const int *attribute, void **data, address_t pointer) {
    unsigned type = 0, managed = 0;
    if (!initialized)
        return NOT_INITIALIZED;
    for (int i = 0; i < ALLOCATIONS; i++)
        if (pointer >= allocation[i].first && pointer - allocation[i].first < allocation[i].bytes) {
            type = allocation[i].type;
            managed = allocation[i].managed;
        }
    for (unsigned i = 0; i < count; i++) {
        if (attribute[i] != MEMORY_TYPE && attribute[i] != IS_MANAGED)
            return INVALID_VALUE;
        memcpy(data[i], attribute[i] == MEMORY_TYPE ? &type : &managed, sizeof type);
    }
    return OK;
}
