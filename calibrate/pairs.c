/* Finds the processes of a case, in the order of ranks, and adds the cases (pairs.h). */
#include "pairs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatal.h"

static bool used(const pair_t *pairs, int count, int rank) {
    for (int i = 0; i < count; i++)
        if (pairs[i].a == rank || pairs[i].b == rank)
            return true;
    return false;
}

int pairs_find(const job_t *job, pto_space_t space, pto_level_t level, pair_t pairs[PAIRS_MAX]) {
    int count = 0;
    for (int a = 0; a < job->size && count < PAIRS_MAX; a++) {
        for (int b = a + 1; b < job->size && !used(pairs, count, a); b++) {
            if (!used(pairs, count, b) && job_level(job, space, a, b) == level) {
                pairs[count++] = (pair_t){a, b};
                break;
            }
        }
    }
    return count;
}

case_t *pairs_case(case_list_t *list, const char *benchmark, const pair_t *pair, const char *level,
                   pto_space_t buffers) {
    case_t *added = case_add(list, benchmark, 2);
    added->level = level;
    added->buffers = buffers;
    snprintf(added->pair, sizeof added->pair, "%d-%d", pair->a, pair->b);
    added->member[0] = pair->a;
    added->member[1] = pair->b;
    return added;
}

const char *pairs_why_none(pto_level_t level) {
    switch (level) {
    case PTO_LEVEL_ON_GPU:
        return "no two processes of the job share a GPU";
    case PTO_LEVEL_ON_SOCKET:
        return "no two processes of the job share a socket";
    case PTO_LEVEL_ON_NODE:
        return "no two processes of a node sit on different sockets";
    default:
        return "the job has one node";
    }
}

void pairs_cases(const job_t *job, pto_space_t space, pto_level_t level, pto_space_t buffers,
                 const char *benchmark, const char *missing, case_list_t *list) {
    pair_t pairs[PAIRS_MAX];
    int count = pairs_find(job, space, level, pairs);
    if (count == 0)
        case_skip(list, pairs_why_none(level), "%s_%s", missing, pto_level_name(level));
    for (int i = 0; i < count; i++)
        pairs_case(list, benchmark, &pairs[i], pto_level_name(level), buffers)->space =
            pto_space_name(buffers);
}

static bool same_gpu(const job_t *job, int a, int b) {
    return job->process[a].node == job->process[b].node &&
           strcmp(job->process[a].bus, job->process[b].bus) == 0;
}

/* Adds a process to a list. For the space `gpu`, it is left out if one in the list uses the same GPU. */
static void add_rank(const job_t *job, pto_space_t space, int rank, int *ranks, int *count) {
    for (int i = 0; i < *count && space == PTO_SPACE_GPU; i++)
        if (same_gpu(job, ranks[i], rank))
            return;
    ranks[(*count)++] = rank;
}

int pairs_partners(const job_t *job, pto_space_t space, pto_level_t level, int rank, int *found) {
    int count = 0;
    for (int other = 0; other < job->size; other++)
        if (other != rank && job_level(job, space, rank, other) == level)
            add_rank(job, space, other, found, &count);
    return count;
}

int pairs_on_node(const job_t *job, pto_space_t space, int node, int *found) {
    int count = 0;
    for (int rank = 0; rank < job->size; rank++)
        if (job->process[rank].node == node)
            add_rank(job, space, rank, found, &count);
    return count;
}

case_t *pairs_collective_case(const job_t *job, const char *library, pto_collective_t collective,
                              pto_space_t members, pto_space_t buffers, int nodes, int per_node,
                              int64_t buffer_bytes, case_list_t *list) {
    char name[CASE_NAME_MAX];
    int *ranks = must_allocate((size_t)job->size, sizeof *ranks);
    snprintf(name, sizeof name, "%s_%s", library, pto_collective_name(collective));
    case_t *added = case_add_in(list, name, buffers, nodes * per_node);
    added->procs = added->member_count;
    added->messages = nodes;
    added->detail[0] = (int)collective;
    added->room = pto_collective_is_vector(collective) ? 1 : added->member_count;
    added->max_bytes = buffer_bytes / added->room;
    for (int node = 0; node < nodes; node++) {
        pairs_on_node(job, members, node, ranks);
        memcpy(added->member + (size_t)node * (size_t)per_node, ranks, (size_t)per_node * sizeof *ranks);
    }
    free(ranks);
    return added;
}

int pairs_fewest(const job_t *job, pto_space_t space) {
    int *ranks = must_allocate((size_t)job->size, sizeof *ranks);
    int fewest = job->size;
    for (int node = 0; node < job->node_count; node++) {
        int count = pairs_on_node(job, space, node, ranks);
        fewest = count < fewest ? count : fewest;
    }
    free(ranks);
    return fewest;
}
