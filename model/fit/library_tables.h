/* Choosing an MPI library's tables (algorithms by size) by how well they predict measured collectives. */
#ifndef PTO_FIT_LIBRARY_TABLES_H
#define PTO_FIT_LIBRARY_TABLES_H

#include "collective_cells.h"

/* An algorithm that a library may use, with a segment size if it is segmented; 0: the whole vector. */
typedef struct {
    const pto_algorithm_t *algorithm;
    int64_t segment_bytes;
} library_variant_t;

enum { LIBRARY_VARIANTS_MAX = 24 };

/* Lists the variants that are tried for a collective among `procs` processes. Returns how many. */
int library_variants(pto_collective_t collective, int64_t procs,
                     library_variant_t variant[LIBRARY_VARIANTS_MAX]);

/* Returns a row without a flag that chooses a variant; `name` holds its algorithm's. */
pto_library_rule_t library_rule(const library_variant_t *variant, bool staged, int64_t below_bytes,
                                char name[PTO_FIT_NAME_MAX]);

/* Append a copy of the row to the machine's table, which is made if there is none. Errors: PTO_ERR_MEMORY. */
pto_status_t library_add_row(pto_machine_t *machine, pto_collective_t collective, pto_space_t space,
                             const pto_library_rule_t *rule, pto_error_t *err);

/* A size from which a library uses another algorithm. */
typedef struct {
    pto_collective_t collective;
    int64_t bytes;
} collective_switch_t;

/* Choose new tables for the machine, with at most `switches_left` switches. Stores them and, in
 * `*switch_count`, their number. Errors: PTO_ERR_MEMORY and those of prices. */
pto_status_t collective_fit_library(collective_fit_t *fit, int switches_left, collective_switch_t *switches,
                                    int *switch_count);

#endif
