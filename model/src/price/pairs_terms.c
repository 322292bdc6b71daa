/* Explains the rounds of pairs.c: for each process, counts the messages and bytes on its longest path by row
 * of the machine's costs. A process that waits for another one takes over its counts. */
#include <stdlib.h>
#include <string.h>

#include "price/pairs.h"

/* Counts of the limits that replaced costs, after those of the rows, which are messages and bytes. */
typedef enum { LIMITED_BYTES, LIMITED_WAITED, LIMITED_CONTENDED, LIMITED_MESSAGES, LIMITED_COUNT } limited_t;

struct pto_pairs_terms {
    int first_row[PTO_LEVEL_COUNT]; /* of the level's cost, among the rows of all */
    int rows;
    size_t width; /* number of counts of each process */
    double *all_numbers;
    int64_t *all_origins;
    double *number;  /* [group][member][width]: the counts before the round */
    double *next;    /* and after it */
    int64_t *origin; /* [group][member]: the member with which its longest path began */
    int64_t *next_origin;
};

bool pto_pairs_terms_begin(pto_pairs_t *pairs) {
    pto_pairs_terms_t *terms = calloc(1, sizeof *terms);
    size_t members = (size_t)(pairs->groups * pairs->size);
    pairs->terms = terms;
    if (!terms)
        return false;
    for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
        terms->first_row[level] = terms->rows;
        terms->rows += pairs->out.cost[level]->count;
    }
    terms->width = 2 * (size_t)terms->rows + LIMITED_COUNT;
    terms->number = terms->all_numbers = calloc(2 * members * terms->width, sizeof *terms->number);
    terms->origin = terms->all_origins = malloc(2 * members * sizeof *terms->origin);
    if (!terms->number || !terms->origin)
        return false;
    terms->next = terms->number + members * terms->width;
    terms->next_origin = terms->origin + members;
    for (size_t i = 0; i < members; i++)
        terms->origin[i] = (int64_t)i % pairs->size;
    pto_pricing_remember(pairs->pricing, pairs->pricing->clocks.before);
    return true;
}

void pto_pairs_terms_release(pto_pairs_t *pairs) {
    if (!pairs->terms)
        return;
    free(pairs->terms->all_numbers);
    free(pairs->terms->all_origins);
    free(pairs->terms);
    pairs->terms = NULL;
}

/* --- a round -------------------------------------------------------------------------------------------- */

static pto_pairs_end_t end_of(const pto_pairs_t *pairs, const int64_t *bytes, int64_t sender,
                              int64_t distance, int64_t member) {
    return pto_pairs_end(pairs, sender, distance, bytes ? bytes[sender] : 0, pairs->node_bytes_s[member],
                         pairs->node_rate_s[member]);
}

/* Counts a message at one of its ends, or the limit that replaces it, as pto_charge_settle does. */
static void count_end(const pto_pairs_t *pairs, const pto_pairs_end_t *end, int64_t member, double *number) {
    const pto_pairs_terms_t *terms = pairs->terms;
    const pto_outflow_t *outflow = &pairs->pricing->shared.outflow[member / pairs->per_node];
    int row = 0;
    while (&pairs->out.cost[end->level]->row[row].postal != end->postal)
        row++;
    double *own = number + 2 * (terms->first_row[end->level] + row);
    double *limited = number + 2 * terms->rows, node_bytes_s = pairs->node_bytes_s[member];
    bool off_node = end->level == PTO_LEVEL_OFF_NODE;
    bool by_bytes = off_node && end->bytes_s < node_bytes_s;
    bool by_rate =
        off_node && pairs->node_rate_s[member] > end->alpha_s + pto_larger(end->bytes_s, node_bytes_s);
    own[0] += by_rate ? 0 : 1;
    own[1] += by_bytes || by_rate ? 0 : (double)end->bytes;
    if (!by_bytes && !by_rate)
        return;
    limited[LIMITED_BYTES] += outflow->bytes[pairs->out.space];
    limited[LIMITED_WAITED] += outflow->waited[pairs->out.space];
    limited[LIMITED_CONTENDED] += outflow->contended[pairs->out.space];
    limited[LIMITED_MESSAGES] += by_rate ? outflow->messages[pairs->out.space] : 0;
}

static void count_member(const pto_pairs_t *pairs, const int64_t *bytes, int64_t group, int64_t member,
                         int64_t distance) {
    const pto_pairs_terms_t *terms = pairs->terms;
    int64_t sender = pto_messages_wrap(member - distance, pairs->size), first = group * pairs->size;
    const double *time_s = pairs->time_s + first;
    int64_t followed = time_s[sender] > time_s[member] ? sender : member;
    size_t own = (size_t)(first + member), from = (size_t)(first + followed);
    double *number = terms->next + own * terms->width;
    memcpy(number, terms->number + from * terms->width, terms->width * sizeof *number);
    terms->next_origin[own] = terms->origin[from];
    pto_pairs_end_t out = end_of(pairs, bytes, member, distance, member);
    pto_pairs_end_t in = end_of(pairs, bytes, sender, distance, member);
    count_end(pairs, in.time_s > out.time_s ? &in : &out, member, number);
    int64_t actor = pairs->first_core + group + member * pairs->out.per_index;
    pto_time_t sent = {.s = out.time_s}, received = {.s = in.time_s};
    pto_occupied_messages(pairs->pricing, actor, sent, received);
}

void pto_pairs_terms_count(pto_pairs_t *pairs, int64_t distance) {
    pto_pairs_terms_t *terms = pairs->terms;
    for (int64_t node = 0; node < pairs->pricing->actors.node_count; node++)
        pairs->pricing->shared.outflow[node] = pto_pairs_outflow(pairs, node);
    for (int64_t group = 0; group < pairs->groups; group++) {
        const int64_t *bytes = pto_pairs_bytes(pairs, group, distance);
        for (int64_t member = 0; member < pairs->size; member++)
            count_member(pairs, bytes, group, member, distance);
    }
    pto_occupied_stage(pairs->pricing);
    double *number = terms->number;
    int64_t *origin = terms->origin;
    terms->number = terms->next;
    terms->next = number;
    terms->origin = terms->next_origin;
    terms->next_origin = origin;
}

/* --- the ledgers ---------------------------------------------------------------------------------------- */

static void enter(const pto_pairs_t *pairs, const double *number, pto_charge_t *charge) {
    const pto_pairs_terms_t *terms = pairs->terms;
    const double *limited = number + 2 * terms->rows;
    pto_outflow_t outflow = {.limits_known = false};
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        for (int row = 0; row < pairs->out.cost[level]->count; row++) {
            const double *own = number + 2 * (terms->first_row[level] + row);
            pto_entry_t entry = {.place = pairs->out.place[level],
                                 .space = pairs->out.space,
                                 .off_node = level == PTO_LEVEL_OFF_NODE};
            pto_charge_enter_postal(charge, entry, &pairs->out.cost[level]->row[row].postal, own[0], own[1]);
        }
    outflow.bytes[pairs->out.space] = limited[LIMITED_BYTES];
    outflow.waited[pairs->out.space] = limited[LIMITED_WAITED];
    outflow.contended[pairs->out.space] = limited[LIMITED_CONTENDED];
    outflow.messages[pairs->out.space] = limited[LIMITED_MESSAGES];
    pto_charge_enter_limits(charge, pairs->pricing->machine, &outflow, limited[LIMITED_MESSAGES] > 0);
}

void pto_pairs_terms_end(pto_pairs_t *pairs) {
    pto_pricing_t *pricing = pairs->pricing;
    const char *stage = pairs->stage->name;
    for (int64_t i = 0; i < pairs->groups * pairs->size; i++) {
        int64_t core = pairs->first_core + i / pairs->size;
        pto_ledger_t *ledger = &pricing->clocks.ledger[core + i % pairs->size * pairs->out.per_index];
        pto_charge_t charge;
        pto_charge_begin(&charge, stage, &pricing->clocks.terms[0]);
        enter(pairs, pairs->terms->number + (size_t)i * pairs->terms->width, &charge);
        if (!pto_ledger_copy(
                ledger, &pricing->clocks.before[core + pairs->terms->origin[i] * pairs->out.per_index]) ||
            !pto_ledger_add_terms(ledger, &charge))
            pricing->clocks.out_of_memory = true;
    }
}
