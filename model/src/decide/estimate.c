/* A table of prices by size, from which the price of a collective of any size is interpolated. Sizes are
 * added until a straight line between neighbors is close enough (docs/decisions/0062). */
#include "portolan/pick.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "decide/candidates.h"

/* An interval of at most size / FINEST is not halved again. */
enum { FINEST = 256 };

static const int64_t largest_bytes = INT64_C(1) << 30;

typedef struct {
    int64_t bytes;
    double seconds;
    const pto_strategy_t *strategy;
} priced_t;

struct pto_estimates {
    int count;
    size_t capacity;
    priced_t *priced;
};

/* The table while it is filled. */
typedef struct {
    const pto_machine_t *machine;
    const char *strategy; /* NULL: the cheapest */
    pto_scenario_t scenario;
    int64_t element_bytes;
    pto_estimates_t *estimates;
} table_t;

static pto_status_t price_at(table_t *table, int64_t bytes, const char *strategy, priced_t *priced,
                             pto_error_t *err) {
    pto_plan_t *plan = NULL;
    pto_price_t price;
    table->scenario.bytes.value[0] = bytes;
    pto_status_t status = pto_choose_cheapest(&table->scenario, table->machine, strategy, &plan, &price, err);
    if (status == PTO_OK)
        *priced = (priced_t){bytes, price.seconds, pto_plan_request(plan)->strategy};
    pto_plan_destroy(plan);
    return status;
}

static pto_status_t append(table_t *table, const priced_t *priced, pto_error_t *err) {
    pto_estimates_t *estimates = table->estimates;
    if (!PTO_RESERVE(estimates->priced, estimates->capacity, estimates->count + 1))
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for estimates");
    estimates->priced[estimates->count++] = *priced;
    return PTO_OK;
}

static double interpolate(const priced_t *a, const priced_t *b, int64_t bytes) {
    double share = (double)(bytes - a->bytes) / (double)(b->bytes - a->bytes);
    return a->seconds + share * (b->seconds - a->seconds);
}

static bool is_straight(const priced_t *a, const priced_t *middle, const priced_t *b) {
    double line_s = interpolate(a, b, middle->bytes);
    return a->strategy == middle->strategy && middle->strategy == b->strategy &&
           fabs(line_s - middle->seconds) <= PTO_ESTIMATE_TOLERANCE * middle->seconds;
}

/* Appends the sizes that are needed between `a` and `b`; the caller appends these two. The middle is priced
 * by the strategy of both ends. If the ends are successive powers of two or have different strategies,
 * another strategy may be the cheapest there, so all are priced. */
static pto_status_t divide(table_t *table, const priced_t *a, const priced_t *b, bool are_powers,
                           pto_error_t *err) {
    int64_t half = (b->bytes - a->bytes) / 2 / table->element_bytes * table->element_bytes;
    const bool all_strategies = are_powers || a->strategy != b->strategy;
    priced_t middle;
    if (half == 0 || b->bytes - a->bytes <= a->bytes / FINEST)
        return PTO_OK;
    pto_status_t status =
        price_at(table, a->bytes + half, all_strategies ? table->strategy : a->strategy->name, &middle, err);
    if (status != PTO_OK)
        return status;
    bool straight = is_straight(a, &middle, b);
    if (!straight)
        status = divide(table, a, &middle, false, err);
    if (status == PTO_OK)
        status = append(table, &middle, err);
    return status == PTO_OK && !straight ? divide(table, &middle, b, false, err) : status;
}

/* Checks the work of pricing the powers of two against the limit, as if each took as much as the first. */
static pto_status_t check_work(table_t *table, int64_t first, int64_t largest, pto_error_t *err) {
    int64_t sizes = 2;
    for (int64_t bytes = first; bytes > 0 && bytes <= largest / 2; bytes *= 2)
        sizes++;
    table->scenario.bytes.value[0] = first;
    return pto_check_work(&table->scenario, table->machine, sizes, NULL, err);
}

static pto_status_t fill(table_t *table, int64_t largest, pto_error_t *err) {
    priced_t before, next;
    pto_error_t reason;
    int64_t bytes = table->element_bytes < largest ? table->element_bytes : largest;
    pto_status_t status = check_work(table, bytes, largest, err);
    if (status == PTO_OK)
        status = price_at(table, bytes, table->strategy, &before, err);
    if (status == PTO_OK)
        status = append(table, &before, err);
    while (status == PTO_OK && bytes < largest) {
        bytes = bytes <= largest / 2 ? 2 * bytes : largest;
        status = price_at(table, bytes, table->strategy, &next, &reason);
        if (status == PTO_ERR_NOT_APPLICABLE)
            return PTO_OK;
        if (status != PTO_OK && err)
            *err = reason;
        if (status == PTO_OK)
            status = divide(table, &before, &next, true, err);
        if (status == PTO_OK)
            status = append(table, &next, err);
        before = next;
    }
    return status;
}

pto_status_t pto_estimates_create(const pto_machine_t *machine, const pto_ask_t *cell,
                                  pto_estimates_t **estimates, pto_error_t *err) {
    table_t table = {.machine = machine, .strategy = cell->strategy};
    pto_ask_t largest = *cell;
    largest.bytes = cell->bytes ? cell->bytes : largest_bytes;
    pto_scenario_init(&table.scenario);
    pto_status_t status = pto_bind_cell(&largest, machine, &table.scenario, err);
    table.element_bytes = pto_datatype_bytes(table.scenario.datatype);
    table.estimates = calloc(1, sizeof *table.estimates);
    if (status == PTO_OK && !table.estimates)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for estimates");
    if (status == PTO_OK && table.estimates)
        status = fill(&table, largest.bytes, err);
    pto_scenario_fini(&table.scenario);
    if (status == PTO_OK)
        *estimates = table.estimates;
    else
        pto_estimates_destroy(table.estimates);
    return status;
}

void pto_estimates_destroy(pto_estimates_t *estimates) {
    if (!estimates)
        return;
    free(estimates->priced);
    free(estimates);
}

int pto_estimates_count(const pto_estimates_t *estimates) { return estimates->count; }

int64_t pto_estimates_bytes(const pto_estimates_t *estimates, int index) {
    return estimates->priced[index].bytes;
}

double pto_estimate(const pto_estimates_t *estimates, int64_t bytes, const pto_strategy_t **strategy) {
    const priced_t *priced = estimates->priced;
    int low = 0, high = estimates->count - 1;
    bool inside = bytes >= 0 && bytes <= priced[high].bytes;
    if (bytes <= priced[0].bytes)
        high = 0;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (priced[middle].bytes <= bytes)
            low = middle;
        else
            high = middle;
    }
    if (inside && bytes == priced[high].bytes)
        low = high;
    if (strategy)
        *strategy = inside ? priced[low].strategy : NULL;
    if (!inside)
        return NAN;
    return low == high ? priced[low].seconds : interpolate(&priced[low], &priced[high], bytes);
}
