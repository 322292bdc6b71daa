/* Tuning files for other libraries: rules that tell a library which of its algorithms to run, by collective,
 * communicator and size. A target is a library and the format that it reads (export_NAME.c); a table has the
 * rules of one collective on one communicator. portolan export (tool/cmd_export.c) decides, writes and checks
 * them. */
#ifndef PTO_EXPORT_H
#define PTO_EXPORT_H

#include <stdio.h>

#include "command_line/options.h"

enum { PTO_EXPORT_ALGORITHMS_MAX = 15, PTO_EXPORT_RULES_MAX = 128 };

/* An algorithm of a library that rules can name and portolan can price. */
typedef struct {
    const char *algorithm; /* portolan's name; NULL: the strategy's cheapest */
    int id;                /* the library's number */
    const char *name;      /* the library's name; NULL after the last one */
    bool commutative;      /* wrong for operations that are not commutative, to which a file applies it too */
    const char *strategy;  /* portolan's strategy that runs it; NULL: that of the collective */
    int64_t ranks_max;     /* 0: no limit */
    bool needs_power;      /* only for numbers of ranks that are powers of two */
} pto_export_algorithm_t;

typedef struct {
    pto_collective_t collective;
    int id;               /* the library's number */
    const char *name;     /* the library's name */
    const char *strategy; /* what the library runs without rules; NULL: unknown */
    bool needs_all;       /* if an algorithm has no price, there is no rule; else only that one is left out */
    bool total;           /* sizes in the file are bytes of all ranks; else those that portolan counts */
    pto_export_algorithm_t algorithm[PTO_EXPORT_ALGORITHMS_MAX + 1];
} pto_export_collective_t;

/* A rule holds from its size up to the next rule's. Without an algorithm, the library decides. */
typedef struct {
    int64_t from_bytes; /* as portolan counts */
    const pto_export_algorithm_t *algorithm;
    char unpriced[96]; /* what a file that was read names instead, without a price; or "" */
} pto_export_rule_t;

typedef struct {
    const pto_export_collective_t *collective;
    int64_t nodes;
    int64_t ranks;
    int rule_count; /* the first rule is from 0 bytes */
    pto_export_rule_t rule[PTO_EXPORT_RULES_MAX];
} pto_export_table_t;

struct pto_export_target;

/* A file of a library's that was read. A reader may change the text. */
typedef struct {
    const char *path;
    char *text; /* ends with '\0' */
    size_t size;
} pto_export_file_t;

/* The options of the command, and the tables by collective, then by ranks. */
typedef struct {
    pto_options_t options; /* the scenario has the first of the nodes and sizes */
    int target_index;      /* of pto_export_target_at; -1: not given */
    const char *generic;   /* --generic, MPICH's own tree; borrowed from argv, or NULL */
    const char *check;     /* --check, a file to price; borrowed from argv, or NULL */
    double tolerance;      /* percent */
    bool commutative;
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
    const char *priced; /* what has the times that a check prints; NULL: the library's calls */
    bool gpus_only;     /* rules are about data in GPU memory */
    bool has_comments;  /* the file holds the notes, after `# `; else standard error */
    /* What the library chooses without rules: then there are rules only where another algorithm is better.
     * NULL: unknown. `read_defaults`, or NULL, reads what it needs into `export->defaults`. */
    pto_export_rule_t (*default_rule)(const pto_export_t *export, const pto_export_table_t *table,
                                      int64_t bytes);
    pto_status_t (*read_defaults)(pto_export_t *export, pto_error_t *err);
    /* The seconds of an algorithm, INFINITY if it does not apply; NULL: those of its strategy. */
    double (*price)(const pto_export_t *export, const pto_export_table_t *table,
                    const pto_export_algorithm_t *algorithm, int64_t bytes);
    pto_status_t (*write)(const pto_export_t *export, FILE *stream, pto_error_t *err);
    /* Write lines on how to use the file and what it cannot express. */
    pto_status_t (*write_notes)(const pto_export_t *export, FILE *stream, pto_error_t *err);
    /* Fill in the export's tables, in which the library decides, from a file of this format, for the export's
     * sizes. What the library would
     * ignore or reject is an error: PTO_ERR_SYNTAX, _RANGE, _TYPE, _TOO_LARGE with the file, and with line
     * and column except in JSON. */
    pto_status_t (*read)(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err);
} pto_export_target_t;

extern const pto_export_target_t pto_export_openmpi_4, pto_export_openmpi_5, pto_export_openmpi_6,
    pto_export_ucc, pto_export_mpich, pto_export_nccl, pto_export_cray;

/* `read` of Open MPI's JSON. */
pto_status_t pto_openmpi_json_read(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err);

/* The advice for a file that has parameters of Open MPI's where rules are read. */
extern const char pto_openmpi_parameter[];

/* Returns the number of one of Open MPI 6.0's algorithms, which is asked for by its name or (NULL) number;
 * -1: it has no such algorithm. */
int pto_openmpi_algorithm(const pto_export_collective_t *collective, const char *name, int64_t number);

/* Reads a file for the export's target; the caller frees the text. Errors: those of reading a file. */
pto_status_t pto_export_file_read(const pto_export_t *export, const char *path, pto_export_file_t *file,
                                  pto_error_t *err);

/* Reads a file with the target's reader. Errors: of both. */
pto_status_t pto_export_read(const char *path, pto_export_t *export, pto_error_t *err);

/* Refuses a file that sets variables, whose names begin with `prefix`, where rules are read. PTO_ERR_SYNTAX
 * with the advice. */
pto_status_t pto_export_refuse_variables(const pto_export_file_t *file, const char *prefix,
                                         const char *advice, pto_error_t *err);

/* Parses JSON; the caller releases it. Errors: as above for a file that is not JSON; PTO_ERR_SYNTAX with line
 * and column. */
pto_status_t pto_export_parse_json(const pto_export_file_t *file, const char *prefix, const char *advice,
                                   struct json_t **json, pto_error_t *err);

/* A range of values, with both ends; INT64_MAX is no limit. */
typedef struct {
    int64_t first, last;
} pto_export_range_t;

bool pto_export_range_has(const pto_export_range_t *range, int64_t value);

/* An entry of a file, for sizes as the library counts them. The rule is from 0 bytes. */
typedef struct {
    pto_export_range_t bytes;
    pto_export_rule_t rule;
} pto_export_entry_t;

/* Fills in a table with entries, of which the first with the size applies, else the library decides. False if
 * these are too many rules. */
bool pto_export_fill(pto_export_table_t *table, const pto_export_entry_t *entry, size_t count);

/* Checks that all tables can be priced within the limit: each size by the library's algorithms, and once more
 * by all strategies. Errors: those of pto_check_work. */
pto_status_t pto_export_check_work(const pto_export_t *export, pto_error_t *err);

/* The targets; NULL after the last one. */
const pto_export_target_t *pto_export_target_at(int i);

/* Sets the seconds of an algorithm that a library can be told to run. Errors: those of pto_plan_choose. */
pto_status_t pto_export_price(const pto_export_t *export, const pto_export_table_t *table,
                              const pto_export_algorithm_t *algorithm, int64_t bytes, double *seconds,
                              pto_error_t *err);

/* The cheapest of the algorithms that may be named at a size, NULL if none applies, and its seconds. */
pto_status_t pto_export_best(const pto_export_t *export, const pto_export_table_t *table, int64_t bytes,
                             const pto_export_algorithm_t **best, double *seconds, pto_error_t *err);

/* Fill in a table's rules for the sizes of the export. A rule lasts until another algorithm is faster by more
 * than the tolerance, and the next one begins where that algorithm begins to be faster at all. */
pto_status_t pto_export_decide(const pto_export_t *export, pto_export_table_t *table, pto_error_t *err);

/* Returns the algorithm of a collective with this name or number of the library's; NULL if there is none. */
const pto_export_algorithm_t *pto_export_algorithm(const pto_export_collective_t *collective,
                                                   const char *name);
const pto_export_algorithm_t *pto_export_algorithm_of_id(const pto_export_collective_t *collective,
                                                         int64_t id);

/* Returns the rule for a size. */
const pto_export_rule_t *pto_export_rule_at(const pto_export_table_t *table, int64_t bytes);

/* Returns the size as the library compares it. */
int64_t pto_export_size(const pto_export_table_t *table, int64_t bytes);

/* The largest size up to which three_step is as fast as cuda_aware, each with the library's cheapest
 * algorithms, by bisection between the export's sizes; -1: it never is. */
pto_status_t pto_export_last_staged(const pto_export_t *export, const pto_export_table_t *table,
                                    int64_t *bytes, pto_error_t *err);

/* Writes lines about sizes at which another strategy would be faster than the library with these rules.
 * `except` is a strategy that the library can be told to use in another way, or NULL. */
pto_status_t pto_export_write_missed(const pto_export_t *export, const char *except, FILE *stream,
                                     pto_error_t *err);

#endif
