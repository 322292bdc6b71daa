/* Charges and ledgers (ledger.h): the costs of messages, copies and reductions by the machine's parameters
 * (docs/model.md, 'How a plan is priced'), their sum for a stage, and the terms of an actor's time. If no
 * explanation is wanted, only times are added up: a charge then has no `terms`, and a ledger no entries. */
#include "price/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "portolan/strategy.h"
#include "price/traffic.h"

/* --- one stage of one actor ----------------------------------------------------------------------------- */

void pto_charge_begin(pto_charge_t *charge, const char *stage, pto_ledger_t *terms) {
    *charge = (pto_charge_t){.stage = stage, .terms = terms};
    if (terms)
        terms->entry_count = 0;
}

static bool same_entry(const pto_entry_t *a, const pto_entry_t *b) {
    return a->stage == b->stage && a->cell == b->cell && a->field == b->field && a->param == b->param &&
           a->space == b->space;
}

static bool ledger_reserve(pto_ledger_t *ledger, int count) {
    return PTO_RESERVE(ledger->entry, ledger->entry_capacity, count);
}

/* Adds to the count of a term that the ledger has, or appends it. */
static bool ledger_enter(pto_ledger_t *ledger, const pto_entry_t *entry) {
    for (int i = 0; i < ledger->entry_count; i++)
        if (same_entry(&ledger->entry[i], entry)) {
            ledger->entry[i].count += entry->count;
            return true;
        }
    if (!ledger_reserve(ledger, ledger->entry_count + 1))
        return false;
    ledger->entry[ledger->entry_count++] = *entry;
    return true;
}

void pto_charge_enter(pto_charge_t *charge, pto_entry_t entry) {
    if (!charge->terms || entry.count == 0)
        return;
    entry.stage = charge->stage;
    if (!ledger_enter(charge->terms, &entry))
        charge->out_of_memory = true;
}

void pto_charge_enter_postal(pto_charge_t *charge, pto_entry_t entry, const pto_postal_t *postal,
                             double starts, double bytes) {
    if (!charge->terms)
        return;
    bool known = postal && pto_postal_known(postal);
    entry.field = PTO_FIELD_ALPHA;
    entry.param = known ? &postal->alpha_s : NULL;
    entry.count = starts;
    pto_charge_enter(charge, entry);
    entry.field = PTO_FIELD_BETA;
    entry.param = known ? &postal->beta_s_per_byte : NULL;
    entry.count = bytes;
    pto_charge_enter(charge, entry);
}

void pto_charge_postal(pto_charge_t *charge, const void *cell, const pto_postal_t *postal, pto_space_t space,
                       double starts, double bytes) {
    if (postal && pto_postal_known(postal))
        charge->other =
            pto_time_add(charge->other, pto_time_add(pto_time_of(&postal->alpha_s, starts),
                                                     pto_time_of(&postal->beta_s_per_byte, bytes)));
    if (charge->terms)
        pto_charge_enter_postal(charge, (pto_entry_t){.cell = cell, .space = space}, postal, starts, bytes);
}

void pto_charge_entry(pto_charge_t *charge, pto_entry_t entry) {
    if (entry.param && pto_param_known(entry.param))
        charge->other = pto_time_add(charge->other, pto_time_of(entry.param, entry.count));
    else
        entry.param = NULL;
    pto_charge_enter(charge, entry);
}

pto_time_t pto_charge_share(pto_charge_t *charge, const pto_param_t *param, pto_space_t space,
                            pto_time_t count) {
    pto_entry_t entry = {.cell = param, .space = space, .count = count.s};
    pto_time_t added = {0};
    if (pto_param_known(param)) {
        entry.param = param;
        added = pto_time_multiply(count, pto_time_of(param, 1));
        charge->other = pto_time_add(charge->other, added);
    }
    pto_charge_enter(charge, entry);
    return added;
}

void pto_charge_param(pto_charge_t *charge, const pto_param_t *param, pto_space_t space, double count) {
    pto_charge_entry(charge, (pto_entry_t){.cell = param, .param = param, .space = space, .count = count});
}

/* Charges `count` messages of `bytes` each; `postal` is their row of `cost`. */
static void charge_message_row(pto_charge_t *charge, const pto_cost_table_t *cost, const pto_postal_t *postal,
                               pto_space_t space, bool off_node, int64_t bytes, double count) {
    double total_bytes = count * (double)bytes;
    pto_time_t beta = pto_time_of(&postal->beta_s_per_byte, total_bytes);
    pto_time_t alpha = pto_time_of(&postal->alpha_s, count);
    charge->alpha = pto_time_add(charge->alpha, alpha);
    if (off_node) {
        charge->off_node_alpha = pto_time_add(charge->off_node_alpha, alpha);
        charge->off_node = pto_time_add(charge->off_node, beta);
    } else {
        charge->on_node = pto_time_add(charge->on_node, beta);
        charge->within[space] = pto_time_add(charge->within[space], beta);
    }
    if (charge->terms)
        pto_charge_enter_postal(charge, (pto_entry_t){.cell = cost, .space = space, .off_node = off_node},
                                postal, count, total_bytes);
}

bool pto_messages_are_mixed(const pto_plan_t *plan) {
    const pto_request_t *request = pto_plan_request(plan);
    return request->collective == PTO_COLLECTIVE_PAIR && request->ends.from_host != request->ends.to_host &&
           request->strategy->collective_space == PTO_SPACE_GPU && !request->strategy->direct;
}

void pto_charge_mixed(pto_charge_t *charge, const pto_plan_t *plan) {
    charge->mixed = pto_messages_are_mixed(plan);
    charge->to = pto_plan_request(plan)->ends.to_host ? PTO_SPACE_CPU : PTO_SPACE_GPU;
}

/* Charges mixed messages within the node. No GPU maps another process's host memory, so a library sends them
 * from or to host memory, and copies them at the GPU's end. */
static void charge_by_host(pto_charge_t *charge, const pto_machine_t *machine, pto_level_t level,
                           const pto_postal_t *host, int64_t bytes, int64_t count) {
    pto_copy_kind_t kind = charge->to == PTO_SPACE_CPU ? PTO_COPY_D2H : PTO_COPY_H2D;
    const pto_postal_t *copy = pto_machine_copy(machine, kind, PTO_REACH_ON_SOCKET, true);
    charge_message_row(charge, &machine->messages[PTO_SPACE_CPU][level], host, PTO_SPACE_CPU, false, bytes,
                       (double)count);
    pto_charge_postal(charge, copy, copy, PTO_SPACE_GPU, (double)count, (double)count * (double)bytes);
}

/* Charges messages between GPU and host memory: at a cost of their own or, within the node, through host
 * memory. Returns false if the machine has no such cost. */
static bool charge_between(pto_charge_t *charge, const pto_machine_t *machine, pto_level_t level,
                           int64_t bytes, int64_t count) {
    const pto_cost_row_t *row = pto_machine_mixed(machine, charge->to, level, bytes);
    const pto_cost_row_t *host = pto_machine_message(machine, PTO_SPACE_CPU, level, bytes);
    if (row)
        charge_message_row(charge, &machine->mixed_messages[charge->to][level], &row->postal, PTO_SPACE_GPU,
                           level == PTO_LEVEL_OFF_NODE, bytes, (double)count);
    else if (host && level != PTO_LEVEL_OFF_NODE)
        charge_by_host(charge, machine, level, &host->postal, bytes, count);
    else
        return false;
    charge->moved[level] = true;
    return true;
}

pto_status_t pto_charge_messages(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                                 pto_level_t level, int64_t bytes, int64_t count, pto_error_t *err) {
    if (charge->mixed && charge_between(charge, machine, level, bytes, count))
        return PTO_OK;
    const pto_cost_row_t *row = pto_machine_message(machine, space, level, bytes);
    if (!row)
        return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                                "machine %s has no messages.%s.%s, which the plan needs", machine->name,
                                pto_space_name(space), pto_level_name(level));
    bool off_node = level == PTO_LEVEL_OFF_NODE;
    /* Of messages in flight at once, all but the first at this level cost the gap. */
    const pto_cost_table_t *gap = charge->at_once ? pto_machine_gap(machine, space, level) : NULL;
    int64_t additional = gap ? count - (charge->moved[level] ? 0 : 1) : 0;
    if (count > additional)
        charge_message_row(charge, &machine->messages[space][level], &row->postal, space, off_node, bytes,
                           (double)(count - additional));
    if (additional > 0)
        charge_message_row(charge, gap, pto_cost_at(gap, bytes), space, off_node, bytes, (double)additional);
    charge->moved[level] = true;
    return PTO_OK;
}

pto_time_t pto_charge_both_ways(pto_charge_t *out, pto_charge_t *in, const pto_machine_t *machine) {
    pto_time_t added = {0};
    for (int i = 0; i < PTO_SPACE_COUNT; i++) {
        const pto_param_t *both_ways = &machine->both_ways[i];
        pto_time_t shorter = pto_time_less(out->within[i], in->within[i]) ? out->within[i] : in->within[i];
        if (!pto_param_known(both_ways) || !pto_time_positive(shorter))
            continue;
        pto_charge_share(out, both_ways, (pto_space_t)i, shorter);
        added = pto_time_add(added, pto_charge_share(in, both_ways, (pto_space_t)i, shorter));
    }
    return added;
}

pto_time_t pto_charge_staged(pto_charge_t *charge, const pto_machine_t *machine) {
    pto_time_t within = charge->within[PTO_SPACE_CPU];
    if (!pto_param_known(&machine->staged_message) || !pto_time_positive(within))
        return (pto_time_t){0};
    return pto_charge_share(charge, &machine->staged_message, PTO_SPACE_CPU, within);
}

static bool has_queued_start(const pto_machine_t *machine, pto_copy_kind_t kind) {
    return kind != PTO_COPY_H2H && pto_param_known(&machine->queued_copy_s[kind]);
}

bool pto_queued_copies_cost(const pto_machine_t *machine) {
    bool any = false;
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++)
        any = any || has_queued_start(machine, (pto_copy_kind_t)kind);
    return any;
}

/* The count 1, as a time: a count may depend on parameters, and a tape records only times. */
static const pto_time_t once = {.s = 1};

/* Charges the cost of a copy that follows another one in its stream, without its bytes, `times` times. */
static void charge_queued_start(pto_charge_t *charge, const pto_machine_t *machine, pto_copy_kind_t kind,
                                pto_behind_t behind, pto_time_t times) {
    pto_charge_share(charge, &machine->queued_copy_s[kind], PTO_SPACE_GPU, times);
    if (behind == PTO_BEHIND_CHUNK && pto_param_known(&machine->event_s))
        pto_charge_share(charge, &machine->event_s, PTO_SPACE_CPU, times);
}

pto_status_t pto_find_peer_copy(const pto_machine_t *machine, pto_reach_t *reach, pto_error_t *err) {
    if (!pto_postal_known(&machine->peer[*reach]))
        *reach = PTO_REACH_ON_SOCKET;
    if (pto_postal_known(&machine->peer[*reach]))
        return PTO_OK;
    return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                            "machine %s has no peer.on_socket, which the plan needs", machine->name);
}

pto_status_t pto_charge_peer_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_reach_t reach,
                                  pto_behind_t behind, int64_t own_bytes, int64_t link_bytes,
                                  pto_error_t *err) {
    if (own_bytes == 0)
        return PTO_OK;
    pto_status_t status = pto_find_peer_copy(machine, &reach, err);
    if (status != PTO_OK)
        return status;
    bool queued = behind == PTO_BEHIND_COPY && has_queued_start(machine, PTO_COPY_D2D);
    if (queued)
        charge_queued_start(charge, machine, PTO_COPY_D2D, behind, once);
    const pto_postal_t *postal = &machine->peer[reach];
    const pto_param_t *all = &machine->peer_all_s_per_byte;
    const bool all_known = pto_param_known(all);
    const double pair_bytes = (double)(all_known ? own_bytes : link_bytes);
    const bool by_all = all_known && pto_time_less(pto_time_of(&postal->beta_s_per_byte, pair_bytes),
                                                   pto_time_of(all, (double)link_bytes));
    pto_charge_postal(charge, postal, postal, PTO_SPACE_GPU, queued ? 0 : 1, by_all ? 0 : pair_bytes);
    if (by_all)
        pto_charge_param(charge, all, PTO_SPACE_GPU, (double)link_bytes);
    return PTO_OK;
}

static pto_space_t space_of(pto_copy_kind_t kind) {
    return kind == PTO_COPY_H2H ? PTO_SPACE_CPU : PTO_SPACE_GPU;
}

void pto_charge_queueing(pto_charge_t *charge, const pto_machine_t *machine, pto_copy_kind_t kind) {
    const pto_param_t *share = &machine->both_ways[PTO_SPACE_CPU];
    if (pto_param_known(share) && has_queued_start(machine, kind))
        charge_queued_start(charge, machine, kind, PTO_BEHIND_CHUNK, pto_time_of(share, 1));
}

pto_status_t pto_charge_one_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_one_copy_t copy,
                                 int64_t engine_bytes, pto_error_t *err) {
    if (copy.bytes == 0)
        return PTO_OK;
    const pto_postal_t *postal = pto_machine_copy(machine, copy.kind, copy.reach, copy.pageable);
    bool over_the_link = copy.kind == PTO_COPY_H2D || copy.kind == PTO_COPY_D2H;
    bool queued = copy.behind && !copy.pageable && has_queued_start(machine, copy.kind);
    if (over_the_link && !pto_postal_known(postal))
        return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                                "machine %s has no copies.%s.on_socket, which the plan needs", machine->name,
                                pto_copy_kind_name(copy.kind));
    /* Several processes of one GPU copy at once, but the machine has no measurement of that. */
    if (copy.kind != PTO_COPY_H2H && !copy.pageable && engine_bytes > copy.bytes &&
        !pto_copy_is_queued(machine, copy.kind))
        pto_charge_enter(charge, (pto_entry_t){.cell = &machine->shared_copies[copy.kind],
                                               .space = space_of(copy.kind),
                                               .count = 1});
    if (queued)
        charge_queued_start(charge, machine, copy.kind, copy.behind, once);
    pto_charge_postal(charge, postal, postal, space_of(copy.kind), queued ? 0 : 1,
                      (double)(copy.kind == PTO_COPY_H2H ? copy.bytes : engine_bytes));
    return PTO_OK;
}

void pto_charge_rows(pto_charge_t *charge, const pto_machine_t *machine, pto_copy_kind_t kind, int64_t rows) {
    if (rows > 1 && kind <= PTO_COPY_D2D)
        pto_charge_param(charge, &machine->strided_row_s[kind], PTO_SPACE_GPU, (double)(rows - 1));
}

void pto_charge_message_rows(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                             int64_t rows) {
    if (rows > 1)
        pto_charge_param(charge, &machine->message_row_s[space], space, (double)(rows - 1));
}

/* --- copies of several processes of one GPU ------------------------------------------------------------- */

bool pto_copy_is_queued(const pto_machine_t *machine, pto_copy_kind_t kind) {
    return machine->shared_copies[kind].count > 0;
}

/* Charges `times` the cost of a copy at a row; NULL: the cost if no other process copies. */
static void charge_copy_row(pto_charge_t *charge, const pto_machine_t *machine, pto_one_copy_t copy,
                            const pto_cost_row_t *row, double times) {
    const pto_postal_t *single = pto_machine_copy(machine, copy.kind, copy.reach, false);
    const pto_postal_t *postal = row ? &row->postal : single;
    double starts = copy.behind ? 0 : times;
    pto_time_t alpha = copy.behind ? (pto_time_t){0} : pto_time_of(&postal->alpha_s, 1);
    pto_time_t one = pto_time_add(alpha, pto_time_of(&postal->beta_s_per_byte, (double)copy.bytes));
    charge->other = pto_time_add(charge->other, pto_time_scale(one, times));
    const void *cell = row ? (const void *)&machine->shared_copies[copy.kind] : single;
    pto_charge_enter_postal(charge, (pto_entry_t){.cell = cell, .space = space_of(copy.kind)}, postal, starts,
                            times * (double)copy.bytes);
}

/* Returns whether the machine has rows of strided copies, which follow all others in the table. */
static bool has_strided_rows(const pto_machine_t *machine, pto_copy_kind_t kind) {
    const pto_cost_table_t *shared = &machine->shared_copies[kind];
    return shared->count > 0 && shared->row[shared->count - 1].strided;
}

/* Charges `times` the time of `procs` copies at once: interpolated between the measured numbers of processes,
 * with a single copy as the first, and in proportion to `procs` beyond the last. */
static void charge_shared(pto_charge_t *charge, const pto_machine_t *machine, pto_one_copy_t copy,
                          int64_t procs, double times) {
    bool strided = copy.strided && has_strided_rows(machine, copy.kind);
    const pto_cost_table_t *shared = &machine->shared_copies[copy.kind];
    const pto_cost_row_t *below = NULL, *above = NULL;
    for (int i = 0; i < shared->count && !above; i++) {
        const pto_cost_row_t *row = &shared->row[i];
        if (row->strided != strided || copy.piece_bytes < row->from_bytes ||
            copy.piece_bytes >= row->below_bytes)
            continue;
        if (row->procs >= procs)
            above = row;
        else
            below = row;
    }
    if (!above) {
        double share = below ? (double)procs / (double)below->procs : 1;
        charge_copy_row(charge, machine, copy, below, times * share);
        return;
    }
    if (above->procs == procs) {
        charge_copy_row(charge, machine, copy, above, times);
        return;
    }
    int64_t below_procs = below ? below->procs : 1;
    double share = (double)(procs - below_procs) / (double)(above->procs - below_procs);
    charge_copy_row(charge, machine, copy, below, times * (1 - share));
    charge_copy_row(charge, machine, copy, above, times * share);
}

static pto_time_t shared_time(const pto_machine_t *machine, pto_one_copy_t copy, int64_t procs) {
    pto_charge_t charge;
    pto_charge_begin(&charge, "", NULL);
    charge_shared(&charge, machine, copy, procs, 1);
    return charge.other;
}

/* A copy adds nothing if, by its rows, one more takes less time: the fitted lines of two rows may cross. */
void pto_charge_queued(pto_charge_t *charge, const pto_machine_t *machine, pto_one_copy_t copy,
                       int64_t active) {
    if (active > 0 || !has_queued_start(machine, copy.kind))
        copy.behind = PTO_BEHIND_NOTHING;
    if (copy.pageable && active == 0) {
        const pto_postal_t *single = pto_machine_copy(machine, copy.kind, copy.reach, true);
        pto_charge_postal(charge, single, single, space_of(copy.kind), 1, (double)copy.bytes);
        return;
    }
    if (copy.behind)
        charge_queued_start(charge, machine, copy.kind, copy.behind, once);
    if (active > 0 &&
        !pto_time_less(shared_time(machine, copy, active), shared_time(machine, copy, active + 1)))
        return;
    charge_shared(charge, machine, copy, active + 1, 1);
    if (active > 0)
        charge_shared(charge, machine, copy, active, -1);
}

pto_time_t pto_copy_hold(const pto_machine_t *machine, pto_one_copy_t copy) {
    pto_charge_t single, second;
    copy.behind = PTO_BEHIND_NOTHING;
    copy.pageable = false;
    pto_charge_begin(&single, "", NULL);
    pto_charge_begin(&second, "", NULL);
    pto_charge_queued(&single, machine, copy, 0);
    pto_charge_queued(&second, machine, copy, 1);
    return pto_time_less(single.other, second.other) ? pto_time_subtract(second.other, single.other)
                                                     : (pto_time_t){0};
}

/* The driver sends copies within the GPU, and small copies from the host, in the command stream, which waits
 * for the time slice of its process. In the measurements, a second copy then adds more than the start of a
 * single one, whatever its size. Copies to the host never wait for a time slice. */
pto_copy_resource_t pto_copy_resource(const pto_machine_t *machine, pto_one_copy_t copy) {
    if (copy.kind == PTO_COPY_D2H)
        return PTO_COPY_OUT;
    copy.bytes = 0; /* only starts count */
    if (pto_time_positive(pto_copy_hold(machine, copy)))
        return PTO_COPY_TURN;
    return copy.kind == PTO_COPY_H2D ? PTO_COPY_IN : PTO_COPY_MEMORY;
}

pto_reduction_parts_t pto_reduction_parts(const pto_machine_t *machine, pto_space_t space,
                                          pto_reduction_t reduction) {
    int64_t extra_bytes = reduction.bytes - reduction.input_bytes;
    const pto_param_t *extra =
        extra_bytes > 0 ? pto_machine_extra_input(machine, space, reduction.input_bytes) : NULL;
    if (!extra)
        return (pto_reduction_parts_t){.bytes = reduction.bytes};
    return (pto_reduction_parts_t){reduction.input_bytes, extra_bytes, extra};
}

void pto_charge_extra_inputs(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                             pto_reduction_parts_t parts) {
    if (parts.extra)
        pto_charge_entry(charge, (pto_entry_t){.cell = &machine->reduce[space],
                                               .field = PTO_FIELD_EXTRA_INPUT,
                                               .param = parts.extra,
                                               .space = space,
                                               .count = (double)parts.extra_bytes});
}

void pto_charge_reduce(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                       pto_reduction_t reduction) {
    if (reduction.bytes <= 0)
        return;
    pto_reduction_parts_t parts = pto_reduction_parts(machine, space, reduction);
    pto_charge_postal(charge, &machine->reduce[space], pto_machine_reduce(machine, space, parts.bytes), space,
                      1, (double)parts.bytes);
    pto_charge_extra_inputs(charge, machine, space, parts);
}

void pto_outflow_add(pto_outflow_t *outflow, const pto_plan_t *plan, const pto_step_t *step, double messages,
                     double bytes_each) {
    pto_space_t space = pto_plan_buffer(plan, step->source.buffer)->space;
    pto_outflow_add_sum(outflow, space, step->peers.kind, pto_step_is_in_one_order(plan, step),
                        pto_plan_request(plan)->layout.nodes, messages, messages * bytes_each);
}

/* A limit that the machine does not know is 0. */
void pto_outflow_find_limits(pto_outflow_t *outflow, const pto_machine_t *machine) {
    pto_time_t bytes = {0}, contended = {0}, messages = {0};
    if (outflow->limits_known)
        return;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        const pto_param_t *per_byte = &machine->injection_s_per_byte[space];
        const pto_param_t *per_message = &machine->injection_s_per_message[space];
        bytes = pto_time_add(bytes, pto_time_of(per_byte, outflow->bytes[space] + outflow->waited[space]));
        contended = pto_time_add(contended, pto_time_of(per_byte, outflow->contended[space]));
        messages = pto_time_add(messages, pto_time_of(per_message, outflow->messages[space]));
    }
    contended = pto_time_multiply(contended, pto_time_of(&machine->contention, 1));
    outflow->bytes_limit = pto_time_add(bytes, contended);
    outflow->rate_limit = pto_time_add(messages, outflow->bytes_limit);
    outflow->limits_known = true;
}

double pto_outflow_seconds(const pto_outflow_t *outflow, const pto_machine_t *machine) {
    double seconds = 0;
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        seconds += pto_time_of(&machine->injection_s_per_byte[space], outflow->bytes[space]).s +
                   pto_time_of(&machine->injection_s_per_message[space], outflow->messages[space]).s;
    return seconds;
}

/* The bound that decides the time of an actor's off-node messages: its own cost, or a limit of its node. */
typedef enum { BOUND_OWN, BOUND_BYTES, BOUND_RATE } bound_t;

/* Sets the time of these messages, starts included. Returns what decides it, which no tape records. */
static bound_t find_bound(const pto_charge_t *charge, const pto_machine_t *machine, pto_outflow_t *outflow,
                          pto_time_t *time) {
    *time = pto_time_add(charge->off_node_alpha, charge->off_node);
    if (!charge->moved[PTO_LEVEL_OFF_NODE])
        return BOUND_OWN;
    pto_outflow_find_limits(outflow, machine);
    pto_time_t bytes = outflow->bytes_limit, rate = outflow->rate_limit;
    bound_t bound = charge->off_node.s < bytes.s ? BOUND_BYTES : BOUND_OWN;
    *time = pto_time_add(charge->off_node_alpha, pto_time_max(charge->off_node, bytes));
    if (rate.s > time->s)
        bound = BOUND_RATE;
    *time = pto_time_max(*time, rate);
    return bound;
}

/* Returns whether the bound, which is a limit, replaces this term. A limit of bytes replaces the cost of the
 * bytes of an off-node message; the limit of messages and bytes also replaces the cost of its start. */
static bool is_replaced(const pto_entry_t *entry, bound_t bound) {
    return entry->off_node && (entry->field == PTO_FIELD_BETA || bound == BOUND_RATE);
}

static void enter_limit(pto_charge_t *charge, const pto_param_t *param, pto_space_t space, double count) {
    if (pto_param_known(param))
        pto_charge_enter(charge,
                         (pto_entry_t){.cell = param, .param = param, .space = space, .count = count});
}

void pto_charge_enter_limits(pto_charge_t *charge, const pto_machine_t *machine, const pto_outflow_t *outflow,
                             bool by_rate) {
    for (int i = 0; i < PTO_SPACE_COUNT; i++) {
        pto_space_t space = (pto_space_t)i;
        enter_limit(charge, &machine->injection_s_per_byte[space], space,
                    outflow->bytes[space] + outflow->waited[space]);
        if (by_rate)
            enter_limit(charge, &machine->injection_s_per_message[space], space, outflow->messages[space]);
        enter_limit(charge, &machine->contention, space,
                    outflow->contended[space] * machine->injection_s_per_byte[space].value);
    }
}

static void replace_by_limits(pto_charge_t *charge, const pto_machine_t *machine,
                              const pto_outflow_t *outflow, bound_t bound) {
    pto_ledger_t *terms = charge->terms;
    int kept = 0;
    for (int i = 0; i < terms->entry_count; i++)
        if (!is_replaced(&terms->entry[i], bound))
            terms->entry[kept++] = terms->entry[i];
    terms->entry_count = kept;
    pto_charge_enter_limits(charge, machine, outflow, bound == BOUND_RATE);
}

pto_time_t pto_charge_time_with_messages(const pto_charge_t *charge, const pto_machine_t *machine,
                                         pto_outflow_t *outflow) {
    pto_time_t off_node;
    find_bound(charge, machine, outflow, &off_node);
    pto_time_t on_node =
        pto_time_add(pto_time_subtract(charge->alpha, charge->off_node_alpha), charge->on_node);
    return pto_time_add(pto_time_add(on_node, off_node), charge->other);
}

void pto_charge_settle(pto_charge_t *charge, const pto_machine_t *machine, pto_outflow_t *outflow) {
    pto_time_t off_node;
    if (!charge->terms || !pto_charge_has_messages(charge))
        return;
    bound_t bound = find_bound(charge, machine, outflow, &off_node);
    if (bound != BOUND_OWN)
        replace_by_limits(charge, machine, outflow, bound);
}

/* --- ledgers -------------------------------------------------------------------------------------------- */

void pto_ledger_fini(pto_ledger_t *ledger) {
    free(ledger->entry);
    *ledger = (pto_ledger_t){0};
}

bool pto_ledger_add_terms(pto_ledger_t *ledger, const pto_charge_t *charge) {
    bool kept = !charge->out_of_memory;
    for (int i = 0; i < charge->terms->entry_count; i++)
        kept = ledger_enter(ledger, &charge->terms->entry[i]) && kept;
    return kept;
}

bool pto_ledger_copy_terms(pto_ledger_t *ledger, const pto_ledger_t *from) {
    if (!ledger_reserve(ledger, from->entry_count))
        return false;
    if (from->entry_count > 0)
        memcpy(ledger->entry, from->entry, (size_t)from->entry_count * sizeof *from->entry);
    ledger->entry_count = from->entry_count;
    return true;
}

bool pto_ledger_shift(pto_ledger_t *ledger, const pto_ledger_t *now, const pto_ledger_t *before,
                      double times) {
    ledger->time =
        pto_time_add(ledger->time, pto_time_scale(pto_time_subtract(now->time, before->time), times));
    for (int i = 0; i < now->entry_count; i++) {
        double count_before = 0;
        for (int j = 0; j < before->entry_count; j++)
            if (same_entry(&now->entry[i], &before->entry[j]))
                count_before = before->entry[j].count;
        pto_entry_t more = now->entry[i];
        more.count = times * (more.count - count_before);
        if (!ledger_enter(ledger, &more))
            return false;
    }
    return true;
}
