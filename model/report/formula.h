/* Prices as formulas of some of a machine's parameters, while the others keep their values.
 *
 * Formulas are made from tapes (tape.h): what depends on no variable becomes a number, sums of variables are
 * merged, and a maximum or comparison with the same result for all values within the variables' bounds is
 * dropped. The rest is small enough for a report, and gives the tape's price up to rounding. */
#ifndef PTO_REPORT_FORMULA_H
#define PTO_REPORT_FORMULA_H

#include "tape/tape.h"

/* A parameter that varies, between two values. */
typedef struct {
    const pto_param_t *param;
    double low;
    double high;
} pto_formula_variable_t;

/* `times` the value of a variable or, from index variable_count on, of an operation. */
typedef struct {
    int of;
    double times;
} pto_formula_term_t;

/* A number plus terms, which are sorted by `of`, and the bounds of the sum. */
typedef struct {
    double number;
    int first; /* index of the first term */
    int count;
    double low;
    double high;
} pto_formula_sum_t;

typedef enum { PTO_FORMULA_MAXIMUM, PTO_FORMULA_MULTIPLY, PTO_FORMULA_DIVIDE } pto_formula_op_t;

typedef struct {
    pto_formula_op_t op;
    pto_formula_sum_t a;
    pto_formula_sum_t b;
    double low;
    double high;
} pto_formula_operation_t;

/* A comparison: whether `ahead` is positive or, if `same`, at most PTO_TIME_ROUNDING of `of` from 0. */
typedef struct {
    pto_formula_sum_t ahead;
    pto_formula_sum_t of;
    bool same;
} pto_formula_guard_t;

/* Whether a guard must hold or not. An `ahead` within PTO_FORMULA_ROUNDING of the price meets both. */
#define PTO_FORMULA_ROUNDING 1e-13
typedef struct {
    int guard;
    bool holds;
} pto_formula_condition_t;

/* A price that holds while its conditions are met. */
typedef struct {
    pto_formula_sum_t price;
    int first; /* index of the first condition */
    int count;
} pto_formula_t;

/* Formulas that share operations, whose operands are earlier ones. At first all but the variables is zero. */
typedef struct {
    const pto_formula_variable_t *variable; /* borrowed */
    int variable_count;
    int term_count;
    size_t term_capacity;
    pto_formula_term_t *term;
    int operation_count;
    size_t operation_capacity;
    pto_formula_operation_t *operation;
    int guard_count;
    size_t guard_capacity;
    pto_formula_guard_t *guard;
    int condition_count;
    size_t condition_capacity;
    pto_formula_condition_t *condition;
    int formula_count;
    size_t formula_capacity;
    pto_formula_t *formula;
    bool failed; /* out of memory */
} pto_formulas_t;

/* Adds a tape's price. Errors: PTO_ERR_TOO_LARGE if it has too many operations; PTO_ERR_MEMORY. */
pto_status_t pto_formulas_add(pto_formulas_t *formulas, const pto_tape_t *tape, pto_error_t *err);
void pto_formulas_fini(pto_formulas_t *formulas);

/* Computes the values of all operations, after those of the variables in `value`. */
void pto_formulas_operate(const pto_formulas_t *formulas, double *value);

/* Computes a formula's price from these values; false if the formula does not hold. */
bool pto_formula_price(const pto_formulas_t *formulas, int formula, const double *value, double *seconds);

#endif
