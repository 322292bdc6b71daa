/* Rules that tell another library which of its algorithms to run, by communicator and size. A target is a
 * library and the format that it reads; a table is one collective on one communicator. */
#ifndef PTO_EXPORT_H
#define PTO_EXPORT_H

#include <stdio.h>

#include "command_line/options.h"

enum { PTO_EXPORT_ALGORITHMS_MAX = 15, PTO_EXPORT_RULES_MAX = 128 };

/* An algorithm of a library that rules can name and portolan can price. */
typedef struct {
    const char *algorithm; /* portolan's name; NULL: the strategy's cheapest */
    int id;                /* the library's number */
    const char *name;      /* its name; NULL behind the last one */
    bool commutative; /* a file applies it to operations that are not commutative too, with wrong results */
    const char *strategy; /* whose inner collective it is; NULL: that of the collective */
    int64_t ranks_most;   /* for at most as many; 0: any number */
    bool powers;          /* only for numbers of ranks that are powers of two */
} pto_export_algorithm_t;

typedef struct {
    pto_collective_t collective;
    int id;
    const char *name;
    const char *strategy; /* what the library runs if it is told nothing; NULL: unknown */
    bool needs_all;       /* no rule where an algorithm has no price; else that one is left out */
    bool total;           /* the library compares the bytes of all ranks; else those that portolan counts */
    pto_export_algorithm_t algorithm[PTO_EXPORT_ALGORITHMS_MAX + 1];
} pto_export_collective_t;

/* From this size on, as portolan counts it. Without an algorithm the library decides, or `unpriced` says what
 * a file asks for. */
typedef struct {
    int64_t from_bytes;
    const pto_export_algorithm_t *algorithm;
    char unpriced[48];
} pto_export_rule_t;

typedef struct {
    const pto_export_collective_t *collective;
    int64_t nodes;
    int64_t ranks;
    int rule_count; /* the first rule is from 0 bytes */
    pto_export_rule_t rule[PTO_EXPORT_RULES_MAX];
} pto_export_table_t;

struct pto_export_target;

/* The command line's request, and the tables by collective, then by ranks. */
typedef struct {
    pto_options_t options; /* the scenario has one of the nodes and sizes */
    int target_index;      /* of pto_export_target_at; -1: not given */
    const char *generic;   /* files to be read; borrowed from argv */
    const char *check;
    double tolerance; /* percent */
    bool commutative;
    const struct pto_export_target *target;
    struct json_t *own; /* what the library chooses by itself, of a target with `own` */
    pto_series_t nodes;
    pto_series_t bytes;
    int table_count;
    pto_export_table_t *table;
    bool shown;           /* whose progress is counted */
    int conditional_line; /* of a script that was read: the first that may not run; 0: none */
} pto_export_t;

typedef struct pto_export_target {
    const char *name;
    const pto_export_collective_t *collective; /* ends with a row without a name */
    const char *priced;                        /* whose times a check prints; NULL: the library's calls */
    bool gpus_only;                            /* it chooses among routes of data in GPU memory */
    bool has_comments; /* notes go into the file, behind `# `; else to standard error */
    /* The library's own choice where it has no rules, after `read_own` has put that into `export->own`: then
     * rules are only made where another algorithm is better. NULL: unknown. */
    pto_export_rule_t (*own)(const pto_export_t *export, const pto_export_table_t *table, int64_t bytes);
    pto_status_t (*read_own)(pto_export_t *export, pto_error_t *err);
    /* The seconds of an algorithm, INFINITY where it does not apply; NULL: those of its strategy. */
    double (*price)(const pto_export_t *export, const pto_export_table_t *table,
                    const pto_export_algorithm_t *algorithm, int64_t bytes);
    pto_status_t (*write)(const pto_export_t *export, FILE *stream, pto_error_t *err);
    /* How to use the file and what the format cannot say, in lines. */
    pto_status_t (*write_notes)(const pto_export_t *export, FILE *stream, pto_error_t *err);
    /* Fill in the export's tables from a file of this format, as far as the export's bytes. Errors: those of
     * reading a file, and PTO_ERR_SYNTAX, _RANGE, _TYPE, _TOO_LARGE with the file, and with line and column
     * except in JSON, where the library would ignore it or fail. */
    pto_status_t (*read)(const char *path, pto_export_t *export, pto_error_t *err);
} pto_export_target_t;

extern const pto_export_target_t pto_export_openmpi_4, pto_export_openmpi_5, pto_export_openmpi_6,
    pto_export_ucc, pto_export_mpich, pto_export_nccl, pto_export_cray;

/* Open MPI's JSON. */
pto_status_t pto_openmpi_json_read(const char *path, pto_export_t *export, pto_error_t *err);

/* Returns whether all tables can be priced within the limit: each size by the library's algorithms, and once
 * more by all strategies. Errors: those of pto_check_work. */
pto_status_t pto_export_check_work(const pto_export_t *export, pto_error_t *err);

/* NULL behind the last one. */
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

/* Returns the algorithm of a collective with this name; NULL: none. */
const pto_export_algorithm_t *pto_export_algorithm(const pto_export_collective_t *collective,
                                                   const char *name);

/* Returns the rule for a size. */
const pto_export_rule_t *pto_export_rule_at(const pto_export_table_t *table, int64_t bytes);

/* Returns the size as the library compares it. */
int64_t pto_export_size(const pto_export_table_t *table, int64_t bytes);

/* The largest of the export's sizes, and those in between by bisection, up to which one strategy is as fast
 * as another with the library's cheapest algorithms; -1: it never is. */
pto_status_t pto_export_last_size(const pto_export_t *export, const pto_export_table_t *table,
                                  const char *strategy, const char *other, int64_t *bytes, pto_error_t *err);

/* Lines about sizes at which another strategy would be faster than the library with these rules; `but` is one
 * that the library can do itself, or NULL. */
pto_status_t pto_export_write_missed(const pto_export_t *export, const char *but, FILE *stream,
                                     pto_error_t *err);

#endif
