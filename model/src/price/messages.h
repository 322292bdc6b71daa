/* The messages of one step that exchanges a table of byte counts, for at_once.c, pairs.c and busy.c, which
 * price such steps without by_rank.c: members, peers, the bytes of a message, and its costs. */
#ifndef PTO_PRICE_MESSAGES_H
#define PTO_PRICE_MESSAGES_H

#include "price/pricing.h"
#include "price/table.h"
#include "scenario/skew.h"

/* Made by pto_messages_of for one iteration of a step. */
typedef struct {
    const pto_plan_t *plan;
    const pto_step_t *step;
    const pto_group_t *group;
    const pto_slice_t *slice;
    const pto_buffer_t *buffer;
    pto_space_t space;
    int64_t per_index; /* the distance in ranks from one member to the next; 0: it varies */
    bool by_core;      /* the members or peers depend on the core */
    bool in_one_order; /* all processes send to their peers in the same order */
    /* The members and peers of pto_messages_find_members: */
    int64_t who_first, who_stride, who_until;
    int64_t peer_first, peer_stride, peer_count;
    bool of_pairs; /* a message has the bytes of the table's entry for sender and receiver, or a share of them
                    */
    bool is_skewed; /* the table is random */
    pto_skew_t skew;
    const pto_cost_table_t *cost[PTO_LEVEL_COUNT];
    const pto_cost_table_t *gap[PTO_LEVEL_COUNT];  /* NULL: none */
    const pto_cost_table_t *cell[PTO_LEVEL_COUNT]; /* what explanations name instead of the cost */
    /* For at_once.c: */
    pto_parts_t parts; /* how the rows or columns of `sums` are divided */
    const pto_table_sums_t *sums;
    int64_t part; /* the part of a row or column that is this step's messages; -1: all parts are */
} pto_messages_t;

/* Returns whether at_once.c and pairs.c may price a stage: single ranks, outside lanes, sharing only
 * limits. */
bool pto_messages_are_plain(const pto_pricing_t *pricing);

pto_messages_t pto_messages_of(const pto_pricing_t *pricing, const pto_step_t *step, int64_t k);

/* Sets the members and peers in round k, as seen from a core. */
void pto_messages_find_members(pto_messages_t *messages, int64_t k, int64_t core);

/* pto_floor_mod, without a division if the value is within one `size` of the range. */
static inline int64_t pto_messages_wrap(int64_t value, int64_t size) {
    if (value < 0)
        value += size;
    else if (value >= size)
        value -= size;
    return value >= 0 && value < size ? value : pto_floor_mod(value, size);
}

/* Returns the postal cost of these bytes; the table's rows differ only in their byte ranges. */
static inline const pto_postal_t *pto_messages_postal(const pto_cost_table_t *cost, int64_t bytes) {
    int at = 0;
    while (at < cost->count - 1 && bytes >= cost->row[at].below_bytes)
        at++;
    return &cost->row[at].postal;
}

/* Returns whether the machine has a cost for messages at every level. */
bool pto_messages_all_cost(const pto_messages_t *messages);

/* Returns the bytes of one message with the action's peer; `of_pairs` must be set. */
int64_t pto_messages_pair_bytes(const pto_messages_t *messages, const pto_action_t *action);

/* Sets the peer of an action by `value`, the peer's index, shift or xor operand in the step's set of peers.
 * `first_rank` is the rank of member 0. False: the peer is the process itself. */
bool pto_messages_to_peer(const pto_messages_t *messages, int64_t value, int64_t first_rank,
                          pto_action_t *action);

#endif
