/* Makes formulas of a few parameters from tapes (formula.h). Each record of a tape becomes a sum. A sum's
 * terms are never changed once they are stored, so that sums can share them.
 *
 * For example, let the variables a, b and c be the values 0, 1 and 2, and the price max(a + 8 b, a + 3 c). If
 * neither sum is larger for all values within the variables' bounds, the common term a is taken out, and the
 * maximum becomes an operation: value 3 = max(8 b, 3 c). The price is the sum of values 0 and 3. If the
 * bounds say that 8 b >= 3 c, no operation is needed: the price is value 0 + 8 times value 1. */
#include "report/formula.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"

typedef pto_formula_sum_t sum_t;

/* Longer prices are refused, as finding equal operations takes quadratic time. */
enum { RECORDS_MAX = 20000, OPERATIONS_MAX = 4000 };

/* A result of adding two numbers that is at most this fraction of the first counts as 0: only rounding kept
 * it from 0. */
static const double cancelled = 1e-12;

/* Reserves one more item in a table of pto_formulas_t. False, and sets `failed`, if memory runs out. */
#define RESERVE_ITEM(formulas, table)                                                                        \
    (PTO_RESERVE((formulas)->table, (formulas)->table##_capacity, (formulas)->table##_count + 1) ||          \
     ((formulas)->failed = true, false))

/* The bounds of the value with the index `of`. */
static double low_of(const pto_formulas_t *formulas, int of) {
    int operation = of - formulas->variable_count;
    return operation < 0 ? formulas->variable[of].low : formulas->operation[operation].low;
}

static double high_of(const pto_formulas_t *formulas, int of) {
    int operation = of - formulas->variable_count;
    return operation < 0 ? formulas->variable[of].high : formulas->operation[operation].high;
}

/* Adds a term to the sum that is being made, whose terms are the last ones of the table. */
static void add_term(pto_formulas_t *formulas, sum_t *sum, pto_formula_term_t term) {
    if (!RESERVE_ITEM(formulas, term))
        return;
    formulas->term[formulas->term_count++] = term;
    sum->count++;
    double at_low = term.times * low_of(formulas, term.of), at_high = term.times * high_of(formulas, term.of);
    sum->low += fmin(at_low, at_high);
    sum->high += fmax(at_low, at_high);
}

static sum_t number(double value) { return (sum_t){.number = value, .low = value, .high = value}; }

static sum_t one_term(pto_formulas_t *formulas, int of, double times) {
    sum_t sum = number(0);
    sum.first = formulas->term_count;
    add_term(formulas, &sum, (pto_formula_term_t){of, times});
    return sum;
}

static double add(double a, double b) { return fabs(a + b) <= cancelled * fabs(a) ? 0 : a + b; }

/* Applies bounds that are known in another way. */
static void narrow(sum_t *sum, double low, double high) {
    sum->low = fmax(sum->low, low);
    sum->high = fmin(sum->high, high);
}

/* Returns a + times * b: merges their terms, which are sorted by the indices of their values. */
static sum_t combine(pto_formulas_t *formulas, sum_t a, sum_t b, double times) {
    sum_t sum = number(add(a.number, times * b.number));
    sum.first = formulas->term_count;
    for (int i = 0, j = 0; (i < a.count || j < b.count) && !formulas->failed;) {
        const pto_formula_term_t left = i < a.count ? formulas->term[a.first + i] : (pto_formula_term_t){0};
        const pto_formula_term_t right = j < b.count ? formulas->term[b.first + j] : (pto_formula_term_t){0};
        bool from_a = i < a.count && (j == b.count || left.of <= right.of);
        bool from_b = j < b.count && (i == a.count || right.of <= left.of);
        pto_formula_term_t term = {from_a ? left.of : right.of, from_a ? left.times : 0};
        if (from_b)
            term.times = add(term.times, times * right.times);
        if (term.times < 0 || term.times > 0)
            add_term(formulas, &sum, term);
        i += from_a;
        j += from_b;
    }
    narrow(&sum, a.low + fmin(times * b.low, times * b.high), a.high + fmax(times * b.low, times * b.high));
    return sum;
}

static sum_t scale(pto_formulas_t *formulas, sum_t a, double times) {
    return combine(formulas, number(0), a, times);
}

static bool is_number(const sum_t *sum) { return sum->count == 0; }

static bool is_zero(const sum_t *sum) { return is_number(sum) && fabs(sum->number) <= 0; }

static bool equal(const pto_formulas_t *formulas, const sum_t *a, const sum_t *b) {
    if (a->count != b->count || a->number < b->number || a->number > b->number)
        return false;
    for (int i = 0; i < a->count; i++) {
        const pto_formula_term_t *x = &formulas->term[a->first + i], *y = &formulas->term[b->first + i];
        if (x->of != y->of || x->times < y->times || x->times > y->times)
            return false;
    }
    return true;
}

static void find_bounds(pto_formula_operation_t *operation) {
    const sum_t *a = &operation->a, *b = &operation->b;
    if (operation->op == PTO_FORMULA_MAXIMUM) {
        operation->low = fmax(a->low, b->low);
        operation->high = fmax(a->high, b->high);
    } else if (operation->op == PTO_FORMULA_MULTIPLY || b->low > 0) {
        bool divides = operation->op == PTO_FORMULA_DIVIDE;
        double least = divides ? 1 / b->high : b->low, most = divides ? 1 / b->low : b->high;
        const double corner[] = {a->low * least, a->low * most, a->high * least, a->high * most};
        operation->low = fmin(fmin(corner[0], corner[1]), fmin(corner[2], corner[3]));
        operation->high = fmax(fmax(corner[0], corner[1]), fmax(corner[2], corner[3]));
    } else {
        operation->low = -INFINITY;
        operation->high = INFINITY;
    }
}

/* Returns the result of an operation as a sum of one term. Equal operations are stored once. */
static sum_t operate(pto_formulas_t *formulas, pto_formula_op_t op, sum_t a, sum_t b) {
    pto_formula_operation_t operation = {.op = op, .a = a, .b = b};
    int found = 0;
    while (found < formulas->operation_count &&
           !(formulas->operation[found].op == op && equal(formulas, &formulas->operation[found].a, &a) &&
             equal(formulas, &formulas->operation[found].b, &b)))
        found++;
    if (found == formulas->operation_count) {
        if (!RESERVE_ITEM(formulas, operation))
            return number(0);
        find_bounds(&operation);
        formulas->operation[formulas->operation_count++] = operation;
    }
    return one_term(formulas, formulas->variable_count + found, 1);
}

/* Returns the terms that two sums have in common, with the first one's number. */
static sum_t common_of(pto_formulas_t *formulas, sum_t a, sum_t b) {
    sum_t common = number(a.number);
    common.first = formulas->term_count;
    for (int i = 0, j = 0; i < a.count && j < b.count && !formulas->failed;) {
        const pto_formula_term_t left = formulas->term[a.first + i], right = formulas->term[b.first + j];
        if (left.of == right.of && left.times >= right.times && left.times <= right.times)
            add_term(formulas, &common, left);
        i += left.of <= right.of;
        j += right.of <= left.of;
    }
    return common;
}

/* Returns the larger sum: a or b if one is larger for all values of the variables; else their common terms
 * plus the maximum of the others. Common terms are kept out of the operation so that more operations are
 * equal. */
static sum_t maximum(pto_formulas_t *formulas, sum_t a, sum_t b) {
    sum_t b_ahead = combine(formulas, b, a, -1); /* b - a */
    if (b_ahead.high <= 0)
        return a;
    if (b_ahead.low >= 0)
        return b;
    sum_t common = common_of(formulas, a, b);
    sum_t rest_a = combine(formulas, a, common, -1), rest_b = combine(formulas, b, common, -1);
    sum_t larger = combine(formulas, common, operate(formulas, PTO_FORMULA_MAXIMUM, rest_a, rest_b), 1);
    narrow(&larger, fmax(a.low, b.low), fmax(a.high, b.high));
    return larger;
}

static sum_t multiply(pto_formulas_t *formulas, sum_t a, sum_t b) {
    if (is_number(&a))
        return scale(formulas, b, a.number);
    return is_number(&b) ? scale(formulas, a, b.number) : operate(formulas, PTO_FORMULA_MULTIPLY, a, b);
}

static sum_t divide(pto_formulas_t *formulas, sum_t a, sum_t b) {
    return is_number(&b) ? scale(formulas, a, 1 / b.number) : operate(formulas, PTO_FORMULA_DIVIDE, a, b);
}

/* Returns whether a comparison needs no condition: it has the recorded result for all values of the
 * variables, or its sums are equal, so that only rounding decided. */
static bool is_certain(const pto_formula_guard_t *guard, bool holds) {
    const sum_t *ahead = &guard->ahead, *of = &guard->of;
    if (is_zero(ahead))
        return true;
    if (!guard->same)
        return holds ? ahead->low > 0 : ahead->high <= 0;
    double of_most = fmax(fabs(of->low), fabs(of->high));         /* the largest |of| */
    double ahead_least = fmax(fmax(ahead->low, -ahead->high), 0); /* the smallest |ahead| */
    return !holds && ahead_least > PTO_TIME_ROUNDING * of_most;
}

/* Returns the index of a guard, after adding it if it is new; -1 if out of memory. */
static int add_guard(pto_formulas_t *formulas, pto_formula_guard_t guard) {
    int i = 0;
    while (i < formulas->guard_count && !(formulas->guard[i].same == guard.same &&
                                          equal(formulas, &formulas->guard[i].ahead, &guard.ahead) &&
                                          equal(formulas, &formulas->guard[i].of, &guard.of)))
        i++;
    if (i < formulas->guard_count)
        return i;
    if (!RESERVE_ITEM(formulas, guard))
        return -1;
    formulas->guard[formulas->guard_count++] = guard;
    return i;
}

/* Adds a comparison of a tape as a condition of the formula that is being made, whose conditions begin at
 * `first`. The record's number is positive if the comparison held. */
static void add_comparison(pto_formulas_t *formulas, const pto_tape_record_t *record, sum_t a, sum_t b,
                           int first) {
    bool holds = record->number > 0;
    pto_formula_guard_t guard = {
        .ahead = combine(formulas, b, a, -1), .of = number(0), .same = record->op == PTO_TAPE_SAME};
    if (guard.same)
        guard.of = a;
    int index = is_certain(&guard, holds) ? -1 : add_guard(formulas, guard);
    if (index < 0)
        return;
    for (int i = first; i < formulas->condition_count; i++)
        if (formulas->condition[i].guard == index && formulas->condition[i].holds == holds)
            return;
    if (RESERVE_ITEM(formulas, condition))
        formulas->condition[formulas->condition_count++] = (pto_formula_condition_t){index, holds};
}

/* The sum of a record that is a multiple of a parameter: a term if that is a variable, else a number. */
static sum_t read_param(pto_formulas_t *formulas, const pto_tape_record_t *record) {
    for (int i = 0; i < formulas->variable_count; i++)
        if (formulas->variable[i].param == record->param)
            return one_term(formulas, i, record->number);
    return number(record->number * record->param->value);
}

/* Returns the sum of a record, from those of earlier records in `sum`; 0 for a comparison. `first` as in
 * add_comparison. */
static sum_t read_record(pto_formulas_t *formulas, const pto_tape_record_t *record, const sum_t *sum,
                         int first) {
    const sum_t a = sum[record->a], b = sum[record->b];
    switch (record->op) {
    case PTO_TAPE_NUMBER:
        return number(record->number);
    case PTO_TAPE_PARAM:
        return read_param(formulas, record);
    case PTO_TAPE_SCALE:
        return scale(formulas, a, record->number);
    case PTO_TAPE_ADD:
        return combine(formulas, a, b, 1);
    case PTO_TAPE_SUBTRACT:
        return combine(formulas, a, b, -1);
    case PTO_TAPE_MULTIPLY:
        return multiply(formulas, a, b);
    case PTO_TAPE_DIVIDE:
        return divide(formulas, a, b);
    case PTO_TAPE_MAXIMUM:
        return maximum(formulas, a, b);
    case PTO_TAPE_LESS:
    case PTO_TAPE_SAME:
        add_comparison(formulas, record, a, b, first);
        break;
    }
    return number(0);
}

pto_status_t pto_formulas_add(pto_formulas_t *formulas, const pto_tape_t *tape, pto_error_t *err) {
    int count, result;
    const pto_tape_record_t *record = pto_tape_records(tape, &count, &result);
    pto_formula_t formula = {.first = formulas->condition_count};
    sum_t *sum = calloc((size_t)count, sizeof *sum);
    formulas->failed = formulas->failed || !sum;
    bool fits = count <= RECORDS_MAX;
    for (int i = 0; i < count && !formulas->failed && fits; i++) {
        sum[i] = read_record(formulas, &record[i], sum, formula.first);
        fits = formulas->operation_count + formulas->guard_count <= OPERATIONS_MAX;
    }
    if (!fits) {
        free(sum);
        return pto_error_set(err, PTO_ERR_TOO_LARGE, "the price has too many operations on the parameters");
    }
    if (formulas->failed || !RESERVE_ITEM(formulas, formula)) {
        free(sum);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a formula");
    }
    formula.price = sum[result];
    formula.count = formulas->condition_count - formula.first;
    formulas->formula[formulas->formula_count++] = formula;
    free(sum);
    return PTO_OK;
}

void pto_formulas_fini(pto_formulas_t *formulas) {
    free(formulas->term);
    free(formulas->operation);
    free(formulas->guard);
    free(formulas->condition);
    free(formulas->formula);
    *formulas = (pto_formulas_t){0};
}

static double sum_value(const pto_formulas_t *formulas, const sum_t *sum, const double *value) {
    double result = sum->number;
    for (int i = sum->first; i < sum->first + sum->count; i++)
        result += formulas->term[i].times * value[formulas->term[i].of];
    return result;
}

void pto_formulas_operate(const pto_formulas_t *formulas, double *value) {
    for (int i = 0; i < formulas->operation_count; i++) {
        const pto_formula_operation_t *operation = &formulas->operation[i];
        double a = sum_value(formulas, &operation->a, value), b = sum_value(formulas, &operation->b, value);
        double *result = &value[formulas->variable_count + i];
        if (operation->op == PTO_FORMULA_MAXIMUM)
            *result = fmax(a, b);
        else
            *result = operation->op == PTO_FORMULA_MULTIPLY ? a * b : a / b;
    }
}

static bool is_met(const pto_formulas_t *formulas, const pto_formula_condition_t *condition,
                   const double *value, double price) {
    const pto_formula_guard_t *guard = &formulas->guard[condition->guard];
    double ahead = sum_value(formulas, &guard->ahead, value);
    if (guard->same) {
        double of = sum_value(formulas, &guard->of, value);
        return (fabs(ahead) <= PTO_TIME_ROUNDING * fabs(of)) == condition->holds;
    }
    return (ahead > 0) == condition->holds || fabs(ahead) <= PTO_FORMULA_ROUNDING * price;
}

bool pto_formula_price(const pto_formulas_t *formulas, int index, const double *value, double *seconds) {
    const pto_formula_t *formula = &formulas->formula[index];
    double price = sum_value(formulas, &formula->price, value);
    for (int i = formula->first; i < formula->first + formula->count; i++)
        if (!is_met(formulas, &formulas->condition[i], value, price))
            return false;
    *seconds = price;
    return true;
}
