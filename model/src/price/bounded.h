/* Prices several plans of which only the cheapest matters (pick). Pricing a plan may stop once its price is
 * above a bound, such as the lowest price so far. The prices share data, such as sums over a table. */
#ifndef PTO_PRICE_BOUNDED_H
#define PTO_PRICE_BOUNDED_H

#include "portolan/price.h"
#include "price/table.h"
#include "price/traffic.h"

/* Data that prices share: counts of messages, and sums over tables of byte counts. While it is used, the
 * memory that the requests' counts and mappings point at must not change. An empty cache is zeroed. */
typedef struct {
    pto_traffic_cache_t *traffic; /* both NULL until needed */
    pto_tables_t *tables;
} pto_price_cache_t;

/* Returns the cache's sums, which the first call creates; NULL: out of memory. */
pto_tables_t *pto_price_cache_tables(pto_price_cache_t *cache);
void pto_price_cache_fini(pto_price_cache_t *cache);

/* pto_price of a plan that passes pto_price_check_size. It may stop above `bound_s`: then price->seconds is
 * INFINITY, and later errors are not detected. `cache` and `explanation` may be NULL. */
pto_status_t pto_price_bounded(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_cache_t *cache,
                               double bound_s, pto_price_t *price, pto_explanation_t *explanation,
                               pto_error_t *err);

/* pto_plan_memory, from the sums where buffers are lines of a table or parts of them. `cache` may be NULL. */
void pto_tables_memory(const pto_plan_t *plan, const pto_machine_t *machine, pto_price_cache_t *cache,
                       int64_t *gpu_bytes, int64_t *host_bytes);

#endif
