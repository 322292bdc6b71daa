/* Prices of which only those below a bound matter, as where plans compete, and what such prices share. */
#ifndef PTO_PRICE_BOUNDED_H
#define PTO_PRICE_BOUNDED_H

#include "portolan/price.h"
#include "price/table.h"
#include "price/traffic.h"

/* Data that prices share: counts of messages, and sums over tables of byte counts. As long as it is used, no
 * request may change what its counts and its mapping point at. Zeroed: empty. */
typedef struct {
    pto_traffic_cache_t *traffic; /* NULL: not needed yet, as the other */
    pto_tables_t *tables;
} pto_price_cache_t;

/* Returns the sums of the cache, which are made at the first call; NULL: out of memory. */
pto_tables_t *pto_price_cache_tables(pto_price_cache_t *cache);
void pto_price_cache_fini(pto_price_cache_t *cache);

/* pto_price of a plan that passes pto_price_check_size. It may end as soon as it exceeds `most_s`:
 * price->seconds is INFINITY then, and what would go wrong later in the plan is not noticed. `cache` and
 * `explanation` may be NULL. */
pto_status_t pto_price_bounded(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_cache_t *cache,
                               double most_s, pto_price_t *price, pto_explanation_t *explanation,
                               pto_error_t *err);

/* pto_plan_memory, from the sums where buffers are lines of a table or parts of them. `cache` may be NULL. */
void pto_tables_memory(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_cache_t *cache,
                       int64_t *gpu_bytes, int64_t *host_bytes);

#endif
