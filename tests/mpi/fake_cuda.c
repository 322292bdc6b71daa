/* CUDA's driver as far as the profiler, the drop-in and their tests use it, with two GPUs. Memory "on a GPU"
 * is host memory that this library remembers; freed, its addresses are free for any use. As in CUDA, each
 * thread has a current context of its own, and none at first. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_CONTEXT = 201,
    CAPTURE_UNSUPPORTED = 900
};
enum { ALLOCATIONS = 64, GPUS = 2, DEPTH = 8 };
enum { CONTEXT = 1, MEMORY_TYPE = 2, IS_MANAGED = 8, ORDINAL = 9, TYPE_HOST = 1, TYPE_DEVICE = 2 };

typedef unsigned long long address_t;

static struct {
    address_t first;
    size_t bytes;
    unsigned type;
    unsigned managed;
    void *context;
} allocation[ALLOCATIONS];
static int initialized;
enum { NO_CAPTURE, CAPTURES, CAPTURE_LOST };
static atomic_int capture; /* of the one stream */
static atomic_int questions;
static char context_of[GPUS]; /* their addresses are the contexts */
static _Thread_local void *stack[DEPTH];
static _Thread_local int depth;
static _Thread_local int capture_mode; /* cudaStreamCaptureModeGlobal at first */

/* Streams are another library's: the number of the capture that one is in, or 0. */
unsigned long long (*fake_capture_of)(const void *stream);

static void *current(void) { return depth > 0 ? stack[depth - 1] : NULL; }

int cuInit(unsigned flags) {
    initialized = 1;
    return flags == 0 ? OK : INVALID_VALUE;
}

int cuDeviceGetCount(int *count) {
    *count = GPUS;
    return initialized ? OK : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return !initialized ? NOT_INITIALIZED : ordinal < GPUS ? OK : INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = device >= 0 && device < GPUS ? &context_of[device] : NULL;
    return *context ? OK : INVALID_VALUE;
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return OK;
}

int cuStreamCreate(void **stream, unsigned flags) {
    static char one;
    *stream = &one;
    return flags <= 1 ? OK : INVALID_VALUE;
}

int cuStreamDestroy_v2(void *stream) { return stream ? OK : INVALID_VALUE; }

int cuStreamBeginCapture_v2(void *stream, int mode) {
    capture = CAPTURES;
    return stream && mode == 0 ? OK : INVALID_VALUE;
}

int cuStreamEndCapture(void *stream, void **graph) {
    bool lost = capture == CAPTURE_LOST;
    capture = NO_CAPTURE;
    *graph = lost ? NULL : stream;
    return lost ? CAPTURE_UNSUPPORTED : OK;
}

/* The rest is not asked for. */
int cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void *graph,
                              void *dependencies, void *count) {
    const unsigned long long own = capture == NO_CAPTURE ? 0 : 1;
    *id = fake_capture_of ? fake_capture_of(stream) : own;
    *status = *id == 0 ? 0 : capture == CAPTURE_LOST ? 2 : 1;
    return graph || dependencies || count ? INVALID_VALUE : current() ? OK : INVALID_CONTEXT;
}

int cuGraphDestroy(void *graph) { return graph ? OK : INVALID_VALUE; }

/* What might wait for the captured stream ends the capture, but in a thread whose mode is relaxed. */
static bool ends_capture(void) {
    if (capture != CAPTURES || capture_mode == 2)
        return false;
    capture = CAPTURE_LOST;
    return true;
}

int cuDeviceGetPCIBusId(char *text, int length, int device) {
    snprintf(text, (size_t)length, "0000:%02d:00.0", device);
    return device >= 0 && device < GPUS ? OK : INVALID_VALUE;
}

int cuCtxGetDevice(int *device) {
    *device = current() ? (int)((char *)current() - context_of) : -1;
    return current() ? OK : INVALID_CONTEXT;
}

int cuCtxGetCurrent(void **context) {
    *context = current();
    return OK;
}

int cuCtxSetCurrent(void *context) {
    depth = depth > 0 ? depth : 1;
    stack[depth - 1] = context;
    return OK;
}

int cuCtxPushCurrent_v2(void *context) {
    if (!context || depth == DEPTH)
        return INVALID_CONTEXT;
    stack[depth++] = context;
    return OK;
}

int cuCtxPopCurrent_v2(void **context) {
    *context = current();
    if (depth == 0)
        return INVALID_CONTEXT;
    depth--;
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
    if (!current())
        return INVALID_CONTEXT;
    if (ends_capture())
        return CAPTURE_UNSUPPORTED;
    if (i == ALLOCATIONS)
        return OUT_OF_MEMORY;
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return OUT_OF_MEMORY;
    *memory = (address_t)(uintptr_t)made;
    allocation[i].first = *memory;
    allocation[i].bytes = bytes;
    allocation[i].type = type;
    allocation[i].managed = managed;
    allocation[i].context = current();
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
    if (!current())
        return INVALID_CONTEXT;
    if (ends_capture())
        return CAPTURE_UNSUPPORTED;
    memcpy(pointer_to(to), pointer_to(from), bytes);
    return OK;
}

/* An attribute as its own type; of memory that the driver does not know, it is 0. */
static int store_attribute(int attribute, int i, void *data) {
    const int ordinal = i < ALLOCATIONS ? (int)((char *)allocation[i].context - context_of) : 0;
    const unsigned type = i < ALLOCATIONS ? allocation[i].type : 0;
    const unsigned managed = i < ALLOCATIONS ? allocation[i].managed : 0;
    void *const context = i < ALLOCATIONS ? allocation[i].context : NULL;
    switch (attribute) {
    case CONTEXT:
        memcpy(data, &context, sizeof context);
        return OK;
    case MEMORY_TYPE:
        memcpy(data, &type, sizeof type);
        return OK;
    case IS_MANAGED:
        memcpy(data, &managed, sizeof managed);
        return OK;
    case ORDINAL:
        memcpy(data, &ordinal, sizeof ordinal);
        return OK;
    default:
        return INVALID_VALUE;
    }
}

int cuPointerGetAttributes(unsigned count, const int *attribute, void **data, address_t pointer) {
    int at = 0, code = initialized ? OK : NOT_INITIALIZED;
    questions++;
    while (at < ALLOCATIONS &&
           (pointer < allocation[at].first || pointer - allocation[at].first >= allocation[at].bytes))
        at++;
    for (unsigned i = 0; i < count && code == OK; i++)
        code = store_attribute(attribute[i], at, data[i]);
    return code;
}

int fake_questions(void) { return questions; }
