/* The messages of one step of a table of byte counts, for the two ways to price them at once. Internal to
 * libportolan. */
#ifndef PTO_PRICE_MESSAGES_H
#define PTO_PRICE_MESSAGES_H

#include "price/pricing.h"
#include "price/table.h"
#include "scenario/skew.h"

typedef struct {
    const pto_plan_t *plan;
    const pto_step_t *step;
    const pto_group_t *group;
    const pto_slice_t *slice;
    const pto_buffer_t *buffer;
    pto_space_t space;
    int64_t per_index;                        /* ranks from one member to the next; 0: it varies */
    bool by_core;                             /* whether who acts, or with whom, depends on the core */
    bool in_one_order;                        /* all processes send to one after the other, at once */
    int64_t who_first, who_stride, who_until; /* in this round; not by core */
    int64_t peer_first, peer_stride, peer_count;
    bool of_pairs;  /* the bytes are a pair's in the table, or a share of them */
    bool is_skewed; /* that table is random */
    pto_skew_t skew;
    const pto_cost_table_t *cost[PTO_LEVEL_COUNT];
    const pto_cost_table_t *gap[PTO_LEVEL_COUNT];   /* NULL: none */
    const pto_cost_table_t *place[PTO_LEVEL_COUNT]; /* what explanations name instead of the cost */
    pto_parts_t parts;                              /* of the lines by which at_once.c sums the table */
    const pto_table_sums_t *sums;                   /* its sums */
    int64_t part; /* of the sums' lines, all of whose messages are this step's; -1: all are */
} pto_messages_t;

/* Returns whether messages share nothing but their node's injection, and every process is priced, outside
 * lanes. */
bool pto_messages_are_plain(const pto_pricing_t *pricing);

pto_messages_t pto_messages_of(const pto_pricing_t *pricing, const pto_step_t *step, int64_t k);

/* Who acts in round k, and with whom, as seen from a core. */
void pto_messages_find_members(pto_messages_t *messages, int64_t k, int64_t core);

/* pto_floor_mod, mostly of a number that one step brings there: without a division. */
static inline int64_t pto_messages_wrap(int64_t value, int64_t size) {
    int64_t near = value < 0 ? value + size : value >= size ? value - size : value;
    return near >= 0 && near < size ? near : pto_floor_mod(near, size);
}

/* Returns the cost's row for these bytes; rows differ in their bytes alone. */
static inline const pto_postal_t *pto_messages_postal(const pto_cost_table_t *cost, int64_t bytes) {
    int at = 0;
    while (at < cost->count - 1 && bytes >= cost->row[at].below_bytes)
        at++;
    return &cost->row[at].postal;
}

/* Returns whether the machine has a cost for messages of any distance. */
bool pto_messages_all_cost(const pto_messages_t *messages);

/* Returns the bytes of one message of pairs. */
int64_t pto_messages_pair_bytes(const pto_messages_t *messages, const pto_action_t *action);

/* Set the peer of an action by its value in the step's set of peers; false: it is the process itself.
 * `first_rank`: of member 0. */
bool pto_messages_to_peer(const pto_messages_t *messages, int64_t value, int64_t first_rank,
                          pto_action_t *action);

#endif
