/* Records: lists of named values that are written as the members of a JSON object or as the fields of a CSV
 * row, so that a command describes both formats once. A command makes each field with a function below, such
 * as pto_field_count, and passes the list to PTO_RECORD, PTO_MORE or PTO_OBJECT. */
#ifndef PTO_RECORD_H
#define PTO_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "caveats.h"
#include "command_line/options.h"

typedef enum {
    PTO_RECORD_TEXT,
    PTO_RECORD_WHOLE,  /* an integer */
    PTO_RECORD_NUMBER, /* a double; JSON: null if it is not finite */
    PTO_RECORD_TRUTH,  /* a bool */
    PTO_RECORD_NAMES   /* a list of texts */
} pto_field_kind_t;

typedef enum {
    PTO_RECORD_SHOWN,    /* its value */
    PTO_RECORD_LEFT_OUT, /* JSON: nothing; CSV: an empty field */
    PTO_RECORD_UNKNOWN,  /* JSON: null; CSV: an empty field */
    PTO_RECORD_NONE      /* the format has no such field */
} pto_field_state_t;

/* A field. The kind tells which of the last members has the value. All pointers are borrowed. */
typedef struct {
    const char *name; /* of the JSON member */
    pto_field_kind_t kind;
    pto_field_state_t state[PTO_FORMAT_COUNT];
    int digits; /* significant digits of `number` */
    const char *text;
    int64_t count; /* WHOLE: the value; TRUTH: 0 or 1; NAMES: the number of names */
    double number;
    const char *const *names; /* an array in JSON, separated by blanks in CSV */
} pto_field_t;

/* Write fields without braces or line end. A comma separates them in JSON, and follows each in CSV. */
#define PTO_RECORD(stream, format, ...)                                                                      \
    pto_print_record(stream, format, "", (const pto_field_t[]){__VA_ARGS__},                                 \
                     sizeof(const pto_field_t[]){__VA_ARGS__} / sizeof(pto_field_t))
/* Write more members of a JSON object that has members already: the same with a comma before the first. */
#define PTO_MORE(stream, ...)                                                                                \
    pto_print_record(stream, PTO_FORMAT_JSON, ", ", (const pto_field_t[]){__VA_ARGS__},                      \
                     sizeof(const pto_field_t[]){__VA_ARGS__} / sizeof(pto_field_t))
/* Write a JSON object with these members, after the text `before`, such as ", \"layout\": ". */
#define PTO_OBJECT(stream, before, ...)                                                                      \
    pto_print_object(stream, before, (const pto_field_t[]){__VA_ARGS__},                                     \
                     sizeof(const pto_field_t[]){__VA_ARGS__} / sizeof(pto_field_t))
void pto_print_object(FILE *stream, const char *before, const pto_field_t *field, size_t count);
/* `between` is written before the first JSON member: "" or ", ". */
void pto_print_record(FILE *stream, pto_format_t format, const char *between, const pto_field_t *field,
                      size_t count);

/* Sets the field's state in JSON and in CSV, but not in a format that does not have the field. */
static inline pto_field_t pto_field_set(pto_field_t field, pto_field_state_t json, pto_field_state_t csv) {
    if (field.state[PTO_FORMAT_JSON] != PTO_RECORD_NONE)
        field.state[PTO_FORMAT_JSON] = json;
    if (field.state[PTO_FORMAT_CSV] != PTO_RECORD_NONE)
        field.state[PTO_FORMAT_CSV] = csv;
    return field;
}

/* Each of these returns the field with other states. In JSON alone: */
static inline pto_field_t pto_field_in_json(pto_field_t field) {
    return pto_field_set(field, field.state[PTO_FORMAT_JSON], PTO_RECORD_NONE);
}

/* In CSV alone. */
static inline pto_field_t pto_field_in_csv(pto_field_t field) {
    return pto_field_set(field, PTO_RECORD_NONE, field.state[PTO_FORMAT_CSV]);
}

/* In CSV, and in JSON if `shown`. */
static inline pto_field_t pto_field_json_if(bool shown, pto_field_t field) {
    return shown ? field : pto_field_in_csv(field);
}

/* Left out of JSON, and empty in CSV, unless `known`. */
static inline pto_field_t pto_field_if(bool known, pto_field_t field) {
    return known ? field : pto_field_set(field, PTO_RECORD_LEFT_OUT, PTO_RECORD_LEFT_OUT);
}

/* Null in JSON, and empty in CSV, unless `known`. */
static inline pto_field_t pto_field_or_null(bool known, pto_field_t field) {
    return known ? field : pto_field_set(field, PTO_RECORD_UNKNOWN, PTO_RECORD_LEFT_OUT);
}

/* A NULL text is null in JSON, and empty in CSV. */
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

/* True or false; in CSV, 1 or 0. */
static inline pto_field_t pto_field_truth(const char *name, bool truth) {
    return (pto_field_t){.name = name, .kind = PTO_RECORD_TRUTH, .count = truth};
}

static inline pto_field_t pto_field_names(const char *name, const char *const *names, int count) {
    return (pto_field_t){.name = name, .kind = PTO_RECORD_NAMES, .names = names, .count = count};
}

/* The parameters that are not priced. */
static inline pto_field_t pto_field_unpriced(const char *name, const pto_caveats_t *caveats) {
    return pto_field_names(name, caveats->key, caveats->count);
}

/* The same in JSON alone, if there are any. */
static inline pto_field_t pto_field_unpriced_if_any(const pto_caveats_t *caveats) {
    return pto_field_in_json(pto_field_if(caveats->count > 0, pto_field_unpriced("unpriced", caveats)));
}

/* What prices are extrapolated from, if they are. */
static inline pto_field_t pto_field_extrapolated(const pto_caveats_t *caveats) {
    return pto_field_if(caveats->extrapolated_from[0],
                        pto_field_text("extrapolated_from", caveats->extrapolated_from));
}

#endif
