/* Reads UCC's variables from a file that UCC itself could read (UCC_CONFIG_FILE), or from a script. UCC
 * limits the length of lines and needs `UCC_` in names. A section applies to some CPUs and teams (UCC's word
 * for communicators), and only to the layer UCP. */
#include "ucc_rules.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"

enum { SECTIONS_MAX = 256, SECTION_NAME_MAX = 127 };

static const char *const owners[PTO_UCC_OWNER_COUNT] = {
    [PTO_UCC_NCCL] = "NCCL",          [PTO_UCC_UCP] = "UCP",     [PTO_UCC_CUDA] = "CUDA",
    [PTO_UCC_RCCL] = "RCCL",          [PTO_UCC_SHARP] = "SHARP", [PTO_UCC_SELF] = "SELF",
    [PTO_UCC_MLX5] = "MLX5",          [PTO_UCC_BASIC] = "BASIC", [PTO_UCC_HIER] = "HIER",
    [PTO_UCC_DOCA_UROM] = "DOCA_UROM"};

const char *pto_ucc_owner_name(pto_ucc_owner_t owner) { return owners[owner]; }

typedef struct {
    const char *path;
    pto_ucc_rules_t *rules;
    const char *section;   /* the last one whose conditions were read, or NULL */
    bool has_basic_layers; /* UCC_CL_BASIC_TLS was read */
    /* The owners whose scores were read, as bits: [0] outside sections, [s + 1] in section s. */
    unsigned seen[SECTIONS_MAX + 1];
    pto_error_t *err;
} reader_t;

static pto_status_t fault(const reader_t *reader, pto_status_t status, int line, const char *message) {
    return pto_error_set_at(reader->err, status, reader->path, line, 1, "%s", message);
}

/* Read N or N-N. */
static bool read_range(const char *text, pto_export_range_t *range) {
    int64_t end[2] = {0};
    for (int i = 0; i < 2; i++) {
        size_t length = strspn(text, "0123456789");
        if (length == 0 || length > 9)
            return false;
        for (; length > 0; length--)
            end[i] = 10 * end[i] + (*text++ - '0');
        if (!*text) {
            *range = (pto_export_range_t){end[0], end[i]};
            return true;
        }
        if (*text++ != '-')
            return false;
    }
    return false;
}

/* Read a KEY=VALUE of a section. Vendor, model and socket are ignored, as a machine file lacks them. */
static bool read_condition(char *text, pto_ucc_section_t *section) {
    pto_export_range_t any;
    char *value = strchr(text, '=');
    if (!value || !value[1] || strchr(value + 1, '='))
        return false;
    *value++ = '\0';
    if (strcasecmp(text, "vendor") == 0 || strcmp(text, "model") == 0)
        return true;
    if (strcmp(text, "sock") == 0)
        return read_range(value, &any);
    pto_export_range_t *known = strcmp(text, "team_size") == 0 ? &section->ranks
                                : strcmp(text, "ppn") == 0     ? &section->ranks_per_node
                                : strcmp(text, "nnodes") == 0  ? &section->nodes
                                                               : NULL;
    return known && read_range(value, known);
}

static pto_status_t add_section(reader_t *reader, const pto_variable_t *variable) {
    pto_ucc_rules_t *rules = reader->rules;
    static const pto_export_range_t any = {0, INT64_MAX};
    pto_ucc_section_t section = {any, any, any};
    char name[SECTION_NAME_MAX + 1];
    size_t length = strlen(variable->section);
    if (length > SECTION_NAME_MAX)
        return fault(reader, PTO_ERR_TOO_LARGE, variable->section_line,
                     "a section's name is too long: UCC cuts it");
    memcpy(name, variable->section, length + 1);
    char *rest = name;
    for (char *part; (part = strtok_r(rest, " ", &rest));)
        if (!read_condition(part, &section))
            return fault(reader, PTO_ERR_SYNTAX, variable->section_line,
                         "a section's conditions are vendor=, model=, team_size=, ppn=, sock= and nnodes=, "
                         "with numbers N or N-N");
    if (rules->section_count == SECTIONS_MAX)
        return fault(reader, PTO_ERR_TOO_LARGE, variable->section_line, "one section too many");
    if (!PTO_EXTEND(rules->section, rules->section_count))
        return pto_error_set(reader->err, PTO_ERR_MEMORY, "out of memory for UCC's settings");
    rules->section[rules->section_count++] = section;
    reader->section = variable->section;
    return PTO_OK;
}

/* Read a list of layers: `all`, names, or `^` and the names that are excluded. */
static pto_status_t read_layers(reader_t *reader, const pto_variable_t *variable) {
    pto_ucc_rules_t *rules = reader->rules;
    char *rest = variable->value;
    bool excludes = *rest == '^', all = strcasecmp(rest, "all") == 0;
    unsigned named = 0;
    rest += excludes;
    for (char *name; !all && (name = strtok_r(rest, ",", &rest));) {
        int owner = 0;
        while (owner < PTO_UCC_LAYER_COUNT && strcasecmp(owners[owner], name) != 0)
            owner++;
        if (owner == PTO_UCC_LAYER_COUNT)
            return pto_error_set_at(reader->err, PTO_ERR_SYNTAX, reader->path, variable->line,
                                    variable->column + (int)(name - variable->value),
                                    "UCC has no layer '%.20s'", name);
        named |= 1u << owner;
    }
    rules->layers_given = true;
    rules->layers_used = all || excludes ? ~named : named;
    return PTO_OK;
}

/* Find the layer of UCC_TL_NAME_TUNE or the component of UCC_CL_NAME_TUNE; -1 for another variable. */
static pto_status_t find_owner(const reader_t *reader, const pto_variable_t *variable, int *owner) {
    static const char end[] = "_TUNE";
    const char *name = variable->name;
    size_t length = strlen(name), end_length = sizeof end - 1, begin_length = strlen("UCC_TL_");
    bool layer = strncmp(name, "UCC_TL_", begin_length) == 0;
    *owner = -1;
    if ((!layer && strncmp(name, "UCC_CL_", begin_length) != 0) || length <= begin_length + end_length ||
        strcmp(name + length - end_length, end) != 0)
        return PTO_OK;
    length -= begin_length + end_length;
    for (int i = layer ? 0 : PTO_UCC_LAYER_COUNT; i < (layer ? PTO_UCC_LAYER_COUNT : PTO_UCC_OWNER_COUNT);
         i++)
        if (strlen(owners[i]) == length && strncmp(name + begin_length, owners[i], length) == 0)
            *owner = i;
    return *owner >= 0 ? PTO_OK
                       : fault(reader, PTO_ERR_SYNTAX, variable->line,
                               "UCC has no such layer or component, and ignores the variable");
}

static pto_status_t add_settings(reader_t *reader, const pto_variable_t *variable, pto_ucc_owner_t owner) {
    int section = variable->section ? reader->rules->section_count - 1 : -1;
    unsigned *seen = &reader->seen[section + 1];
    if (variable->section && owner != PTO_UCC_UCP)
        return fault(reader, PTO_ERR_SYNTAX, variable->line, "UCC only reads UCP's scores in sections");
    if (*seen & 1u << owner)
        return fault(reader, PTO_ERR_SYNTAX, variable->line, "the variable is set a second time");
    *seen |= 1u << owner;
    return pto_ucc_settings_add(variable, reader->path, owner, section, reader->rules, reader->err);
}

/* Visits a variable of the file: a pto_variable_visit_t whose context is a reader_t. */
static pto_status_t read_variable(const pto_variable_t *variable, void *context) {
    reader_t *reader = context;
    int owner;
    pto_ucc_rules_t *rules = reader->rules;
    if (!strstr(variable->name, "UCC_"))
        return fault(reader, PTO_ERR_SYNTAX, variable->line,
                     "UCC refuses a file with a variable that has no UCC_ in its name");
    pto_status_t status = PTO_OK;
    if (variable->section && variable->section != reader->section)
        status = add_section(reader, variable);
    if (status == PTO_OK)
        status = find_owner(reader, variable, &owner);
    if (status != PTO_OK)
        return status;
    if (owner >= 0)
        return add_settings(reader, variable, (pto_ucc_owner_t)owner);
    if (strcmp(variable->name, "UCC_CLS") == 0)
        rules->components_given = strcmp(variable->value, "basic") != 0;
    const bool of_basic = strcmp(variable->name, "UCC_CL_BASIC_TLS") == 0;
    if (!of_basic && (strcmp(variable->name, "UCC_TLS") != 0 || reader->has_basic_layers))
        return PTO_OK;
    reader->has_basic_layers = of_basic; /* UCC_TLS has no effect beside it */
    return read_layers(reader, variable);
}

pto_status_t pto_ucc_rules_read(char *text, size_t size, const char *path, pto_ucc_rules_t *rules,
                                pto_error_t *err) {
    reader_t reader = {.path = path, .rules = rules, .err = err};
    const bool is_script = pto_variables_is_script(text);
    pto_variables_t variables = {.path = path,
                                 .form = is_script ? PTO_VARIABLES_SCRIPT : PTO_VARIABLES_SECTIONS,
                                 .prefix = "UCC_",
                                 .line_bytes_max = PTO_UCC_LINE_MAX,
                                 .err = err};
    *rules = (pto_ucc_rules_t){.setting = NULL};
    pto_status_t status = pto_variables_read(&variables, text, size, read_variable, &reader);
    rules->conditional_line = variables.conditional_line;
    if (status != PTO_OK)
        pto_ucc_rules_fini(rules);
    return status;
}

void pto_ucc_rules_fini(pto_ucc_rules_t *rules) {
    free(rules->setting);
    free(rules->range);
    free(rules->section);
    *rules = (pto_ucc_rules_t){.setting = NULL};
}
