/* Communicators: the ranks of their processes in MPI_COMM_WORLD, and an identifier that all of them compute
 * without communication. It is a hash of the processes and of the number of earlier communicators with the
 * same processes; this number is equal on all of them, since creating a communicator is collective. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "profile.h"
#include "ranks.h"

static int keyval = MPI_KEYVAL_INVALID;

/* The processes of a communicator, in order, and the number of communicators with the same ones. */
typedef struct members members_t;
struct members {
    members_t *next;
    uint64_t hash;
    uint64_t communicators;
    int size;
    int world[];
};

static members_t *known_members;
/* The communicator of the last prof_group_of, and its result: a cache. */
static MPI_Comm known_comm = MPI_COMM_NULL;
static const prof_group_t *known_group;

/* MPI calls this when it frees a communicator, whose handle it may reuse. */
static int forget(MPI_Comm comm, int key, void *attribute, void *extra) {
    (void)key, (void)attribute, (void)extra;
    if (comm == known_comm)
        known_comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

void prof_groups_begin(void) { PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL); }

static uint64_t hash_of(const int *world, int size) {
    uint64_t hash = PTO_HASH_START;
    for (int i = 0; i < size; i++)
        hash = pto_hash_add(hash, (uint32_t)world[i]);
    return hash ^ (uint64_t)size << 48;
}

/* Sets the ranks of a group's processes in MPI_COMM_WORLD; -1: not in it. */
static bool translate(MPI_Group group, int size, int *world) {
    bool done = preload_world_ranks(group, size, world);
    for (int i = 0; done && i < size; i++)
        world[i] = world[i] == MPI_UNDEFINED ? -1 : world[i];
    return done;
}

static members_t *new_members(MPI_Group group) {
    int size = 0;
    PMPI_Group_size(group, &size);
    members_t *made = calloc(1, sizeof *made + (size_t)size * sizeof *made->world);
    if (made && !translate(group, size, made->world)) {
        free(made);
        made = NULL;
    }
    if (made) {
        made->size = size;
        made->hash = hash_of(made->world, size);
    }
    return made;
}

/* Returns the processes to which messages of a communicator go. Both sides of an inter-communicator compute
 * the same hash. NULL: out of memory. */
static members_t *read_members(MPI_Comm comm, bool is_inter) {
    MPI_Group local, remote;
    PMPI_Comm_group(comm, &local);
    members_t *made = new_members(local);
    if (made && is_inter) {
        uint64_t own = made->hash;
        free(made);
        PMPI_Comm_remote_group(comm, &remote);
        made = new_members(remote);
        PMPI_Group_free(&remote);
        if (made)
            made->hash ^= own;
    }
    PMPI_Group_free(&local);
    return made;
}

/* Returns the known list with the same processes and frees this one, or adds this one to the known ones. */
static members_t *interned(members_t *made) {
    for (members_t *known = known_members; known; known = known->next)
        if (known->hash == made->hash && known->size == made->size &&
            memcmp(known->world, made->world, (size_t)made->size * sizeof *made->world) == 0) {
            free(made);
            return known;
        }
    made->next = known_members;
    known_members = made;
    return made;
}

static prof_group_t *new_group(MPI_Comm comm) {
    int is_inter = 0;
    PMPI_Comm_test_inter(comm, &is_inter);
    members_t *members = read_members(comm, is_inter != 0);
    prof_group_t *group = members ? calloc(1, sizeof *group) : NULL;
    if (!group) {
        free(members);
        return NULL;
    }
    members = interned(members);
    *group = (prof_group_t){.id = members->hash + PTO_GOLDEN_GAMMA * members->communicators++,
                            .size = members->size,
                            .is_inter = is_inter != 0,
                            .world = members->world};
    PMPI_Comm_rank(comm, &group->rank);
    return group;
}

const prof_group_t *prof_group_of(MPI_Comm comm) {
    void *found = NULL;
    int is_set = 0;
    if (comm == known_comm)
        return known_group;
    if (comm == MPI_COMM_NULL || PMPI_Comm_get_attr(comm, keyval, (void *)&found, &is_set) != MPI_SUCCESS)
        return NULL;
    if (!is_set) {
        found = new_group(comm);
        if (!found)
            return NULL;
        PMPI_Comm_set_attr(comm, keyval, found);
    }
    known_comm = comm;
    known_group = found;
    return known_group;
}
