/* Operations of all teams, whatever their table offers. */
#ifndef PTO_IMPL_TEAM_H
#define PTO_IMPL_TEAM_H

#include "portolan/exec.h"
#include "shm.h"

static inline const pto_team_t *pto_team_node(const pto_team_t *team) {
    return team->node ? team->node : team;
}

/* Collective; as the functions of these names in pto_team_t (exec.h), for teams without `least` or
 * `broadcast`, too. */
pto_status_t pto_team_allgather(const pto_team_t *team, const void *mine, size_t bytes, void *all,
                                pto_error_t *err);
pto_status_t pto_team_least(const pto_team_t *team, int64_t *numbers, int count, pto_error_t *err);
pto_status_t pto_team_broadcast(const pto_team_t *team, void *data, size_t bytes, int root, pto_error_t *err);
pto_status_t pto_team_barrier(const pto_team_t *team, pto_error_t *err);

/* Collective: PTO_OK if every process passed PTO_OK. Else all get the lowest status that was passed, and the
 * message of the lowest rank that passed it. */
pto_status_t pto_agree(const pto_team_t *team, pto_status_t status, pto_error_t *err);

/* Collective, of a team whose processes are on one node: memory that they share, zero at first. On error all
 * have none. */
pto_status_t pto_team_share(const pto_team_t *team, size_t bytes, void **memory, pto_shared_handle_t *handle,
                            pto_error_t *err);
/* By the process of this rank. NULL is legal. */
void pto_team_unshare(int rank, void *memory, const pto_shared_handle_t *handle);

enum { PTO_AGREE_MAX = 6 };

/* pto_agree, and in the same message the least of each of `count` numbers, at most PTO_AGREE_MAX, which
 * replaces the process's own. */
pto_status_t pto_agree_least(const pto_team_t *team, pto_status_t status, int64_t *number, int count,
                             pto_error_t *err);

/* pto_agree, and in the same message: PTO_ERR_RANGE if processes passed different numbers. */
pto_status_t pto_agree_same(const pto_team_t *team, pto_status_t status, uint64_t number, pto_error_t *err);

#endif
