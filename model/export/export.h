/* Tuning files for other libraries: rules that tell a library which of its algorithms to run, by collective,
 * communicator and size. A target is a library and the file format that it reads (export_NAME.c). A table has
 * the rules for one collective on one communicator. `portolan export` (tool/cmd_export.c) makes a table for
 * each collective and number of nodes. It then fills the tables by price and writes them, or, with --check,
 * fills them from a file and prices them. */
#ifndef PTO_EXPORT_H
#define PTO_EXPORT_H

#include <stdio.h>

#include "command_line/options.h"

enum { PTO_EXPORT_ALGORITHMS_MAX = 15, PTO_EXPORT_RULES_MAX = 128 };

/* An algorithm of a library that rules can name and portolan can price. */
typedef struct {
    const char *algorithm;  /* portolan's name; NULL: the strategy's cheapest */
    int id;                 /* the library's number */
    const char *name;       /* the library's name; NULL after the last one */
    bool needs_commutative; /* a rule applies it to every operation, but others get wrong results */
    const char *strategy;   /* portolan's strategy that runs it; NULL: that of the collective */
    int64_t ranks_max;      /* 0: no limit */
    bool needs_power;       /* only for numbers of ranks that are powers of two */
} pto_export_algorithm_t;

typedef struct {
    pto_collective_t collective;
    int id;               /* the library's number */
    const char *name;     /* the library's name */
    const char *strategy; /* what the library runs without rules; NULL: unknown */
    bool needs_all;       /* no rule if any algorithm lacks a price; false: only that algorithm is left out */
    bool total;           /* sizes in the file are bytes of all ranks; false: they are portolan's sizes */
    pto_export_algorithm_t algorithm[PTO_EXPORT_ALGORITHMS_MAX + 1];
} pto_export_collective_t;

/* A rule holds from its size up to the next rule's. If `algorithm` is NULL and `unpriced` is "", the library
 * decides. */
typedef struct {
    int64_t from_bytes;                      /* in portolan's sizes (docs/formats.md) */
    const pto_export_algorithm_t *algorithm; /* NULL: the library decides, or `unpriced` */
    char unpriced[96]; /* from a checked file: the text of a choice that has no price; or "" */
} pto_export_rule_t;

typedef struct {
    const pto_export_collective_t *collective;
    int64_t nodes;
    int64_t ranks;
    int rule_count; /* the first rule is from 0 bytes */
    pto_export_rule_t rule[PTO_EXPORT_RULES_MAX];
} pto_export_table_t;

struct pto_export_target;

/* A library's file that was read. A target's `read` may change the text. */
typedef struct {
    const char *path;
    char *text; /* ends with '\0' */
    size_t size;
} pto_export_file_t;

/* The options of the command, and the tables, sorted by collective and then by ranks. */
typedef struct {
    pto_options_t options; /* its scenario has only the first of `nodes` and of `bytes` */
    int target_index;      /* of pto_export_target_at; -1: not given */
    const char *generic;   /* --generic, MPICH's own tree; borrowed from argv, or NULL */
    const char *check;     /* --check, a file to price; borrowed from argv, or NULL */
    double tolerance;      /* percent */
    bool commutative;      /* --commutative: allow algorithms that need commutative operations */
    const struct pto_export_target *target;
    struct json_t *defaults; /* what the library chooses without rules, by the target's `read_defaults` */
    pto_series_t nodes;
    pto_series_t bytes;
    int table_count;
    pto_export_table_t *table;
    bool shows_progress;
    int conditional_line; /* the first line of a checked script that may not run; 0: none */
} pto_export_t;

typedef struct pto_export_target {
    const char *name;
    const pto_export_collective_t *collective; /* ends with a row without a name */
    size_t bytes_max;                          /* of a file that is read */
    const char *priced; /* what the times that --check prints are of; NULL: the library's calls */
    bool gpus_only;     /* rules are about data in GPU memory */
    bool has_comments;  /* the notes go into the file as `# ` lines; false: to standard error */
    /* What the library chooses without rules. Rules are then written only where another algorithm is better.
     * NULL: unknown. `read_defaults` (may be NULL) reads what this function needs into `export->defaults`. */
    pto_export_rule_t (*default_rule)(const pto_export_t *export, const pto_export_table_t *table,
                                      int64_t bytes);
    pto_status_t (*read_defaults)(pto_export_t *export, pto_error_t *err);
    /* The seconds of an algorithm, INFINITY if it does not apply; NULL: those of its strategy. */
    double (*price)(const pto_export_t *export, const pto_export_table_t *table,
                    const pto_export_algorithm_t *algorithm, int64_t bytes);
    pto_status_t (*write)(const pto_export_t *export, FILE *stream, pto_error_t *err);
    /* Write lines on how to use the file and what it cannot express. */
    pto_status_t (*write_notes)(const pto_export_t *export, FILE *stream, pto_error_t *err);
    /* Fill the export's tables from a file of this format. On entry, the tables have one rule: the library
     * decides. What the library would ignore or reject is an error: PTO_ERR_SYNTAX, _RANGE, _TYPE, _TOO_LARGE
     * with the file, and with line and column except in JSON. */
    pto_status_t (*read)(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err);
} pto_export_target_t;

extern const pto_export_target_t pto_export_openmpi_4, pto_export_openmpi_5, pto_export_openmpi_6,
    pto_export_ucc, pto_export_mpich, pto_export_nccl, pto_export_cray;

/* `read` of Open MPI's JSON. */
pto_status_t pto_openmpi_json_read(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err);

/* The error message for a file of MCA parameters that was given in place of a file of rules. */
extern const char pto_openmpi_parameter[];

/* Returns the number of Open MPI 6.0's algorithm with this name or, if `name` is NULL, with this number; -1:
 * it has no such algorithm. */
int pto_openmpi_algorithm(const pto_export_collective_t *collective, const char *name, int64_t number);

/* Reads a file for the export's target; the caller frees the text. Errors: those of reading a file. */
pto_status_t pto_export_file_read(const pto_export_t *export, const char *path, pto_export_file_t *file,
                                  pto_error_t *err);

/* Reads a file with the target's reader. Errors: of both. */
pto_status_t pto_export_read(const char *path, pto_export_t *export, pto_error_t *err);

/* Rejects a file that sets variables in place of rules: PTO_ERR_SYNTAX with the message `advice` at the first
 * variable whose name begins with `prefix`. */
pto_status_t pto_export_refuse_variables(const pto_export_file_t *file, const char *prefix,
                                         const char *advice, pto_error_t *err);

/* Parses JSON; the caller releases it with json_decref. Errors: those of pto_export_refuse_variables if the
 * file is not JSON but sets variables; PTO_ERR_SYNTAX with line and column. */
pto_status_t pto_export_parse_json(const pto_export_file_t *file, const char *prefix, const char *advice,
                                   struct json_t **json, pto_error_t *err);

/* A range of values, with both ends; INT64_MAX is no limit. */
typedef struct {
    int64_t first, last;
} pto_export_range_t;

bool pto_export_range_has(const pto_export_range_t *range, int64_t value);

/* An entry of a file: a rule and the range of sizes, as the library counts them, in which it holds. */
typedef struct {
    pto_export_range_t bytes;
    pto_export_rule_t rule; /* its from_bytes is not used */
} pto_export_entry_t;

/* Fills a table from a file's entries. The first entry whose range has a size applies; without one, the
 * library decides. Returns false if this makes more than PTO_EXPORT_RULES_MAX rules. */
bool pto_export_fill(pto_export_table_t *table, const pto_export_entry_t *entry, size_t count);

/* Checks that all tables can be priced within pto_check_work's limit. Each size is priced twice: with the
 * library's algorithms, and with all strategies. Errors: those of pto_check_work. */
pto_status_t pto_export_check_work(const pto_export_t *export, pto_error_t *err);
/* The targets; NULL after the last one. */
const pto_export_target_t *pto_export_target_at(int i);

/* Sets the seconds of an algorithm that a library can be told to run. Errors: those of pto_plan_choose. */
pto_status_t pto_export_price(const pto_export_t *export, const pto_export_table_t *table,
                              const pto_export_algorithm_t *algorithm, int64_t bytes, double *seconds,
                              pto_error_t *err);

/* Sets the cheapest of the algorithms that a rule may name at a size, and its seconds; NULL if none applies,
 * or if the collective needs all prices and one is missing. */
pto_status_t pto_export_best(const pto_export_t *export, const pto_export_table_t *table, int64_t bytes,
                             const pto_export_algorithm_t **best, double *seconds, pto_error_t *err);

/* Fills a table's rules for the sizes of the export. A rule lasts until another algorithm is faster by more
 * than the tolerance. The next rule begins where that algorithm begins to be faster at all. */
pto_status_t pto_export_decide(const pto_export_t *export, pto_export_table_t *table, pto_error_t *err);

/* Return the algorithm to which the library gives this name or number; NULL if there is none. */
const pto_export_algorithm_t *pto_export_algorithm(const pto_export_collective_t *collective,
                                                   const char *name);
const pto_export_algorithm_t *pto_export_algorithm_of_id(const pto_export_collective_t *collective,
                                                         int64_t id);

/* Returns the rule for a size. */
const pto_export_rule_t *pto_export_rule_at(const pto_export_table_t *table, int64_t bytes);

/* Returns the library's size of a call: portolan's, or that of all ranks if the collective has `total`. */
int64_t pto_export_size(const pto_export_table_t *table, int64_t bytes);

/* Sets the largest size up to which three_step is as fast as cuda_aware, each with its cheapest algorithm:
 * found by bisection between the export's sizes; -1 if three_step is slower at the first one. */
pto_status_t pto_export_last_staged(const pto_export_t *export, const pto_export_table_t *table,
                                    int64_t *bytes, pto_error_t *err);

/* Writes a line for each range of sizes in which a strategy that no rule can select is faster than the
 * library with its rules. `except` is a strategy to leave out, because other settings select it; or NULL. */
pto_status_t pto_export_write_missed(const pto_export_t *export, const char *except, FILE *stream,
                                     pto_error_t *err);

#endif
