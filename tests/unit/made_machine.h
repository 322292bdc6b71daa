/* A machine with a value for every parameter of the registry, made from the registry. */
#ifndef PTO_TEST_MADE_MACHINE_H
#define PTO_TEST_MADE_MACHINE_H

#include "base/text_file.h"
#include "machine/machine_internal.h"
#include "machine/registry.h"
#include "must.h"
#include "test.h"

/* Every value is another one. */
static inline pto_param_t made_param(double scale) {
    static int made;
    double value = scale * (1 + 0.001 * ++made);
    return (pto_param_t){
        .value = value, .low = value * 0.9, .high = value * 1.1, .has_interval = true, .line = 1};
}

/* Without an interval. */
static inline pto_param_t made_exactly(double value) {
    return (pto_param_t){.value = value, .low = value, .high = value, .line = 1};
}

static inline pto_postal_t made_postal(void) {
    return (pto_postal_t){.alpha_s = made_param(1e-6), .beta_s_per_byte = made_param(1e-10)};
}

static inline void add_made_row(pto_cost_table_t *cost, const pto_family_t *family, pto_cost_row_t row) {
    pto_cost_row_t *added = pto_cost_add(cost);
    assert_non_null(added);
    row.below_bytes = row.below_bytes > 0 ? row.below_bytes : INT64_MAX;
    row.postal = made_postal();
    if (family->has_extra_input)
        row.extra_input_s_per_byte = made_param(1e-11);
    *added = row;
}

static inline void fill_cost(pto_cost_table_t *cost, const pto_family_t *family) {
    switch (family->by) {
    case PTO_ROWS_BY_PROTOCOL:
        add_made_row(cost, family, (pto_cost_row_t){.protocol = PTO_PROTOCOL_EAGER, .below_bytes = 8192});
        add_made_row(cost, family, (pto_cost_row_t){.protocol = PTO_PROTOCOL_RENDEZVOUS});
        break;
    case PTO_ROWS_BY_BYTES:
        add_made_row(cost, family, (pto_cost_row_t){.below_bytes = 4096});
        add_made_row(cost, family, (pto_cost_row_t){0});
        break;
    case PTO_ROWS_BY_PROCS:
        add_made_row(cost, family, (pto_cost_row_t){.procs = 2});
        add_made_row(cost, family, (pto_cost_row_t){.procs = 4, .below_bytes = 4096});
        add_made_row(cost, family, (pto_cost_row_t){.procs = 4});
        add_made_row(cost, family, (pto_cost_row_t){.procs = 2, .strided = true});
        break;
    case PTO_ROWS_BY_GPUS:
        add_made_row(cost, family, (pto_cost_row_t){.gpus = 4, .nodes = 1, .below_bytes = 4096});
        add_made_row(cost, family, (pto_cost_row_t){.gpus = 4, .nodes = 1});
        add_made_row(cost, family, (pto_cost_row_t){.gpus = 8, .nodes = 4});
        break;
    case PTO_ROWS_BY_NODE_GPUS:
        add_made_row(cost, family, (pto_cost_row_t){.gpus = 4, .nodes = 1, .below_bytes = 4096});
        add_made_row(cost, family, (pto_cost_row_t){.gpus = 4, .nodes = 1});
        break;
    case PTO_ROWS_COUNT:
        break;
    }
    assert_true(pto_cost_join(family->by, cost));
}

/* Until the next call. */
static inline const char *key_of(const pto_cell_t *cell) {
    static char key[PTO_PARAM_KEY_MAX];
    pto_cell_key(cell, key);
    return key;
}

static inline void fill_cell(const pto_cell_t *cell) {
    static const double scale[] = {
        [PTO_UNIT_S] = 1e-6, [PTO_UNIT_S_PER_BYTE] = 1e-9, [PTO_UNIT_W] = 100, [PTO_UNIT_RATIO] = 0.5};
    pto_param_t *param = cell->at;
    switch (cell->family->form) {
    case PTO_FORM_WHOLE:
        *(int64_t *)cell->at = strcmp(key_of(cell), "node.cores") == 0     ? 32
                               : strcmp(key_of(cell), "node.sockets") == 0 ? 2
                                                                           : 4;
        break;
    case PTO_FORM_VALUE:
        *param = cell->family->unit == PTO_UNIT_BYTES ? made_exactly(0x1p34)
                                                      : made_param(scale[cell->family->unit]);
        if (strcmp(key_of(cell), "memory.host_s_per_byte") == 0)
            *param = made_param(1e-10); /* as slow as all else, it would hide the cost of copies */
        if (strncmp(key_of(cell), "nccl.", 5) == 0 && cell->family->unit == PTO_UNIT_BYTES)
            *param = made_exactly(1e5); /* among the sizes that tests ask for */
        if (strcmp(key_of(cell), "nccl.channels") == 0)
            *param = made_exactly(4);
        break;
    case PTO_FORM_POSTAL:
        *(pto_postal_t *)cell->at = made_postal();
        break;
    case PTO_FORM_COST:
        fill_cost(cell->at, cell->family);
        break;
    }
}

static inline pto_machine_t made_machine(void) {
    pto_machine_t everything = {
        .name = pto_text_copy("made"), .source = pto_text_copy("up"), .path = "made.yaml"};
    for (pto_cell_t cell = {0}; pto_cell_next(&everything, &cell);)
        fill_cell(&cell);
    return everything;
}

/* Until the test ends. */
static inline pto_machine_t *kept_machine(void) {
    pto_machine_t *machine = keep_new(sizeof *machine, end_machine);
    *machine = made_machine();
    return machine;
}

#endif
