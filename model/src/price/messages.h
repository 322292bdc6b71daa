/* The messages of one step in stages of messages alone, shared by messages.c and pairs.c. Internal to
 * libportolan. */
#ifndef PTO_PRICE_MESSAGES_H
#define PTO_PRICE_MESSAGES_H

#include "price/pricing.h"
#include "scenario/skew.h"

/* One step of a stage of messages alone. */
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
    int64_t dealt_to; /* the one core whose blocks the peers of this round have; -1: any may */
    bool of_pairs;    /* the bytes are a pair's in the table, or a share of them */
    bool is_skewed;   /* that table is random */
    pto_skew_t skew;
    const pto_cost_table_t *cost[PTO_LEVEL_COUNT];
    const pto_cost_table_t *gap[PTO_LEVEL_COUNT];   /* NULL: none */
    const pto_cost_table_t *place[PTO_LEVEL_COUNT]; /* what explanations name instead of the cost */
} pto_messages_t;

pto_messages_t pto_messages_of(const pto_pricing_t *pricing, const pto_step_t *step, int64_t k);

/* pto_floor_mod, mostly of a number that one step brings there: without a division. */
static inline int64_t pto_messages_wrap(int64_t value, int64_t size) {
    int64_t near = value < 0 ? value + size : value >= size ? value - size : value;
    return near >= 0 && near < size ? near : pto_floor_mod(near, size);
}

/* Of the cost's rows, which differ in their bytes alone, the one for these. */
static inline const pto_postal_t *pto_messages_postal(const pto_cost_table_t *cost, int64_t bytes) {
    int at = 0;
    while (at < cost->count - 1 && bytes >= cost->row[at].below_bytes)
        at++;
    return &cost->row[at].postal;
}

/* Whether a core's buffer has a peer's block: all do, unless they are dealt out. */
static inline bool pto_messages_have(const pto_messages_t *messages, int64_t me, int64_t peer, int64_t core) {
    const pto_buffer_t *buffer = messages->buffer;
    if (messages->dealt_to >= 0 || buffer->cyclic == PTO_CYCLIC_NONE)
        return messages->dealt_to < 0 || messages->dealt_to == core;
    int64_t ahead = peer - me, distance = peer;
    if (buffer->cyclic != PTO_CYCLIC_ORDINAL)
        distance =
            pto_messages_wrap(buffer->cyclic == PTO_CYCLIC_FORWARD ? ahead : -ahead, messages->group->size);
    /* Numbers of processes: a division of 32 bits takes half the time. */
    return (int64_t)((uint32_t)distance % (uint32_t)buffer->cyclic_count) == core;
}

/* Price a stage of messages between all pairs, where no explanation is wanted. False: it is another stage,
 * and nothing has been done. */
bool pto_pairs_price(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t k);

#endif
