/* MPICH's decision tree as MPICH 4.0.2 reads it (src/mpi/coll/src/csel.c). The keys of an object are
 * conditions. MPICH follows the first one that holds, down to a leaf {"algorithm=NAME": {}}. It aborts at a
 * key that it does not know, and where no condition holds. Its own tree is
 * maint/tuning/coll/mpir/generic.json. */
#include "mpich_tree.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portolan/units.h"

enum { PATH_BYTES_MAX = 512, DEPTH_MAX = 24, NUMBER_DIGITS_MAX = 10 };

static const char leaf[] = "algorithm=";

/* clang-format off */
static const char *const collectives[] = {
    "bcast", "allreduce", "allgather", "allgatherv", "reduce", "reduce_scatter", "gather", "scatter",
    "gatherv", "scatterv", "scan", "exscan", "barrier", "reduce_scatter_block", "alltoall", "alltoallv",
    "alltoallw", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
    "neighbor_alltoallw", "ibarrier", "iallreduce", "iallgather", "iallgatherv", "ibcast", "ireduce",
    "ireduce_scatter", "igather", "iscatter", "igatherv", "iscatterv", "iexscan", "ialltoall", "ialltoallv",
    "ialltoallw", "ireduce_scatter_block", "iscan", "ineighbor_allgather", "ineighbor_allgatherv",
    "ineighbor_alltoall", "ineighbor_alltoallv", "ineighbor_alltoallw"};
/* clang-format on */

/* The subject of a condition: the words that may follow `=`, and whether numbers may follow `<` and `<=`.
 * Unless the first word is `any`, the subject has exactly the first two words as values. */
typedef struct {
    const char *name;
    bool has_limits;
    const char *word[6];
} subject_t;

static const subject_t subjects[] = {
    {"is_multi_threaded", false, {"no", "yes"}},
    {"is_node_consecutive", false, {"yes", "no"}},
    {"is_sendbuf_inplace", false, {"no", "yes"}},
    {"is_block_regular", false, {"yes", "no"}},
    {"is_commutative", false, {"yes", "no"}},
    {"is_op_built_in", false, {"yes", "no"}},
    {"comm_type", false, {"intra", "inter"}},
    {"comm_hierarchy", false, {"any", "parent", "flat", "node_roots", "node"}},
    {"comm_size", true, {"any", "pow2", "node_comm_size"}},
    {"comm_avg_ppn", true, {NULL}},
    {"avg_msg_size", true, {"any"}},
    {"total_msg_size", true, {"any"}},
    {"count", true, {"any"}},
    {.name = NULL}};

typedef struct {
    const subject_t *subject;
    char relation;     /* '=', '<', or 'l' for `<=` */
    const char *value; /* the text after the relation */
    int64_t limit;     /* its number, of `<` and `<=` */
    bool below_power;  /* `count<pow2`: the count is below the largest power of two up to the ranks */
} condition_t;

static bool read_limit(const char *text, int64_t *limit) {
    size_t length = strspn(text, "0123456789");
    return length > 0 && length <= NUMBER_DIGITS_MAX && text[length] == '\0' &&
           pto_int64_parse(text, limit, NULL) == PTO_OK && *limit <= INT_MAX;
}

static bool is_word(const subject_t *subject, const char *value) {
    for (size_t i = 0; i < sizeof subject->word / sizeof *subject->word && subject->word[i]; i++)
        if (strcmp(subject->word[i], value) == 0)
            return true;
    return false;
}

/* Parses a key. Returns false if MPICH 4.0 does not know it. For count and comm_avg_ppn, it knows only `<=`
 * (and `count<pow2`). */
static bool read_condition(const char *key, condition_t *condition) {
    size_t length = strcspn(key, "<=");
    const subject_t *subject = subjects;
    while (subject->name && (strlen(subject->name) != length || strncmp(subject->name, key, length) != 0))
        subject++;
    if (!subject->name || !key[length])
        return false;
    bool is_less_equal = key[length] == '<' && key[length + 1] == '=';
    *condition = (condition_t){.subject = subject,
                               .relation = key[length] == '=' ? '='
                                           : is_less_equal    ? 'l'
                                                              : '<',
                               .value = key + length + 1 + is_less_equal};
    if (condition->relation == '=')
        return is_word(subject, condition->value);
    condition->below_power = strcmp(key, "count<pow2") == 0;
    if (condition->below_power)
        return true;
    bool only_less_equal = strcmp(subject->name, "count") == 0 || strcmp(subject->name, "comm_avg_ppn") == 0;
    return subject->has_limits && !(only_less_equal && condition->relation == '<') &&
           read_limit(condition->value, &condition->limit);
}

typedef struct {
    const char *file;
    const char *names;         /* of algorithms, one per line */
    char path[PATH_BYTES_MAX]; /* the keys that lead to the node */
    pto_error_t *err;
} reader_t;

/* Sets an error at the current node; `format` has one %s, for the key. */
static pto_status_t refuse(const reader_t *reader, const char *format, const char *key) {
    char message[PATH_BYTES_MAX];
    snprintf(message, sizeof message, format, key);
    return pto_error_set_at(reader->err, PTO_ERR_SYNTAX, reader->file, 0, 0, "%s: %s", reader->path, message);
}

/* Returns whether an object also has the opposite of its last condition, so that one of the two holds. */
static bool has_opposite(const json_t *node, const condition_t *last) {
    char other[64];
    const char *const *word = last->subject->word;
    if (last->relation != '=' || strcmp(word[0], "any") == 0)
        return false;
    snprintf(other, sizeof other, "%s=%s", last->subject->name,
             word[strcmp(last->value, word[0]) == 0 ? 1 : 0]);
    return json_object_get(node, other) != NULL;
}

static bool is_algorithm(const reader_t *reader, const char *name) {
    const size_t length = strlen(name);
    for (const char *line = reader->names; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (length > 0 && *line != '#' && strncmp(line, name, length) == 0 && line[length] == '\n')
            return true;
    }
    return false;
}

static pto_status_t check_node(reader_t *reader, const json_t *node, int depth);

static pto_status_t check_child(reader_t *reader, const char *key, const json_t *child, int depth) {
    size_t used = strlen(reader->path);
    snprintf(reader->path + used, sizeof reader->path - used, "/%s", key);
    pto_status_t status = check_node(reader, child, depth + 1);
    reader->path[used] = '\0';
    return status;
}

static pto_status_t check_node(reader_t *reader, const json_t *node, int depth) {
    const char *key;
    json_t *child;
    condition_t condition = {.relation = ' '};
    bool complete = false;
    pto_status_t status = PTO_OK;
    if (depth > DEPTH_MAX)
        return refuse(reader, "%s", "too deep");
    if (!json_is_object(node) || json_object_size(node) == 0)
        return refuse(reader, "%s", "no condition and no algorithm, where MPICH aborts");
    json_object_foreach((json_t *)node, key, child) {
        if (strncmp(key, leaf, strlen(leaf)) == 0)
            return is_algorithm(reader, key + strlen(leaf)) && json_object_size(node) == 1
                       ? PTO_OK
                       : refuse(reader, "'%s' is not one algorithm of MPICH 4.0", key);
        if (complete)
            return refuse(reader, "'%s' comes after all cases", key);
        if (!read_condition(key, &condition))
            return refuse(reader, "MPICH 4.0 does not know '%s'", key);
        status = check_child(reader, key, child, depth);
        if (status != PTO_OK)
            return status;
        complete = condition.relation == '=' && strcmp(condition.value, "any") == 0;
    }
    return complete || has_opposite(node, &condition)
               ? PTO_OK
               : refuse(reader, "%s", "some calls meet none of its conditions, where MPICH aborts");
}

pto_status_t pto_mpich_check(const json_t *tree, const char *path, const char *names, pto_error_t *err) {
    enum { COUNT = (int)(sizeof collectives / sizeof *collectives) };
    char key[64];
    reader_t whole = {.file = path, .path = "the whole", .err = err};
    if (!json_is_object(tree))
        return refuse(&whole, "%s", "not an object");
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "collective=%s", collectives[i]);
        const json_t *node = json_object_get(tree, key);
        if (!node)
            return refuse(&whole, "'%s' is missing, where MPICH 4.0 aborts", key);
        reader_t inside = {.file = path, .names = names, .err = err};
        snprintf(inside.path, sizeof inside.path, "%s", key);
        pto_status_t status = check_node(&inside, node, 0);
        if (status != PTO_OK)
            return status;
    }
    return json_object_size(tree) == COUNT ? PTO_OK
                                           : refuse(&whole, "%s", "more than the collectives of MPICH 4.0");
}

pto_status_t pto_mpich_parse(const pto_export_file_t *file, const char *names, json_t **tree,
                             pto_error_t *err) {
    json_t *read;
    pto_status_t status = pto_export_parse_json(
        file, "MPIR_CVAR_",
        "a variable of the environment, which MPICH reads itself; --check reads the file that "
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE names",
        &read, err);
    if (status != PTO_OK)
        return status;
    status = pto_mpich_check(read, file->path, names, err);
    if (status == PTO_OK)
        *tree = read;
    else
        json_decref(read);
    return status;
}

/* The largest power of two up to `limit`. */
static int64_t power_up_to(int64_t limit) {
    int64_t power = 1;
    while (power <= limit / 2)
        power *= 2;
    return power;
}

static int64_t value_of(const pto_mpich_call_t *call, const subject_t *subject) {
    if (strcmp(subject->name, "comm_size") == 0)
        return call->ranks;
    if (strcmp(subject->name, "comm_avg_ppn") == 0)
        return call->ranks / call->nodes;
    if (strcmp(subject->name, "count") == 0)
        return call->count;
    return strcmp(subject->name, "total_msg_size") == 0 ? call->bytes * call->ranks : call->bytes;
}

/* Whether a condition with `=` holds. */
static bool is_equal(const pto_mpich_call_t *call, const condition_t *condition) {
    const char *value = condition->value;
    bool is_split = call->ranks > call->nodes; /* by node, as several ranks share one */
    if (strcmp(value, "any") == 0)
        return true;
    if (strcmp(value, "pow2") == 0)
        return power_up_to(call->ranks) == call->ranks;
    if (strcmp(value, "node_comm_size") == 0)
        return is_split && call->nodes == 1;
    if (strcmp(condition->subject->name, "comm_hierarchy") == 0)
        return strcmp(value, is_split ? "parent" : "flat") == 0;
    return strcmp(value, condition->subject->word[0]) == 0;
}

/* Returns whether a condition is about the communicator. On the way down, MPICH decides such conditions once
 * per communicator, until it meets the first condition about the call. */
static bool is_of_communicator(const subject_t *subject) {
    return strncmp(subject->name, "comm_", 5) == 0 || strcmp(subject->name, "is_node_consecutive") == 0;
}

/* Whether a key's condition holds. 4.0.2 reads `comm_size<` as `<` before the first condition about the call
 * (prune_tree), and as `<=` after it (MPIR_Csel_search). `*is_per_call` becomes true at that condition. */
static bool holds(const pto_mpich_call_t *call, const char *key, bool *is_per_call) {
    condition_t condition;
    if (!read_condition(key, &condition))
        return false;
    bool of_communicator = is_of_communicator(condition.subject);
    *is_per_call = *is_per_call || !of_communicator;
    if (condition.relation == '=')
        return is_equal(call, &condition);
    int64_t value = value_of(call, condition.subject);
    if (condition.below_power)
        return value < power_up_to(call->ranks);
    if (condition.relation == 'l' || (of_communicator && *is_per_call))
        return value <= condition.limit;
    return value < condition.limit;
}

const char *pto_mpich_algorithm(const json_t *tree, const pto_mpich_call_t *call) {
    char collective[64];
    snprintf(collective, sizeof collective, "collective=%s", call->collective);
    const json_t *node = json_object_get(tree, collective);
    bool is_per_call = false;
    while (node) {
        const char *key;
        const json_t *next = NULL;
        json_t *child;
        json_object_foreach((json_t *)node, key, child) {
            if (strncmp(key, leaf, strlen(leaf)) == 0)
                return key + strlen(leaf);
            if (holds(call, key, &is_per_call)) {
                next = child;
                break;
            }
        }
        node = next;
    }
    return "";
}
