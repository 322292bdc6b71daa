/* Reads upgrades from a file, and has the standard ones. */
#define _GNU_SOURCE /* strcasestr */
#include "upgrade/upgrades.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/text_file.h"
#include "formats/yaml_read.h"

enum { FILE_BYTES_MAX = 1 << 20, UPGRADES_MAX = 1000, CHANGES_MAX = 100 };

static void fini_upgrade(pto_upgrade_t *upgrade) {
    for (int c = 0; c < upgrade->change_count; c++)
        free(upgrade->change[c]);
    free(upgrade->change);
    free(upgrade->name);
}

void pto_upgrades_fini(pto_upgrades_t *upgrades) {
    for (int i = 0; i < upgrades->count; i++)
        fini_upgrade(&upgrades->upgrade[i]);
    free(upgrades->upgrade);
    *upgrades = (pto_upgrades_t){0};
}

/* --- choosing by name ----------------------------------------------------------------------------------- */

pto_status_t pto_upgrades_keep(pto_upgrades_t *upgrades, const char *text, pto_error_t *err) {
    char names[PTO_ERROR_MESSAGE_MAX / 2] = "";
    pto_line_t line = {.text = names, .size = sizeof names};
    int kept = 0;
    for (int i = 0; i < upgrades->count; i++) {
        pto_line_add(&line, "%s%s", i ? ", " : "", upgrades->upgrade[i].name);
        if (strcasestr(upgrades->upgrade[i].name, text))
            upgrades->upgrade[kept++] = upgrades->upgrade[i];
        else
            fini_upgrade(&upgrades->upgrade[i]);
    }
    upgrades->count = kept;
    if (kept > 0)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "--only: no upgrade's name has '%.40s'; there are: %s", text,
                         names);
}

/* --- files ---------------------------------------------------------------------------------------------- */

static pto_status_t add_change(const pto_reader_t *reader, const pto_yaml_node_t *node,
                               pto_upgrade_t *upgrade) {
    pto_status_t status =
        pto_read_expect(reader, node, PTO_YAML_SCALAR, "PARAMETER=VALUE, as after --what-if");
    if (status != PTO_OK)
        return status;
    char *text = pto_text_copy(node->text);
    if (!text)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    upgrade->change[upgrade->change_count++] = text;
    return PTO_OK;
}

/* Reads one change, or a list of them. */
static pto_status_t read_changes(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                 int argument) {
    pto_upgrade_t *upgrade = slot;
    bool list = node->kind == PTO_YAML_LIST;
    int count = list ? node->child_count : 1;
    (void)argument;
    if (count < 1 || count > CHANGES_MAX)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: 1 to %d changes", node->key, CHANGES_MAX);
    upgrade->change = calloc((size_t)count, sizeof *upgrade->change);
    if (!upgrade->change)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status = PTO_OK;
    for (const pto_yaml_node_t *change = list ? node->child : node; change && status == PTO_OK;
         change = list ? change->next : NULL)
        status = add_change(reader, change, upgrade);
    return status;
}

static const pto_yaml_field_t upgrade_fields[] = {
    {.key = "name", .read = pto_read_text, .offset = offsetof(pto_upgrade_t, name), .required = true},
    {.key = "what_if", .read = read_changes, .required = true},
    {.key = "cost",
     .read = pto_read_number,
     .offset = offsetof(pto_upgrade_t, cost),
     .argument = PTO_UNIT_NONE},
};
static const pto_yaml_table_t upgrade_table = {.what = "an upgrade",
                                               .field = upgrade_fields,
                                               .field_count = sizeof upgrade_fields / sizeof *upgrade_fields};

static pto_status_t read_upgrades(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                  int argument) {
    pto_upgrades_t *upgrades = slot;
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_LIST, "a list of upgrades");
    (void)argument;
    if (status != PTO_OK)
        return status;
    if (node->child_count == 0)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "upgrades: the list is empty");
    if (node->child_count > UPGRADES_MAX)
        return pto_read_fail(reader, node, PTO_ERR_TOO_LARGE, "upgrades: more than %d", UPGRADES_MAX);
    upgrades->upgrade = calloc((size_t)node->child_count + 1, sizeof *upgrades->upgrade);
    if (!upgrades->upgrade)
        return pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
    for (const pto_yaml_node_t *child = node->child; child && status == PTO_OK; child = child->next)
        status = pto_read_mapping(reader, child, &upgrade_table, &upgrades->upgrade[upgrades->count++]);
    return status;
}

static const pto_yaml_field_t file_fields[] = {{.key = "upgrades", .read = read_upgrades, .required = true}};
static const pto_yaml_table_t file_table = {.what = "a file of upgrades",
                                            .field = file_fields,
                                            .field_count = sizeof file_fields / sizeof *file_fields};

pto_status_t pto_upgrades_read(const char *path, pto_upgrades_t *upgrades, pto_error_t *err) {
    const pto_reader_t reader = {.path = path, .err = err};
    pto_upgrades_t result = {0};
    pto_yaml_node_t *root = NULL;
    char *text = NULL;
    size_t size;
    pto_status_t status = pto_text_read(path, FILE_BYTES_MAX, &text, &size, err);
    if (status == PTO_OK)
        status = pto_yaml_parse(text, size, path, &root, err);
    if (status == PTO_OK)
        status = pto_read_mapping(&reader, root, &file_table, &result);
    pto_yaml_destroy(root);
    free(text);
    if (status == PTO_OK)
        *upgrades = result;
    else
        pto_upgrades_fini(&result);
    return status;
}

/* --- standard upgrades ---------------------------------------------------------------------------------- */

static const char one_nic[] = "a process's message is priced at the rate of one NIC; where MPI divides it "
                              "among both, at most what a network twice as fast saves";
static const char measured_nics[] = "NCCL's rows hold for the NICs as they are";
static const char not_known_to_cross[] =
    "the machine file does not say whether what GPUs of a node send each other crosses PCIe";
static const char of_topology[] = "the topology's links have rates of their own";

enum { STANDARD_CHANGES_MAX = 5 };

/* Changes of messages come first, as they are derived from the links' rates. */
static const struct {
    const char *name;
    const char *change[STANDARD_CHANGES_MAX];
    pto_untouched_t untouched[PTO_UNTOUCHED_MAX];
} standard[] = {
    {"twice the NICs",
     {"NICs"},
     {{"nccl.", measured_nics, PTO_BETWEEN_NODES, true},
      {"messages.cpu.off_node.", one_nic, PTO_ALWAYS, true},
      {"messages.gpu.off_node.", one_nic, PTO_ALWAYS, true}}},
    {"network twice as fast",
     {"NICs", "network messages"},
     {{"nccl.", measured_nics, PTO_BETWEEN_NODES, true}}},
    {"PCIe one generation on",
     {"host links", "copies.*h2d*.beta_s_per_byte=/2", "copies.*d2h*.beta_s_per_byte=/2"},
     {{"nccl.", "NCCL's rows hold for PCIe as it is", PTO_UNLINKED_GPUS, false},
      {"messages.gpu.on_", not_known_to_cross, PTO_UNLINKED_GPUS, false},
      {"peer.", not_known_to_cross, PTO_UNLINKED_GPUS, false},
      {"remote.", not_known_to_cross, PTO_UNLINKED_GPUS, false},
      {"topology.", of_topology, PTO_ALWAYS, false}}},
    {"GPU links twice as fast",
     {"GPU links", "peer.*.beta_s_per_byte=/2", "peer.all_s_per_byte=/2", "remote.*.beta_s_per_byte=/2",
      "remote.all_s_per_byte=/2"},
     {{"nccl.", "NCCL's rows hold for the links as they are", PTO_ALWAYS, false}}},
    {"GPUDirect", {"gpudirect"}, {{"nccl.", "NCCL's rows hold as it is", PTO_BETWEEN_NODES, false}}},
};

static bool add_text(pto_upgrade_t *upgrade, const char *text) {
    upgrade->change[upgrade->change_count] = pto_text_copy(text);
    return upgrade->change[upgrade->change_count++] != NULL;
}

pto_status_t pto_upgrades_standard(pto_upgrades_t *upgrades, pto_error_t *err) {
    int count = (int)(sizeof standard / sizeof *standard);
    pto_upgrades_t result = {.upgrade = calloc((size_t)count, sizeof *result.upgrade)};
    bool complete = result.upgrade != NULL;
    for (int i = 0; i < count && complete; i++) {
        pto_upgrade_t *upgrade = &result.upgrade[result.count++];
        upgrade->name = pto_text_copy(standard[i].name);
        upgrade->change = calloc(STANDARD_CHANGES_MAX, sizeof *upgrade->change);
        complete = upgrade->name && upgrade->change;
        for (int c = 0; complete && c < STANDARD_CHANGES_MAX && standard[i].change[c]; c++)
            complete = add_text(upgrade, standard[i].change[c]);
        for (int u = 0; u < PTO_UNTOUCHED_MAX; u++)
            upgrade->untouched[u] = standard[i].untouched[u];
    }
    if (complete) {
        *upgrades = result;
        return PTO_OK;
    }
    pto_upgrades_fini(&result);
    return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for upgrades");
}
