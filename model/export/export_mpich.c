/* The selection file of MPICH 4.0: MPICH's own decision tree (mpich_tree.h), which a file has to contain as a
 * whole, with branches added for the communicators that were priced.
 *
 * The device ch4 (src/mpid/ch4/src/ch4_coll.h) splits broadcasts and reductions by node before it consults
 * the tree. So these have no rules on communicators with several processes a node. Alltoalls and allgathers
 * are not split. */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "command_line/machine_folders.h"
#include "export.h"
#include "mpich_tree.h"

/* The scattered alltoall posts MPIR_CVAR_ALLTOALL_THROTTLE (32) messages at once. An allgather by recursive
 * doubling asserts that the number of ranks is a power of two. */
/* clang-format off */
#define ALGORITHM(algorithm_, name_) {.algorithm = (algorithm_), .name = (name_)}
#define COLLECTIVE(collective_, name_, strategy_, total_, ...) \
    {.collective = PTO_COLLECTIVE_##collective_, .name = (name_), .strategy = (strategy_), .total = (total_), \
     .algorithm = {__VA_ARGS__}}
/* clang-format on */
#define ALLGATHER_ALGORITHMS                                                                                 \
    ALGORITHM("bruck", "brucks"),                                                                            \
        {.algorithm = "recursive_doubling", .name = "recursive_doubling", .needs_power = true},              \
        ALGORITHM("ring", "ring")
static const pto_export_collective_t collectives[] = {
    COLLECTIVE(ALLGATHER, "allgather", "cuda_aware", true, ALLGATHER_ALGORITHMS),
    COLLECTIVE(ALLGATHERV, "allgatherv", "cuda_aware", true, ALLGATHER_ALGORITHMS),
    COLLECTIVE(ALLREDUCE, "allreduce", "three_step", false,
               ALGORITHM("recursive_doubling", "recursive_doubling"),
               ALGORITHM("rabenseifner", "reduce_scatter_allgather")),
    COLLECTIVE(ALLTOALL, "alltoall", "cuda_aware", false, ALGORITHM("bruck", "brucks"),
               {.algorithm = "linear", .name = "scattered", .ranks_max = 32},
               ALGORITHM("pairwise", "pairwise")),
    COLLECTIVE(BROADCAST, "bcast", "cuda_aware", false, ALGORITHM("binomial", "binomial"),
               ALGORITHM("scatter_allgather", "scatter_ring_allgather")),
    COLLECTIVE(REDUCE, "reduce", "three_step", false, ALGORITHM("binomial", "binomial"),
               ALGORITHM("rabenseifner", "reduce_scatter_gather")),
    {.name = NULL}};

/* MPICH's name of an algorithm, as in MPIR_Allreduce_intra_NAME. */
static void name_of(const pto_export_collective_t *collective, const char *algorithm, char *name,
                    size_t name_size) {
    snprintf(name, name_size, "MPIR_%c%s_intra_%s", toupper((unsigned char)collective->name[0]),
             collective->name + 1, algorithm);
}

static bool is_split_by_node(const pto_export_table_t *table) {
    return table->ranks > table->nodes && table->collective->collective != PTO_COLLECTIVE_ALLGATHER &&
           table->collective->collective != PTO_COLLECTIVE_ALLGATHERV &&
           table->collective->collective != PTO_COLLECTIVE_ALLTOALL;
}

enum { PATH_MAX_BYTES = PTO_FOLDER_MAX + 32 };

/* Sets `path` to a file of libraries/mpich-4.0. False: no folder of libraries has it. */
static bool find_file(const char *name, char path[PATH_MAX_BYTES]) {
    char folder[PTO_FOLDER_MAX];
    for (int i = 0; pto_folder_at(PTO_FOLDER_LIBRARIES, i, folder); i++) {
        snprintf(path, PATH_MAX_BYTES, "%s/mpich-4.0/%s", folder, name);
        if (pto_file_is_readable(path))
            return true;
    }
    return false;
}

/* Read the names of MPICH's algorithms, one per line; the caller frees the text. */
static pto_status_t read_names(char **names, pto_error_t *err) {
    enum { NAMES_BYTES_MAX = 1 << 16 };
    char path[PATH_MAX_BYTES];
    size_t size;
    if (!find_file("algorithms.txt", path))
        return pto_error_set(err, PTO_ERR_IO,
                             "cannot find libraries/mpich-4.0/algorithms.txt beside the machine files");
    return pto_text_read(path, NAMES_BYTES_MAX, names, &size, err);
}

static pto_status_t read_tree(const pto_export_file_t *file, json_t **tree, pto_error_t *err) {
    char *names = NULL;
    pto_status_t status = read_names(&names, err);
    if (status != PTO_OK)
        return status;
    status = pto_mpich_parse(file, names, tree, err);
    free(names);
    return status;
}

static pto_status_t read_defaults(pto_export_t *export, pto_error_t *err) {
    char path[PATH_MAX_BYTES];
    const char *generic = export->generic;
    if (!generic && find_file("generic.json", path))
        generic = path;
    if (!generic)
        return pto_error_set(
            err, PTO_ERR_IO,
            "cannot find libraries/mpich-4.0/generic.json beside the machine files; --generic names it");
    pto_export_file_t file;
    pto_status_t status = pto_export_file_read(export, generic, &file, err);
    if (status != PTO_OK)
        return status;
    status = read_tree(&file, &export->defaults, err);
    free(file.text);
    return status;
}

/* Returns what a tree chooses for a call of `bytes`. */
static pto_export_rule_t rule_of(const pto_export_t *export, const json_t *tree,
                                 const pto_export_table_t *table, int64_t bytes) {
    assert(table->collective);
    pto_mpich_call_t call = {.collective = table->collective->name,
                             .ranks = table->ranks,
                             .nodes = table->nodes,
                             .bytes = bytes,
                             .count = bytes / pto_datatype_bytes(export->options.scenario.datatype)};
    pto_export_rule_t rule = {.from_bytes = bytes};
    const char *name = pto_mpich_algorithm(tree, &call);
    char prefix[64];
    name_of(table->collective, "", prefix, sizeof prefix);
    if (strncmp(name, prefix, strlen(prefix)) == 0)
        name += strlen(prefix);
    const pto_export_algorithm_t *found = pto_export_algorithm(table->collective, name);
    if (is_split_by_node(table))
        snprintf(rule.unpriced, sizeof rule.unpriced, "split by node");
    else if (found && (!found->ranks_max || table->ranks <= found->ranks_max))
        rule.algorithm = found;
    else
        snprintf(rule.unpriced, sizeof rule.unpriced, "%s", name);
    return rule;
}

static pto_export_rule_t default_rule_of(const pto_export_t *export, const pto_export_table_t *table,
                                         int64_t bytes) {
    return rule_of(export, export->defaults, table, bytes);
}

static pto_status_t read_file(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err) {
    json_t *tree;
    pto_status_t status = read_tree(file, &tree, err);
    if (status != PTO_OK)
        return status;
    for (int t = 0; t < export->table_count; t++) {
        pto_export_table_t *table = &export->table[t];
        table->rule_count = 0;
        for (int64_t i = 0; i < export->bytes.count && table->rule_count < PTO_EXPORT_RULES_MAX; i++)
            table->rule[table->rule_count++] = rule_of(export, tree, table, export->bytes.value[i]);
    }
    json_decref(tree);
    return PTO_OK;
}

/* The object {"KEY": child}, which takes the reference to the child. */
static json_t *object_of(const char *key, json_t *child) {
    json_t *node = json_object();
    if (json_object_set_new(node, key, child) != 0) {
        json_decref(node);
        return NULL;
    }
    return node;
}

/* The node of a rule. `own` is the collective's branch in MPICH's own tree, which is used again for calls
 * that the algorithm cannot run. */
static json_t *algorithm_node(const pto_export_collective_t *collective,
                              const pto_export_algorithm_t *algorithm, json_t *own) {
    char key[96] = "algorithm=";
    name_of(collective, algorithm->name, key + strlen(key), sizeof key - strlen(key));
    json_t *node = object_of(key, json_object());
    if (strcmp(algorithm->algorithm, "rabenseifner") != 0)
        return node;
    /* The algorithm cuts the vector. That needs a predefined operation, and an element in each part. */
    json_t *counts = json_object();
    json_object_set(counts, "count<pow2", own);
    json_object_set_new(counts, "count=any", node);
    node = object_of("is_op_built_in=no", json_incref(own));
    json_object_set_new(node, "is_op_built_in=yes", counts);
    return node;
}

/* The node of one communicator's rules. MPICH stores limits in an int: larger sizes are left to `own`. */
static json_t *table_node(const pto_export_table_t *table, json_t *own) {
    const char *size = table->collective->total ? "total_msg_size" : "avg_msg_size";
    char key[64];
    json_t *node = json_object();
    bool fits = true; /* the last limit, in an int */
    for (int i = 0; i < table->rule_count && fits; i++) {
        const pto_export_algorithm_t *algorithm = table->rule[i].algorithm;
        int64_t below = i + 1 < table->rule_count ? pto_export_size(table, table->rule[i + 1].from_bytes) : 0;
        fits = below <= INT_MAX;
        if (below > 0)
            snprintf(key, sizeof key, "%s<%" PRId64, size, fits ? below : INT_MAX);
        else
            snprintf(key, sizeof key, "%s=any", size);
        json_object_set_new(node, key,
                            algorithm ? algorithm_node(table->collective, algorithm, own) : json_incref(own));
    }
    if (!fits) {
        snprintf(key, sizeof key, "%s=any", size);
        json_object_set(node, key, own);
    }
    return node;
}

static bool has_rules(const pto_export_table_t *table) {
    return table->rule_count > 1 || table->rule[0].algorithm;
}

/* The node of a collective: the communicators with rules, and MPICH's own branch (`own`) for all others. The
 * conditions are `comm_size<=`, because MPICH reads `comm_size<` as `<=` in some places (mpich_tree.c). */
static json_t *collective_node(const pto_export_t *export, const pto_export_collective_t *collective,
                               json_t *own) {
    char key[64];
    int64_t last = 0;
    json_t *node = json_object();
    for (int i = 0; i < export->table_count; i++) {
        const pto_export_table_t *table = &export->table[i];
        if (table->collective != collective || !has_rules(table))
            continue;
        snprintf(key, sizeof key, "comm_size<=%" PRId64, table->ranks - 1);
        if (table->ranks > last + 1)
            json_object_set(node, key, own);
        snprintf(key, sizeof key, "comm_size<=%" PRId64, table->ranks);
        json_object_set_new(node, key, table_node(table, own));
        last = table->ranks;
    }
    json_object_set(node, "comm_size=any", own);
    return node;
}

/* Replaces a collective's branch for intracommunicators. Alltoalls in place keep MPICH's branch. */
static pto_status_t patch(const pto_export_t *export, const pto_export_collective_t *collective, json_t *tree,
                          pto_error_t *err) {
    char name[64];
    bool alltoall = collective->collective == PTO_COLLECTIVE_ALLTOALL;
    snprintf(name, sizeof name, "collective=%s", collective->name);
    json_t *parent = json_object_get(tree, name);
    const char *key = "comm_type=intra";
    if (alltoall) {
        parent = json_object_get(parent, key);
        key = "is_sendbuf_inplace=no";
    }
    json_t *own = json_object_get(parent, key);
    if (!own)
        return pto_error_set(err, PTO_ERR_SYNTAX, "%s%s: '%s' is missing: not the tree of MPICH 4.0", name,
                             alltoall ? "/comm_type=intra" : "", key);
    json_object_set_new(parent, key, collective_node(export, collective, own));
    return PTO_OK;
}

/* Checks that the tree chooses by the rules for calls that have one, and as MPICH's own tree for others.
 * MPICH's branches have moved, and MPICH may read their `comm_size<` differently there. */
static pto_status_t verify(const pto_export_t *export, const pto_export_table_t *table, const json_t *tree,
                           pto_error_t *err) {
    for (int64_t i = 0; i < export->bytes.count; i++) {
        int64_t bytes = export->bytes.value[i];
        const pto_export_algorithm_t *algorithm = pto_export_rule_at(table, bytes)->algorithm;
        const pto_export_algorithm_t *own = default_rule_of(export, table, bytes).algorithm,
                                     *chosen = rule_of(export, tree, table, bytes).algorithm;
        if (!algorithm || pto_export_size(table, bytes) > INT_MAX)
            algorithm = own;
        bool needs_elements = algorithm && strcmp(algorithm->algorithm, "rabenseifner") == 0;
        if (chosen != algorithm && !(needs_elements && chosen == own))
            return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                                 "%s on %" PRId64
                                 " ranks: MPICH's own tree has a branch that cannot be moved",
                                 table->collective->name, table->ranks);
    }
    return PTO_OK;
}

static pto_status_t write_tree(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    json_t *tree = json_deep_copy(export->defaults);
    pto_status_t status = PTO_OK;
    const pto_export_collective_t *collective = NULL; /* the last one that was patched */
    for (int i = 0; i < export->table_count && status == PTO_OK; i++) {
        if (has_rules(&export->table[i]) && export->table[i].collective != collective) {
            collective = export->table[i].collective;
            status = patch(export, collective, tree, err);
        }
    }
    char *names = NULL;
    if (status == PTO_OK)
        status = read_names(&names, err);
    if (status == PTO_OK)
        status = pto_mpich_check(tree, NULL, names, err);
    free(names);
    for (int i = 0; i < export->table_count && status == PTO_OK; i++)
        status = verify(export, &export->table[i], tree, err);
    if (status == PTO_OK && json_dumpf(tree, stream, JSON_INDENT(1)) != 0)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    if (status == PTO_OK)
        fputc('\n', stream);
    json_decref(tree);
    return status;
}

static void write_rules(const pto_export_table_t *table, FILE *stream) {
    for (int i = 0; i + 1 < table->rule_count; i++)
        if (table->rule[i].algorithm)
            fprintf(stream, "%s on %" PRId64 " ranks, %" PRId64 " to %" PRId64 " bytes: %s\n",
                    table->collective->name, table->ranks, table->rule[i].from_bytes,
                    table->rule[i + 1].from_bytes - 1, table->rule[i].algorithm->name);
}

static pto_status_t write_notes(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    fputs("use: mpirun -genv MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE FILE, a whole path\n"
          "for MPICH 4.0; communicators of the same number of ranks on other nodes take these rules too\n",
          stream);
    bool any = false, split = false;
    for (int i = 0; i < export->table_count; i++) {
        any = any || has_rules(&export->table[i]);
        split = split || is_split_by_node(&export->table[i]);
        write_rules(&export->table[i], stream);
    }
    if (!any)
        fputs("nothing to tell: what MPICH chooses is within the tolerance or has no price\n", stream);
    fputs("not expressed:\n"
          "a broadcast by scatter and recursive doubling, other algorithms, and in-place alltoalls: "
          "portolan does not price them\n"
          "limits above 2147483647 bytes (of all ranks for allgather)\n",
          stream);
    if (split)
        fputs("allreduce, bcast and reduce with several processes a node: MPICH splits them by node "
              "before it reads this file\n",
              stream);
    return pto_export_write_missed(export, NULL, stream, err);
}

const pto_export_target_t pto_export_mpich = {.name = "mpich-4.0",
                                              .collective = collectives,
                                              .bytes_max = 16 << 20,
                                              .default_rule = default_rule_of,
                                              .read_defaults = read_defaults,
                                              .write = write_tree,
                                              .write_notes = write_notes,
                                              .read = read_file};
