/* Functions that the readers of tuning files share: reading the file, rejecting a file of another kind, and
 * turning a file's entries into the rules of a table. */
#include <jansson.h>
#include <stdlib.h>

#include "base/text_file.h"
#include "export.h"
#include "variables.h"

pto_status_t pto_export_file_read(const pto_export_t *export, const char *path, pto_export_file_t *file,
                                  pto_error_t *err) {
    file->path = path;
    return pto_text_read(path, export->target->bytes_max, &file->text, &file->size, err);
}

pto_status_t pto_export_read(const char *path, pto_export_t *export, pto_error_t *err) {
    pto_export_file_t file;
    pto_status_t status = pto_export_file_read(export, path, &file, err);
    if (status != PTO_OK)
        return status;
    status = export->target->read(&file, export, err);
    free(file.text);
    return status;
}

pto_status_t pto_export_refuse_variables(const pto_export_file_t *file, const char *prefix,
                                         const char *advice, pto_error_t *err) {
    const int line = pto_variables_find(file->text, prefix);
    return line > 0 ? pto_error_set_at(err, PTO_ERR_SYNTAX, file->path, line, 1, "%s", advice) : PTO_OK;
}

pto_status_t pto_export_parse_json(const pto_export_file_t *file, const char *prefix, const char *advice,
                                   json_t **json, pto_error_t *err) {
    json_error_t reason;
    *json = json_loadb(file->text, file->size, JSON_REJECT_DUPLICATES, &reason);
    if (*json)
        return PTO_OK;
    pto_status_t status = pto_export_refuse_variables(file, prefix, advice, err);
    return status != PTO_OK ? status
                            : pto_error_set_at(err, PTO_ERR_SYNTAX, file->path, reason.line, reason.column,
                                               "%s", reason.text);
}

bool pto_export_range_has(const pto_export_range_t *range, int64_t value) {
    return range->first <= value && value <= range->last;
}

static const pto_export_rule_t *rule_for(const pto_export_entry_t *entry, size_t count, int64_t bytes) {
    static const pto_export_rule_t library_decides;
    for (size_t i = 0; i < count; i++)
        if (pto_export_range_has(&entry[i].bytes, bytes))
            return &entry[i].rule;
    return &library_decides;
}

/* The least size above `bytes` at which an entry begins, or which follows the last size of one; INT64_MAX if
 * there is none. */
static int64_t next_limit(const pto_export_entry_t *entry, size_t count, int64_t bytes) {
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const pto_export_range_t *range = &entry[i].bytes;
        if (range->first > bytes && range->first < next)
            next = range->first;
        if (range->last >= bytes && range->last < next - 1)
            next = range->last + 1;
    }
    return next;
}

/* If the file's sizes are those of all ranks' blocks, they are divided by the ranks: portolan counts one
 * block. Different limits of the file can then become the same size, and the later one applies. */
bool pto_export_fill(pto_export_table_t *table, const pto_export_entry_t *entry, size_t count) {
    int64_t blocks = table->collective->total ? table->ranks : 1;
    table->rule_count = 0;
    for (int64_t bytes = 0; bytes <= INT64_MAX - blocks; bytes = next_limit(entry, count, bytes)) {
        int64_t from_bytes = bytes / blocks + (bytes % blocks > 0);
        int last = table->rule_count - 1;
        bool is_same_size = last >= 0 && table->rule[last].from_bytes == from_bytes;
        if (!is_same_size && ++last == PTO_EXPORT_RULES_MAX)
            return false;
        /* The rule is that of the first size in the file that is a whole number of blocks. */
        table->rule[last] = *rule_for(entry, count, from_bytes * blocks);
        table->rule[last].from_bytes = from_bytes;
        table->rule_count = last + 1;
    }
    return true;
}
