/* The digest of a machine's numbers (pto_machine_digest): the FNV-1a hash of all that a price depends on.
 * Results record it, so that they can be matched with the machine file that they were computed from. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "machine/machine_internal.h"

static void add(uint64_t *hash, const void *data, size_t size) { *hash = pto_hash_bytes(*hash, data, size); }
static void add_number(uint64_t *hash, int64_t number) { add(hash, &number, sizeof number); }
static void add_text(uint64_t *hash, const char *text) {
    add(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void add_param(uint64_t *hash, const pto_param_t *param) {
    const double value[] = {param->value, param->low, param->high};
    add_number(hash, pto_param_known(param));
    if (pto_param_known(param))
        add(hash, value, sizeof value);
}

/* Only known parameters count, so a parameter added to the program leaves existing files' digests as they
 * are. */
static void add_parameters(uint64_t *hash, const pto_machine_t *machine) {
    pto_machine_param_t *param;
    int count;
    if (pto_machine_params(machine, &param, &count, NULL) != PTO_OK)
        return;
    for (int i = 0; i < count; i++) {
        bool is_number = param[i].number;
        if (is_number ? *param[i].number == 0 : !pto_param_known(param[i].param))
            continue;
        add_text(hash, param[i].key);
        if (is_number)
            add_number(hash, *param[i].number);
        else
            add_param(hash, param[i].param);
    }
    free(param);
}

static void add_model_error(uint64_t *hash, const pto_model_error_t *error) {
    if (!error->source)
        return;
    const int64_t covered[] = {error->node.least, error->node.most,  error->proc.least,
                               error->proc.most,  error->byte.least, error->byte.most};
    const double width[] = {error->doubling, error->tie};
    add(hash, covered, sizeof covered);
    add(hash, width, sizeof width);
    for (int i = 0; i < error->row_count; i++) {
        add_text(hash, error->row[i].strategy);
        add(hash, &error->row[i].log_95, sizeof error->row[i].log_95);
    }
}

static void add_tables(uint64_t *hash, const pto_library_table_t *table, int count) {
    for (int t = 0; t < count; t++) {
        add_text(hash, table[t].collective);
        add_number(hash, table[t].space);
        for (int r = 0; r < table[t].rule_count; r++) {
            const pto_library_rule_t *rule = &table[t].rule[r];
            const int64_t number[] = {rule->below_bytes,
                                      rule->procs,
                                      rule->staged,
                                      rule->segment_bytes,
                                      rule->staged_members.in,
                                      rule->staged_members.out};
            add_text(hash, rule->algorithm);
            add(hash, number, sizeof number);
            if (rule->flagged)
                add_text(hash, rule->flagged);
        }
    }
}

static void add_links(uint64_t *hash, const pto_machine_t *machine) {
    int links = machine->topology ? pto_topology_link_count(machine->topology) : 0;
    for (int i = 0; i < links; i++) {
        const pto_topology_link_t *link = pto_topology_link_at(machine->topology, i);
        add_number(hash, link->from);
        add_number(hash, link->to);
        add_param(hash, &link->s_per_byte);
        add_param(hash, &link->alpha_s);
    }
    for (int i = 0; i < machine->fabric.levels; i++) {
        add_number(hash, machine->fabric.level[i].nodes);
        add_param(hash, &machine->fabric.level[i].s_per_byte[0]);
        add_param(hash, &machine->fabric.level[i].s_per_byte[1]);
    }
}

const char *pto_machine_digest(const pto_machine_t *machine, char text[PTO_MACHINE_DIGEST_MAX]) {
    uint64_t hash = PTO_HASH_START;
    add_parameters(&hash, machine);
    add_number(&hash, machine->runs);
    add_tables(&hash, machine->library, machine->library_count);
    add_tables(&hash, machine->tuning, machine->tuning_count);
    add_links(&hash, machine);
    add_model_error(&hash, &machine->model_error);
    snprintf(text, PTO_MACHINE_DIGEST_MAX, "%016" PRIx64, hash);
    return text;
}
