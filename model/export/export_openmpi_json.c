/* The reader of Open MPI 6.0's rules in JSON, for `export --check`. It applies them as Open MPI's component
 * `tuned` (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c, main): in each list, the first entry applies whose
 * range contains the size of the communicator or the message. Ranges include both ends; a missing end is no
 * limit. Anything that Open MPI would ignore is an error. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

enum { VERSION = 3, WHERE_MAX = 96 };

/* clang-format off */
static const char *const collectives[] = {
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier", "bcast",
    "exscan", "gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "scatter",
    "scatterv", "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv",
    "neighbor_alltoallw", NULL};
/* clang-format on */

static const char *const comm_keys[] = {"comm_size_min", "comm_size_max", "comm_rank_distribution", "rules",
                                        NULL};
static const char *const rule_keys[] = {"msg_size_min", "msg_size_max", "alg", "faninout",
                                        "seg_size",     "reqs",         NULL};
static const char *const distributions[] = {"any", "one-per-node", "single-node", NULL};

typedef struct {
    const char *path;
    char where[WHERE_MAX]; /* the place in the file, for errors: "bcast, communicators 1, rule 2" */
    pto_error_t *err;
} reader_t;

static pto_status_t fault(const reader_t *reader, pto_status_t status, const char *message) {
    return pto_error_set_at(reader->err, status, reader->path, 0, 0, "%s: %s",
                            *reader->where ? reader->where : "the file", message);
}

static bool is_among(const char *const *words, const char *word) {
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

static pto_status_t check_keys(const reader_t *reader, const json_t *object, const char *const *known) {
    char message[80];
    if (!json_is_object(object))
        return fault(reader, PTO_ERR_TYPE, "is not an object");
    for (void *at = json_object_iter((json_t *)object); at; at = json_object_iter_next((json_t *)object, at))
        if (!is_among(known, json_object_iter_key(at))) {
            snprintf(message, sizeof message, "Open MPI does not know '%.40s'", json_object_iter_key(at));
            return fault(reader, PTO_ERR_SYNTAX, message);
        }
    return PTO_OK;
}

/* Reads an end of a range; a missing one leaves `*end` unchanged. */
static pto_status_t read_end(const reader_t *reader, const json_t *object, const char *key, int64_t *end) {
    const json_t *value = json_object_get(object, key);
    char message[80];
    if (!value)
        return PTO_OK;
    if (json_is_string(value) && strcmp(json_string_value(value), "inf") == 0)
        *end = INT64_MAX;
    else if (json_is_integer(value) && json_integer_value(value) >= 0)
        *end = json_integer_value(value);
    else {
        snprintf(message, sizeof message, "%s is not a whole number or \"inf\"", key);
        return fault(reader, PTO_ERR_TYPE, message);
    }
    return PTO_OK;
}

static pto_status_t read_range(const reader_t *reader, const json_t *object, const char *first,
                               const char *last, pto_export_range_t *range) {
    *range = (pto_export_range_t){0, INT64_MAX};
    pto_status_t status = read_end(reader, object, first, &range->first);
    if (status == PTO_OK)
        status = read_end(reader, object, last, &range->last);
    if (status == PTO_OK && range->first > range->last)
        status = fault(reader, PTO_ERR_RANGE, "its range is empty, so that it never applies");
    return status;
}

/* Algorithm names are printed later. Open MPI's own have only these characters. */
static bool is_printable(const char *name) {
    while (*name >= ' ' && *name <= '~')
        name++;
    return *name == '\0';
}

/* Reads the algorithm of a rule of the file into `parsed`. A collective without a name has no tables; its
 * rules are only checked. */
static pto_status_t read_algorithm(const reader_t *reader, const json_t *rule,
                                   const pto_export_collective_t *collective, pto_export_rule_t *parsed) {
    const json_t *value = json_object_get(rule, "alg"), *segment = json_object_get(rule, "seg_size");
    const char *name = json_string_value(value);
    const int number =
        collective->name ? pto_openmpi_algorithm(collective, name, json_integer_value(value)) : 0;
    *parsed = (pto_export_rule_t){.from_bytes = 0};
    if (name ? !is_printable(name) : !(json_is_integer(value) && json_integer_value(value) >= 0))
        return fault(reader, PTO_ERR_TYPE, "alg is not an algorithm's name or number");
    if (number < 0)
        return fault(reader, PTO_ERR_SYNTAX,
                     "Open MPI has no such algorithm, and ignores the rule without a word");
    if (segment && !json_is_integer(segment))
        return fault(reader, PTO_ERR_TYPE, "seg_size is not a number of bytes");
    if (collective->name && number == 0)
        return PTO_OK;
    bool whole = json_integer_value(segment) == 0;
    if (whole)
        parsed->algorithm = pto_export_algorithm_of_id(collective, number);
    if (parsed->algorithm)
        return PTO_OK;
    const char *in_segments = whole ? "" : ", in segments";
    if (name)
        snprintf(parsed->unpriced, sizeof parsed->unpriced, "%.28s%s", name, in_segments);
    else
        snprintf(parsed->unpriced, sizeof parsed->unpriced, "algorithm %" JSON_INTEGER_FORMAT "%s",
                 json_integer_value(value), in_segments);
    return PTO_OK;
}

/* Reads a list of at most PTO_EXPORT_RULES_MAX rules. */
static pto_status_t read_entries(reader_t *reader, const json_t *list,
                                 const pto_export_collective_t *collective, pto_export_entry_t *entry,
                                 size_t *count) {
    size_t end = strlen(reader->where);
    *count = json_array_size(list);
    if (*count == 0)
        return fault(reader, PTO_ERR_TYPE, "rules is not a list with entries");
    if (*count > PTO_EXPORT_RULES_MAX)
        return fault(reader, PTO_ERR_RANGE, "rules has too many entries");
    pto_status_t status = PTO_OK;
    for (size_t i = 0; i < *count && status == PTO_OK; i++) {
        const json_t *rule = json_array_get(list, i);
        snprintf(reader->where + end, WHERE_MAX - end, ", rule %zu", i + 1);
        status = check_keys(reader, rule, rule_keys);
        if (status == PTO_OK)
            status = read_range(reader, rule, "msg_size_min", "msg_size_max", &entry[i].bytes);
        if (status == PTO_OK)
            status = read_algorithm(reader, rule, collective, &entry[i].rule);
    }
    reader->where[end] = '\0';
    return status;
}

/* Whether an entry for this range of ranks and this distribution applies to a table's communicator. */
static bool applies(const pto_export_table_t *table, const pto_export_range_t *ranks,
                    const char *distribution) {
    if (!pto_export_range_has(ranks, table->ranks))
        return false;
    if (strcmp(distribution, "single-node") == 0)
        return table->nodes == 1;
    return strcmp(distribution, "any") == 0 || table->nodes == table->ranks;
}

/* Reads an entry for communicators into the tables that no earlier entry has filled (`is_filled`, by table).
 * */
static pto_status_t read_comm(reader_t *reader, const json_t *comm, const pto_export_collective_t *collective,
                              pto_export_t *export, bool *is_filled) {
    pto_export_entry_t entry[PTO_EXPORT_RULES_MAX];
    pto_export_range_t ranks;
    size_t count;
    pto_status_t status = check_keys(reader, comm, comm_keys);
    if (status != PTO_OK)
        return status;
    const json_t *named = json_object_get(comm, "comm_rank_distribution");
    const char *distribution = named ? json_string_value(named) : distributions[0];
    if (!distribution || !is_among(distributions, distribution))
        return fault(reader, PTO_ERR_SYNTAX,
                     "comm_rank_distribution is not any, one-per-node or single-node");
    status = read_range(reader, comm, "comm_size_min", "comm_size_max", &ranks);
    if (status == PTO_OK)
        status = read_entries(reader, json_object_get(comm, "rules"), collective, entry, &count);
    for (int t = 0; t < export->table_count && status == PTO_OK; t++) {
        pto_export_table_t *table = &export->table[t];
        if (is_filled[t] || table->collective != collective || !applies(table, &ranks, distribution))
            continue;
        is_filled[t] = true;
        if (!pto_export_fill(table, entry, count))
            status = fault(reader, PTO_ERR_RANGE, "rules has too many ranges");
    }
    return status;
}

static const pto_export_collective_t *collective_of(const pto_export_t *export, const char *name) {
    const pto_export_collective_t *found = export->target->collective;
    while (found->name && strcmp(found->name, name) != 0)
        found++;
    return found; /* without a name and algorithms if there is no such collective */
}

static pto_status_t read_collective(reader_t *reader, const char *name, const json_t *comms,
                                    pto_export_t *export) {
    bool *is_filled = calloc((size_t) export->table_count + 1, sizeof *is_filled);
    pto_status_t status = PTO_OK;
    if (!is_filled)
        return pto_error_set(reader->err, PTO_ERR_MEMORY, "out of memory");
    snprintf(reader->where, WHERE_MAX, "%.24s", name);
    if (!is_among(collectives, name))
        status = fault(reader, PTO_ERR_SYNTAX,
                       "Open MPI has no such collective, and ignores the whole file without a word");
    if (status == PTO_OK && !json_is_array(comms))
        status = fault(reader, PTO_ERR_TYPE, "is not a list");
    for (size_t i = 0; i < json_array_size(comms) && status == PTO_OK; i++) {
        snprintf(reader->where, WHERE_MAX, "%.24s, communicators %zu", name, i + 1);
        status = read_comm(reader, json_array_get(comms, i), collective_of(export, name), export, is_filled);
    }
    free(is_filled);
    return status;
}

static pto_status_t read_all(reader_t *reader, const json_t *file, pto_export_t *export) {
    /* Open MPI looks up the keys that it knows and never sees others, such as "$schema". */
    if (!json_is_object(file))
        return fault(reader, PTO_ERR_TYPE, "is not an object");
    pto_status_t status = PTO_OK;
    const char *module = json_string_value(json_object_get(file, "module"));
    const json_t *all = json_object_get(file, "collectives");
    if (json_integer_value(json_object_get(file, "rule_file_version")) != VERSION)
        return fault(reader, PTO_ERR_SYNTAX, "rule_file_version is not 3");
    if (!module || strcmp(module, "tuned") != 0)
        return fault(reader, PTO_ERR_SYNTAX, "module is not tuned");
    if (!json_is_object(all))
        return fault(reader, PTO_ERR_SYNTAX, "it has no collectives");
    for (void *at = json_object_iter((json_t *)all); at && status == PTO_OK;
         at = json_object_iter_next((json_t *)all, at))
        status = read_collective(reader, json_object_iter_key(at), json_object_iter_value(at), export);
    return status;
}

pto_status_t pto_openmpi_json_read(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err) {
    json_t *whole;
    pto_status_t status = pto_export_parse_json(file, "OMPI_MCA_", pto_openmpi_parameter, &whole, err);
    if (status != PTO_OK)
        return status;
    reader_t reader = {.path = file->path, .err = err};
    status = read_all(&reader, whole, export);
    json_decref(whole);
    return status;
}
