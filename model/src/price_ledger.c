/* The terms of a price (docs/model.md, 'How a plan is priced'): messages, copies, reductions, signals; their
 * sum for one stage of one actor, and the record of the addends along the longest path. */
#include "price_ledger.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TERM_TEXT(name, text) text,
static const char *const term_text[PTO_TERM_COUNT] = {PTO_TERM_TABLE(TERM_TEXT)};
#undef TERM_TEXT

const char *pto_term_text(pto_term_kind_t kind) { return term_text[kind]; }

/* --- one stage of one actor --------------------------------------------------------------------------- */

void pto_charge_begin(pto_charge_t *charge, const char *stage, bool explain) {
    charge->stage = stage;
    charge->explain = explain;
    charge->alpha_s = 0;
    charge->on_node_s = 0;
    charge->off_node_s = 0;
    charge->off_node = false;
    charge->other_s = 0;
    charge->entry_count = 0;
}

static bool same_entry(const pto_entry_t *a, const pto_entry_t *b) {
    return a->stage == b->stage && a->kind == b->kind && a->param == b->param &&
           memcmp(a->where, b->where, sizeof a->where) == 0;
}

static void enter(pto_charge_t *charge, pto_entry_t entry) {
    if (!charge->explain || entry.count == 0)
        return;
    entry.stage = charge->stage;
    for (int i = 0; i < charge->entry_count; i++)
        if (same_entry(&charge->entry[i], &entry)) {
            charge->entry[i].count += entry.count;
            return;
        }
    if (charge->entry_count < PTO_CHARGE_TERMS_MAX)
        charge->entry[charge->entry_count++] = entry;
}

pto_status_t pto_charge_messages(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space,
                                 pto_level_t level, int64_t bytes, int64_t count, pto_error_t *err) {
    const pto_piece_t *piece = pto_machine_message(machine, space, level, bytes);
    if (!piece)
        return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                                "machine %s has no messages.%s.%s, which the plan needs", machine->name,
                                pto_space_name(space), pto_level_name(level));
    double messages = (double)count;
    double total_bytes = messages * (double)bytes;
    charge->alpha_s += messages * piece->postal.alpha_s.value;
    double beta_s = total_bytes * piece->postal.beta_s_per_byte.value;
    if (level == PTO_LEVEL_OFF_NODE) {
        charge->off_node_s += beta_s;
        charge->off_node = true;
    } else {
        charge->on_node_s += beta_s;
    }
    if (charge->explain) {
        pto_entry_t entry = {.kind = PTO_TERM_MESSAGE_ALPHA,
                             .param = &piece->postal.alpha_s,
                             .where = {(int)space, (int)level, (int)piece->protocol},
                             .count = messages};
        enter(charge, entry);
        entry.kind = PTO_TERM_MESSAGE_BETA;
        entry.param = &piece->postal.beta_s_per_byte;
        entry.count = total_bytes;
        enter(charge, entry);
    }
    return PTO_OK;
}

/* One start and some bytes; a postal that the machine lacks (or NULL) is entered but costs nothing. */
static void charge_postal_at(pto_charge_t *charge, const pto_postal_t *postal, pto_term_kind_t alpha_kind,
                             int where0, int where1, int where2, double bytes) {
    bool known = postal && pto_postal_known(postal);
    if (known)
        charge->other_s += postal->alpha_s.value + bytes * postal->beta_s_per_byte.value;
    pto_entry_t entry = {.kind = alpha_kind, .where = {where0, where1, where2}, .count = 1};
    entry.param = known ? &postal->alpha_s : NULL;
    enter(charge, entry);
    entry.kind = alpha_kind == PTO_TERM_COPY_ALPHA ? PTO_TERM_COPY_BETA : PTO_TERM_REDUCE_BETA;
    entry.param = known ? &postal->beta_s_per_byte : NULL;
    entry.count = bytes;
    enter(charge, entry);
}

static void charge_postal(pto_charge_t *charge, const pto_postal_t *postal, pto_term_kind_t alpha_kind,
                          int where0, int where2, double bytes) {
    charge_postal_at(charge, postal, alpha_kind, where0, PTO_REACH_ON_SOCKET, where2, bytes);
}

/* The measured sharing by `procs` processes: the row of as many, else the next larger, else the largest. */
static const pto_postal_t *shared_copy(const pto_machine_t *machine, pto_copy_kind_t kind, int64_t procs) {
    int count = machine->shared_copy_count[kind];
    if (procs < 2 || count == 0)
        return NULL;
    int row = 0;
    while (row < count - 1 && machine->shared_copies[kind][row].procs < procs)
        row++;
    return &machine->shared_copies[kind][row].postal;
}

pto_status_t pto_charge_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_copy_kind_t kind,
                             int64_t procs, int64_t own_bytes, int64_t total_bytes, pto_error_t *err) {
    if (own_bytes == 0)
        return PTO_OK;
    const pto_postal_t *postal = &machine->copies[kind][PTO_REACH_ON_SOCKET];
    bool over_the_link = kind == PTO_COPY_H2D || kind == PTO_COPY_D2H;
    if (over_the_link && !pto_postal_known(postal))
        return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, machine->path, 0, 0,
                                "machine %s has no copies.%s.on_socket, which the plan needs", machine->name,
                                pto_copy_kind_name(kind));
    const pto_postal_t *shared = shared_copy(machine, kind, procs);
    if (shared) {
        charge_postal(charge, shared, PTO_TERM_COPY_ALPHA, (int)kind, 1, (double)own_bytes);
        return PTO_OK;
    }
    charge_postal(charge, postal, PTO_TERM_COPY_ALPHA, (int)kind, 0,
                  (double)(kind == PTO_COPY_H2H ? own_bytes : total_bytes));
    return PTO_OK;
}

void pto_charge_peer_copy(pto_charge_t *charge, const pto_machine_t *machine, pto_reach_t reach,
                          int64_t own_bytes, int64_t total_bytes) {
    if (own_bytes == 0)
        return;
    charge_postal_at(charge, &machine->peer[reach], PTO_TERM_COPY_ALPHA, PTO_COPY_D2D, (int)reach, 2,
                     (double)total_bytes);
}

void pto_charge_reduce(pto_charge_t *charge, const pto_machine_t *machine, pto_space_t space, int64_t bytes) {
    if (bytes > 0)
        charge_postal(charge, pto_machine_reduce(machine, space, bytes), PTO_TERM_REDUCE_ALPHA, (int)space, 0,
                      (double)bytes);
}

void pto_charge_signal(pto_charge_t *charge, const pto_machine_t *machine) {
    bool known = pto_param_known(&machine->signal_s);
    if (known)
        charge->other_s += machine->signal_s.value;
    enter(charge,
          (pto_entry_t){.kind = PTO_TERM_SIGNAL, .param = known ? &machine->signal_s : NULL, .count = 1});
}

/* The injection limit holds instead of the off-node bytes' own cost: swap the entries. */
static void enter_injection(pto_charge_t *charge, const pto_machine_t *machine,
                            const pto_outflow_t *outflow) {
    int kept = 0;
    for (int i = 0; i < charge->entry_count; i++) {
        const pto_entry_t *entry = &charge->entry[i];
        if (entry->kind != PTO_TERM_MESSAGE_BETA || entry->where[1] != PTO_LEVEL_OFF_NODE)
            charge->entry[kept++] = *entry;
    }
    charge->entry_count = kept;
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        if (pto_param_known(&machine->injection_s_per_byte[space]))
            enter(charge, (pto_entry_t){.kind = PTO_TERM_INJECTION,
                                        .param = &machine->injection_s_per_byte[space],
                                        .where = {space, 0, 0},
                                        .count = outflow->bytes[space]});
}

static double injection_s(const pto_machine_t *machine, const pto_outflow_t *outflow) {
    double seconds = 0;
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        if (pto_param_known(&machine->injection_s_per_byte[space]))
            seconds += outflow->bytes[space] * machine->injection_s_per_byte[space].value;
    return seconds;
}

double pto_charge_seconds(const pto_charge_t *charge, const pto_machine_t *machine,
                          const pto_outflow_t *outflow) {
    double off_node_s = charge->off_node_s;
    if (charge->off_node) {
        double limit_s = injection_s(machine, outflow);
        off_node_s = off_node_s > limit_s ? off_node_s : limit_s;
    }
    return charge->alpha_s + charge->on_node_s + off_node_s + charge->other_s;
}

void pto_charge_settle(pto_charge_t *charge, const pto_machine_t *machine, const pto_outflow_t *outflow) {
    if (charge->explain && charge->off_node && injection_s(machine, outflow) > charge->off_node_s)
        enter_injection(charge, machine, outflow);
}

/* --- how far an actor has come ------------------------------------------------------------------------- */

void pto_ledger_fini(pto_ledger_t *ledger) {
    free(ledger->entry);
    *ledger = (pto_ledger_t){0};
}

static bool ledger_reserve(pto_ledger_t *ledger, int count) {
    if (count <= ledger->entry_capacity)
        return true;
    int capacity = count > 16 ? 2 * count : 16;
    pto_entry_t *grown = realloc(ledger->entry, (size_t)capacity * sizeof *grown);
    if (!grown)
        return false;
    ledger->entry = grown;
    ledger->entry_capacity = capacity;
    return true;
}

bool pto_ledger_add(pto_ledger_t *ledger, const pto_charge_t *charge, double seconds) {
    ledger->seconds += seconds;
    for (int i = 0; i < charge->entry_count; i++) {
        int at = 0;
        while (at < ledger->entry_count && !same_entry(&ledger->entry[at], &charge->entry[i]))
            at++;
        if (at < ledger->entry_count) {
            ledger->entry[at].count += charge->entry[i].count;
        } else {
            if (!ledger_reserve(ledger, at + 1))
                return false;
            ledger->entry[ledger->entry_count++] = charge->entry[i];
        }
    }
    return true;
}

bool pto_ledger_follow(pto_ledger_t *ledger, const pto_ledger_t *from, bool explain) {
    if (from->seconds <= ledger->seconds)
        return true;
    ledger->seconds = from->seconds;
    if (!explain)
        return true;
    if (!ledger_reserve(ledger, from->entry_count))
        return false;
    if (from->entry_count > 0)
        memcpy(ledger->entry, from->entry, (size_t)from->entry_count * sizeof *from->entry);
    ledger->entry_count = from->entry_count;
    return true;
}

void pto_ledger_repeat(pto_ledger_t *ledger, const pto_ledger_t *before, double times) {
    ledger->seconds += times * (ledger->seconds - before->seconds);
    for (int i = 0; i < ledger->entry_count; i++) {
        double count_before = 0;
        for (int j = 0; j < before->entry_count; j++)
            if (same_entry(&ledger->entry[i], &before->entry[j]))
                count_before = before->entry[j].count;
        ledger->entry[i].count += times * (ledger->entry[i].count - count_before);
    }
}

/* --- reporting ---------------------------------------------------------------------------------------- */

static void name_entry(const pto_entry_t *entry, char *key, size_t key_size) {
    const char *parameter = entry->kind == PTO_TERM_MESSAGE_ALPHA || entry->kind == PTO_TERM_COPY_ALPHA ||
                                    entry->kind == PTO_TERM_REDUCE_ALPHA
                                ? "alpha_s"
                                : "beta_s_per_byte";
    switch (entry->kind) {
    case PTO_TERM_MESSAGE_ALPHA:
    case PTO_TERM_MESSAGE_BETA:
        snprintf(key, key_size, "messages.%s.%s.%s.%s", pto_space_name((pto_space_t)entry->where[0]),
                 pto_level_name((pto_level_t)entry->where[1]),
                 pto_protocol_name((pto_protocol_t)entry->where[2]), parameter);
        return;
    case PTO_TERM_INJECTION:
        snprintf(key, key_size, "injection.%s.s_per_byte", pto_space_name((pto_space_t)entry->where[0]));
        return;
    case PTO_TERM_COPY_ALPHA:
    case PTO_TERM_COPY_BETA:
        if (entry->where[2] == 2)
            snprintf(key, key_size, "peer.%s.%s", pto_reach_name((pto_reach_t)entry->where[1]), parameter);
        else if (entry->where[2])
            snprintf(key, key_size, "copies.shared.%s.%s",
                     pto_copy_kind_name((pto_copy_kind_t)entry->where[0]), parameter);
        else
            snprintf(key, key_size, "copies.%s.%s.%s", pto_copy_kind_name((pto_copy_kind_t)entry->where[0]),
                     pto_reach_name((pto_reach_t)entry->where[1]), parameter);
        return;
    case PTO_TERM_REDUCE_ALPHA:
    case PTO_TERM_REDUCE_BETA:
        snprintf(key, key_size, "reduce.%s.%s", pto_space_name((pto_space_t)entry->where[0]), parameter);
        return;
    case PTO_TERM_SIGNAL:
    case PTO_TERM_COUNT:
        break;
    }
    snprintf(key, key_size, "signals.flag_s");
}

void pto_explanation_fini(pto_explanation_t *explanation) {
    free(explanation->term);
    *explanation = (pto_explanation_t){0};
}

static pto_status_t explain(const pto_ledger_t *ledger, pto_explanation_t *explanation, pto_error_t *err) {
    if (explanation->capacity < ledger->entry_count) {
        pto_term_t *grown = realloc(explanation->term, (size_t)ledger->entry_count * sizeof *grown);
        if (!grown)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for an explanation");
        explanation->term = grown;
        explanation->capacity = ledger->entry_count;
    }
    explanation->count = ledger->entry_count;
    for (int i = 0; i < ledger->entry_count; i++) {
        const pto_entry_t *entry = &ledger->entry[i];
        pto_term_t *term = &explanation->term[i];
        *term = (pto_term_t){
            .stage = entry->stage, .kind = entry->kind, .param = entry->param, .count = entry->count};
        term->seconds = entry->param ? entry->count * entry->param->value : 0;
        name_entry(entry, term->key, sizeof term->key);
    }
    return PTO_OK;
}

/* Each parameter's interval, times how often it is used, summed in quadrature: parameters count as
 * independent, the uses of one parameter as one. */
static void carry_intervals(const pto_ledger_t *ledger, pto_price_t *price) {
    double below = 0;
    double above = 0;
    for (int i = 0; i < ledger->entry_count; i++) {
        const pto_param_t *param = ledger->entry[i].param;
        if (!param || !param->has_interval)
            continue;
        double count = 0;
        bool seen = false;
        for (int j = 0; j < ledger->entry_count; j++)
            if (ledger->entry[j].param == param) {
                seen = seen || j < i;
                count += ledger->entry[j].count;
            }
        if (seen)
            continue;
        price->has_interval = true;
        below += pow(count * (param->value - param->low), 2);
        above += pow(count * (param->high - param->value), 2);
    }
    price->low_s = price->seconds - sqrt(below);
    price->high_s = price->seconds + sqrt(above);
}

pto_status_t pto_ledger_report(const pto_ledger_t *slowest, pto_price_t *price,
                               pto_explanation_t *explanation, pto_error_t *err) {
    if (!isfinite(slowest->seconds))
        return pto_error_set(err, PTO_ERR_RANGE, "the price is not a finite number of seconds");
    pto_price_t made = {.seconds = slowest->seconds, .low_s = slowest->seconds, .high_s = slowest->seconds};
    if (explanation) {
        carry_intervals(slowest, &made);
        pto_status_t status = explain(slowest, explanation, err);
        if (status != PTO_OK)
            return status;
    }
    *price = made;
    return PTO_OK;
}
