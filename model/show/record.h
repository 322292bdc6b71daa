/* Records: lists of named values that are written as the members of a JSON object or as the fields of a CSV
 * row, so that a command describes both formats once. */
#ifndef PTO_RECORD_H
#define PTO_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "caveats.h"
#include "command_line/options.h"

typedef enum {
    PTO_RECORD_TEXT,
    PTO_RECORD_WHOLE,
    PTO_RECORD_NUMBER,
    PTO_RECORD_TRUTH,
    PTO_RECORD_NAMES
} pto_field_kind_t;

/* How a field appears in a format. */
typedef enum {
    PTO_RECORD_SHOWN,    /* its value */
    PTO_RECORD_LEFT_OUT, /* JSON: nothing; CSV: an empty field */
    PTO_RECORD_UNKNOWN,  /* JSON: null; CSV: an empty field */
    PTO_RECORD_NONE      /* the format has no such field */
} pto_field_state_t;

typedef struct {
    const char *name;
    pto_field_kind_t kind;
    pto_field_state_t state[PTO_FORMAT_COUNT];
    int digits;
    const char *text;
    int64_t count;
    double number;
    const char *const *names; /* `count` of them: an array in JSON, separated by blanks in CSV */
} pto_field_t;

/* Write fields without braces or line end. A comma separates them in JSON, and follows each in CSV. */
#define PTO_RECORD(stream, format, ...)                                                                      \
    pto_print_record(stream, format, "", (const pto_field_t[]){__VA_ARGS__},                                 \
                     sizeof(const pto_field_t[]){__VA_ARGS__} / sizeof(pto_field_t))
/* Write further members of a JSON object. */
#define PTO_MORE(stream, ...)                                                                                \
    pto_print_record(stream, PTO_FORMAT_JSON, ", ", (const pto_field_t[]){__VA_ARGS__},                      \
                     sizeof(const pto_field_t[]){__VA_ARGS__} / sizeof(pto_field_t))
/* Write a JSON object with these members, after the text `before`. */
#define PTO_OBJECT(stream, before, ...)                                                                      \
    pto_print_object(stream, before, (const pto_field_t[]){__VA_ARGS__},                                     \
                     sizeof(const pto_field_t[]){__VA_ARGS__} / sizeof(pto_field_t))
void pto_print_object(FILE *stream, const char *before, const pto_field_t *field, size_t count);
/* `between` is written before the first member of JSON. */
void pto_print_record(FILE *stream, pto_format_t format, const char *between, const pto_field_t *field,
                      size_t count);

/* Set how a field appears in the formats that have it. */
static inline pto_field_t pto_field_set(pto_field_t field, pto_field_state_t json, pto_field_state_t csv) {
    if (field.state[PTO_FORMAT_JSON] != PTO_RECORD_NONE)
        field.state[PTO_FORMAT_JSON] = json;
    if (field.state[PTO_FORMAT_CSV] != PTO_RECORD_NONE)
        field.state[PTO_FORMAT_CSV] = csv;
    return field;
}

/* The field in JSON alone. */
static inline pto_field_t pto_field_in_json(pto_field_t field) {
    return pto_field_set(field, field.state[PTO_FORMAT_JSON], PTO_RECORD_NONE);
}

/* The field in CSV alone. */
static inline pto_field_t pto_field_in_csv(pto_field_t field) {
    return pto_field_set(field, PTO_RECORD_NONE, field.state[PTO_FORMAT_CSV]);
}

/* The field in CSV, and in JSON if it is `shown`. */
static inline pto_field_t pto_field_json_if(bool shown, pto_field_t field) {
    return shown ? field : pto_field_in_csv(field);
}

/* The field, left out if it is not known. */
static inline pto_field_t pto_field_if(bool known, pto_field_t field) {
    return known ? field : pto_field_set(field, PTO_RECORD_LEFT_OUT, PTO_RECORD_LEFT_OUT);
}

/* The field, null if it is not known. */
static inline pto_field_t pto_field_or_null(bool known, pto_field_t field) {
    return known ? field : pto_field_set(field, PTO_RECORD_UNKNOWN, PTO_RECORD_LEFT_OUT);
}

/* A NULL text is not known. */
static inline pto_field_t pto_field_text(const char *name, const char *text) {
    return pto_field_or_null(text, (pto_field_t){.name = name, .kind = PTO_RECORD_TEXT, .text = text});
}

static inline pto_field_t pto_field_count(const char *name, int64_t count) {
    return (pto_field_t){.name = name, .kind = PTO_RECORD_WHOLE, .count = count};
}

static inline pto_field_t pto_field_rounded(const char *name, double number, int digits) {
    return (pto_field_t){.name = name, .kind = PTO_RECORD_NUMBER, .number = number, .digits = digits};
}

static inline pto_field_t pto_field_number(const char *name, double number) {
    return pto_field_rounded(name, number, 9);
}

/* In CSV, 0 or 1. */
static inline pto_field_t pto_field_truth(const char *name, bool truth) {
    return (pto_field_t){.name = name, .kind = PTO_RECORD_TRUTH, .count = truth};
}

static inline pto_field_t pto_field_names(const char *name, const char *const *names, int count) {
    return (pto_field_t){.name = name, .kind = PTO_RECORD_NAMES, .names = names, .count = count};
}

/* Fields of caveats: the parameters that are not priced; the same in JSON alone, if there are any; and what
 * prices are extrapolated from, if they are. */
static inline pto_field_t pto_field_unpriced(const char *name, const pto_caveats_t *caveats) {
    return pto_field_names(name, caveats->key, caveats->count);
}

static inline pto_field_t pto_field_unpriced_if_any(const pto_caveats_t *caveats) {
    return pto_field_in_json(pto_field_if(caveats->count > 0, pto_field_unpriced("unpriced", caveats)));
}

static inline pto_field_t pto_field_extrapolated(const pto_caveats_t *caveats) {
    return pto_field_if(caveats->extrapolated_from[0],
                        pto_field_text("extrapolated_from", caveats->extrapolated_from));
}

#endif
