/* Loads NCCL at run time (nccl_dl.h), and translates datatypes, operations and results. */
#include "nccl_dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char file_name[] = "libnccl.so.2";

#define CALL(name)                                                                                           \
    { #name, offsetof(pto_nccl_library_t, name) }

typedef struct {
    const char *name;
    size_t offset;
} call_t;

static const call_t calls[] = {
    CALL(ncclGetVersion), CALL(ncclGetUniqueId),    CALL(ncclCommInitRank),  CALL(ncclCommDestroy),
    CALL(ncclCommAbort),  CALL(ncclGetErrorString), CALL(ncclAllReduce),     CALL(ncclReduce),
    CALL(ncclBroadcast),  CALL(ncclAllGather),      CALL(ncclReduceScatter), CALL(ncclSend),
    CALL(ncclRecv),       CALL(ncclGroupStart),     CALL(ncclGroupEnd),
};

static const call_t window_calls[] = {
    CALL(ncclMemAlloc),
    CALL(ncclMemFree),
    CALL(ncclCommWindowRegister),
    CALL(ncclCommWindowDeregister),
};
enum { WINDOW_CALLS = sizeof window_calls / sizeof *window_calls };

int pto_nccl_datatype(pto_datatype_t datatype) {
    static const int number[PTO_DATATYPE_COUNT] = {[PTO_DATATYPE_BYTE] = PTO_NCCL_INT8,
                                                   [PTO_DATATYPE_INT32] = PTO_NCCL_INT32,
                                                   [PTO_DATATYPE_INT64] = PTO_NCCL_INT64,
                                                   [PTO_DATATYPE_FLOAT] = PTO_NCCL_FLOAT32,
                                                   [PTO_DATATYPE_DOUBLE] = PTO_NCCL_FLOAT64,
                                                   [PTO_DATATYPE_HALF] = PTO_NCCL_FLOAT16,
                                                   [PTO_DATATYPE_BFLOAT16] = PTO_NCCL_BFLOAT16,
                                                   [PTO_DATATYPE_INT8] = PTO_NCCL_INT8,
                                                   [PTO_DATATYPE_UINT8] = PTO_NCCL_UINT8,
                                                   [PTO_DATATYPE_INT16] = -1,
                                                   [PTO_DATATYPE_UINT16] = -1,
                                                   [PTO_DATATYPE_UINT32] = PTO_NCCL_UINT32,
                                                   [PTO_DATATYPE_UINT64] = PTO_NCCL_UINT64,
                                                   [PTO_DATATYPE_FLOAT_COMPLEX] = -1,
                                                   [PTO_DATATYPE_DOUBLE_COMPLEX] = -1};
    return number[datatype];
}

int pto_nccl_op(pto_op_t op) {
    static const int number[PTO_OP_COUNT] = {[PTO_OP_SUM] = PTO_NCCL_SUM, [PTO_OP_PROD] = PTO_NCCL_PROD,
                                             [PTO_OP_MIN] = PTO_NCCL_MIN, [PTO_OP_MAX] = PTO_NCCL_MAX,
                                             [PTO_OP_AVG] = PTO_NCCL_AVG, [PTO_OP_LAND] = -1,
                                             [PTO_OP_LOR] = -1,           [PTO_OP_LXOR] = -1,
                                             [PTO_OP_BAND] = -1,          [PTO_OP_BOR] = -1,
                                             [PTO_OP_BXOR] = -1};
    return number[op];
}

/* 22803 is 2.28.3; before NCCL 2.9, 2708 was 2.7.8. */
static void name_version(int code, char *text, size_t text_size) {
    int major_unit = code < 10000 ? 1000 : 10000;
    snprintf(text, text_size, "%d.%d.%d", code / major_unit, code % major_unit / 100, code % 100);
}

static bool find_call(void *handle, const call_t *call, pto_nccl_library_t *library) {
    void *found = dlsym(handle, call->name);
    memcpy((char *)library + call->offset, &found, sizeof found);
    return found != NULL;
}

static pto_status_t find_calls(void *handle, pto_nccl_library_t *library, pto_error_t *err) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!find_call(handle, &calls[i], library))
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s has no %s: NCCL 2.7 or later is needed",
                                 file_name, calls[i].name);
    for (int i = 0; i < WINDOW_CALLS; i++)
        find_call(handle, &window_calls[i], library);
    int code = 0;
    pto_status_t status = PTO_NCCL(library, ncclGetVersion(&code), err);
    name_version(code, library->version, sizeof library->version);
    return status;
}

pto_status_t pto_nccl_library(const pto_nccl_library_t **library, pto_error_t *err) {
    static pto_nccl_library_t opened;
    static void *handle;
    if (!opened.version[0]) {
        pto_nccl_library_t found = {0};
        handle = handle ? handle : dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "NCCL is not installed, or not where the loader looks (LD_LIBRARY_PATH): %s",
                                 dlerror());
        pto_status_t status = find_calls(handle, &found, err);
        if (status != PTO_OK)
            return status;
        opened = found;
    }
    *library = &opened;
    return PTO_OK;
}

pto_status_t pto_nccl_has_windows(const pto_nccl_library_t *library, pto_error_t *err) {
    static const void *const none;
    for (int i = 0; i < WINDOW_CALLS; i++)
        if (memcmp((const char *)library + window_calls[i].offset, &none, sizeof none) == 0)
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "%s (%s) has no %s: symmetric windows need NCCL 2.27 or later", file_name,
                                 library->version, window_calls[i].name);
    return PTO_OK;
}

pto_status_t pto_nccl_check(const pto_nccl_library_t *library, int result, const char *call,
                            pto_error_t *err) {
    if (result == PTO_NCCL_SUCCESS)
        return PTO_OK;
    const int name = (int)strcspn(call, "(");
    const char *why = library->ncclGetErrorString(result);
    if (result != PTO_NCCL_INVALID_USAGE)
        return pto_error_set(err, PTO_ERR_IO, "%.*s: %s", name, call, why);
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "%.*s: %s; NCCL takes one process a GPU, so every process needs a GPU of its own",
                         name, call, why);
}
