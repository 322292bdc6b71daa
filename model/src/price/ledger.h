/* How far each actor has come, what a stage costs one of them, and from which parameters. An actor is a class
 * of ranks, a place of a node, or one rank (pricing.h). */
#ifndef PTO_PRICE_LEDGER_H
#define PTO_PRICE_LEDGER_H

#include "machine/registry.h"
#include "portolan/price.h"
#include "tape/tape.h"

/* An addend: a number of the machine, and how often it counts. */
typedef struct {
    const char *stage;
    const void *place;        /* the cell of the machine (registry.h) that holds it, or would */
    pto_field_t field;        /* of the cell's row or postal; NONE: the cell as a whole */
    const pto_param_t *param; /* NULL: the machine lacks it */
    pto_space_t space;        /* gpu: a GPU's memory is at one end of it, or the GPU works */
    bool off_node;            /* of an off-node message, whose cost a limit of the node may replace */
    double count;
} pto_entry_t;

/* How far one actor has come, and by which addends. */
typedef struct {
    pto_time_t time;
    int entry_count;
    size_t entry_capacity;
    pto_entry_t *entry;
} pto_ledger_t;

/* The cost of one stage for one actor. */
typedef struct {
    const char *stage;
    pto_ledger_t *terms; /* the addends; NULL: no explanation is wanted */
    bool out_of_memory;  /* an addend could not be kept */
    bool at_once;        /* whether messages are in flight together; not at first */
    bool mixed;          /* whether messages have one end in host and one in GPU memory; not at first */
    pto_space_t to;      /* where they end, then */
    pto_time_t alpha;
    pto_time_t off_node_alpha; /* of these, the off-node messages' */
    pto_time_t on_node;
    pto_time_t most_on_node; /* of a class, that of the member for which it is most */
    pto_time_t most_by_cpu;  /* the same of pto_charge_by_cpu, with what they cost more; 0 where all
                                members are alike */
    pto_time_t within[PTO_SPACE_COUNT]; /* on_node by the messages' memory */
    pto_time_t off_node;
    bool moved[PTO_LEVEL_COUNT]; /* whether there is any message of that distance */
    pto_time_t other;
} pto_charge_t;

/* The off-node traffic of a node in one stage, by space: messages, their bytes, and how many of these go
 * where other nodes' bytes may be going too: of n nodes that send to all others, (n - 2) / (n - 1). Where all
 * nodes post their messages in one order, `waited` has these, too: the last node receives nothing before all
 * others have sent to those before it. */
typedef struct {
    double messages[PTO_SPACE_COUNT];
    double bytes[PTO_SPACE_COUNT];
    double contended[PTO_SPACE_COUNT];
    double waited[PTO_SPACE_COUNT];
    /* The limits' times of these, once they have been asked for. */
    bool limits_known;
    pto_time_t bytes_limit;
    pto_time_t rate_limit;
} pto_outflow_t;

/* Adds what a node sends in one step. Partners in pairs (xor) are not contended for. */
void pto_outflow_add(pto_outflow_t *outflow, const pto_plan_t *plan, const pto_step_t *step, double messages,
                     double bytes_each);

/* Adds messages that have `bytes` in total, if the caller knows the step's space and peers, whether all nodes
 * post in one order, and the number of nodes. */
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

/* Sets the times of the limits, unless they are known. */
void pto_outflow_find_limits(pto_outflow_t *outflow, const pto_machine_t *machine);

/* Returns how long the traffic occupies the node's NICs, by the limits that the machine has. Contention at
 * receivers is not counted: the NICs only wait then. */
double pto_outflow_seconds(const pto_outflow_t *outflow, const pto_machine_t *machine);

/* Begins the charge of a stage. Empties `terms`, which must outlive the charge; NULL: no explanation is
 * wanted. */
void pto_charge_begin(pto_charge_t *charge, const char *stage, pto_ledger_t *terms);

/* Adds to an addend's count, if an explanation is wanted. */
void pto_charge_enter(pto_charge_t *charge, pto_entry_t entry);

/* Adds to the counts of both addends of a postal cost. If it is NULL or unknown, they are entered as lacking.
 */
void pto_charge_enter_postal(pto_charge_t *charge, pto_entry_t entry, const pto_postal_t *postal,
                             double starts, double bytes);

/* Charges a postal cost that is paid `starts` times, for `bytes` in total, and enters its addends, as above.
 * `place` and `space` are those of the entry. */
void pto_charge_postal(pto_charge_t *charge, const void *place, const pto_postal_t *postal, pto_space_t space,
                       double starts, double bytes);

/* Charges one addend. A parameter that is NULL or unknown is entered as lacking and costs nothing. */
void pto_charge_entry(pto_charge_t *charge, pto_entry_t entry);

/* Charges a parameter that is a cell of its own. */
void pto_charge_param(pto_charge_t *charge, const pto_param_t *param, pto_space_t space, double count);
/* Charges a parameter whose count depends on parameters itself. */
void pto_charge_share(pto_charge_t *charge, const pto_param_t *param, pto_space_t space, pto_time_t count);

/* Returns whether the plan's messages have one end in host and one in GPU memory: those of a pair, unless its
 * strategy sends them from host memory. */
bool pto_messages_are_mixed(const pto_plan_t *plan);

/* Set the charge's `mixed` and `to`. */
void pto_charge_mixed(pto_charge_t *charge, const pto_plan_t *plan);

/* `count` messages of `bytes` at a level. Errors: PTO_ERR_NOT_APPLICABLE where the machine has none such. */
pto_status_t pto_charge_messages(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                                 pto_level_t level, int64_t bytes, int64_t count, pto_error_t *err);

/* Charge both what messages within the node cost more that a process sends and receives in one stage. Returns
 * that. */
pto_time_t pto_charge_both_ways(pto_charge_t *out, pto_charge_t *in, const pto_machine_t *machine);

/* Returns how long the messages within the node and in host memory take, which a CPU moves. */
static inline pto_time_t pto_charge_by_cpu(const pto_charge_t *charge) {
    if (!pto_time_positive(charge->within[PTO_SPACE_CPU]))
        return (pto_time_t){0};
    return pto_time_add(pto_time_subtract(charge->alpha, charge->off_node_alpha), charge->on_node);
}

/* Charge what messages within the node cost more between the copies of a pipeline. Returns that. */
pto_time_t pto_charge_staged(pto_charge_t *charge, const pto_machine_t *machine);

/* Returns whether it matters to any copy what it follows. */
bool pto_queued_copies_cost(const pto_machine_t *machine);

/* The CPU time of a queued copy in its process: to put it into the queue, and to see its end. Nothing where
 * the machine does not know that messages ask for it too. */
void pto_charge_queueing(pto_charge_t *charge, const pto_machine_t *machine, pto_copy_kind_t kind);

/* The operation that a copy follows. Behind another copy it is in the stream when that ends, so that it costs
 * `copies.queued`, if that is known, instead of a start. */
typedef enum {
    PTO_BEHIND_NOTHING,
    PTO_BEHIND_COPY, /* that its process has just put into the stream, without waiting for it */
    PTO_BEHIND_CHUNK /* of its lane; as another lane waits for its end, it also costs `signals.event_s` */
} pto_behind_t;

/* One process's copy, alone. `engine_bytes`: what all processes of the GPU copy in that direction, which its
 * engine carries one after another; a machine with measured sharing has pto_charge_queued instead, and one
 * without has that noted where others copy at once. */
typedef struct {
    pto_copy_kind_t kind;
    pto_reach_t reach;
    bool pageable;
    pto_behind_t behind;
    int64_t own_bytes;
    int64_t engine_bytes;
} pto_one_copy_t;
pto_status_t pto_charge_one_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_one_copy_t copy,
                                 pto_error_t *err);

/* The cost of the rows of a strided copy besides its bytes; `rows` of 1 cost nothing. */
void pto_charge_rows(pto_charge_t *charge, const pto_machine_t *machine, pto_copy_kind_t kind, int64_t rows);
/* The additional cost of a message of a derived type over a contiguous one. */
void pto_charge_message_rows(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                             int64_t rows);

/* A copy that may have to queue with those of other processes of its GPU. */
typedef struct {
    pto_copy_kind_t kind;
    bool strided;  /* its bytes don't lie together on the GPU */
    bool pageable; /* its host side, whose own cost it has unless it waits */
    int64_t bytes;
    int64_t piece_bytes; /* of each of its pieces, where it is made one by one */
    pto_reach_t reach;   /* matters to a copy alone only */
    pto_behind_t behind; /* the same */
} pto_queued_copy_t;

/* The additional time of one more copy while `waiting` others have not ended: the difference between the
 * measured times of waiting + 1 and of waiting copies at once. */
void pto_charge_queued(pto_charge_t *charge, const pto_machine_t *machine, pto_queued_copy_t copy,
                       int64_t waiting);

/* Returns how long after its end a copy still counts as not ended. Where a second copy takes longer than one
 * alone, processes take turns on the GPU, and a turn lasts whether it is used or not. */
pto_time_t pto_copy_hold(const pto_machine_t *machine, pto_queued_copy_t copy);

/* The event that the copies of a GPU's processes wait for. Copies that wait for different ones overlap. */
typedef enum {
    PTO_COPY_OUT,    /* the engine to the host */
    PTO_COPY_IN,     /* the engine from the host */
    PTO_COPY_TURN,   /* the time slice of their process */
    PTO_COPY_MEMORY, /* the GPU's own memory, where processes do not take turns */
    PTO_COPY_RESOURCE_COUNT
} pto_copy_resource_t;
pto_copy_resource_t pto_copy_resource(const pto_machine_t *machine, pto_queued_copy_t copy);

/* Returns whether the machine knows how processes share a GPU's copies of this kind. */
bool pto_copy_is_queued(const pto_machine_t *machine, pto_copy_kind_t kind);

/* The reach whose cost such a copy between GPUs has: the other one's where its own is not known. Errors:
 * PTO_ERR_NOT_APPLICABLE where the machine has neither. */
pto_status_t pto_find_peer_copy(const pto_machine_t *machine, pto_reach_t *reach, pto_error_t *err);

/* A copy of `own_bytes` between two GPUs; the busier of the two sends or receives `link_bytes` in all. Both
 * take the pair's rate, unless the machine has one for all peers at once: then the longer of both counts.
 * Errors: PTO_ERR_NOT_APPLICABLE where the machine has no cost for it. */
pto_status_t pto_charge_peer_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_reach_t reach,
                                  pto_behind_t behind, int64_t own_bytes, int64_t link_bytes,
                                  pto_error_t *err);

/* One pass over two or more inputs of `input_bytes` each: `bytes` is once that for each input but one. */
typedef struct {
    int64_t input_bytes;
    int64_t bytes;
} pto_reduction_t;

/* One start, the cost of two inputs, and the machine's cost of each additional input. A machine without that
 * cost is charged k - 1 times the cost of two inputs. */
void pto_charge_reduce(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                       pto_reduction_t reduction);
/* The bytes that it takes as two inputs, and of the others those that have a cost of their own. */
typedef struct {
    int64_t bytes;
    int64_t extra_bytes;
    const pto_param_t *extra;
} pto_reduction_parts_t;
pto_reduction_parts_t pto_reduction_parts(const pto_machine_t *machine, pto_space_t space,
                                          pto_reduction_t reduction);
void pto_charge_extra_inputs(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                             pto_reduction_parts_t parts);

/* --- price_kernel.c: what a kernel does ----------------------------------------------------------------- */

void pto_charge_launch(pto_charge_t *charge, const pto_machine_t *machine);
/* A wait for a flag: between processes or, for a step in a kernel, between GPUs. */
void pto_charge_wait(pto_charge_t *charge, const pto_machine_t *machine, const pto_step_t *step);

/* One step's loads or stores of other GPUs' memory. */
typedef struct {
    pto_remote_t how;
    pto_reach_t reach;
    int64_t most_bytes; /* of one other GPU */
    int64_t link_bytes; /* that the busiest link of those used carries in this stage */
} pto_remote_access_t;

/* Errors: PTO_ERR_NOT_APPLICABLE where the machine has no cost for it. */
pto_status_t pto_charge_remote(pto_charge_t *charge, const pto_machine_t *machine, pto_remote_access_t access,
                               pto_error_t *err);

/* A reduction, or a copy of `bytes`, in the memory of a kernel's own GPU: without a start. */
void pto_charge_kernel_reduce(pto_charge_t *charge, const pto_machine_t *machine, pto_reduction_t reduction);
void pto_charge_kernel_bytes(pto_charge_t *charge, const pto_machine_t *machine, int64_t bytes);

static inline bool pto_charge_has_messages(const pto_charge_t *charge) {
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        if (charge->moved[level])
            return true;
    return false;
}

/* Returns the time of the charge under the node's injection limit. */
pto_time_t pto_charge_time_with_messages(const pto_charge_t *charge, const pto_machine_t *machine,
                                         pto_outflow_t *outflow);
static inline pto_time_t pto_charge_time(const pto_charge_t *charge, const pto_machine_t *machine,
                                         pto_outflow_t *outflow) {
    return pto_charge_has_messages(charge) ? pto_charge_time_with_messages(charge, machine, outflow)
                                           : charge->other;
}

/* Enter a node's limits for what it sends; `by_rate`: those of its messages, too. */
void pto_charge_enter_limits(pto_charge_t *charge, const pto_machine_t *machine, const pto_outflow_t *outflow,
                             bool by_rate);

/* Where that limit holds, make its parameters the addends instead of the off-node bytes' own. */
void pto_charge_settle(pto_charge_t *charge, const pto_machine_t *machine, pto_outflow_t *outflow);

void pto_ledger_fini(pto_ledger_t *ledger);

/* Add a closed charge that takes `time`. Returns false when out of memory, now or while it was charged. */
bool pto_ledger_add_terms(pto_ledger_t *ledger, const pto_charge_t *charge);
static inline bool pto_ledger_add(pto_ledger_t *ledger, const pto_charge_t *charge, pto_time_t time) {
    ledger->time = pto_time_add(ledger->time, time);
    return charge->terms ? pto_ledger_add_terms(ledger, charge) : !charge->out_of_memory;
}

/* Set `ledger` to the time of `from`, with its entries. Returns false when out of memory. */
bool pto_ledger_copy_terms(pto_ledger_t *ledger, const pto_ledger_t *from);
static inline bool pto_ledger_copy(pto_ledger_t *ledger, const pto_ledger_t *from) {
    ledger->time = from->time;
    return ledger->entry_count + from->entry_count == 0 || pto_ledger_copy_terms(ledger, from);
}

/* Advance `ledger` to the time of `from`, with its entries, if that is later. A tape keeps no entries. */
static inline bool pto_ledger_follow(pto_ledger_t *ledger, const pto_ledger_t *from) {
    bool later = ledger->time.s < from->time.s;
    ledger->time = pto_time_max(ledger->time, from->time);
    return !later || ledger->entry_count + from->entry_count == 0 || pto_ledger_copy_terms(ledger, from);
}

/* Add `times` the difference between `before`, the state of a ledger some iterations ago, and `now`, which
 * may be `ledger` itself. Returns false when out of memory. */
bool pto_ledger_shift(pto_ledger_t *ledger, const pto_ledger_t *now, const pto_ledger_t *before,
                      double times);

/* A copy that others count as not ended until then. */
typedef struct {
    int64_t who;
    pto_time_t until;
} pto_held_copy_t;

/* The copies of one GPU's processes that wait for one resource, in the order in which they were asked for:
 * each takes what the machine's sharing says it adds to those that have not ended (docs/model.md, 'Shared
 * copies'). */
typedef struct {
    int count;
    size_t capacity;
    pto_held_copy_t *held; /* of each process, in the order of their latest copies */
    pto_time_t hold;       /* of the one that has entered last */
    pto_ledger_t last;     /* where the last one's process stood at its end */
} pto_copy_queue_t;

void pto_copy_queue_fini(pto_copy_queue_t *queue);

/* Charge a copy of actor `who` at the time of `mine`, after the other actors' copies that delay it. Returns
 * false when out of memory. */
bool pto_copy_queue_enter(pto_copy_queue_t *queue, const pto_machine_t *machine, pto_queued_copy_t copy,
                          int64_t who, pto_ledger_t *mine, pto_charge_t *charge);

/* The copy of `who` has ended at the time of `mine`. Returns false when out of memory. */
bool pto_copy_queue_leave(pto_copy_queue_t *queue, int64_t who, const pto_ledger_t *mine);

/* Move all copies on as pto_ledger_shift moves their actors' ledgers on. Returns false when out of memory. */
bool pto_copy_queue_shift(pto_copy_queue_t *queue, const pto_ledger_t *now, const pto_ledger_t *before,
                          double times);

/* Widen a price's interval by the machine's model error, if it has one. */
void pto_price_widen(const pto_request_t *request, const pto_machine_t *machine, pto_price_t *price);

/* Turn the slowest actor's ledger into a price and, if wanted, an explanation. */
pto_status_t pto_ledger_report(const pto_ledger_t *slowest, const pto_machine_t *machine, pto_price_t *price,
                               pto_explanation_t *explanation, pto_error_t *err);

/* An addend as it is explained: with its name and what it comes to. */
pto_term_t pto_entry_term(const pto_entry_t *entry, const pto_machine_t *machine);

#endif
