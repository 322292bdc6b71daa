/* NVIDIA's NCCL as it is found when it is needed: nothing here is linked against it, so that a machine
 * without it only lacks what uses it. The declarations are those of NCCL's documented binary interface, which
 * has stood since 2.7: "NVIDIA Collective Communication Library (NCCL) Documentation", chapter "NCCL API".
 * Needs neither MPI nor CUDA, so that portolan-calibrate uses it too. */
#ifndef PTO_NCCL_LIBRARY_H
#define PTO_NCCL_LIBRARY_H

#include <stddef.h>

#include "portolan/status.h"

enum { PTO_NCCL_ID_BYTES = 128 };

/* By value, as NCCL takes it. */
typedef struct {
    char byte[PTO_NCCL_ID_BYTES];
} pto_nccl_id_t;

/* ncclResult_t, as far as it is told apart here. */
enum { PTO_NCCL_SUCCESS = 0, PTO_NCCL_INVALID_USAGE = 5 };

/* ncclDataType_t and ncclRedOp_t. */
typedef enum {
    PTO_NCCL_INT8 = 0,
    PTO_NCCL_INT32 = 2,
    PTO_NCCL_INT64 = 4,
    PTO_NCCL_FLOAT32 = 7,
    PTO_NCCL_FLOAT64 = 8
} pto_nccl_datatype_t;
typedef enum { PTO_NCCL_SUM = 0, PTO_NCCL_PROD = 1, PTO_NCCL_MAX = 2, PTO_NCCL_MIN = 3 } pto_nccl_op_t;

/* `comm` is an ncclComm_t, `stream` a cudaStream_t; the rest as NCCL's documentation has it. */
typedef struct {
    int (*get_version)(int *version);
    int (*get_unique_id)(pto_nccl_id_t *id);
    int (*comm_init_rank)(void **comm, int ranks, pto_nccl_id_t id, int rank);
    int (*comm_destroy)(void *comm);
    int (*comm_abort)(void *comm);
    const char *(*get_error_string)(int result);
    int (*all_reduce)(const void *in, void *out, size_t count, int datatype, int op, void *comm,
                      void *stream);
    int (*reduce)(const void *in, void *out, size_t count, int datatype, int op, int root, void *comm,
                  void *stream);
    int (*broadcast)(const void *in, void *out, size_t count, int datatype, int root, void *comm,
                     void *stream);
    int (*send)(const void *in, size_t count, int datatype, int peer, void *comm, void *stream);
    int (*recv)(void *out, size_t count, int datatype, int peer, void *comm, void *stream);
    int (*group_start)(void);
    int (*group_end)(void);
    char version[32]; /* as 2.28.3 */
} pto_nccl_library_t;

/* The library, opened at the first call and never closed: it has threads of its own. Not for several threads
 * at once. Errors: PTO_ERR_NOT_APPLICABLE where there is none, or one without a function that is needed. */
pto_status_t pto_nccl_library(const pto_nccl_library_t **library, pto_error_t *err);

/* PTO_OK, or what NCCL says of a call that failed: PTO_ERR_NOT_APPLICABLE where it refuses the job (two
 * processes on one GPU), else PTO_ERR_IO. */
pto_status_t pto_nccl_check(const pto_nccl_library_t *library, int result, const char *call,
                            pto_error_t *err);

#endif
