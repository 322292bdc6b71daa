/* The messages of one step in stages of messages alone, shared by messages.c and pairs.c. Internal to
 * libportolan. */
#ifndef PTO_PRICE_MESSAGES_H
#define PTO_PRICE_MESSAGES_H

#include "price/pricing.h"
#include "price/table.h"
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
    bool of_lines;    /* they are those of a row or column, or of a part of it */
    bool is_skewed;   /* that table is random */
    pto_skew_t skew;
    const pto_cost_table_t *cost[PTO_LEVEL_COUNT];
    const pto_cost_table_t *gap[PTO_LEVEL_COUNT];   /* NULL: none */
    const pto_cost_table_t *place[PTO_LEVEL_COUNT]; /* what explanations name instead of the cost */
    const pto_table_sums_t *sums;                   /* at_once.c; NULL: the messages are charged one by one */
    int64_t part; /* of the sums' lines, all of whose messages are this step's; -1: all are */
} pto_messages_t;

pto_messages_t pto_messages_of(const pto_asked_t *asked, const pto_step_t *step, int64_t k);

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

/* Whether the machine has a cost for messages of any distance. */
bool pto_messages_all_cost(const pto_messages_t *messages);

/* The bytes of one message of pairs. */
int64_t pto_messages_pair_bytes(const pto_messages_t *messages, const pto_action_t *action);

/* Set the peer of an action by its value in the step's set of peers; false: it is the process itself.
 * `first_rank`: of member 0. */
bool pto_messages_to_peer(const pto_messages_t *messages, int64_t value, int64_t first_rank,
                          pto_action_t *action);

/* --- what messages cost --------------------------------------------------------------------------------- */

/* Messages of one step and one cost, for the explanation. */
typedef struct {
    const pto_cost_table_t *cost;
    const pto_postal_t *postal;
    bool off_node;
    double starts;
    double bytes;
} pto_alike_messages_t;

enum { PTO_EXPLAINED_MAX = 32 };

typedef struct {
    pto_alike_messages_t item[PTO_EXPLAINED_MAX];
    int count;
} pto_explained_t;

/* pto_charge_messages for `sum`, messages that cost what one of `each_bytes` does: the rows of costs differ
 * in their bytes alone. The machine has a cost for their distance. */
void pto_messages_charge(const pto_messages_t *messages, pto_level_t level, int64_t each_bytes, pto_sum_t sum,
                         pto_charge_t *charge, pto_explained_t *explained);

/* Enter what is charged so far into the terms, and begin anew. */
void pto_messages_enter(const pto_messages_t *messages, pto_explained_t *explained, pto_charge_t *charge);

/* --- at_once.c ------------------------------------------------------------------------------------------ */

/* Set `messages->sums`, if all of a process's messages can be charged by sums over the table. */
void pto_messages_find_sums(const pto_asked_t *asked, pto_clocks_t *clocks, pto_messages_t *messages);

/* Charge them. `outflow`: NULL, or what the node sends, to which they are added. */
void pto_messages_charge_sums(const pto_actors_t *actors, const pto_messages_t *messages,
                              const pto_action_t *action, pto_charge_t *charge, pto_outflow_t *outflow);

/* Of the members of a group, the one that was last to end the stages before. */
typedef struct {
    bool known;
    bool alone; /* no other one was as late */
    int64_t rank;
} pto_latest_t;

/* Whether it is sure who is the latest of those that a process receives from: `**last`, or nobody who is
 * later than the process itself. `latest`: of each core. */
bool pto_messages_find_latest(const pto_asked_t *asked, const pto_clocks_t *clocks,
                              const pto_messages_t *messages, const pto_action_t *action,
                              pto_latest_t *latest, const pto_ledger_t **last);

/* Look at all that it receives from. */
void pto_messages_see_latest(const pto_clocks_t *clocks, const pto_messages_t *messages,
                             const pto_action_t *action, const pto_ledger_t **last);

/* --- pairs.c -------------------------------------------------------------------------------------------- */

/* Price a loop whose rounds are exchanges of all pairs, until the price exceeds its bound. False: it is
 * another loop, and nothing has been done. */
bool pto_pairs_price(pto_pricing_t *pricing, int loop);

#endif
