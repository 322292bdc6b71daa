/* Counts the messages of a step by locality level (on the GPU, the socket, the node, or between nodes), by
 * arithmetic instead of visiting all ranks of a large group. by_class.c prices classes of ranks by these
 * counts. (model/src/traffic counts bytes between pairs of ranks instead, for users.) */
#ifndef PTO_TRAFFIC_H
#define PTO_TRAFFIC_H

#include "plan/plan_internal.h"

enum { PTO_MIX_MAX = 16 };

/* The number of one rank's messages at each level. */
typedef struct {
    int64_t messages[PTO_LEVEL_COUNT];
} pto_mix_t;

/* The counts of a step. */
typedef struct {
    int mix_count;
    pto_mix_t mix[PTO_MIX_MAX]; /* the different ones that its ranks have; if there are more than PTO_MIX_MAX,
                                   the last one has the maximum at each level */
    int64_t off_per_node;       /* number of messages of one group that leave the busiest node */
} pto_traffic_t;

/* Everything that a count depends on, besides the layout. */
enum { PTO_TRAFFIC_KEY_NUMBERS = 9, PTO_TRAFFIC_CACHED = 128 };

typedef struct {
    pto_group_kind_t group;
    pto_peers_kind_t kind;
    bool in_one_order;
    int64_t number[PTO_TRAFFIC_KEY_NUMBERS]; /* by the enumeration KEY_... of traffic.c */
} pto_traffic_key_t;

/* A direct-mapped cache of counts: the sends and receives of all classes of a stage need the same ones, and
 * so do the prices of a plan for several sizes. Set with pto_traffic_cache_init. */
typedef struct {
    pto_layout_t layout; /* of all counts */
    bool known[PTO_TRAFFIC_CACHED];
    pto_traffic_key_t key[PTO_TRAFFIC_CACHED];
    pto_traffic_t traffic[PTO_TRAFFIC_CACHED];
} pto_traffic_cache_t;

void pto_traffic_cache_init(pto_traffic_cache_t *cache);
/* NULL: out of memory. The caller frees it with free(). */
pto_traffic_cache_t *pto_traffic_cache_create(void);

/* Returns the counts of a step in iteration k for a core, valid until the next call. */
const pto_traffic_t *pto_traffic_count(const pto_plan_t *plan, const pto_step_t *step, int64_t k,
                                       int64_t core, pto_traffic_cache_t *cache);

/* Returns whether all members of the group exchange with all others, in the order of their indices. */
bool pto_step_is_in_one_order(const pto_plan_t *plan, const pto_step_t *step);

bool pto_layouts_are_same(const pto_layout_t *a, const pto_layout_t *b);

/* Returns whether some member takes part in both steps; true if their groups differ. */
bool pto_steps_share_members(const pto_step_t *a, const pto_step_t *b, int64_t k, int64_t core);

#endif
