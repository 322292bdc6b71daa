/* Calls of NCCL's functions with known results, on host memory: random ones, of all functions, types and
 * sizes, aligned or not, in place or not. Processes that draw the same numbers make the same calls. */
#ifndef PTO_NCCL_CALLS_H
#define PTO_NCCL_CALLS_H

#include "fake_nccl_forked.h"
#include "nccl/nccl_dl.h"

int ncclGetUniqueId(pto_nccl_id_t *id);
int ncclCommInitRank(void **comm, int size, pto_nccl_id_t id, int rank);
int ncclCommInitRankConfig(void **comm, int size, pto_nccl_id_t id, int rank, void *config);
int ncclCommSplit(void *comm, int color, int key, void **made, void *config);
int ncclCommShrink(void *comm, int *without, int count, void **made, void *config, int flags);
int ncclCommFinalize(void *comm);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream);
int ncclAllGather(const void *in, void *out, size_t count, int type, void *comm, void *stream);
int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream);
int ncclAlltoAll(const void *in, void *out, size_t count, int type, void *comm, void *stream);
int ncclBroadcast(const void *in, void *out, size_t count, int type, int root, void *comm, void *stream);
int ncclBcast(void *data, size_t count, int type, int root, void *comm, void *stream);
int ncclReduce(const void *in, void *out, size_t count, int type, int op, int root, void *comm, void *stream);
int ncclSend(const void *in, size_t count, int type, int peer, void *comm, void *stream);
int ncclRecv(void *out, size_t count, int type, int peer, void *comm, void *stream);
int ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence, void *comm);
int ncclRedOpDestroy(int op, void *comm);

/* A communicator, as this process sees it. */
typedef struct {
    void *handle;
    int rank;
    int size;
} members_t;

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST, REDUCE, FUNCTIONS };

typedef struct {
    const members_t *of;
    int number; /* the values are the call's own */
    int function, type, op, root;
    size_t count;
    char *in, *out; /* as passed */
    char *memory[2];
    size_t bytes; /* of each */
    void *stream;
} call_t;

/* A number below `below`; *state is the same on all processes. */
unsigned calls_pick(uint64_t *state, unsigned below);
call_t calls_random(const members_t *of, int number, void *stream, uint64_t *state);
void calls_fill(const call_t *call);
/* NCCL's result. */
int calls_issue(const call_t *call);
/* Once it has run: whether the results are right, the input is as it was, and nothing beside the output has
 * changed. If not, it says so. */
bool calls_check(const call_t *call);
void calls_release(call_t *call);

#endif
