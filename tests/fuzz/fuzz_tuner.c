/* Any text as rules of the NCCL plugin: what is accepted can be asked, and names what NCCL can run. */
#include <stdlib.h>

#include "rules.h"

static void ask(const tuner_rules_t *rules, const tuner_rule_t *rule) {
    float costs[NCCL_ALGORITHMS * NCCL_PROTOCOLS];
    for (int i = 0; i < NCCL_ALGORITHMS * NCCL_PROTOCOLS; i++)
        costs[i] = 1;
    tuner_call_t call = {.function = rule->function, .bytes = rule->last_bytes, .ranks = 8, .nodes = 2};
    const tuner_rule_t *found = tuner_rules_find(rules, &call, costs, NCCL_ALGORITHMS, NCCL_PROTOCOLS);
    if (found && (found < rules->rule || found >= rules->rule + rules->count))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tuner_rules_t rules;
    tuner_fault_t fault;
    if (!tuner_rules_read((const char *)data, size, &rules, &fault)) {
        if (rules.rule || fault.line < 1 || !fault.message[0])
            abort();
        return 0;
    }
    for (int i = 0; i < rules.count; i++) {
        const tuner_rule_t *rule = &rules.rule[i];
        if (rule->function >= NCCL_FUNCTIONS || rule->algorithm >= NCCL_ALGORITHMS ||
            rule->protocol >= NCCL_PROTOCOLS || rule->first_bytes > rule->last_bytes || rule->channels < 0)
            abort();
        ask(&rules, rule);
    }
    tuner_rules_fini(&rules);
    return 0;
}
