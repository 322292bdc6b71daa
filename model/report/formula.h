/* Prices as formulas of some of a machine's parameters (the variables), while the others keep their values.
 *
 * Formulas are made from tapes. A tape (tape.h) is the record of the operations on parameters by which a
 * price was computed. Here, what depends on no variable becomes a number, sums of variables are merged, and a
 * maximum or comparison with the same result for all values within the variables' bounds is dropped. The rest
 * is small enough for the page of a report, and gives the tape's price up to rounding.
 *
 * A price is a sum; its terms are multiples of variables and of the results of operations (maximum, product,
 * quotient), whose operands are sums again. Its conditions are the comparisons that decided how it was
 * computed: a guard is such a comparison, and a condition is the result that it must have. */
#ifndef PTO_REPORT_FORMULA_H
#define PTO_REPORT_FORMULA_H

#include "tape/tape.h"

/* A parameter that varies, between two values. */
typedef struct {
    const pto_param_t *param;
    double low;
    double high;
} pto_formula_variable_t;

/* A multiple of a value. Values are indexed: first the variables, then (from variable_count on) the results
 * of operations. */
typedef struct {
    int of;       /* the index of the value */
    double times; /* the factor */
} pto_formula_term_t;

/* A number plus terms, which are sorted by `of`, and the bounds of the sum. */
typedef struct {
    double number;
    int first; /* index of the first term in pto_formulas_t's `term` */
    int count;
    double low; /* bounds of the sum, for all values of the variables */
    double high;
} pto_formula_sum_t;

typedef enum { PTO_FORMULA_MAXIMUM, PTO_FORMULA_MULTIPLY, PTO_FORMULA_DIVIDE } pto_formula_op_t;

typedef struct {
    pto_formula_op_t op;
    pto_formula_sum_t a;
    pto_formula_sum_t b;
    double low; /* bounds of the result */
    double high;
} pto_formula_operation_t;

/* A comparison of two sums a and b, as ahead = b - a: whether a < b, which is ahead > 0. If `same`: whether a
 * and b are equal up to rounding, which is |ahead| <= PTO_TIME_ROUNDING * |of|, where `of` is a. */
typedef struct {
    pto_formula_sum_t ahead;
    pto_formula_sum_t of; /* 0 unless `same` */
    bool same;
} pto_formula_guard_t;

/* Whether a guard must hold or must not. If |ahead| is below PTO_FORMULA_ROUNDING times the price, the
 * condition is met in either case (unless `same`). */
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

/* Formulas that share operations, whose operands are earlier ones. At first all but the variables is 0. */
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

/* Adds the formula of a tape's price. Errors: PTO_ERR_TOO_LARGE if it has too many operations;
 * PTO_ERR_MEMORY. */
pto_status_t pto_formulas_add(pto_formulas_t *formulas, const pto_tape_t *tape, pto_error_t *err);
void pto_formulas_fini(pto_formulas_t *formulas);

/* Computes the results of all operations: `value` has the values of the variables, and gets the results after
 * them. */
void pto_formulas_operate(const pto_formulas_t *formulas, double *value);

/* Computes the price by the formula with this index from these values; false if the formula does not hold. */
bool pto_formula_price(const pto_formulas_t *formulas, int formula, const double *value, double *seconds);

#endif
