/* The messages of collectives for which MPI prescribes no algorithm. They are taken from portolan's plan of
 * an algorithm: the one that the environment or a machine file names, or else a common default. parts.c calls
 * prof_plan_parts for each call of such a collective, so results are cached. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "environment.h"
#include "portolan/pick.h"
#include "portolan/strategy.h"
#include "profile.h"

enum { CACHE_SIZE = 1024 };

/* A cache entry: the messages of one member, by the arguments of prof_plan_parts. */
typedef struct {
    int64_t bytes;
    int64_t element_bytes;
    pto_collective_t collective;
    preload_space_t space;
    int n;
    int me;
    prof_parts_t parts;
} cached_t;

static const char *const defaults[PTO_COLLECTIVE_COUNT] = {
    [PTO_COLLECTIVE_ALLREDUCE] = "recursive_doubling", [PTO_COLLECTIVE_REDUCE] = "binomial",
    [PTO_COLLECTIVE_BROADCAST] = "binomial",           [PTO_COLLECTIVE_ALLGATHER] = "ring",
    [PTO_COLLECTIVE_REDUCE_SCATTER] = "pairwise",
};

static char named_algorithm[PTO_COLLECTIVE_COUNT][32]; /* by the environment; "": none */
static pto_machine_t *machine;                         /* NULL: none */
static cached_t cache[CACHE_SIZE];                     /* by a hash; empty where `parts.part` is NULL */

/* Parses PORTOLAN_PROFILE_ALGORITHMS, such as "allreduce:ring,broadcast:binomial". */
static void read_names(const char *text) {
    char collective[32], algorithm[32];
    while (text && *text) {
        size_t size = strcspn(text, ",");
        const pto_algorithm_t *found;
        bool is_pair = sscanf(text, "%31[^:,]:%31[^,]", collective, algorithm) == 2;
        int count = 0;
        for (pto_collective_t i = 0; is_pair && i < PTO_COLLECTIVE_COUNT; i++)
            if (defaults[i] && strcmp(pto_collective_name(i), collective) == 0 &&
                pto_algorithm_find(algorithm, i, &found, NULL) == PTO_OK) {
                memcpy(named_algorithm[i], algorithm, sizeof named_algorithm[i]);
                count++;
            }
        if (count == 0)
            preload_say("PORTOLAN_PROFILE_ALGORITHMS: '%.*s' is ignored: it is not a collective and its "
                        "algorithm, such "
                        "as allreduce:ring",
                        size < 80 ? (int)size : 80, text);
        text += size + (text[size] == ',');
    }
}

void prof_plans_begin(void) {
    const char *path = getenv("PORTOLAN_PROFILE_MACHINE");
    pto_error_t err = {0};
    read_names(getenv("PORTOLAN_PROFILE_ALGORITHMS"));
    if (path && pto_machine_open(path, &machine, &err) != PTO_OK)
        preload_say("%s: %s", path, err.message);
}

const char *prof_plan_name(int kind) {
    return kind == PROF_LINEAR ? "linear" : pto_algorithm_at(kind - PROF_BY_PLAN)->name;
}

static int kind_of(const pto_algorithm_t *algorithm) {
    int i = 0;
    while (pto_algorithm_at(i) != algorithm)
        i++;
    return PROF_BY_PLAN + i;
}

typedef struct {
    prof_part_t *part;
    int count;
    size_t capacity;
} list_t;

/* Appends a message, or merges it with an equal last one. */
static bool add(list_t *list, prof_part_t part) {
    prof_part_t *last = list->count > 0 ? &list->part[list->count - 1] : NULL;
    if (last && last->peer == part.peer && last->bytes == part.bytes) {
        last->messages++;
        return true;
    }
    if (!PTO_RESERVE(list->part, list->capacity, list->count + 1))
        return false;
    list->part[list->count++] = part;
    return true;
}

/* Lists the messages that a member sends, or receives by `kind`, in the order of the plan's steps. False if
 * out of memory. */
static bool list_messages(const pto_plan_t *plan, pto_step_kind_t kind, int me, list_t *list) {
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(plan, walk.stage->step_first + i);
            const pto_slice_t *slice = kind == PTO_STEP_SEND ? &step->source : &step->target;
            pto_action_t action;
            if (step->kind != kind || !pto_step_acts(plan, step, me, walk.k, &action))
                continue;
            for (int64_t next = 0; pto_step_next(plan, &next, &action);) {
                prof_part_t part = {(int)action.peer_rank, pto_slice_bytes(plan, slice, &action), 1};
                if ((part.bytes > 0 || step->send_empty) && !add(list, part))
                    return false;
            }
        }
    return true;
}

static pto_datatype_t datatype_of(int64_t element_bytes) {
    if (element_bytes % 8 == 0)
        return PTO_DATATYPE_DOUBLE;
    return element_bytes % 4 == 0 ? PTO_DATATYPE_FLOAT : PTO_DATATYPE_BYTE;
}

/* The layout is one node with a GPU for each member: the algorithm depends only on their number. */
static pto_request_t request_of(const cached_t *key) {
    pto_request_t request = {.layout = {1, key->n, 1, 1, key->n, false},
                             .collective = key->collective,
                             .datatype = datatype_of(key->element_bytes),
                             .bytes = key->bytes,
                             .by_library = true};
    pto_strategy_find(key->space == PRELOAD_CPU ? "three_step" : "cuda_aware", &request.strategy, NULL);
    return request;
}

static const char *algorithm_of(const pto_request_t *request) {
    const char *name = NULL;
    if (named_algorithm[request->collective][0] != '\0')
        return named_algorithm[request->collective];
    if (machine) {
        pto_scenario_t scenario;
        pto_scenario_init(&scenario);
        scenario.collective = request->collective;
        pto_request_t asked = *request;
        name = pto_library_algorithm(&scenario, machine, &asked);
        pto_scenario_fini(&scenario);
    }
    return name ? name : defaults[request->collective];
}

/* Creates the plan of the named algorithm or, if that does not apply, of the default. */
static bool create(const cached_t *key, pto_plan_t **plan, int *kind) {
    pto_request_t request = request_of(key);
    const char *const names[] = {algorithm_of(&request), defaults[key->collective]};
    for (int i = 0; i < 2; i++)
        if (pto_algorithm_find(names[i], request.collective, &request.algorithm, NULL) == PTO_OK &&
            pto_plan_create(&request, plan, NULL) == PTO_OK) {
            *kind = kind_of(request.algorithm);
            return true;
        }
    return false;
}

/* Fills `parts` of a cache entry, whose other members are set. */
static bool decompose(cached_t *key) {
    pto_plan_t *plan = NULL;
    list_t list = {0};
    if (!create(key, &plan, &key->parts.kind))
        return false;
    bool done = list_messages(plan, PTO_STEP_SEND, key->me, &list);
    key->parts.send_count = list.count;
    /* A separator, so that `add` does not merge a send with an equal receive. */
    done = done && add(&list, (prof_part_t){-1, 0, 1});
    done = done && list_messages(plan, PTO_STEP_RECV, key->me, &list);
    key->parts.receive_count = list.count - key->parts.send_count - 1;
    key->parts.part = list.part;
    pto_plan_destroy(plan);
    return done;
}

const prof_parts_t *prof_plan_parts(pto_collective_t collective, int n, int me, int64_t bytes,
                                    int64_t element_bytes, preload_space_t space) {
    cached_t key = {bytes, element_bytes, collective, space, n, me, {0}};
    uint64_t hash = ((uint64_t)bytes * 31 + (uint64_t)n * 7 + (uint64_t)me) * PTO_GOLDEN_GAMMA;
    cached_t *slot = &cache[(hash >> 40 ^ (uint64_t)collective << 8 ^ (uint64_t)space) % CACHE_SIZE];
    if (slot->parts.part && slot->collective == collective && slot->n == n && slot->me == me &&
        slot->bytes == bytes && slot->element_bytes == element_bytes && slot->space == space)
        return &slot->parts;
    if (!decompose(&key)) {
        free(key.parts.part);
        return NULL;
    }
    free(slot->parts.part);
    *slot = key;
    return &slot->parts;
}
