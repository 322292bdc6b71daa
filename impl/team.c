/* Operations of teams of any kind on their few exchanges, among them agreement on errors. */
#include "team.h"

#include <assert.h>
#include <string.h>

/* Room on the stack for what all processes give. Larger teams bring their own `least` and `broadcast`. */
enum { ROOM_BYTES = 8192 };

pto_status_t pto_team_allgather(const pto_team_t *team, const void *mine, size_t bytes, void *all,
                                pto_error_t *err) {
    return team->allgather(team->context, mine, bytes, all, err);
}

static pto_status_t piece_bytes(const pto_team_t *team, size_t unit, size_t *bytes, pto_error_t *err) {
    *bytes = ROOM_BYTES / (size_t)team->size / unit * unit;
    if (*bytes > 0)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_TOO_LARGE, "a team of %d processes needs a `least` and a `broadcast`",
                         team->size);
}

pto_status_t pto_team_least(const pto_team_t *team, int64_t *numbers, int count, pto_error_t *err) {
    int64_t all[ROOM_BYTES / sizeof(int64_t)];
    size_t bytes = 0;
    if (team->least)
        return team->least(team->context, numbers, count, err);
    pto_status_t status = piece_bytes(team, sizeof *numbers, &bytes, err);
    const int most = (int)(bytes / sizeof *numbers);
    for (int first = 0, some; first < count && status == PTO_OK; first += some) {
        some = count - first < most ? count - first : most;
        status = pto_team_allgather(team, numbers + first, (size_t)some * sizeof *numbers, all, err);
        for (int i = 0; i < team->size * some && status == PTO_OK; i++)
            if (all[i] < numbers[first + i % some])
                numbers[first + i % some] = all[i];
    }
    return status;
}

pto_status_t pto_team_broadcast(const pto_team_t *team, void *data, size_t bytes, int root,
                                pto_error_t *err) {
    char all[ROOM_BYTES];
    size_t most = 0;
    if (team->broadcast)
        return team->broadcast(team->context, data, bytes, root, err);
    pto_status_t status = piece_bytes(team, 1, &most, err);
    for (size_t done = 0, some; done < bytes && status == PTO_OK; done += some) {
        some = bytes - done < most ? bytes - done : most;
        status = pto_team_allgather(team, (char *)data + done, some, all, err);
        if (status == PTO_OK)
            memcpy((char *)data + done, all + (size_t)root * some, some);
    }
    return status;
}

pto_status_t pto_team_barrier(const pto_team_t *team, pto_error_t *err) {
    int64_t none = 0;
    return pto_team_least(team, &none, 1, err);
}

/* --- agreement ------------------------------------------------------------------------------------------ */

/* A failed call names its rank, since the other processes will report it too; a plan that is wrong is wrong
 * on all ranks. */
static pto_error_t own_error(const pto_team_t *team, pto_status_t status, const pto_error_t *err) {
    pto_error_t named = *err;
    if (status == PTO_ERR_IO || status == PTO_ERR_MEMORY)
        pto_error_set(&named, status, "%srank %d: %s", team->mpi ? "MPI " : "", team->rank, err->message);
    return named;
}

/* The lowest status of the lowest rank is the least of these: errors are negative. */
#define RANKS_MAX ((int64_t)1 << 32)
static int64_t key_of(pto_status_t status, int rank) { return (int64_t)status * RANKS_MAX + rank; }

static pto_status_t share_error(const pto_team_t *team, int64_t key, pto_error_t *err) {
    int failed = (int)(key & (RANKS_MAX - 1));
    pto_status_t status = (pto_status_t)((key - failed) / RANKS_MAX);
    pto_error_t shared = {0};
    if (team->rank == failed && err)
        shared = own_error(team, status, err);
    pto_status_t told = pto_team_broadcast(team, &shared, sizeof shared, failed, err);
    if (told == PTO_OK && err)
        *err = shared;
    return told == PTO_OK ? status : told;
}

pto_status_t pto_agree_least(const pto_team_t *team, pto_status_t status, int64_t *number, int count,
                             pto_error_t *err) {
    int64_t least[1 + PTO_AGREE_MAX] = {key_of(status, team->rank)};
    pto_error_t later;
    assert(count <= PTO_AGREE_MAX);
    for (int i = 0; i < count; i++)
        least[1 + i] = number[i];
    pto_status_t failed = pto_team_least(team, least, 1 + count, status == PTO_OK ? err : &later);
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
    int64_t least[2]; /* of the numbers and of their complements, of which the least is that of the largest */
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

/* --- memory --------------------------------------------------------------------------------------------- */

void pto_team_unshare(int rank, void *memory, const pto_shared_handle_t *handle) {
    if (memory)
        (rank == 0 ? pto_shared_destroy : pto_shared_close)(memory, handle);
}

pto_status_t pto_team_share(const pto_team_t *team, size_t bytes, void **memory, pto_shared_handle_t *handle,
                            pto_error_t *err) {
    void *made = NULL;
    pto_status_t status = team->rank == 0 ? pto_shared_create(bytes, &made, handle, err) : PTO_OK;
    status = pto_agree(team, status, err);
    if (status == PTO_OK)
        status = pto_team_broadcast(team, handle, sizeof *handle, 0, err);
    if (status == PTO_OK && team->rank > 0)
        status = pto_shared_open(handle, &made, err);
    status = pto_agree(team, status, err);
    if (status == PTO_OK)
        *memory = made;
    else
        pto_team_unshare(team->rank, made, handle);
    return status;
}
