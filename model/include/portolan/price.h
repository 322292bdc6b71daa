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

/* Resources of a process or its node for which plans that run at once compete. */
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
    /* How long the busiest process or node occupies each resource, on or off the longest path. */
    double occupied_s[PTO_OCCUPIED_COUNT];
} pto_explanation_t;

void pto_explanation_fini(pto_explanation_t *explanation);

/* From where a price was extrapolated: NCCL's cost, measured on this many GPUs and nodes. */
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
    /* Plans that are priced rank by rank for the latency of messages alone; larger ones by class: */
    PTO_PRICE_LATENCY_RANKS_MAX = 512,
    PTO_PRICE_LATENCY_MESSAGES_MAX = 1 << 17
};
/* The same where messages share no links. */
#define PTO_PRICE_APART_MESSAGES_MAX (INT64_C(1) << 32)

/* The number of messages, or of copies, reductions and signals, that pricing the plan walks one by one; 0 if
 * it is priced by class. A million take about a second. */
int64_t pto_price_work(const pto_plan_t *plan);

/* Price a plan. `explanation` may be NULL. Otherwise it must be zeroed or hold an earlier explanation, which
 * is replaced; it points into the plan and the machine. Errors: PTO_ERR_NOT_APPLICABLE if the machine has no
 * cost for messages or copies that the plan makes; PTO_ERR_TOO_LARGE above the limits, before any work is
 * done; PTO_ERR_MEMORY. */
pto_status_t pto_price(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_t *price,
                       pto_explanation_t *explanation, pto_error_t *err);

/* The same, rank by rank instead of class by class. It is exact even if ranks of a class differ, and slower
 * in proportion to their number. Plans with a table of byte counts are always priced so. */
pto_status_t pto_price_walk(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_t *price,
                            pto_explanation_t *explanation, pto_error_t *err);

/* setup: the one-time cost of a plan before its first run, in seconds, from the machine file's `setup`
 * (docs/model.md, 'Setup').
 *
 * A process allocates its temporaries (one allocation of GPU memory, one of pinned host memory) and opens
 * every allocation of other processes that its slices name, once each. If the plan has flags, the node
 * creates a segment of shared memory for them. All processes synchronise between these phases, so the busiest
 * process counts in each:
 *
 *     S = max over processes of (allocations) + max over processes of (openings) + segment.
 *
 * Buffers that only the library's own collective touches belong to the library and cost nothing here. What
 * every executor does for any plan (communicators, agreements) is not included; it is the same for all
 * strategies. The setup answers after how many calls a shared buffer has paid back the cost of opening it (I.
 * Faraji, A. Afsahi, "GPU-Aware Intranode MPI_Allreduce", EuroMPI/ASIA 2014, Figure 3). */

/* Two allocations and openings of up to four ranges, each with alpha and beta; and the segment. */
enum { PTO_SETUP_TERM_MAX = 2 * (2 + PTO_COST_RANGE_MAX) + 1 };

/* The terms' keys are those of the machine file; `stage` names the operation. A cost that the file lacks has
 * no parameter, and the key of the whole cost, such as setup_open. */
typedef struct {
    bool known;     /* false: the machine file lacks a cost that the plan needs */
    double seconds; /* valid if known */
    int term_count; /* 0: nothing to set up */
    pto_term_t term[PTO_SETUP_TERM_MAX];
} pto_setup_t;

/* Compute the setup of a plan. The terms point into the machine. If byte counts are equal, the first node
 * represents all. Errors: PTO_ERR_MEMORY. A cost that the machine lacks is not an error. */
pto_status_t pto_setup(const pto_plan_t *plan, const pto_machine_t *machine, pto_setup_t *setup,
                       pto_error_t *err);

/* energy: the cost of a plan in joules, from the machine's powers and the plan's price (docs/model.md,
 * 'Energy').
 *
 * Every device that takes part draws its idle power for the whole duration of the plan. Active devices draw
 * additional power for as long as the addends of the price keep them active: copies, and messages from GPU
 * memory, keep the GPUs' copy engines busy; reductions on a GPU keep its kernels busy; and every process that
 * takes part polls on its own core from start to end. All GPUs count as active for as long as those on the
 * critical path.
 *
 * The model is meant to reproduce the finding of L. Oden, B. Klenk, H. Froening, "Energy-Efficient Collective
 * Reduce and Allreduce Operations on Distributed GPUs" (CCGrid 2014). */

/* One power, and the device-seconds for which it is drawn. The sum over all parts is the energy. */
typedef struct {
    char key[PTO_PARAM_KEY_MAX]; /* the machine file's key, e.g. energy.gpu.idle_w */
    const pto_param_t *param;    /* NULL: the machine file has none, and the energy excludes it */
    double device_s;             /* number of GPUs, nodes or cores, times seconds */
    double joules;
} pto_energy_part_t;

typedef struct {
    double joules;
    bool has_interval;
    double low_joules; /* 95 percent; powers and price taken as independent */
    double high_joules;
    pto_energy_part_t part[PTO_POWER_COUNT];
} pto_energy_t;

/* The energy of a plan, from its price and explanation. The parts point into the machine. If the machine file
 * has no CPU powers, the energy is that of the GPUs alone.
 * Errors: PTO_ERR_NOT_APPLICABLE if the machine lacks a GPU power that the plan needs. */
pto_status_t pto_energy(const pto_plan_t *plan, const pto_machine_t *machine, const pto_price_t *price,
                        const pto_explanation_t *explanation, pto_energy_t *energy, pto_error_t *err);

PTO_API_END

#endif
