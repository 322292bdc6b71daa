/* Reading Open MPI's classic rules (export_openmpi.c has their meaning). What Open MPI would silently ignore
 * or misread is an error here. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "export.h"
#include "portolan/units.h"
#include "variables.h"

enum {
    FILE_BYTES_MAX = 16 << 20,
    COLLECTIVES_MAX = 22,
    NUMBER_DIGITS_MAX = 18,
    RULE_COLUMNS_MAX = 5,
    ALLTOALL_LINEAR_SYNC = 4
};

typedef struct {
    const char *path;
    const char *at;
    int line;
    const char *line_begin;
    int columns; /* of a rule: 5 in the second format, which ends with a limit of requests in flight */
    pto_error_t *err;
} reader_t;

static pto_status_t fault(const reader_t *reader, pto_status_t status, const char *message) {
    return pto_error_set_at(reader->err, status, reader->path, reader->line,
                            (int)(reader->at - reader->line_begin) + 1, "%s", message);
}

static void skip_blanks(reader_t *reader) {
    for (;; reader->at++) {
        if (*reader->at == '#')
            reader->at += strcspn(reader->at, "\n");
        if (*reader->at == '\n') {
            reader->line++;
            reader->line_begin = reader->at + 1;
        } else if (*reader->at == '\0' || !strchr(" \t\r", *reader->at)) {
            return;
        }
    }
}

/* Open MPI takes a leading 0 as octal, and skips what is not a digit one by one. */
static pto_status_t read_number(reader_t *reader, int64_t most, const char *what, int64_t *number) {
    char digits[NUMBER_DIGITS_MAX + 1], message[96];
    skip_blanks(reader);
    size_t length = strspn(reader->at, "0123456789");
    if (length == 0 || length > NUMBER_DIGITS_MAX || !strchr(" \t\r\n#", reader->at[length])) {
        snprintf(message, sizeof message, "%s is needed here, in decimal digits", what);
        return fault(reader, PTO_ERR_SYNTAX, message);
    }
    memcpy(digits, reader->at, length);
    digits[length] = '\0';
    if (pto_int64_parse(digits, number, NULL) != PTO_OK)
        return fault(reader, PTO_ERR_SYNTAX, "Open MPI reads a leading 0 as octal");
    if (*number > most) {
        snprintf(message, sizeof message, "%s is at most %" PRId64, what, most);
        return fault(reader, PTO_ERR_RANGE, message);
    }
    reader->at += length;
    return PTO_OK;
}

static const pto_export_collective_t *collective_of(int64_t id) {
    const pto_export_collective_t *found = pto_openmpi_collectives;
    while (found->name && found->id != id)
        found++;
    return found->name ? found : NULL;
}

static const pto_export_algorithm_t *algorithm_of(const pto_export_collective_t *collective, int64_t id) {
    const pto_export_algorithm_t *found = collective->algorithm;
    while (found->name && found->id != id)
        found++;
    return found->name ? found : NULL;
}

/* Open MPI's name, where it is known. */
static const char *algorithm_name(const pto_export_collective_t *collective, int64_t id, char *name,
                                  size_t size) {
    const pto_export_algorithm_t *found = algorithm_of(collective, id);
    if (collective->collective == PTO_COLLECTIVE_ALLTOALL && id == ALLTOALL_LINEAR_SYNC)
        return "linear_sync";
    if (found)
        return found->name;
    snprintf(name, size, "algorithm %" PRId64, id);
    return name;
}

/* A size of the file is that of all ranks' blocks, of which portolan counts one. */
static pto_export_rule_t make_rule(const pto_export_table_t *table, const int64_t number[RULE_COLUMNS_MAX]) {
    pto_export_rule_t rule = {.from_bytes = number[0]};
    if (table->collective->total)
        rule.from_bytes = (number[0] + table->ranks - 1) / table->ranks;
    if (number[1] == 0)
        return rule;
    const char *form = number[3] != 0 ? " in segments" : "";
    char name[24], requests[40] = "";
    rule.algorithm = number[3] == 0 && number[4] == 0 ? algorithm_of(table->collective, number[1]) : NULL;
    if (number[4] > 0)
        snprintf(requests, sizeof requests, ", %" PRId64 " requests", number[4]);
    if (!rule.algorithm)
        snprintf(rule.unpriced, sizeof rule.unpriced, "%s%s%s",
                 algorithm_name(table->collective, number[1], name, sizeof name), form, requests);
    return rule;
}

/* The rules of one number of ranks, into the tables for which they are the last ones so far. */
static pto_status_t read_rules(reader_t *reader, pto_export_t *export,
                               const pto_export_collective_t *collective, int64_t ranks, bool first) {
    static const char *const what[RULE_COLUMNS_MAX] = {
        "a size in bytes", "an algorithm's number", "a fan-out", "a segment's size", "a number of requests"};
    int64_t count = 0, number[RULE_COLUMNS_MAX] = {0}, last = -1;
    pto_status_t status = read_number(reader, PTO_EXPORT_RULES_MAX, "a number of sizes", &count);
    for (int64_t i = 0; i < count && status == PTO_OK; i++) {
        for (int k = 0; k < reader->columns && status == PTO_OK; k++)
            status = read_number(reader, INT64_MAX, what[k], &number[k]);
        if (status == PTO_OK && i == 0 && number[0] != 0)
            status = fault(reader, PTO_ERR_RANGE,
                           "the first size must be 0: Open MPI ignores the whole file without a word");
        if (status == PTO_OK && number[0] <= last)
            status = fault(reader, PTO_ERR_RANGE, "sizes must increase: the last one not larger applies");
        last = number[0];
        for (int t = 0; t < export->table_count && status == PTO_OK; t++) {
            pto_export_table_t *table = &export->table[t];
            if (table->collective != collective || (!first && ranks > table->ranks))
                continue;
            table->rule_count = i == 0 ? 0 : table->rule_count;
            table->rule[table->rule_count++] = make_rule(table, number);
        }
    }
    return status;
}

static pto_status_t read_collective(reader_t *reader, pto_export_t *export) {
    int64_t id = 0, count = 0, ranks = 0, last = 0;
    pto_status_t status = read_number(reader, COLLECTIVES_MAX - 1, "a collective's number", &id);
    if (status == PTO_OK)
        status = read_number(reader, INT32_MAX, "how many numbers of ranks follow", &count);
    for (int64_t i = 0; status == PTO_OK && i < count; i++) {
        status = read_number(reader, INT32_MAX, "a number of ranks", &ranks);
        if (status == PTO_OK && i > 0 && ranks <= last)
            status = fault(reader, PTO_ERR_RANGE,
                           "numbers of ranks must increase: the last one not larger applies");
        last = ranks;
        if (status == PTO_OK)
            status = read_rules(reader, export, collective_of(id), ranks, i == 0);
    }
    return status;
}

/* "rule-file-version-2" begins a file of five columns, which Open MPI reads from 5.0.7 on. */
static pto_status_t read_version(reader_t *reader, const pto_export_t *export) {
    static const char begin[] = "rule-file-version-";
    if (strncmp(reader->at, begin, strlen(begin)) != 0)
        return PTO_OK;
    if (export->target != &pto_export_openmpi_5)
        return fault(reader, PTO_ERR_SYNTAX,
                     "a file of five columns, which 4.1 ignores; --for openmpi-5.0 checks it for 5.0.7");
    reader->at += strlen(begin);
    int64_t version = 0;
    pto_status_t status = read_number(reader, INT32_MAX, "a version", &version);
    if (status == PTO_OK && version != 1 && version != 2)
        status = fault(reader, PTO_ERR_RANGE, "Open MPI 5.0.7 knows versions 1 and 2");
    reader->columns = version == 2 ? 5 : 4;
    return status;
}

static pto_status_t read_all(reader_t *reader, pto_export_t *export) {
    int64_t count = 0;
    pto_status_t status = read_version(reader, export);
    if (status == PTO_OK)
        status = read_number(reader, COLLECTIVES_MAX, "the number of collectives", &count);
    while (status == PTO_OK && count-- > 0)
        status = read_collective(reader, export);
    skip_blanks(reader);
    if (status == PTO_OK && *reader->at)
        status = fault(reader, PTO_ERR_SYNTAX, "more than the announced collectives");
    return status;
}

pto_status_t pto_openmpi_read(const char *path, pto_export_t *export, pto_error_t *err) {
    char *text;
    size_t size;
    pto_status_t status = pto_text_read(path, FILE_BYTES_MAX, &text, &size, err);
    if (status != PTO_OK)
        return status;
    for (int i = 0; i < export->table_count; i++) {
        export->table[i].rule_count = 1; /* a collective that the file leaves out */
        export->table[i].rule[0] = (pto_export_rule_t){.from_bytes = 0};
    }
    reader_t reader = {path, text, 1, text, 4, err};
    const int by_name = pto_variables_find(text, "coll_"),
              by_environment = pto_variables_find(text, "OMPI_MCA_");
    status = by_name + by_environment > 0
                 ? pto_error_set_at(err, PTO_ERR_SYNTAX, path, by_name > 0 ? by_name : by_environment, 1,
                                    "an MCA parameter, which Open MPI reads itself; --check reads the file "
                                    "of rules that coll_tuned_dynamic_rules_filename names")
                 : read_all(&reader, export);
    free(text);
    return status;
}
