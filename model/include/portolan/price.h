/* price: the cost of a plan, in closed form, from a machine's parameters.
 *
 * The cost of one rank in one stage is the sum of its copies, reductions and waits, plus the larger of its
 * sends and its receives. With B the off-node bytes that all ranks of a node send in that stage (the max-rate
 * model, Gropp, Olson, Samfass 2016),
 *
 *     T = sum alpha + sum on-node beta s + max(sum off-node beta s, B_cpu / R_cpu + B_gpu / R_gpu).
 *
 * The plan's time is the longest path over (class, stage): a class of ranks starts a stage after its own
 * previous stage, and not before the classes that it receives from or waits for have finished theirs.
 * docs/model.md derives every term. */
#ifndef PORTOLAN_PRICE_H
#define PORTOLAN_PRICE_H

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

/* One addend of a price: `count` (of messages, bytes, ...) times a parameter. */
typedef struct {
    const char *stage;
    pto_power_t power;           /* the power that the GPUs draw meanwhile */
    const pto_param_t *param;    /* NULL: the machine file has none, and the term is not priced */
    char key[PTO_PARAM_KEY_MAX]; /* the machine file's key, e.g. messages.cpu.off_node.eager.alpha_s */
    double count;
    double seconds;
    const char *file; /* where the parameter is, if not in the machine file; else NULL */
} pto_term_t;

/* What a process or its node has one of, so that plans that run at once share it. */
typedef enum {
    PTO_OCCUPIED_OUT,    /* a GPU's copies to the host */
    PTO_OCCUPIED_IN,     /* from the host */
    PTO_OCCUPIED_GPU,    /* copies, reductions and kernels in the memory of GPUs */
    PTO_OCCUPIED_CPU,    /* copies and reductions in host memory, and flags */
    PTO_OCCUPIED_SEND,   /* a process's sends */
    PTO_OCCUPIED_RECV,   /* and receives */
    PTO_OCCUPIED_MEMORY, /* a node's host memory, which all processes of the node share */
    PTO_OCCUPIED_NICS,   /* a node's injection limits; NCCL's calls between nodes */
    PTO_OCCUPIED_COUNT
} pto_occupied_t;

/* The addends along the longest path, in stage order. Free with pto_explanation_fini. */
typedef struct {
    int count;
    int capacity;
    pto_term_t *term;
    /* How long the busiest process, or node, occupies each, whether the longest path waits for it or not. */
    double occupied_s[PTO_OCCUPIED_COUNT];
} pto_explanation_t;

void pto_explanation_fini(pto_explanation_t *explanation);

/* What a price was extrapolated from: NCCL's, measured on these GPUs and nodes. */
typedef struct {
    int64_t gpus; /* of all nodes; 0: nothing was extrapolated */
    int64_t nodes;
    int64_t bytes;    /* the largest size measured, if the price is beyond it; else 0 */
    double doublings; /* of GPUs, nodes and bytes from there */
} pto_extrapolation_t;

typedef struct {
    double seconds;
    bool has_interval; /* only with an explanation, if the machine has intervals or a model error */
    double low_s;      /* 95 percent; parameters taken as independent */
    double high_s;
    double tie_log_sd; /* the model's standard deviation of ln(ratio) to another strategy; 0: not known */
    pto_extrapolation_t extrapolated;
} pto_price_t;

/* Limits of pricing rank by rank: ranks and messages, and the copies, reductions and signals of one node
 * whose processes use each other's memory. */
enum {
    PTO_PRICE_WALK_RANKS_MAX = 65536,
    PTO_PRICE_WALK_MESSAGES_MAX = 1 << 25,
    PTO_PRICE_TABLE_MESSAGES_MAX = 1 << 28, /* of plans with a table of byte counts */
    PTO_PRICE_PLACES_MAX = 1 << 23,
    /* Of plans that are priced rank by rank for the sake of their messages' latency alone: above, by class.
     */
    PTO_PRICE_LATENCY_RANKS_MAX = 512,
    PTO_PRICE_LATENCY_MESSAGES_MAX = 1 << 17
};
/* The same where messages share no links. */
#define PTO_PRICE_APART_MESSAGES_MAX (INT64_C(1) << 32)

/* How many messages, or copies, reductions and signals, pricing the plan walks one by one; 0 for prices by
 * class. A million take about a second. */
int64_t pto_price_work(const pto_plan_t *plan);

/* Price a plan. `explanation` may be NULL. Otherwise it must be zeroed or hold an earlier explanation, which
 * is replaced; it points into the plan and the machine. Errors: PTO_ERR_NOT_APPLICABLE if the machine has no
 * cost for messages or copies that the plan makes; PTO_ERR_TOO_LARGE above the limits, before any work is
 * done; PTO_ERR_MEMORY. */
pto_status_t pto_price(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_t *price,
                       pto_explanation_t *explanation, pto_error_t *err);

/* The same, rank by rank instead of class by class. It is exact even if ranks of a class differ, and slower
 * in proportion to their number. Plans with a table of byte counts are always priced this way. Errors as
 * above. */
pto_status_t pto_price_walk(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_t *price,
                            pto_explanation_t *explanation, pto_error_t *err);

PTO_API_END

#endif
