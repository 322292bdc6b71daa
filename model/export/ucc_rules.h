/* UCC's variables that set the scores of its layers, as UCC reads them (src/coll_score/ucc_coll_score.c and
 * src/utils/ucc_parser.c at 8263de47): UCC_TL_<LAYER>_TUNE and UCC_CL_<COMPONENT>_TUNE. A value consists of
 * settings separated by `#`, and a setting of qualifiers separated by `:`, in any order (ucc_settings.c has
 * the grammar). */
#ifndef PTO_UCC_RULES_H
#define PTO_UCC_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"
#include "variables.h"

enum { PTO_UCC_ALGORITHM_MAX = 20, PTO_UCC_SCORE_INFINITE = INT32_MAX, PTO_UCC_LINE_MAX = 8191 };

/* Owners of scores: the layers, then the components that run collectives through layers. */
typedef enum {
    PTO_UCC_NCCL,
    PTO_UCC_UCP,
    PTO_UCC_CUDA,
    PTO_UCC_RCCL,
    PTO_UCC_SHARP,
    PTO_UCC_SELF,
    PTO_UCC_MLX5,
    PTO_UCC_LAYER_COUNT,
    PTO_UCC_BASIC = PTO_UCC_LAYER_COUNT,
    PTO_UCC_HIER,
    PTO_UCC_DOCA_UROM,
    PTO_UCC_OWNER_COUNT
} pto_ucc_owner_t;

typedef enum {
    PTO_UCC_MEMORY_HOST,
    PTO_UCC_MEMORY_CUDA,
    PTO_UCC_MEMORY_CUDA_MANAGED,
    PTO_UCC_MEMORY_ROCM,
    PTO_UCC_MEMORY_ROCM_MANAGED,
    PTO_UCC_MEMORY_COUNT
} pto_ucc_memory_t;

/* A list of ranges: the elements [begin, end) of pto_ucc_rules_t's `range`. An empty list means all values.
 */
typedef struct {
    int begin, end;
} pto_ucc_ranges_t;

typedef struct {
    pto_ucc_owner_t owner;
    int section;                           /* the index of its section; -1: outside sections */
    unsigned collectives;                  /* bits in the order of pto_ucc_collective */
    unsigned memories;                     /* bits of pto_ucc_memory_t */
    int64_t score;                         /* -1: the owner's default; 0: never runs */
    char algorithm[PTO_UCC_ALGORITHM_MAX]; /* "": the owner's default */
    pto_ucc_ranges_t bytes, teams;         /* teams: by their number of ranks */
    int line, column;                      /* of the setting in the file, from 1 */
} pto_ucc_setting_t;

/* The conditions of a section. Those about CPUs are not stored: a machine file does not say which CPUs. */
typedef struct {
    pto_export_range_t ranks, ranks_per_node, nodes;
} pto_ucc_section_t;

typedef struct {
    int setting_count, range_count, section_count;
    pto_ucc_setting_t *setting;
    pto_export_range_t *range; /* of bytes: one range may begin at the last size of another */
    pto_ucc_section_t *section;
    bool layers_given;     /* by UCC_CL_BASIC_TLS or UCC_TLS */
    unsigned layers_used;  /* bits of pto_ucc_owner_t, if layers_given */
    bool components_given; /* UCC_CLS has other components than `basic` */
    int conditional_line;  /* the first line of a script that may not run; 0: none */
} pto_ucc_rules_t;

/* Returns the index of a name in UCC's list of collectives, or -1, ignoring case as UCC does. */
int pto_ucc_collective(const char *name);
const char *pto_ucc_owner_name(pto_ucc_owner_t owner);

/* Adds the settings of a variable's value, which is changed, to the rules. Errors: as pto_ucc_rules_read. */
pto_status_t pto_ucc_settings_add(const pto_variable_t *variable, const char *path, pto_ucc_owner_t owner,
                                  int section, pto_ucc_rules_t *rules, pto_error_t *err);

/* Reads a text that ends in a NUL after its `size` bytes, and changes it. Free the rules with
 * pto_ucc_rules_fini. Anything that UCC would ignore or reject is an error, too. Errors: PTO_ERR_SYNTAX,
 * _RANGE, _TOO_LARGE with line and column; PTO_ERR_MEMORY. */
pto_status_t pto_ucc_rules_read(char *text, size_t size, const char *path, pto_ucc_rules_t *rules,
                                pto_error_t *err);
void pto_ucc_rules_fini(pto_ucc_rules_t *rules);

#endif
