/* Machines with the same parameters, by the registry. */
#ifndef PTO_TEST_SAME_MACHINE_H
#define PTO_TEST_SAME_MACHINE_H

#include "machine/machine_internal.h"
#include "machine/registry.h"
#include "test.h"

static inline bool same_param(const pto_param_t *a, const pto_param_t *b) {
    return pto_param_known(a) == pto_param_known(b) && a->value == b->value && a->low == b->low &&
           a->high == b->high && a->has_interval == b->has_interval;
}

static inline bool same_postal(const pto_postal_t *a, const pto_postal_t *b) {
    return same_param(&a->alpha_s, &b->alpha_s) && same_param(&a->beta_s_per_byte, &b->beta_s_per_byte) &&
           a->sample_count == b->sample_count && a->residual == b->residual &&
           strcmp(a->flagged ? a->flagged : "", b->flagged ? b->flagged : "") == 0;
}

static inline bool same_row(const pto_cost_row_t *a, const pto_cost_row_t *b) {
    return a->protocol == b->protocol && a->strided == b->strided && a->procs == b->procs &&
           a->gpus == b->gpus && a->nodes == b->nodes && a->from_bytes == b->from_bytes &&
           a->below_bytes == b->below_bytes && same_postal(&a->postal, &b->postal) &&
           same_param(&a->extra_input_s_per_byte, &b->extra_input_s_per_byte);
}

static inline bool same_cost(const pto_cost_table_t *a, const pto_cost_table_t *b) {
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++)
        same = same_row(&a->row[i], &b->row[i]);
    return same;
}

static inline bool same_cell(const pto_cell_t *a, const pto_cell_t *b) {
    switch (a->family->form) {
    case PTO_FORM_WHOLE:
        return *(const int64_t *)a->at == *(const int64_t *)b->at;
    case PTO_FORM_VALUE:
        return same_param(a->at, b->at);
    case PTO_FORM_POSTAL:
        return same_postal(a->at, b->at);
    case PTO_FORM_COST:
        return same_cost(a->at, b->at);
    }
    return false;
}

static inline void assert_same_parameters(const pto_machine_t *a, const pto_machine_t *b) {
    pto_cell_t other = {0};
    for (pto_cell_t cell = {0}; pto_cell_next(a, &cell);) {
        char key[PTO_PARAM_KEY_MAX];
        assert_true(pto_cell_next(b, &other));
        pto_cell_key(&cell, key);
        if (!same_cell(&cell, &other))
            fail_msg("%s differs", key);
    }
}

#endif
