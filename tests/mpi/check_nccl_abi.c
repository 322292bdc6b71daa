/* Compares our declarations of NCCL's binary interface with an installed nccl.h: this compiles if they
 * agree. */
#include <nccl.h>

#include "nccl/nccl_dl.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)

_Static_assert(sizeof(ncclUniqueId) == sizeof(pto_nccl_id_t), "ncclUniqueId");
_Static_assert(sizeof(ncclResult_t) == sizeof(int), "ncclResult_t");
_Static_assert(sizeof(ncclDataType_t) == sizeof(int), "ncclDataType_t");
_Static_assert(sizeof(ncclRedOp_t) == sizeof(int), "ncclRedOp_t");
SAME(PTO_NCCL_SUCCESS, ncclSuccess);
SAME(PTO_NCCL_INVALID_USAGE, ncclInvalidUsage);
SAME(PTO_NCCL_INT8, ncclInt8);
SAME(PTO_NCCL_UINT8, ncclUint8);
SAME(PTO_NCCL_INT32, ncclInt32);
SAME(PTO_NCCL_UINT32, ncclUint32);
SAME(PTO_NCCL_INT64, ncclInt64);
SAME(PTO_NCCL_UINT64, ncclUint64);
SAME(PTO_NCCL_FLOAT16, ncclFloat16);
SAME(PTO_NCCL_FLOAT32, ncclFloat32);
SAME(PTO_NCCL_FLOAT64, ncclFloat64);
#if NCCL_VERSION_CODE >= 21000
SAME(PTO_NCCL_BFLOAT16, ncclBfloat16);
SAME(PTO_NCCL_AVG, ncclAvg);
#endif
#if NCCL_VERSION_CODE >= 22700
SAME(PTO_NCCL_SYMMETRIC, NCCL_WIN_COLL_SYMMETRIC);
#endif
SAME(PTO_NCCL_SUM, ncclSum);
SAME(PTO_NCCL_PROD, ncclProd);
SAME(PTO_NCCL_MAX, ncclMax);
SAME(PTO_NCCL_MIN, ncclMin);

/* The parameters of every call, in the order of pto_nccl_library_t's members. */
extern __typeof__(ncclResult_t(int *)) ncclGetVersion;
extern __typeof__(ncclResult_t(ncclUniqueId *)) ncclGetUniqueId;
extern __typeof__(ncclResult_t(ncclComm_t *, int, ncclUniqueId, int)) ncclCommInitRank;
extern __typeof__(ncclResult_t(ncclComm_t)) ncclCommDestroy;
extern __typeof__(ncclResult_t(ncclComm_t)) ncclCommAbort;
extern __typeof__(const char *(ncclResult_t)) ncclGetErrorString;
extern __typeof__(ncclResult_t(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                               cudaStream_t)) ncclAllReduce;
extern __typeof__(ncclResult_t(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t,
                               cudaStream_t)) ncclReduce;
extern __typeof__(ncclResult_t(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t,
                               cudaStream_t)) ncclBroadcast;
extern __typeof__(ncclResult_t(const void *, void *, size_t, ncclDataType_t, ncclComm_t,
                               cudaStream_t)) ncclAllGather;
extern __typeof__(ncclResult_t(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                               cudaStream_t)) ncclReduceScatter;
extern __typeof__(ncclResult_t(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t)) ncclSend;
extern __typeof__(ncclResult_t(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t)) ncclRecv;
extern __typeof__(ncclResult_t(void)) ncclGroupStart;
extern __typeof__(ncclResult_t(void)) ncclGroupEnd;
#if NCCL_VERSION_CODE >= 22700
_Static_assert(sizeof(ncclWindow_t) == sizeof(void *), "ncclWindow_t");
extern __typeof__(ncclResult_t(void **, size_t)) ncclMemAlloc;
extern __typeof__(ncclResult_t(void *)) ncclMemFree;
extern __typeof__(ncclResult_t(ncclComm_t, void *, size_t, ncclWindow_t *, int)) ncclCommWindowRegister;
extern __typeof__(ncclResult_t(ncclComm_t, ncclWindow_t)) ncclCommWindowDeregister;
#endif
