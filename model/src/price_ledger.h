/* What both ways of pricing share: who has come how far, what a stage costs one of them, and from which
 * parameters. An actor is a class of ranks (price_classes.c) or one rank (price_walk.c). */
#ifndef PTO_PRICE_LEDGER_H
#define PTO_PRICE_LEDGER_H

#include "portolan/price.h"

enum { PTO_CHARGE_TERMS_MAX = 40 };

/* An addend before it has a name: enough to make one. */
typedef struct {
    const char *stage;
    pto_term_kind_t kind;
    const pto_param_t *param;
    int where[3]; /* space or copy kind; level or reach; protocol, or 1 for a copy by several processes, 2 for
                     one between GPUs */
    double count;
} pto_entry_t;

/* What one stage costs one actor. Entries are kept only when an explanation is wanted. */
typedef struct {
    const char *stage;
    bool explain;
    double alpha_s;
    double on_node_s;
    double off_node_s;
    bool off_node; /* whether any message leaves the node */
    double other_s;
    int entry_count;
    pto_entry_t entry[PTO_CHARGE_TERMS_MAX];
} pto_charge_t;

/* Bytes that a node sends off itself in one stage, by space. */
typedef struct {
    double bytes[PTO_SPACE_COUNT];
} pto_outflow_t;

void pto_charge_begin(pto_charge_t *charge, const char *stage, bool explain);

/* `count` messages of `bytes` at a level. Errors: PTO_ERR_NOT_APPLICABLE where the machine has none such. */
pto_status_t pto_charge_messages(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                                 pto_level_t level, int64_t bytes, int64_t count, pto_error_t *err);

/* One process's part in the copies of its GPU: `procs` processes copy `total_bytes` at once, this one
 * `own_bytes` of them. */
pto_status_t pto_charge_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_copy_kind_t kind,
                             int64_t procs, int64_t own_bytes, int64_t total_bytes, pto_error_t *err);
/* The same for a copy between two GPUs, of whose links it shares the busier one's `total_bytes`. */
void pto_charge_peer_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_reach_t reach,
                          int64_t own_bytes, int64_t total_bytes);
/* `bytes` of one input for two inputs, more of them for more. */
void pto_charge_reduce(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space, int64_t bytes);
void pto_charge_signal(pto_charge_t *charge, const pto_machine_t *machine);

/* The charge's seconds under the node's injection limit. */
double pto_charge_seconds(const pto_charge_t *charge, const pto_machine_t *machine,
                          const pto_outflow_t *outflow);

/* Where that limit holds, make its parameters the addends instead of the off-node bytes' own. */
void pto_charge_settle(pto_charge_t *charge, const pto_machine_t *machine, const pto_outflow_t *outflow);

/* How far one actor has come, and by which addends. */
typedef struct {
    double seconds;
    int entry_count;
    int entry_capacity;
    pto_entry_t *entry;
} pto_ledger_t;

void pto_ledger_fini(pto_ledger_t *ledger);

/* Add a closed charge of `seconds`. Returns false when out of memory. */
bool pto_ledger_add(pto_ledger_t *ledger, const pto_charge_t *charge, double seconds);

/* Make `ledger` start where `from` stands, if that is later. */
bool pto_ledger_follow(pto_ledger_t *ledger, const pto_ledger_t *from, bool explain);

/* `ledger` stood at `before` some iterations ago: add what has come since `times` times more. */
void pto_ledger_repeat(pto_ledger_t *ledger, const pto_ledger_t *before, double times);

/* Turn the slowest actor's ledger into a price and, if wanted, an explanation. */
pto_status_t pto_ledger_report(const pto_ledger_t *slowest, pto_price_t *price,
                               pto_explanation_t *explanation, pto_error_t *err);

#endif
