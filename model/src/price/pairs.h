/* A loop whose rounds exchange a table pairwise: in a round, each process sends to the one at a certain
 * distance. Shared by pairs.c, which prices it, pairs_bound.c and pairs_terms.c. Internal to libportolan. */
#ifndef PTO_PRICE_PAIRS_H
#define PTO_PRICE_PAIRS_H

#include "price/messages.h"

typedef struct pto_pairs_terms pto_pairs_terms_t;

/* The processes of one core are a group, or all owners are one, whose members exchange with each other. */
typedef struct {
    pto_pricing_t *pricing;
    const pto_stage_t *stage;
    pto_messages_t out; /* the sends of the first round */
    pto_table_t table;
    pto_parts_t parts;
    bool dealt;       /* a core has only the blocks of its part */
    int64_t size;     /* number of members of a group */
    int64_t per_node; /* of these, on each node */
    int64_t first_core;
    int64_t groups;
    /* The current round: */
    int64_t *bytes;     /* [sender]: of the messages */
    int64_t *own_bytes; /* [sender]: of one group's messages */
    double *alpha_s;    /* [group][sender] */
    double *bytes_s;    /* [group][sender]: bytes times beta */
    bool *empty; /* [group]: all messages leave their nodes without bytes; alpha_s and bytes_s are unset */
    pto_sum_t *sent;      /* [node]: between nodes */
    double *node_bytes_s; /* [member]: the limits of its node (pto_outflow_t) */
    double *node_rate_s;
    double *empty_s;          /* [member]: the time of a message without bytes under these limits */
    double *time_s;           /* [group][member]: the time that it has reached before the round */
    double *next_s;           /* [group][member]: and after it */
    pto_pairs_terms_t *terms; /* NULL: no explanation is wanted */
} pto_pairs_t;

static inline double pto_larger(double a, double b) { return b > a ? b : a; }

/* pto_charge_time of a message between nodes under its node's limits. */
static inline double pto_off_node_s(double alpha_s, double bytes_s, double node_bytes_s, double node_rate_s) {
    return pto_larger(alpha_s + pto_larger(bytes_s, node_bytes_s), node_rate_s);
}

/* Returns the level of a message. */
pto_level_t pto_pairs_level(const pto_pairs_t *pairs, int64_t sender, int64_t distance);

/* Returns the bytes of one group's messages by sender, valid until the next call; NULL: they have none. */
const int64_t *pto_pairs_bytes(const pto_pairs_t *pairs, int64_t group, int64_t distance);

/* A message at one of its ends, under the limits of that end's node. */
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

/* Returns whether the price exceeds its bound, given the times before round `from` and earlier ledgers. */
bool pto_pairs_exceed(pto_pairs_t *pairs, int loop, int64_t from);

/* --- pairs_terms.c -------------------------------------------------------------------------------------- */

/* False: out of memory. */
bool pto_pairs_terms_begin(pto_pairs_t *pairs);
/* Counts the terms of a round whose costs and limits are known, before `next_s` becomes `time_s`. */
void pto_pairs_terms_count(pto_pairs_t *pairs, int64_t distance);
/* Sets all processes' ledgers except for the times. */
void pto_pairs_terms_end(pto_pairs_t *pairs);
void pto_pairs_terms_release(pto_pairs_t *pairs);

#endif
