/* Collective operations on teams (pto_team_t in portolan/exec.h). With pto_agree, all processes of a team
 * find out whether one of them failed. */
#ifndef PTO_IMPL_TEAM_H
#define PTO_IMPL_TEAM_H

#include "portolan/exec.h"
#include "shm.h"

/* Collective: the functions of pto_team_t; for teams without `least` and `broadcast`, by allgathers. */
pto_status_t pto_team_allgather(const pto_team_t *team, const void *mine, size_t bytes, void *all,
                                pto_error_t *err);
pto_status_t pto_team_least(const pto_team_t *team, int64_t *numbers, int count, pto_error_t *err);
pto_status_t pto_team_broadcast(const pto_team_t *team, void *data, size_t bytes, int root, pto_error_t *err);
pto_status_t pto_team_barrier(const pto_team_t *team, pto_error_t *err);

/* Collective: PTO_OK if every process passed PTO_OK. Otherwise all processes return the lowest status that
 * was passed, and get the message of the lowest rank that passed it. */
pto_status_t pto_agree(const pto_team_t *team, pto_status_t status, pto_error_t *err);

/* Collective on one node: create memory that all share, zero at first. Fails on all processes or on none. */
pto_status_t pto_team_share(const pto_team_t *team, size_t bytes, void **memory, pto_shared_handle_t *handle,
                            pto_error_t *err);
/* Unmaps that memory; on rank 0, also frees it. NULL is legal. */
void pto_team_unshare(int rank, void *memory, const pto_shared_handle_t *handle);

/* While a process waits in an allgather of a team of pto_team_shared_create, it calls `wait` with `context`
 * again and again, instead of what the team does by default. `*polls` is 0 in the first call. */
typedef pto_status_t pto_team_wait_t(void *context, int *polls, pto_error_t *err);
void pto_team_shared_wait_by(pto_team_t *team, pto_team_wait_t *wait, void *context);

enum { PTO_AGREE_MAX = 6 };

/* pto_agree, which also replaces each of `count` numbers, at most PTO_AGREE_MAX, by its minimum. */
pto_status_t pto_agree_least(const pto_team_t *team, pto_status_t status, int64_t *number, int count,
                             pto_error_t *err);

/* pto_agree, which also fails with PTO_ERR_RANGE if processes passed different numbers. */
pto_status_t pto_agree_same(const pto_team_t *team, pto_status_t status, uint64_t number, pto_error_t *err);

#endif
