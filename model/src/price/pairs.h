/* Rounds of exchanges of tables, shared by pairs.c and pairs_terms.c. Internal to libportolan. */
#ifndef PTO_PRICE_PAIRS_H
#define PTO_PRICE_PAIRS_H

#include "price/messages.h"

typedef struct pto_pairs_terms pto_pairs_terms_t;

/* The processes of one core, or all owners, are one group, whose members exchange with each other. */
typedef struct {
    pto_pricing_t *pricing;
    const pto_stage_t *stage;
    pto_messages_t out; /* of the first round */
    pto_table_t table;
    pto_parts_t parts;
    bool dealt; /* a core has the blocks of its part alone */
    int64_t size;
    int64_t per_node;
    int64_t first_core;
    int64_t groups;
    int64_t *bytes;     /* of this round's messages, by sender */
    int64_t *own_bytes; /* the same, of one group */
    double *alpha_s;    /* of each group's messages, by sender */
    double *bytes_s;
    bool *empty; /* by group: all of them leave their nodes without bytes, as most do of cores whose part is
                    another one; then neither is set */
    pto_sum_t *sent;      /* by each node, between nodes */
    double *node_bytes_s; /* the limits of the node, by member */
    double *node_rate_s;
    double *empty_s; /* what a message without bytes costs a member where its node's limits are these */
    double *time_s;  /* how far members are: [group][member] */
    double *next_s;  /* how far they are behind the round */
    pto_pairs_terms_t *terms; /* NULL: no explanation is wanted */
} pto_pairs_t;

static inline double pto_larger(double a, double b) { return b > a ? b : a; }

/* pto_charge_time of a message between nodes, where the node's limits are these. */
static inline double pto_off_node_s(double alpha_s, double bytes_s, double node_bytes_s, double node_rate_s) {
    return pto_larger(alpha_s + pto_larger(bytes_s, node_bytes_s), node_rate_s);
}

/* Returns how far a message goes. */
pto_level_t pto_pairs_level(const pto_pairs_t *pairs, int64_t sender, int64_t distance);

/* Returns the bytes of one group's messages by sender, which last until they are asked for again; NULL: they
 * have none. */
const int64_t *pto_pairs_bytes(const pto_pairs_t *pairs, int64_t group, int64_t distance);

/* A message as seen from one of its ends, where the limits of the node are these. */
typedef struct {
    pto_level_t level;
    const pto_postal_t *postal;
    int64_t bytes;
    double alpha_s;
    double bytes_s;
    double time_s;
} pto_pairs_end_t;
pto_pairs_end_t pto_pairs_end(const pto_pairs_t *pairs, int64_t sender, int64_t distance, int64_t bytes,
                              double node_bytes_s, double node_rate_s);

/* Returns the off-node traffic of a node in this round. */
pto_outflow_t pto_pairs_outflow(const pto_pairs_t *pairs, int64_t node);

/* --- pairs_bound.c -------------------------------------------------------------------------------------- */

/* Returns whether the price is sure to exceed its bound, with the times before round `from`. All ledgers are
 * those before the loop. */
bool pto_pairs_exceed(pto_pairs_t *pairs, int loop, int64_t from);

/* --- pairs_terms.c -------------------------------------------------------------------------------------- */

/* False: out of memory. */
bool pto_pairs_terms_begin(pto_pairs_t *pairs);
/* Count the terms of a round whose costs and limits are known, before its times take the place of those
 * before it. */
void pto_pairs_terms_count(pto_pairs_t *pairs, int64_t distance);
/* Give all processes their ledgers, but for the times. */
void pto_pairs_terms_end(pto_pairs_t *pairs);
void pto_pairs_terms_release(pto_pairs_t *pairs);

#endif
