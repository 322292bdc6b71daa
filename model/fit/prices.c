/* A hash table of prices of measured collectives (prices.h). The key is what a price depends on besides the
 * machine: the measured configuration and the library's algorithm. Each price has tapes, one for each set of
 * known parameters. All searches of a fit, and those that leave a node count out, share the prices. */
#include "prices.h"

#include <stdlib.h>
#include <string.h>

#include "base/slots.h"
#include "decide/kept_price.h"

/* All that a price depends on besides the machine, as numbers that can be compared and hashed as bytes. */
enum { KEY_NUMBERS = 29 };
typedef struct {
    int64_t number[KEY_NUMBERS];
} price_key_t;

struct fit_price {
    int64_t call_bytes;    /* as in pto_score_price; known once it has been priced */
    pto_kept_price_t kept; /* its tapes */
    pto_fit_prices_t *all; /* that it belongs to */
};

typedef struct {
    price_key_t key;
    fit_price_t *price;
} slot_t;

struct pto_fit_prices {
    char digest[PTO_MACHINE_DIGEST_MAX];
    pto_slots_t slots;
    pto_kept_scratch_t scratch;
};

static void forget_all(pto_fit_prices_t *prices) {
    for (size_t i = 0; i < prices->slots.capacity; i++) {
        fit_price_t *price = ((slot_t *)pto_slots_at(&prices->slots, i))->price;
        if (price)
            pto_kept_price_fini(&price->kept);
        free(price);
    }
    free(prices->slots.slot);
    free(prices->scratch.place);
    *prices = (pto_fit_prices_t){.slots = {.slot_size = sizeof(slot_t), .key_words = KEY_NUMBERS}};
}

pto_fit_prices_t *pto_fit_prices_create(void) {
    pto_fit_prices_t *prices = calloc(1, sizeof *prices);
    if (prices)
        forget_all(prices);
    return prices;
}

void pto_fit_prices_destroy(pto_fit_prices_t *prices) {
    if (prices)
        forget_all(prices);
    free(prices);
}

void fit_prices_use(pto_fit_prices_t *prices, const pto_machine_t *machine) {
    char digest[PTO_MACHINE_DIGEST_MAX];
    pto_machine_digest(machine, digest);
    if (strcmp(digest, prices->digest) == 0)
        return;
    forget_all(prices);
    memcpy(prices->digest, digest, sizeof digest);
}

/* Returns our algorithm that ran instead of the library's; NULL: none was named, or there is none of this
 * name, which then has no price under any rule. */
static const pto_algorithm_t *own_algorithm_of(const pto_score_cell_t *cell,
                                               const pto_score_candidate_t *candidate) {
    const pto_algorithm_t *own = NULL;
    if (!candidate->strategy->by_hand || !candidate->algorithm ||
        pto_algorithm_find(candidate->algorithm, cell->collective, &own, NULL) != PTO_OK)
        return NULL;
    return own;
}

static price_key_t key_of(const fit_price_call_t *call, const pto_library_rule_t *rule) {
    const pto_score_cell_t *cell = call->cell;
    const pto_score_candidate_t *candidate = &cell->candidate[call->candidate];
    const pto_algorithm_t *algorithm = NULL;
    int64_t staged = rule && rule->staged, segment_bytes = rule ? rule->segment_bytes : 0;
    if (rule && pto_algorithm_find(rule->algorithm, cell->collective, &algorithm, NULL) != PTO_OK)
        segment_bytes = -1; /* unlike no rule, none of these has a price */
    const pto_halo_t *grid = &cell->halo;
    return (price_key_t){{(int64_t)(intptr_t)candidate->strategy,
                          (int64_t)(intptr_t)algorithm,
                          staged,
                          segment_bytes,
                          candidate->chunks,
                          candidate->staged_members.in,
                          candidate->staged_members.out,
                          (int64_t)cell->collective,
                          (int64_t)cell->implementation,
                          (int64_t)cell->datatype,
                          cell->nodes,
                          cell->gpus_per_node,
                          cell->owners_per_gpu,
                          cell->procs_per_gpu,
                          cell->bytes,
                          (int64_t)cell->distance,
                          cell->ends.from_host,
                          cell->ends.to_host,
                          cell->ends.both_ways,
                          grid->dims[0],
                          grid->dims[1],
                          grid->dims[2],
                          4 * grid->wrap[0] + 2 * grid->wrap[1] + grid->wrap[2],
                          grid->extent[0],
                          grid->extent[1],
                          grid->extent[2],
                          grid->width,
                          (int64_t)grid->corners,
                          (int64_t)(intptr_t)own_algorithm_of(cell, candidate)}};
}

fit_price_t *fit_price_find(pto_fit_prices_t *prices, const fit_price_call_t *call) {
    price_key_t key = key_of(call, pto_score_rule(call->cell, call->candidate, call->machine, call->rule));
    slot_t *slot = pto_slots_add(&prices->slots, &key);
    if (slot && !slot->price)
        slot->price = calloc(1, sizeof *slot->price);
    if (!slot || !slot->price)
        return NULL;
    slot->price->all = prices;
    return slot->price;
}

static unsigned read_params(const pto_param_t *const *param, double *value) {
    unsigned known = 0;
    for (int i = 0; i < FIT_PRICE_PARAMS; i++) {
        if (!param[i])
            continue;
        value[i] = param[i]->value;
        known |= pto_param_known(param[i]) ? 1u << i : 0;
    }
    return known;
}

/* Prices the call anew, and keeps its tape. */
static pto_status_t record(fit_price_t *price, const fit_price_call_t *call, unsigned known, double *seconds,
                           pto_error_t *err) {
    pto_tape_t *tape = pto_kept_price_begin(&price->kept, known);
    pto_status_t status = pto_score_price(call->cell, call->candidate, call->machine, call->rule,
                                          &price->call_bytes, seconds, err);
    pto_kept_price_end(&price->kept, known, tape, *seconds, call->param, FIT_PRICE_PARAMS,
                       &price->all->scratch);
    return status;
}

pto_status_t fit_price_seconds(fit_price_t *price, const fit_price_call_t *call, int64_t *call_bytes,
                               double *seconds, pto_error_t *err) {
    double value[FIT_PRICE_PARAMS] = {0};
    unsigned known = read_params(call->param, value);
    pto_status_t status = PTO_OK;
    if (!pto_kept_price_find(&price->kept, known, value, &price->all->scratch, seconds))
        status = record(price, call, known, seconds, err);
    if (call_bytes && *seconds > 0)
        *call_bytes = price->call_bytes;
    return status;
}
