/* Any bytes as a tuning file of each library: rules from 0 bytes on, in order, or refused with a reason. */
#include "export/export.h"
#include "fuzz_file.h"

enum { TABLES_MAX = 32 };

/* On one node and on several, of one rank each and of more. */
static const struct { int64_t nodes, ranks; } communicators[] = {{1, 2}, {4, 4}, {2, 6}};

static void make_tables(pto_export_t *export) {
    export->table_count = 0;
    for (const pto_export_collective_t *collective = export->target->collective; collective->name;
         collective++)
        for (size_t i = 0; i < sizeof communicators / sizeof *communicators; i++) {
            if (export->table_count == TABLES_MAX)
                abort();
            export->table[export->table_count++] = (pto_export_table_t){.collective = collective,
                                                                        .nodes = communicators[i].nodes,
                                                                        .ranks = communicators[i].ranks,
                                                                        .rule_count = 1};
        }
}

static void check_table(const pto_export_table_t *table) {
    if (table->rule_count < 1 || table->rule_count > PTO_EXPORT_RULES_MAX || table->rule[0].from_bytes != 0)
        abort();
    for (int i = 0; i < table->rule_count; i++) {
        const pto_export_rule_t *rule = &table->rule[i];
        if (rule->from_bytes < 0 || (i > 0 && rule->from_bytes < rule[-1].from_bytes))
            abort();
        if (rule->algorithm && (!rule->algorithm->name || *rule->unpriced))
            abort();
        for (const char *at = rule->unpriced; *at; at++)
            if (*at < ' ' || *at > '~')
                abort();
    }
}

static void read_as(pto_export_t *export, const char *path) {
    pto_error_t err = {.status = PTO_OK};
    make_tables(export);
    pto_status_t status = pto_export_read(path, export, &err);
    if (status != PTO_OK && (err.status != status || !*err.message))
        abort();
    for (int t = 0; t < export->table_count && status == PTO_OK; t++)
        check_table(&export->table[t]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static pto_export_t export;
    const char *path = fuzz_file(data, size);
    if (!export.table) {
        export.table = calloc(TABLES_MAX, sizeof *export.table);
        if (!export.table || pto_series_one(1 << 26, &export.bytes, NULL) != PTO_OK)
            abort();
    }
    for (int i = 0; pto_export_target_at(i); i++) {
        export.target = pto_export_target_at(i);
        read_as(&export, path);
    }
    return 0;
}
