/* Ledgers and charges. A ledger holds the time that an actor has reached, and the terms that add up to it. A
 * charge collects the cost of one stage for one actor, and is then added to its ledger. An actor is one
 * process, or several that are priced together (pricing.h). The simulation (model/src/simulate) also uses the
 * functions that charge messages, copies and reductions. */
#ifndef PTO_PRICE_LEDGER_H
#define PTO_PRICE_LEDGER_H

#include "machine/registry.h"
#include "portolan/price.h"
#include "tape/tape.h"

/* A term of a time: a parameter of the machine, and how often it counts. */
typedef struct {
    const char *stage;
    const void *cell;         /* the cell of the machine (registry.h) that holds the parameter, or would */
    pto_field_t field;        /* of the cell's row or postal cost; NONE: the cell as a whole */
    const pto_param_t *param; /* NULL: the machine lacks it */
    pto_space_t space;        /* gpu: it concerns GPU memory or work of the GPU */
    bool off_node;            /* of an off-node message, whose cost an injection limit may replace */
    double count;
} pto_entry_t;

/* The time that an actor has reached, and its terms. */
typedef struct {
    pto_time_t time;
    int entry_count;
    size_t entry_capacity;
    pto_entry_t *entry;
} pto_ledger_t;

/* The cost of one stage for one actor. */
typedef struct {
    const char *stage;
    pto_ledger_t *terms;       /* NULL: no explanation is wanted */
    bool out_of_memory;        /* a term could not be kept */
    bool at_once;              /* messages are in flight together (PTO_ORDER_AT_ONCE); the caller sets it */
    bool mixed;                /* messages have one end in host and one in GPU memory (pto_charge_mixed) */
    pto_space_t to;            /* where mixed messages end */
    pto_time_t alpha;          /* the startup costs of all messages */
    pto_time_t off_node_alpha; /* the part of `alpha` of off-node messages */
    pto_time_t on_node;        /* the cost of the bytes of on-node messages */
    pto_time_t max_on_node;    /* of a class: the maximum of `on_node` over its members */
    pto_time_t max_by_cpu;     /* of a class: the maximum of pto_charge_by_cpu over its members, with the cost
                                  of sharing the CPU; 0 if its members do not differ */
    pto_time_t within[PTO_SPACE_COUNT]; /* `on_node` by the memory of the messages */
    pto_time_t off_node;                /* the cost of the bytes of off-node messages */
    bool moved[PTO_LEVEL_COUNT];        /* there is a message at that level */
    pto_time_t other;                   /* everything but messages */
} pto_charge_t;

/* The off-node traffic of a node in one stage, by space. `contended` bytes may meet those of a third node at
 * their receiver (docs/model.md, 'Contention for receivers'). If all nodes post their messages in one order,
 * these also count as `waited`: the last node receives nothing until all others have sent to the nodes before
 * it. */
typedef struct {
    double messages[PTO_SPACE_COUNT];
    double bytes[PTO_SPACE_COUNT];
    double contended[PTO_SPACE_COUNT];
    double waited[PTO_SPACE_COUNT];
    /* Set by pto_outflow_find_limits: */
    bool limits_known;
    pto_time_t bytes_limit; /* the least time for these bytes */
    pto_time_t rate_limit;  /* the least time for these messages and their bytes */
} pto_outflow_t;

/* Adds what a node sends in one step. Exchanges in pairs (xor) are not contended. */
void pto_outflow_add(pto_outflow_t *outflow, const pto_plan_t *plan, const pto_step_t *step, double messages,
                     double bytes_each);

/* The same for messages that have `bytes` in total. `in_one_order`: all nodes post in the same order. */
static inline void pto_outflow_add_sum(pto_outflow_t *outflow, pto_space_t space, pto_peers_kind_t peers,
                                       bool in_one_order, int64_t nodes, double messages, double bytes) {
    outflow->limits_known = false;
    outflow->messages[space] += messages;
    outflow->bytes[space] += bytes;
    if (nodes > 2 && peers != PTO_PEERS_XOR) {
        double contended = bytes * (double)(nodes - 2) / (double)(nodes - 1);
        outflow->contended[space] += contended;
        outflow->waited[space] += in_one_order ? contended : 0;
    }
}

/* Computes bytes_limit and rate_limit, unless they are known. */
void pto_outflow_find_limits(pto_outflow_t *outflow, const pto_machine_t *machine);

/* Returns how long the traffic occupies the node's NICs, by the limits that the machine has. Contention at
 * receivers is not counted: the NICs only wait then. */
double pto_outflow_seconds(const pto_outflow_t *outflow, const pto_machine_t *machine);

/* Begins the charge of a stage, and clears `terms`, which must outlive it; NULL: no explanation is wanted. */
void pto_charge_begin(pto_charge_t *charge, const char *stage, pto_ledger_t *terms);

/* Adds to the count of a term, if an explanation is wanted. The time is not charged. */
void pto_charge_enter(pto_charge_t *charge, pto_entry_t entry);

/* The same for both terms of a postal cost. If it is NULL or unknown, they are entered as lacking. */
void pto_charge_enter_postal(pto_charge_t *charge, pto_entry_t entry, const pto_postal_t *postal,
                             double starts, double bytes);

/* Charges a postal cost that is paid `starts` times, for `bytes` in total, and enters both terms.
 * `cell` and `space` are those of the entry. */
void pto_charge_postal(pto_charge_t *charge, const void *cell, const pto_postal_t *postal, pto_space_t space,
                       double starts, double bytes);

/* Charges one term. A parameter that is NULL or unknown is entered as lacking and costs nothing. */
void pto_charge_entry(pto_charge_t *charge, pto_entry_t entry);

/* Charges a parameter that is a cell of its own. */
void pto_charge_param(pto_charge_t *charge, const pto_param_t *param, pto_space_t space, double count);
/* Charges a parameter that is multiplied by a time. Returns what is added: 0 if the parameter is unknown. */
pto_time_t pto_charge_share(pto_charge_t *charge, const pto_param_t *param, pto_space_t space,
                            pto_time_t count);

/* Returns whether the plan's messages have one end in host memory and one in GPU memory: those of the
 * collective `pair` between two memories, unless the strategy sends them from host memory. */
bool pto_messages_are_mixed(const pto_plan_t *plan);

/* Sets the charge's `mixed` and `to`. */
void pto_charge_mixed(pto_charge_t *charge, const pto_plan_t *plan);

/* Charges `count` messages of `bytes` at a level. Errors: PTO_ERR_NOT_APPLICABLE if they have no cost. */
pto_status_t pto_charge_messages(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                                 pto_level_t level, int64_t bytes, int64_t count, pto_error_t *err);

/* Charges each of an actor's sends and receives with the additional cost of doing both at once within the
 * node: the machine's `both_ways` share of the shorter of the two, for each memory. Returns that cost. */
pto_time_t pto_charge_both_ways(pto_charge_t *out, pto_charge_t *in, const pto_machine_t *machine);

/* Returns the time of on-node messages with starts if any is in host memory (a CPU moves it); else 0. */
static inline pto_time_t pto_charge_by_cpu(const pto_charge_t *charge) {
    if (!pto_time_positive(charge->within[PTO_SPACE_CPU]))
        return (pto_time_t){0};
    return pto_time_add(pto_time_subtract(charge->alpha, charge->off_node_alpha), charge->on_node);
}

/* Charges the additional cost of on-node messages in host memory while the copies of a pipeline are active:
 * the machine's `staged_message` share of their time. Returns that cost. */
pto_time_t pto_charge_staged(pto_charge_t *charge, const pto_machine_t *machine);

/* Returns whether a copy's cost depends on what it follows (pto_behind_t): there is `copies.queued`. */
bool pto_queued_copies_cost(const pto_machine_t *machine);

/* Charges the CPU time to enqueue a copy and to detect its end: the `both_ways` share, as of a message in
 * host memory, of the queued start and the event. Charges nothing without `both_ways` or `copies.queued`. */
void pto_charge_queueing(pto_charge_t *charge, const pto_machine_t *machine, pto_copy_kind_t kind);

/* The operation that a copy follows in its stream. If a copy is enqueued while the previous one is still in
 * progress, it costs `copies.queued` instead of a start, if the machine has that parameter. */
typedef enum {
    PTO_BEHIND_NOTHING,
    PTO_BEHIND_COPY, /* a copy that its process has enqueued without waiting for it */
    PTO_BEHIND_CHUNK /* in a pipeline, the previous chunk's copy of the same stage; the next stage waits for
                        this copy's event, so that `signals.event_s` is added */
} pto_behind_t;

/* A copy of one process. */
typedef struct {
    pto_copy_kind_t kind;
    pto_reach_t reach;
    pto_behind_t behind;
    bool pageable; /* its host memory is not pinned */
    bool strided;  /* not contiguous on the GPU */
    int64_t bytes;
    int64_t piece_bytes; /* of each piece, if it is copied in pieces */
} pto_one_copy_t;

/* Charges a copy on a machine that does not know how processes share a GPU's copies (pto_copy_is_queued; else
 * use pto_charge_queued). `engine_bytes`: what all processes of the GPU copy in that direction, one after
 * another. If that is more than the process's own bytes, the missing parameter is entered as lacking. */
pto_status_t pto_charge_one_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_one_copy_t copy,
                                 int64_t engine_bytes, pto_error_t *err);

/* Charges the cost of the rows of a strided copy besides its bytes; one row costs nothing. */
void pto_charge_rows(pto_charge_t *charge, const pto_machine_t *machine, pto_copy_kind_t kind, int64_t rows);
/* Charges the additional cost of a message of a derived datatype over a contiguous one. */
void pto_charge_message_rows(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                             int64_t rows);

/* Charges the additional time of one more copy while `active` others of its GPU are active: the difference
 * between the measured times of active + 1 and of `active` concurrent copies. The copy's members `pageable`,
 * `reach` and `behind` matter only if no other is active. */
void pto_charge_queued(pto_charge_t *charge, const pto_machine_t *machine, pto_one_copy_t copy,
                       int64_t active);

/* Returns how long after its end a copy still counts as active. If a second copy adds more time than one copy
 * takes alone, processes share the GPU in time slices, and a time slice lasts whether it is used or not. */
pto_time_t pto_copy_hold(const pto_machine_t *machine, pto_one_copy_t copy);

/* What the copies of a GPU's processes wait for. Copies that wait for different resources overlap. */
typedef enum {
    PTO_COPY_OUT,    /* the engine to the host */
    PTO_COPY_IN,     /* the engine from the host */
    PTO_COPY_TURN,   /* the time slice of their process */
    PTO_COPY_MEMORY, /* the GPU's own memory, if there are no time slices */
    PTO_COPY_RESOURCE_COUNT
} pto_copy_resource_t;
pto_copy_resource_t pto_copy_resource(const pto_machine_t *machine, pto_one_copy_t copy);

/* Returns whether the machine knows how processes share a GPU's copies of this kind. */
bool pto_copy_is_queued(const pto_machine_t *machine, pto_copy_kind_t kind);

/* Sets `*reach` to one with a known cost of copies between GPUs: its own, or else on_socket. Errors:
 * PTO_ERR_NOT_APPLICABLE if neither is known. */
pto_status_t pto_find_peer_copy(const pto_machine_t *machine, pto_reach_t *reach, pto_error_t *err);

/* Charges a copy of `own_bytes` between two GPUs, the busier of which sends or receives `link_bytes` in all.
 * If the machine has a rate for all peers at once, the longer of `own_bytes` at the pair's rate and
 * `link_bytes` at that rate counts; else `link_bytes` at the pair's rate. Errors: PTO_ERR_NOT_APPLICABLE if
 * the machine has no cost for it. */
pto_status_t pto_charge_peer_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_reach_t reach,
                                  pto_behind_t behind, int64_t own_bytes, int64_t link_bytes,
                                  pto_error_t *err);

/* One pass over k >= 2 inputs of `input_bytes` each; `bytes` is (k - 1) * input_bytes. */
typedef struct {
    int64_t input_bytes;
    int64_t bytes;
} pto_reduction_t;

/* Charges one start, the bytes of two inputs, and those of each additional input. If the machine has no cost
 * of additional inputs, they cost as much as the second one. */
void pto_charge_reduce(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                       pto_reduction_t reduction);
/* A reduction's bytes by what they are charged. */
typedef struct {
    int64_t bytes;            /* at the cost of two inputs */
    int64_t extra_bytes;      /* at the cost of additional inputs */
    const pto_param_t *extra; /* that cost; NULL: the machine has none, and extra_bytes is 0 */
} pto_reduction_parts_t;
pto_reduction_parts_t pto_reduction_parts(const pto_machine_t *machine, pto_space_t space,
                                          pto_reduction_t reduction);
void pto_charge_extra_inputs(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                             pto_reduction_parts_t parts);

/* Charges the launch of a kernel. */
void pto_charge_launch(pto_charge_t *charge, const pto_machine_t *machine);
/* Charges a wait for a flag: between processes or, in a kernel, between GPUs. */
void pto_charge_wait(pto_charge_t *charge, const pto_machine_t *machine, const pto_step_t *step);

/* One step's loads or stores of other GPUs' memory. */
typedef struct {
    pto_remote_t how;
    pto_reach_t reach;
    int64_t most_bytes; /* maximum over the other GPUs */
    int64_t link_bytes; /* carried in this stage by the busiest of the links that the step uses */
} pto_remote_access_t;

/* Errors: PTO_ERR_NOT_APPLICABLE if the machine has no cost for it. */
pto_status_t pto_charge_remote(pto_charge_t *charge, const pto_machine_t *machine, pto_remote_access_t access,
                               pto_error_t *err);

/* Charges a reduction, or a copy of `bytes`, in the memory of a kernel's own GPU: without a start. */
void pto_charge_kernel_reduce(pto_charge_t *charge, const pto_machine_t *machine, pto_reduction_t reduction);
void pto_charge_kernel_bytes(pto_charge_t *charge, const pto_machine_t *machine, int64_t bytes);

static inline bool pto_charge_has_messages(const pto_charge_t *charge) {
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        if (charge->moved[level])
            return true;
    return false;
}

/* Returns the time of the charge under its node's injection limits. The first function is for messages. */
pto_time_t pto_charge_time_with_messages(const pto_charge_t *charge, const pto_machine_t *machine,
                                         pto_outflow_t *outflow);
static inline pto_time_t pto_charge_time(const pto_charge_t *charge, const pto_machine_t *machine,
                                         pto_outflow_t *outflow) {
    return pto_charge_has_messages(charge) ? pto_charge_time_with_messages(charge, machine, outflow)
                                           : charge->other;
}

/* Enters the terms of a node's injection limit: of bytes and, if `by_rate` is set, of messages, too. */
void pto_charge_enter_limits(pto_charge_t *charge, const pto_machine_t *machine, const pto_outflow_t *outflow,
                             bool by_rate);

/* If an injection limit holds, replaces the terms of the off-node messages by those of the limit. */
void pto_charge_settle(pto_charge_t *charge, const pto_machine_t *machine, pto_outflow_t *outflow);

void pto_ledger_fini(pto_ledger_t *ledger);

/* The part of pto_ledger_add for explained prices. */
bool pto_ledger_add_terms(pto_ledger_t *ledger, const pto_charge_t *charge);
/* Adds a complete charge that takes `time`. Returns false when out of memory, now or while it was charged. */
static inline bool pto_ledger_add(pto_ledger_t *ledger, const pto_charge_t *charge, pto_time_t time) {
    ledger->time = pto_time_add(ledger->time, time);
    return charge->terms ? pto_ledger_add_terms(ledger, charge) : !charge->out_of_memory;
}

/* The part of pto_ledger_copy for explained prices. */
bool pto_ledger_copy_terms(pto_ledger_t *ledger, const pto_ledger_t *from);
/* Copies `from` to `ledger`. Returns false when out of memory. */
static inline bool pto_ledger_copy(pto_ledger_t *ledger, const pto_ledger_t *from) {
    ledger->time = from->time;
    return ledger->entry_count + from->entry_count == 0 || pto_ledger_copy_terms(ledger, from);
}

/* Copies `from` to `ledger` if it is later. Returns false when out of memory. */
static inline bool pto_ledger_follow(pto_ledger_t *ledger, const pto_ledger_t *from) {
    bool later = ledger->time.s < from->time.s;
    ledger->time = pto_time_max(ledger->time, from->time);
    return !later || ledger->entry_count + from->entry_count == 0 || pto_ledger_copy_terms(ledger, from);
}

/* Adds `times` the difference between two ledgers: `now`, which may be `ledger` itself, and `before`, the
 * state of `now` some iterations ago. Returns false when out of memory. */
bool pto_ledger_shift(pto_ledger_t *ledger, const pto_ledger_t *now, const pto_ledger_t *before,
                      double times);

/* A copy that counts as active until a time. */
typedef struct {
    int64_t actor;
    pto_time_t until;
} pto_active_copy_t;

/* The queue of the copies of one GPU's processes for one resource. A copy takes the time that it adds to the
 * copies that are active, by the machine's `copies.shared` (docs/model.md, 'Shared copies'). */
typedef struct {
    int count;
    size_t capacity;
    pto_active_copy_t *active; /* at most one of each process, in the order of their latest copies */
    pto_time_t hold;           /* pto_copy_hold of the copy that entered last */
    pto_ledger_t last;         /* the ledger, at the end of its copy, of the process whose copy ended last */
} pto_copy_queue_t;

void pto_copy_queue_fini(pto_copy_queue_t *queue);

/* Charges a copy. If active copies of other actors delay it, first advances `own`, the actor's ledger, to the
 * end of the last one. Returns false when out of memory. */
bool pto_copy_queue_enter(pto_copy_queue_t *queue, const pto_machine_t *machine, pto_one_copy_t copy,
                          int64_t actor, pto_ledger_t *own, pto_charge_t *charge);

/* Ends the actor's latest copy in the queue, at the time of `own`. Returns false when out of memory. */
bool pto_copy_queue_leave(pto_copy_queue_t *queue, int64_t actor, const pto_ledger_t *own);

/* Postpones each copy by `times` what its actor has gained: the difference of its ledgers in the arrays `now`
 * and `before`, [actor]. Returns false when out of memory. */
bool pto_copy_queue_shift(pto_copy_queue_t *queue, const pto_ledger_t *now, const pto_ledger_t *before,
                          double times);

/* Widens a price's interval by the machine's model error, if it has one. */
void pto_price_widen(const pto_request_t *request, const pto_machine_t *machine, pto_price_t *price);

/* Turns the slowest actor's ledger into a price and, if wanted, an explanation. */
pto_status_t pto_ledger_report(const pto_ledger_t *slowest, const pto_machine_t *machine, pto_price_t *price,
                               pto_explanation_t *explanation, pto_error_t *err);

/* Returns a term as it is explained: with its name and its time. */
pto_term_t pto_entry_term(const pto_entry_t *entry, const pto_machine_t *machine);

#endif
