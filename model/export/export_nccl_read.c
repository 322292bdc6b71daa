/* Reading rules of the tuner plugin, by the plugin's own reader: the first rule that holds for a call
 * applies. A call is a single one on buffers that are not registered. Whether NCCL can run an algorithm, and
 * prefers one that the file keeps (#keep), is known to NCCL alone. */
#include <stdlib.h>

#include "base/text_file.h"
#include "export.h"
#include "portolan/machine.h"
#include "rules.h"
#include "variables.h"

enum { FILE_BYTES_MAX = 1 << 20, NCCL_TREE = 0, NCCL_RING = 1, NCCL_ALLREDUCE = 4 };

/* The file's numbers of algorithms and protocols are NCCL's. */
static const pto_export_algorithm_t *algorithm_of(const pto_export_collective_t *collective,
                                                  const tuner_rule_t *rule) {
    pto_nccl_algorithm_t own =
        rule->algorithm == NCCL_RING ? PTO_NCCL_ALGORITHM_RING : PTO_NCCL_ALGORITHM_TREE;
    int id = (int)own * PTO_NCCL_PROTOCOL_COUNT + rule->protocol;
    const pto_export_algorithm_t *found = collective->algorithm;
    while (found->name && found->id != id)
        found++;
    bool priced = rule->algorithm == NCCL_RING || rule->algorithm == NCCL_TREE;
    return priced && found->name ? found : NULL;
}

static bool is_for(const tuner_rule_t *rule, const pto_export_table_t *table) {
    return rule->function == NCCL_ALLREDUCE && (rule->nodes < 0 || rule->nodes == table->nodes) &&
           (rule->ranks < 0 || rule->ranks == table->ranks) &&
           (rule->pipe_operations < 0 || rule->pipe_operations == 1) &&
           (rule->registered < 0 || rule->registered == 0);
}

static const tuner_rule_t *first_rule(const tuner_rules_t *rules, const pto_export_table_t *table,
                                      uint64_t bytes) {
    for (int i = 0; i < rules->count; i++) {
        const tuner_rule_t *rule = &rules->rule[i];
        if (is_for(rule, table) && rule->first_bytes <= bytes && bytes <= rule->last_bytes)
            return rule;
    }
    return NULL;
}

/* The next size at which a rule begins or has ended; UINT64_MAX: none. */
static uint64_t next_limit(const tuner_rules_t *rules, const pto_export_table_t *table, uint64_t bytes) {
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < rules->count; i++) {
        const tuner_rule_t *rule = &rules->rule[i];
        if (!is_for(rule, table))
            continue;
        next = rule->first_bytes > bytes && rule->first_bytes < next ? rule->first_bytes : next;
        next = rule->last_bytes >= bytes && rule->last_bytes < next - 1 ? rule->last_bytes + 1 : next;
    }
    return next;
}

static pto_status_t fill_table(const tuner_rules_t *rules, const char *path, pto_export_table_t *table,
                               pto_error_t *err) {
    table->rule_count = 0;
    for (uint64_t bytes = 0; bytes <= INT64_MAX; bytes = next_limit(rules, table, bytes)) {
        const tuner_rule_t *rule = first_rule(rules, table, bytes);
        if (table->rule_count == PTO_EXPORT_RULES_MAX)
            return pto_error_set_at(err, PTO_ERR_RANGE, path, 0, 0, "more than %d ranges of sizes",
                                    PTO_EXPORT_RULES_MAX);
        pto_export_rule_t *made = &table->rule[table->rule_count++];
        *made = (pto_export_rule_t){.from_bytes = (int64_t)bytes};
        made->algorithm = rule ? algorithm_of(table->collective, rule) : NULL;
        if (rule && !made->algorithm)
            snprintf(made->unpriced, sizeof made->unpriced, "an algorithm without a price");
    }
    return PTO_OK;
}

pto_status_t pto_nccl_rules_read(const char *path, pto_export_t *export, pto_error_t *err) {
    char *text;
    size_t size;
    tuner_rules_t rules;
    tuner_fault_t fault;
    pto_status_t status = pto_text_read(path, FILE_BYTES_MAX, &text, &size, err);
    if (status != PTO_OK)
        return status;
    bool right = tuner_rules_read(text, size, &rules, &fault);
    int variable_line = right ? 0 : pto_variables_find(text, "NCCL_");
    free(text);
    if (variable_line > 0)
        return pto_error_set_at(err, PTO_ERR_SYNTAX, path, variable_line, 1,
                                "a variable of the environment, which NCCL reads itself; --check reads rules "
                                "of the tuner plugin, as `portolan export --for nccl` writes them");
    if (!right)
        return pto_error_set_at(err, PTO_ERR_SYNTAX, path, fault.line, 1, "%s", fault.message);
    for (int t = 0; t < export->table_count && status == PTO_OK; t++)
        status = fill_table(&rules, path, &export->table[t], err);
    tuner_rules_fini(&rules);
    return status;
}
