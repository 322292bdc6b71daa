/* NCCL, loaded at run time: nothing links against it, so a machine without NCCL lacks only the features that
 * need it. The declarations follow NCCL's documented binary interface, which has been stable since 2.7:
 * "NVIDIA Collective Communication Library (NCCL) Documentation", chapter "NCCL API". This file needs
 * neither MPI nor CUDA, so portolan-calibrate uses it too. */
#ifndef PTO_NCCL_DL_H
#define PTO_NCCL_DL_H

#include <stddef.h>

#include "portolan/exec.h"

enum { PTO_NCCL_ID_BYTES = 128 };

/* Passed by value in NCCL's interface. */
typedef struct {
    char byte[PTO_NCCL_ID_BYTES];
} pto_nccl_id_t;

/* NCCL_WIN_COLL_SYMMETRIC. */
enum { PTO_NCCL_SYMMETRIC = 1 };

/* Values of ncclResult_t. */
enum { PTO_NCCL_SUCCESS = 0, PTO_NCCL_INVALID_USAGE = 5 };

/* ncclDataType_t and ncclRedOp_t. */
typedef enum {
    PTO_NCCL_INT8 = 0,
    PTO_NCCL_UINT8 = 1,
    PTO_NCCL_INT32 = 2,
    PTO_NCCL_UINT32 = 3,
    PTO_NCCL_INT64 = 4,
    PTO_NCCL_UINT64 = 5,
    PTO_NCCL_FLOAT16 = 6,
    PTO_NCCL_FLOAT32 = 7,
    PTO_NCCL_FLOAT64 = 8,
    PTO_NCCL_BFLOAT16 = 9 /* since 2.10, as ncclAvg */
} pto_nccl_datatype_t;
typedef enum {
    PTO_NCCL_SUM = 0,
    PTO_NCCL_PROD = 1,
    PTO_NCCL_MAX = 2,
    PTO_NCCL_MIN = 3,
    PTO_NCCL_AVG = 4
} pto_nccl_op_t;

/* NCCL's number for a datatype or an operation; -1: it has none. */
int pto_nccl_datatype(pto_datatype_t datatype);
int pto_nccl_op(pto_op_t op);

/* NCCL's functions, as documented by NCCL. `comm` is an ncclComm_t, `stream` a cudaStream_t. */
typedef struct {
    int (*ncclGetVersion)(int *version);
    int (*ncclGetUniqueId)(pto_nccl_id_t *id);
    int (*ncclCommInitRank)(void **comm, int ranks, pto_nccl_id_t id, int rank);
    int (*ncclCommDestroy)(void *comm);
    int (*ncclCommAbort)(void *comm);
    const char *(*ncclGetErrorString)(int result);
    int (*ncclAllReduce)(const void *in, void *out, size_t count, int datatype, int op, void *comm,
                         void *stream);
    int (*ncclReduce)(const void *in, void *out, size_t count, int datatype, int op, int root, void *comm,
                      void *stream);
    int (*ncclBroadcast)(const void *in, void *out, size_t count, int datatype, int root, void *comm,
                         void *stream);
    int (*ncclAllGather)(const void *in, void *out, size_t count, int datatype, void *comm, void *stream);
    int (*ncclReduceScatter)(const void *in, void *out, size_t count, int datatype, int op, void *comm,
                             void *stream);
    int (*ncclSend)(const void *in, size_t count, int datatype, int peer, void *comm, void *stream);
    int (*ncclRecv)(void *out, size_t count, int datatype, int peer, void *comm, void *stream);
    int (*ncclGroupStart)(void);
    int (*ncclGroupEnd)(void);
    /* Since 2.27; NULL in earlier versions. `window` is an ncclWindow_t. */
    int (*ncclMemAlloc)(void **memory, size_t bytes);
    int (*ncclMemFree)(void *memory);
    int (*ncclCommWindowRegister)(void *comm, void *memory, size_t bytes, void **window, int flags);
    int (*ncclCommWindowDeregister)(void *comm, void *window);
    char version[32]; /* as 2.28.3 */
} pto_nccl_library_t;

/* Opens the library on the first call and never closes it, because it has threads of its own. Not
 * thread-safe. Errors: PTO_ERR_NOT_APPLICABLE if the library, or a function that is needed, is missing. */
pto_status_t pto_nccl_library(const pto_nccl_library_t **library, pto_error_t *err);

/* Returns whether the library has symmetric windows; if not, PTO_ERR_NOT_APPLICABLE and what is missing. */
pto_status_t pto_nccl_has_windows(const pto_nccl_library_t *library, pto_error_t *err);

/* Translates NCCL's result: PTO_OK, PTO_ERR_NOT_APPLICABLE if NCCL rejects the job (two processes on one
 * GPU), else PTO_ERR_IO with NCCL's message. `call` names the function, up to a parenthesis. */
pto_status_t pto_nccl_check(const pto_nccl_library_t *library, int result, const char *call,
                            pto_error_t *err);
#define PTO_NCCL(library, call, err) pto_nccl_check((library), (library)->call, #call, (err))

#endif
