/* What the addends along the longest path are called, what they come to, and how sure that is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "price/ledger.h"
#include "price/nccl.h"

#define TERM_TEXT(name, text) text,
static const char *const term_text[PTO_TERM_COUNT] = {PTO_TERM_TABLE(TERM_TEXT)};
#undef TERM_TEXT

const char *pto_term_text(pto_term_kind_t kind) { return term_text[kind]; }

static const char *leaf_name(pto_term_kind_t kind) {
    bool alpha = kind == PTO_TERM_MESSAGE_ALPHA || kind == PTO_TERM_GAP_ALPHA ||
                 kind == PTO_TERM_COPY_ALPHA || kind == PTO_TERM_REDUCE_ALPHA ||
                 kind == PTO_TERM_REMOTE_ALPHA;
    return alpha ? "alpha_s" : "beta_s_per_byte";
}

static void name_shared_copy(const pto_entry_t *entry, char *key, size_t key_size) {
    bool strided = entry->where[2] >= PTO_COPY_STRIDED;
    int end =
        snprintf(key, key_size, "copies.shared.%s.%d%s", pto_copy_kind_name((pto_copy_kind_t)entry->where[0]),
                 entry->where[2] - (strided ? PTO_COPY_STRIDED : 0), strided ? ".strided" : "");
    if (entry->where[1] >= PTO_REACH_COUNT)
        end += snprintf(key + end, key_size - (size_t)end, ".from_%d", entry->where[1] - PTO_REACH_COUNT);
    snprintf(key + end, key_size - (size_t)end, ".%s", leaf_name(entry->kind));
}

static void name_copy(const pto_entry_t *entry, char *key, size_t key_size) {
    const char *kind = pto_copy_kind_name((pto_copy_kind_t)entry->where[0]);
    const char *leaf = leaf_name(entry->kind);
    if (entry->where[2] == PTO_COPY_PEER)
        snprintf(key, key_size, "peer.%s.%s", pto_reach_name((pto_reach_t)entry->where[1]), leaf);
    else if (entry->where[2] == PTO_COPY_PAGEABLE)
        snprintf(key, key_size, "copies.pageable.%s.%s", kind, leaf);
    else if (entry->where[2] == PTO_COPY_UNSHARED)
        snprintf(key, key_size, "copies.shared.%s", kind);
    else if (entry->where[2] > 0)
        name_shared_copy(entry, key, key_size);
    else
        snprintf(key, key_size, "copies.%s.%s.%s", kind, pto_reach_name((pto_reach_t)entry->where[1]), leaf);
}

static void name_entry(const pto_entry_t *entry, char *key, size_t key_size) {
    const char *space = pto_space_name((pto_space_t)entry->where[0]);
    const char *protocol = pto_protocol_name((pto_protocol_t)entry->where[2]);
    const char *leaf = leaf_name(entry->kind);
    switch (entry->kind) {
    case PTO_TERM_MESSAGE_ALPHA:
    case PTO_TERM_MESSAGE_BETA:
        snprintf(key, key_size, "messages.%s.%s.%s.%s", space, pto_level_name((pto_level_t)entry->where[1]),
                 protocol, leaf);
        return;
    case PTO_TERM_GAP_ALPHA:
    case PTO_TERM_GAP_BETA:
        snprintf(key, key_size, "per_message.%s.%s.%s", space, protocol, leaf);
        return;
    case PTO_TERM_INJECTION:
        snprintf(key, key_size, "injection.%s.s_per_byte", space);
        return;
    case PTO_TERM_INJECTION_RATE:
        snprintf(key, key_size, "injection.%s.s_per_message", space);
        return;
    case PTO_TERM_CONTENTION:
        snprintf(key, key_size, "network.contention");
        return;
    case PTO_TERM_COPY_ALPHA:
    case PTO_TERM_COPY_BETA:
        name_copy(entry, key, key_size);
        return;
    case PTO_TERM_REDUCE_ALPHA:
    case PTO_TERM_REDUCE_BETA:
        snprintf(key, key_size, "reduce.%s.%s", space, leaf);
        return;
    case PTO_TERM_REDUCE_FURTHER:
        snprintf(key, key_size, "reduce.%s.further_s_per_byte", space);
        return;
    case PTO_TERM_LAUNCH:
        snprintf(key, key_size, "launch.%s_s", entry->where[0] ? "graph" : "kernel");
        return;
    case PTO_TERM_REMOTE_ALPHA:
    case PTO_TERM_REMOTE_BETA:
        snprintf(key, key_size, "remote.%s.%s.%s", pto_remote_name((pto_remote_t)entry->where[0]),
                 pto_reach_name((pto_reach_t)entry->where[1]), leaf);
        return;
    case PTO_TERM_REMOTE_ALL:
        snprintf(key, key_size, "remote.all_s_per_byte");
        return;
    case PTO_TERM_DEVICE_SIGNAL:
        snprintf(key, key_size, "signals.device_s");
        return;
    case PTO_TERM_NCCL_ALPHA:
    case PTO_TERM_NCCL_BETA:
        pto_nccl_entry_name(entry, key, key_size);
        return;
    case PTO_TERM_SIGNAL:
    case PTO_TERM_SETUP:
    case PTO_TERM_COUNT:
        break;
    }
    snprintf(key, key_size, "signals.flag_s");
}

void pto_explanation_fini(pto_explanation_t *explanation) {
    free(explanation->term);
    *explanation = (pto_explanation_t){0};
}

static pto_space_t space_of(const pto_entry_t *entry) {
    if (entry->kind >= PTO_TERM_LAUNCH)
        return PTO_SPACE_GPU;
    if (entry->kind == PTO_TERM_COPY_ALPHA || entry->kind == PTO_TERM_COPY_BETA)
        return entry->where[0] == PTO_COPY_H2H ? PTO_SPACE_CPU : PTO_SPACE_GPU;
    return (pto_space_t)entry->where[0];
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
        term->space = space_of(entry);
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
