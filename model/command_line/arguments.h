/* Command lines described by tables with one row per option. Parsing, --help, the man page and shell
 * completion use the same rows. Used by portolan, portolan-calibrate and portolan-validate. */
#ifndef PTO_ARGUMENTS_H
#define PTO_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "portolan/api.h"

enum { PTO_EXIT_OK = 0, PTO_EXIT_ERROR = 1, PTO_EXIT_USAGE = 2 };

/* How a value is read, and what it is stored as. */
typedef enum {
    PTO_VALUE_OWN,     /* read and stored by the option's own `apply` */
    PTO_VALUE_NONE,    /* not stored: the command asks pto_arguments_text for it */
    PTO_VALUE_FLAG,    /* bool: true */
    PTO_VALUE_TEXT,    /* const char *, borrowed from argv */
    PTO_VALUE_TEXTS,   /* pto_texts_t: repeatable */
    PTO_VALUE_NAME,    /* const char *, one of the words that `word_at` lists */
    PTO_VALUE_WORD,    /* an enum or an int: the index in that list */
    PTO_VALUE_INT,     /* int, 1 to `most` */
    PTO_VALUE_COUNT,   /* int64_t, 1 or more */
    PTO_VALUE_NATURAL, /* int64_t, 0 or more */
    PTO_VALUE_BYTES,   /* int64_t, `least` or more, as in 64KiB */
    PTO_VALUE_NUMBER,  /* double, `least` to `most` */
} pto_value_form_t;

typedef struct {
    const char *name;     /* without dashes */
    const char *argument; /* the value's name in --help; NULL: takes no value */
    const char *help;
    pto_value_form_t form;
    int overrides;      /* 1 + the pto_scenario_field_t that it replaces; 0: none */
    size_t at;          /* offset of the value in the command's own struct; `apply` gets its address */
    double least, most; /* bounds of the value, for the forms that have them */
    /* PTO_VALUE_OWN: read and store the value; `text` is NULL if the option takes none. */
    pto_status_t (*apply)(void *target, const char *text, pto_error_t *err);
    const char *standard;          /* default value shown by --help, or NULL */
    const char *(*word_at)(int i); /* the allowed values, NULL after the last; or NULL: any value */
    const char *what;              /* how messages call the value; NULL: by the option's name */
} pto_option_t;

/* The form and offset of a row, where `type` is the command's own struct. */
#define PTO_STORE(form_, type, member) .form = PTO_VALUE_##form_, .at = offsetof(type, member)

/* The values of a repeatable option, borrowed from argv. */
enum { PTO_TEXTS_MAX = 16 };
typedef struct {
    int count;
    const char *item[PTO_TEXTS_MAX];
} pto_texts_t;

/* Options under one heading of --help. */
typedef struct {
    const char *heading;        /* NULL: under the previous heading */
    const pto_option_t *option; /* ends with a row without a name */
} pto_option_set_t;

/* An initializer of a pto_syntax_t's `set`. */
#define PTO_SETS(...) ((const pto_option_set_t[]){__VA_ARGS__, {NULL, NULL}})

enum { PTO_NAMES_SCENARIOS = 1, PTO_NAMES_WORKLOADS = 2 };

/* The options and operands of a command. */
typedef struct {
    const char *program;              /* "portolan predict": prefix of its messages */
    const char *usage;                /* text above the options in --help */
    const pto_option_set_t *set;      /* ends with a row without options; --help is added to the first */
    const char *operand;              /* pattern of the files that it takes as operands, "*.yaml"; or NULL */
    const char *(*operand_at)(int i); /* the words that it takes as operands, as `word_at`; or NULL */
    unsigned by_name;  /* PTO_NAMES_ bits: what the first operand may name, instead of a file */
    bool runs_command; /* the first operand ends the options: a command with its own */
} pto_syntax_t;

extern const pto_option_t pto_no_options[];

/* An option given on the command line. */
typedef struct {
    const pto_option_t *option;
    const char *text; /* borrowed from argv */
} pto_given_t;

typedef struct {
    const pto_syntax_t *syntax;
    int given_count;
    pto_given_t *given;
    int operand_count;
    char **operand; /* borrowed from argv, or `found` */
    char *found;    /* the path of the first operand if that was given by name, else NULL; owned */
} pto_arguments_t;

/* Parse argv[1] and up: `--name value`, `--name=value`, unambiguous prefixes of names, and `--` before
 * operands that begin with a dash. Returns -1 on success. Otherwise returns the exit code, after printing
 * --help to standard output or the error to standard error. After -1, free the arguments with
 * pto_arguments_fini, which does nothing after an exit code. */
int pto_arguments_parse(const pto_syntax_t *syntax, int argc, char **argv, pto_arguments_t *arguments);

/* The same without printing, for the processes of an MPI job. PTO_EXIT_OK means that --help was given; after
 * any other exit code, `err` holds the error, with the program's name. */
int pto_arguments_read(const pto_syntax_t *syntax, int argc, char **argv, pto_arguments_t *arguments,
                       pto_error_t *err);

/* Returns the last value given for an option, or its default; NULL if it has neither. */
const char *pto_arguments_text(const pto_arguments_t *arguments, const char *name);
void pto_arguments_fini(pto_arguments_t *arguments);

/* Apply the default values, then the options in the order given. Errors name the option. */
pto_status_t pto_arguments_apply(const pto_arguments_t *arguments, void *target, pto_error_t *err);

/* Print "PROGRAM: ...; `PROGRAM --help` explains" (not after a "?") to stderr. Returns PTO_EXIT_USAGE. */
int pto_usage_error(const pto_syntax_t *syntax, const char *format, ...) PTO_PRINTF_LIKE(2, 3);

void pto_print_help(const pto_syntax_t *syntax);

/* For `apply`: the index of `text` among the words. The error calls the value a `what`, and lists the words
 * or, if there are many, suggests the nearest. */
pto_status_t pto_word_parse(const char *text, const char *what, const char *(*word_at)(int i), int *found,
                            pto_error_t *err);

/* The error that lists the words: PTO_ERR_NOT_FOUND. */
pto_status_t pto_word_unknown(const char *text, const char *what, const char *(*word_at)(int i),
                              pto_error_t *err);

/* For `apply`: a number within these bounds, or a count of at least 1. Errors: PTO_ERR_RANGE. */
pto_status_t pto_number_parse(const char *text, double least, double most, double *number, pto_error_t *err);
pto_status_t pto_count_parse(const char *text, int64_t *count, pto_error_t *err);

/* For `apply`: split "FROM:TO:FACTOR". Returns the number of parts; 0 if more than 3, or one is too long. */
enum { PTO_RANGE_PART_MAX = 64 };
int pto_range_split(const char *text, char part[3][PTO_RANGE_PART_MAX]);

/* The bounds of --timeout. */
#define PTO_TIMEOUT_LEAST_S 0.1
#define PTO_TIMEOUT_MOST_S 1e6

/* The options of all sets of a syntax; NULL after the last one. */
const pto_option_t *pto_syntax_option(const pto_syntax_t *syntax, int i);

#endif
