/* Reads upgrades from a file, and has the standard ones. */
#define _GNU_SOURCE /* strcasestr */
#include "upgrade/upgrades.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "base/text_file.h"
#include "formats/yaml_read.h"

enum { FILE_BYTES_MAX = 1 << 20, UPGRADES_MAX = 1000 };

void pto_upgrades_fini(pto_upgrades_t *upgrades) {
    free(upgrades->upgrade);
    pto_yaml_destroy(upgrades->file);
    *upgrades = (pto_upgrades_t){0};
}

pto_status_t pto_upgrades_keep(pto_upgrades_t *upgrades, const char *text, pto_error_t *err) {
    char names[PTO_ERROR_MESSAGE_MAX / 2] = "";
    pto_line_t line = {.text = names, .size = sizeof names};
    int kept = 0;
    for (int i = 0; i < upgrades->count; i++) {
        pto_line_add(&line, "%s%s", i ? ", " : "", upgrades->upgrade[i].name);
        if (strcasestr(upgrades->upgrade[i].name, text))
            upgrades->upgrade[kept++] = upgrades->upgrade[i];
    }
    upgrades->count = kept;
    if (kept > 0)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "--only: no upgrade's name has '%.40s'; there are: %s", text,
                         names);
}

static pto_status_t read_name(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                              int argument) {
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "a text");
    (void)argument;
    if (status == PTO_OK && pto_name_check(node->text, PTO_NAME_BYTES_MAX, &fault) != PTO_OK)
        return pto_read_fail_as(reader, node, &fault);
    *(const char **)slot = node->text;
    return status;
}

/* Reads one change, or a list of them. */
static pto_status_t read_changes(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                 int argument) {
    pto_upgrade_t *upgrade = slot;
    bool list = node->kind == PTO_YAML_LIST;
    int count = list ? node->child_count : 1;
    (void)argument;
    if (count < 1 || count > PTO_UPGRADE_CHANGES_MAX)
        return pto_read_fail(reader, node, PTO_ERR_RANGE, "%s: 1 to %d changes", node->key,
                             PTO_UPGRADE_CHANGES_MAX);
    pto_status_t status = PTO_OK;
    const pto_yaml_node_t *change = list ? node->child : node;
    for (int i = 0; i < count && status == PTO_OK; i++, change = change->next) {
        status = pto_read_expect(reader, change, PTO_YAML_SCALAR, "PARAMETER=VALUE, as after --what-if");
        upgrade->change[i] = change->text;
    }
    return status;
}

static const pto_yaml_field_t upgrade_fields[] = {
    {.key = "name", .read = read_name, PTO_YAML_AT(pto_upgrade_t, name), .required = true},
    {.key = "what_if", .read = read_changes, .required = true},
    {.key = "cost", .read = pto_read_number, PTO_YAML_AT(pto_upgrade_t, cost), .argument = PTO_UNIT_NONE},
};
static const pto_yaml_table_t upgrade_table = {.what = "an upgrade", PTO_YAML_FIELDS(upgrade_fields)};

static pto_status_t read_upgrades(const pto_reader_t *reader, const pto_yaml_node_t *node, void *slot,
                                  int argument) {
    pto_upgrades_t *upgrades = slot;
    static const char wanted[] = "a list of upgrades";
    pto_status_t status = pto_read_expect_some(reader, node, wanted);
    (void)argument;
    if (status == PTO_OK && node->child_count > UPGRADES_MAX)
        status = pto_read_fail(reader, node, PTO_ERR_TOO_LARGE, "upgrades: more than %d", UPGRADES_MAX);
    if (status == PTO_OK)
        status = PTO_READ_ROWS(reader, node, wanted, &upgrade_table, &upgrades->upgrade, &upgrades->count);
    return status;
}

static const pto_yaml_field_t file_fields[] = {{.key = "upgrades", .read = read_upgrades, .required = true}};
static const pto_yaml_table_t file_table = {.what = "a file of upgrades", PTO_YAML_FIELDS(file_fields)};

static pto_status_t parse(const char *text, size_t size, const char *path, pto_upgrades_t *upgrades,
                          pto_error_t *err) {
    const pto_reader_t reader = {.path = path, .err = err};
    pto_upgrades_t result = {0};
    pto_status_t status = pto_yaml_parse(text, size, path, &result.file, err);
    if (status == PTO_OK)
        status = pto_read_mapping(&reader, result.file, &file_table, &result);
    if (status == PTO_OK)
        *upgrades = result;
    else
        pto_upgrades_fini(&result);
    return status;
}

PTO_TEXT_READER(pto_upgrades_read, parse, pto_upgrades_t *, upgrades, FILE_BYTES_MAX);

static const char one_nic[] = "a process's message is priced at the rate of one NIC; where MPI divides it "
                              "among both, at most what a network twice as fast saves";
static const char measured_nics[] = "NCCL's rows hold for the NICs as they are";
static const char not_known_to_cross[] =
    "the machine file does not say whether what GPUs of a node send each other crosses PCIe";
static const char of_topology[] = "the topology's links have rates of their own";

/* Changes of messages come first, as they are derived from the links' rates. */
static const pto_upgrade_t standard[] = {
    {"twice the NICs",
     {"NICs"},
     .untouched = {{"nccl.", measured_nics, PTO_BETWEEN_NODES, true},
                   {"messages.cpu.off_node.", one_nic, PTO_ALWAYS, true},
                   {"messages.gpu.off_node.", one_nic, PTO_ALWAYS, true}}},
    {"network twice as fast",
     {"NICs", "network messages"},
     .untouched = {{"nccl.", measured_nics, PTO_BETWEEN_NODES, true}}},
    {"PCIe one generation on",
     {"host links", "copies.*h2d*.beta_s_per_byte=/2", "copies.*d2h*.beta_s_per_byte=/2"},
     .untouched = {{"nccl.", "NCCL's rows hold for PCIe as it is", PTO_UNLINKED_GPUS, false},
                   {"messages.gpu.on_", not_known_to_cross, PTO_UNLINKED_GPUS, false},
                   {"peer.", not_known_to_cross, PTO_UNLINKED_GPUS, false},
                   {"remote.", not_known_to_cross, PTO_UNLINKED_GPUS, false},
                   {"topology.", of_topology, PTO_ALWAYS, false}}},
    {"GPU links twice as fast",
     {"GPU links", "peer.*.beta_s_per_byte=/2", "peer.all_s_per_byte=/2", "remote.*.beta_s_per_byte=/2",
      "remote.all_s_per_byte=/2"},
     .untouched = {{"nccl.", "NCCL's rows hold for the links as they are", PTO_ALWAYS, false}}},
    {"GPUDirect",
     {"gpudirect"},
     .untouched = {{"nccl.", "NCCL's rows hold as it is", PTO_BETWEEN_NODES, false}}},
};

pto_status_t pto_upgrades_standard(pto_upgrades_t *upgrades, pto_error_t *err) {
    pto_upgrade_t *copy = malloc(sizeof standard);
    if (!copy)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for upgrades");
    memcpy(copy, standard, sizeof standard);
    *upgrades = (pto_upgrades_t){.count = (int)(sizeof standard / sizeof *standard), .upgrade = copy};
    return PTO_OK;
}
