/* Collective operations on teams (team.h). Every team has an allgather. For a team without `least` or
 * `broadcast`, these are made of allgathers, chunk by chunk. */
#include "team.h"

#include <assert.h>
#include <string.h>

/* Size of a receive buffer on the stack. Larger teams need their own `least` and `broadcast`. */
enum { ALL_BYTES = 8192 };

pto_status_t pto_team_allgather(const pto_team_t *team, const void *mine, size_t bytes, void *all,
                                pto_error_t *err) {
    return team->allgather(team->context, mine, bytes, all, err);
}

/* Finds how many bytes of each process, in whole units of `unit` bytes, fit into the receive buffer. */
static pto_status_t max_bytes_each(const pto_team_t *team, size_t unit, size_t *bytes, pto_error_t *err) {
    *bytes = ALL_BYTES / (size_t)team->size / unit * unit;
    if (*bytes > 0)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_TOO_LARGE, "a team of %d processes needs a `least` and a `broadcast`",
                         team->size);
}

pto_status_t pto_team_least(const pto_team_t *team, int64_t *numbers, int count, pto_error_t *err) {
    int64_t all[ALL_BYTES / sizeof(int64_t)];
    size_t bytes = 0;
    if (team->least)
        return team->least(team->context, numbers, count, err);
    pto_status_t status = max_bytes_each(team, sizeof *numbers, &bytes, err);
    const int max = (int)(bytes / sizeof *numbers);
    for (int first = 0, chunk; first < count && status == PTO_OK; first += chunk) {
        chunk = count - first < max ? count - first : max;
        status = pto_team_allgather(team, numbers + first, (size_t)chunk * sizeof *numbers, all, err);
        for (int i = 0; i < team->size * chunk && status == PTO_OK; i++)
            if (all[i] < numbers[first + i % chunk])
                numbers[first + i % chunk] = all[i];
    }
    return status;
}

pto_status_t pto_team_broadcast(const pto_team_t *team, void *data, size_t bytes, int root,
                                pto_error_t *err) {
    char all[ALL_BYTES];
    size_t max = 0;
    if (team->broadcast)
        return team->broadcast(team->context, data, bytes, root, err);
    pto_status_t status = max_bytes_each(team, 1, &max, err);
    for (size_t done = 0, chunk; done < bytes && status == PTO_OK; done += chunk) {
        chunk = bytes - done < max ? bytes - done : max;
        status = pto_team_allgather(team, (char *)data + done, chunk, all, err);
        if (status == PTO_OK)
            memcpy((char *)data + done, all + (size_t)root * chunk, chunk);
    }
    return status;
}

pto_status_t pto_team_barrier(const pto_team_t *team, pto_error_t *err) {
    int64_t none = 0;
    return pto_team_least(team, &none, 1, err);
}

/* Returns this process's error as all processes report it. If a call failed, the message names the rank. */
static pto_error_t own_error(const pto_team_t *team, pto_status_t status, const pto_error_t *err) {
    pto_error_t named = *err;
    if (status == PTO_ERR_IO || status == PTO_ERR_MEMORY)
        pto_error_set(&named, status, "%srank %d: %s", team->mpi ? "MPI " : "", team->rank, err->message);
    return named;
}

/* Status and rank in one number. Errors are negative, so the minimum of all keys has the lowest status, and
 * among processes with that status the lowest rank. */
#define RANKS_MAX ((int64_t)1 << 32)
static int64_t key_of(pto_status_t status, int rank) { return (int64_t)status * RANKS_MAX + rank; }

/* Collective: all get the error of the process that `key` names. Returns its status. */
static pto_status_t share_error(const pto_team_t *team, int64_t key, pto_error_t *err) {
    int failed = (int)(key & (RANKS_MAX - 1));
    pto_status_t status = (pto_status_t)((key - failed) / RANKS_MAX);
    pto_error_t shared = {0};
    if (team->rank == failed && err)
        shared = own_error(team, status, err);
    pto_status_t sent = pto_team_broadcast(team, &shared, sizeof shared, failed, err);
    if (sent == PTO_OK && err)
        *err = shared;
    return sent == PTO_OK ? status : sent;
}

pto_status_t pto_agree_least(const pto_team_t *team, pto_status_t status, int64_t *number, int count,
                             pto_error_t *err) {
    int64_t least[1 + PTO_AGREE_MAX] = {key_of(status, team->rank)};
    pto_error_t ignored;
    assert(count <= PTO_AGREE_MAX);
    for (int i = 0; i < count; i++)
        least[1 + i] = number[i];
    pto_status_t failed = pto_team_least(team, least, 1 + count, status == PTO_OK ? err : &ignored);
    if (failed != PTO_OK)
        return status == PTO_OK ? failed : status;
    for (int i = 0; i < count; i++)
        number[i] = least[1 + i];
    return least[0] < 0 ? share_error(team, least[0], err) : PTO_OK;
}

pto_status_t pto_agree(const pto_team_t *team, pto_status_t status, pto_error_t *err) {
    return pto_agree_least(team, status, NULL, 0, err);
}

pto_status_t pto_agree_same(const pto_team_t *team, pto_status_t status, uint64_t number, pto_error_t *err) {
    int64_t least[2]; /* the number, and its complement, whose minimum is that of the largest number */
    memcpy(&least[0], &number, sizeof number);
    least[1] = ~least[0];
    status = pto_agree_least(team, status, least, 2, err);
    if (status != PTO_OK || least[0] == ~least[1])
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "the processes were given different plans, operations or options (digests from "
                         "%016llx to %016llx)",
                         (unsigned long long)least[0], (unsigned long long)~least[1]);
}

void pto_team_unshare(int rank, void *memory, const pto_shared_handle_t *handle) {
    if (memory)
        (rank == 0 ? pto_shared_destroy : pto_shared_close)(memory, handle);
}

pto_status_t pto_team_share(const pto_team_t *team, size_t bytes, void **memory, pto_shared_handle_t *handle,
                            pto_error_t *err) {
    void *created = NULL;
    pto_status_t status = team->rank == 0 ? pto_shared_create(bytes, &created, handle, err) : PTO_OK;
    status = pto_agree(team, status, err);
    if (status == PTO_OK)
        status = pto_team_broadcast(team, handle, sizeof *handle, 0, err);
    if (status == PTO_OK && team->rank > 0)
        status = pto_shared_open(handle, &created, err);
    status = pto_agree(team, status, err);
    if (status == PTO_OK)
        *memory = created;
    else
        pto_team_unshare(team->rank, created, handle);
    return status;
}
