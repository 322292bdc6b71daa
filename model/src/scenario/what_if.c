/* Changes to a machine or a layout for one run (--what-if): parsed, applied, and recorded in the machine. A
 * key names a number of the layout, or one or more parameters of the machine, by its key, its group or a
 * wildcard. All new values are checked before the first one is changed. */
#include "portolan/scenario.h"

#include <assert.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/registry.h"
#include "portolan/units.h"

enum { NOTE_MAX = 512, NAMED_MAX = 3 };

/* How a key with a wildcard is compared with parameters' keys; tried in this order. */
typedef enum {
    WHOLE_KEY,    /* as they are */
    WITHOUT_UNIT, /* without the unit at their end */
    OF_NETWORK,   /* without the unit, and "network" stands for the first words of keys of links between nodes
                   */
    MATCH_COUNT
} match_t;

/* PARAMETER=VALUE, PARAMETER=*FACTOR or PARAMETER=/FACTOR, parsed. */
typedef struct {
    char key[PTO_PARAM_KEY_MAX];
    match_t match;
    const char *value; /* the text after '=', as given */
    bool relative;     /* *FACTOR or /FACTOR */
    double factor;     /* of a relative change; the reciprocal of a divisor */
    bool numeric;      /* by pto_machine_set: the value is `number`, and the key is not of the layout */
    double number;
} change_t;

static pto_status_t read_change(const char *text, change_t *change, pto_error_t *err) {
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    if (length == 0 || equals[1] == '\0')
        return pto_error_set(err, PTO_ERR_TYPE,
                             "'%.200s' is not PARAMETER=VALUE, PARAMETER=*FACTOR or PARAMETER=/FACTOR", text);
    if (length >= sizeof change->key)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown parameter '%.80s...'", text);
    memcpy(change->key, text, length);
    change->key[length] = '\0';
    change->value = equals + 1;
    change->relative = equals[1] == '*' || equals[1] == '/';
    if (!change->relative)
        return PTO_OK;
    double factor = 0;
    pto_status_t status = pto_double_parse(equals + 2, &factor, err);
    if (status != PTO_OK)
        return status;
    if (factor < 0 || (equals[1] == '/' && !(factor > 0)))
        return pto_error_set(err, PTO_ERR_RANGE, "%s: a factor must be 0 or more, a divisor above 0", text);
    change->factor = equals[1] == '*' ? factor : 1 / factor;
    return PTO_OK;
}

static pto_status_t out_of_range(const change_t *change, double value, const char *expected,
                                 pto_error_t *err) {
    if (!change->relative && value <= 0 && strcmp(change->key, "node.gpus") == 0)
        return pto_error_set(err, PTO_ERR_RANGE,
                             "%s=%s: expected %s; without GPUs, data are in host memory: --memory host",
                             change->key, change->value, expected);
    if (!change->relative)
        return pto_error_set(err, PTO_ERR_RANGE, "%s=%s: expected %s", change->key, change->value, expected);
    return pto_error_set(err, PTO_ERR_RANGE, "%s=%s comes to %.6g: expected %s", change->key, change->value,
                         value, expected);
}

/* Sets `*number` to what a change makes of `before`. `bytes`: it is a number of bytes, which may have a
 * suffix. */
static pto_status_t new_number(const change_t *change, int64_t before, bool bytes, int64_t *number,
                               pto_error_t *err) {
    pto_status_t status = PTO_OK;
    int64_t changed_to = 0;
    if (change->relative || change->numeric) {
        double exact = change->numeric ? change->number : (double)before * change->factor;
        double whole = bytes && !change->numeric ? round(exact) : exact;
        if (!(whole >= 1 && whole < 0x1p63) || floor(whole) < whole)
            return out_of_range(change, exact, "a whole number of 1 or more", err);
        changed_to = (int64_t)whole;
    } else {
        status = bytes ? pto_bytes_parse(change->value, &changed_to, err)
                       : pto_int64_parse(change->value, &changed_to, err);
    }
    if (status == PTO_OK && changed_to < 1)
        return out_of_range(change, (double)changed_to, "a whole number of 1 or more", err);
    if (status == PTO_OK)
        *number = changed_to;
    return status;
}

/* Adjusts the ranges of bytes of all rows after a limit has changed. Returns false if one is empty. */
static bool join_ranges(pto_machine_t *machine) {
    for (pto_cell_t cell = {0}; pto_cell_next(machine, &cell);)
        if (cell.family->form == PTO_FORM_COST && !pto_cost_join(cell.family->by, cell.at))
            return false;
    return true;
}

/* Changes a whole number of the machine: a limit of bytes, or how many devices a node has. It is restored if
 * a limit would not lie between its neighbours, or if the devices would be too many. */
static pto_status_t change_number(const change_t *change, pto_machine_t *machine, int64_t *number,
                                  pto_error_t *err) {
    const bool bytes = pto_text_ends(change->key, "_bytes");
    const int64_t before = *number;
    pto_status_t status = new_number(change, before, bytes, number, err);
    const int64_t changed_to = *number;
    if (status != PTO_OK || (bytes ? join_ranges(machine) : changed_to <= PTO_NODE_DEVICES_MAX))
        return status;
    char most[64];
    snprintf(most, sizeof most, "a whole number of %d or less", PTO_NODE_DEVICES_MAX);
    *number = before;
    join_ranges(machine);
    return out_of_range(change, (double)changed_to,
                        bytes ? "a limit between those of the rows before and after" : most, err);
}

/* Returns whether a key is a parameter of the network between nodes (keep_network in machine/inherit.c). */
static bool is_of_network(const char *key) {
    static const char *const of_network[] = {"messages.*.off_node.*", "gap.[cg]pu.*", "injection.*",
                                             "network.*"};
    for (size_t i = 0; i < sizeof of_network / sizeof *of_network; i++)
        if (fnmatch(of_network[i], key, 0) == 0)
            return true;
    return false;
}

/* Reads a value. A link that needs a millisecond for a byte is probably a rate whose unit is missing. */
static pto_status_t read_value(const change_t *change, const pto_machine_param_t *changed, double *value,
                               pto_error_t *err) {
    const bool of_bytes = changed->unit == PTO_UNIT_S_PER_BYTE;
    *value = of_bytes && is_of_network(changed->key) ? pto_nic_s_per_byte(change->value) : 0;
    if (*value > 0)
        return PTO_OK;
    pto_status_t status = pto_quantity_parse(change->value, changed->unit, value, err);
    if (status != PTO_OK || !of_bytes || *value < 1e-3 || !isfinite(*value))
        return status;
    return pto_error_set(err, PTO_ERR_RANGE,
                         "%s=%s is %g s a byte, slower than any link: a rate has a unit, as in '50 GB/s'",
                         change->key, change->value, *value);
}

/* Sets `*value` to what a change makes of a parameter. */
static pto_status_t new_value(const change_t *change, const pto_machine_param_t *changed, double *value,
                              pto_error_t *err) {
    const pto_param_t *param = changed->param;
    double changed_to = 0;
    pto_status_t status = PTO_OK;
    if (change->relative && !pto_param_known(param))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "the machine has no %s: a factor changes nothing, give it a value", change->key);
    if (change->relative) {
        changed_to = param->value * change->factor;
    } else if (change->numeric) {
        changed_to = change->number;
    } else {
        status = read_value(change, changed, &changed_to, err);
    }
    if (status == PTO_OK && !(changed_to >= 0 && isfinite(changed_to)))
        return out_of_range(change, changed_to, "a finite number of 0 or more", err);
    if (status == PTO_OK)
        *value = changed_to;
    return status;
}

static void put_value(pto_param_t *param, double value) {
    *param = (pto_param_t){.value = value, .low = value, .high = value, .line = PTO_LINE_WHAT_IF};
}

/* Appends a line to machine->what_if. */
static pto_status_t note(pto_machine_t *machine, const char *text, pto_error_t *err) {
    size_t before = machine->what_if ? strlen(machine->what_if) + 1 : 0;
    size_t length = strlen(text);
    char *grown = realloc(machine->what_if, before + length + 1);
    if (!grown)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a what-if");
    machine->what_if = grown;
    if (before > 0)
        grown[before - 1] = '\n';
    memcpy(grown + before, text, length + 1);
    return PTO_OK;
}

static bool has_wildcard(const change_t *change) { return strchr(change->key, '*') != NULL; }

static const char *const layout_keys[] = {"nodes", "gpus_per_node", "procs_per_gpu", "owners_per_gpu",
                                          "procs_per_node"};
enum { LAYOUT_COUNT = (int)(sizeof layout_keys / sizeof *layout_keys) };

static pto_status_t change_param(const change_t *change, pto_machine_t *machine, pto_machine_param_t *param,
                                 pto_error_t *err) {
    if (param->number)
        return change_number(change, machine, param->number, err);
    assert(param->param);
    double value = 0;
    pto_status_t status = new_value(change, param, &value, err);
    if (status != PTO_OK)
        return status;
    put_value(param->param, value);
    if (param->partner && !pto_param_known(param->partner))
        put_value(param->partner, 0);
    return PTO_OK;
}

/* Refuses to change several limits of byte ranges: while they change one by one, two could coincide. */
static pto_status_t check_rows(const change_t *change, const pto_machine_param_t *param, int rows,
                               pto_error_t *err) {
    if (rows < 2 || !param->number)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_RANGE, "%s names %d rows; name a single one, such as %s", change->key,
                         rows, param->key);
}

/* Returns whether the machine has a value for any parameter that the key names. */
static bool any_known(const pto_machine_param_t *param, int count, const char *key) {
    for (int i = 0; i < count; i++)
        if (pto_param_is_named(&param[i], key) && param[i].param && pto_param_known(param[i].param))
            return true;
    return false;
}

/* Removes a key's unit: beta_s_per_byte becomes beta. A unit alone, as in injection.cpu.s_per_byte, becomes
 * beta, too. */
static void strip_unit(const char *key, char stripped[PTO_PARAM_KEY_MAX]) {
    static const struct {
        const char *end, *name;
    } units[] = {{".s_per_byte", ".beta"}, {"_s_per_byte", ""}, {"_s", ""}, {"_w", ""}};
    size_t length = strlen(key);
    snprintf(stripped, PTO_PARAM_KEY_MAX, "%s", key);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (pto_text_ends(key, units[i].end)) {
            size_t kept = length - strlen(units[i].end);
            snprintf(stripped + kept, PTO_PARAM_KEY_MAX - kept, "%s", units[i].name);
            return;
        }
}

static bool matches(const change_t *change, const char *key) {
    static const char network[] = "network.";
    char name[PTO_PARAM_KEY_MAX];
    if (change->match == WHOLE_KEY)
        return fnmatch(change->key, key, 0) == 0;
    strip_unit(key, name);
    if (change->match == WITHOUT_UNIT)
        return fnmatch(change->key, name, 0) == 0;
    return strncmp(change->key, network, sizeof network - 1) == 0 && is_of_network(key) &&
           fnmatch(change->key + sizeof network - 1, name, 0) == 0;
}

/* Returns whether a change applies to a parameter. A wildcard applies to all parameters with a value, but not
 * to whole numbers. A factor skips rows without a value if another row has one. */
static bool applies_to(const change_t *change, const pto_machine_param_t *param, bool some_known) {
    bool lacks = param->param && !pto_param_known(param->param);
    if (has_wildcard(change))
        return param->param && !lacks && matches(change, param->key);
    return pto_param_is_named(param, change->key) && !(change->relative && some_known && lacks);
}

/* Returns the number of parameters to which a change applies, and sets `*first` to the first one. */
static int count_matches(const change_t *change, const pto_machine_param_t *param, int count, int *first) {
    bool some_known = any_known(param, count, change->key);
    int rows = 0;
    *first = count;
    for (int i = count - 1; i >= 0; i--)
        if (applies_to(change, &param[i], some_known)) {
            *first = i;
            rows++;
        }
    return rows;
}

/* As count_matches; sets change->match to the first comparison by which a wildcard matches any. */
static int find_matches(change_t *change, const pto_machine_param_t *param, int count, int *first) {
    int rows = 0;
    for (match_t match = WHOLE_KEY; rows == 0 && match < (has_wildcard(change) ? MATCH_COUNT : 1); match++) {
        change->match = match;
        rows = count_matches(change, param, count, first);
    }
    return rows;
}

/* Adds the first parameters that a wildcard matches, and the number of the others. */
static void list_matches(const change_t *change, const pto_machine_param_t *param, int count, int rows,
                         pto_line_t *line) {
    int named = 0;
    pto_line_add(line, " (%d parameters: ", rows);
    for (int i = 0; i < count && named < NAMED_MAX; i++)
        if (applies_to(change, &param[i], true)) {
            pto_line_add(line, "%s%s", named == 0 ? "" : named == rows - 1 ? " and " : ", ", param[i].key);
            named++;
        }
    if (named < rows)
        pto_line_add(line, " and %d more", rows - named);
    pto_line_add(line, ")");
}

/* Describes the change as given, what a wildcard matches, and the value that is replaced. */
static void describe(const change_t *change, const pto_machine_param_t *param, int count, int first, int rows,
                     char *text, size_t text_size) {
    const pto_machine_param_t *only = &param[first];
    pto_line_t line = {.text = text, .size = text_size};
    pto_line_add(&line, "%s=%s", change->key, change->value);
    if (rows > 1 && has_wildcard(change))
        list_matches(change, param, count, rows, &line);
    else if (rows > 1)
        pto_line_add(&line, " (%d rows)", rows);
    else if (has_wildcard(change))
        pto_line_add(&line, " (%s: %.6g before)", only->key, only->param->value);
    else if (only->number)
        pto_line_add(&line, " (%lld before)", (long long)*only->number);
    else if (pto_param_known(only->param))
        pto_line_add(&line, " (%.6g before)", only->param->value);
    else
        pto_line_add(&line, " (none before)");
}

static pto_status_t refuse_key(const change_t *change, const pto_machine_param_t *param, int count,
                               pto_error_t *err) {
    if (has_wildcard(change))
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "the machine has no parameter that matches '%s'",
                             change->key);
    return pto_param_unknown(change->key, param, count, layout_keys, change->numeric ? 0 : LAYOUT_COUNT, err);
}

static pto_status_t change_machine(change_t *change, pto_machine_t *machine, pto_error_t *err) {
    pto_machine_param_t *param = NULL;
    int count = 0;
    pto_status_t status = pto_machine_make_room(machine, err);
    if (status == PTO_OK)
        status = pto_machine_params(machine, &param, &count, err);
    if (status != PTO_OK)
        return status;
    pto_param_key_resolve(machine, change->key);
    bool some_known = any_known(param, count, change->key);
    int first = count, rows = find_matches(change, param, count, &first);
    char text[NOTE_MAX];
    if (rows == 0) {
        status = refuse_key(change, param, count, err);
    } else {
        status = check_rows(change, &param[first], rows, err);
        describe(change, param, count, first, rows, text, sizeof text);
    }
    for (int i = first; i < count && status == PTO_OK; i++) {
        double value; /* unused: check all values before the first one is changed */
        if (applies_to(change, &param[i], some_known) && param[i].param)
            status = new_value(change, &param[i], &value, err);
    }
    for (int i = first; i < count && status == PTO_OK; i++)
        if (applies_to(change, &param[i], some_known))
            status = change_param(change, machine, &param[i], err);
    free(param);
    if (status != PTO_OK)
        return status;
    pto_machine_use_room(machine);
    return note(machine, text, err);
}

pto_status_t pto_machine_set(pto_machine_t *machine, const char *key, double value, pto_error_t *err) {
    char text[32];
    snprintf(text, sizeof text, "%.15g", value);
    change_t change = {.value = text, .numeric = true, .number = value};
    snprintf(change.key, sizeof change.key, "%s", key);
    return change_machine(&change, machine, err);
}

/* Checks all node counts before the first one is changed. An absolute value replaces the whole series. */
static pto_status_t change_nodes(const change_t *change, pto_scenario_t *scenario, pto_error_t *err) {
    pto_series_t *nodes = &scenario->nodes;
    int64_t value = 0;
    if (nodes->count == 0)
        return pto_error_set(err, PTO_ERR_RANGE, "%s: a pair's distance gives its number of nodes",
                             change->key);
    for (int64_t i = 0; i < nodes->count; i++) {
        pto_status_t status = new_number(change, nodes->value[i], false, &value, err);
        if (status != PTO_OK)
            return status;
    }
    for (int64_t i = 0; i < nodes->count; i++)
        new_number(change, nodes->value[i], false, &nodes->value[i], NULL);
    if (!change->relative)
        nodes->count = 1;
    scenario->layout.nodes = nodes->value[0];
    scenario->place[PTO_FIELD_NODES] = (pto_place_t){0};
    return PTO_OK;
}

/* A relative change of a number that the scenario leaves open needs the machine's value first. */
static pto_status_t change_layout(const change_t *change, int64_t *number, pto_scenario_t *scenario,
                                  const pto_machine_t *machine, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (change->relative && *number == 0)
        status = pto_scenario_bind(scenario, machine, err);
    if (status == PTO_OK && scenario->layout.in_host && number != &scenario->procs_per_node)
        return pto_error_set(err, PTO_ERR_RANGE, "%s: data in host memory have procs_per_node", change->key);
    if (status == PTO_OK)
        status = new_number(change, *number, false, number, err);
    if (status != PTO_OK)
        return status;
    if (number == &scenario->layout.procs_per_gpu)
        scenario->procs_open = false;
    scenario->place[PTO_FIELD_LAYOUT] = (pto_place_t){0};
    return PTO_OK;
}

/* Returns the layout's number that a key names; NULL if it names none. */
static int64_t *find_layout(const char *key, pto_scenario_t *scenario) {
    pto_layout_t *layout = &scenario->layout;
    int64_t *const number[LAYOUT_COUNT] = {&layout->nodes, &layout->gpus_per_node, &layout->procs_per_gpu,
                                           &layout->owners_per_gpu, &scenario->procs_per_node};
    for (int i = 0; i < LAYOUT_COUNT; i++)
        if (strcmp(key, layout_keys[i]) == 0)
            return number[i];
    return NULL;
}

pto_status_t pto_what_if(const char *text, pto_scenario_t *scenario, pto_machine_t *machine,
                         pto_error_t *err) {
    change_t change = {0};
    pto_status_t status = read_change(text, &change, err);
    if (status != PTO_OK)
        return status;
    int64_t *number = find_layout(change.key, scenario);
    if (!number)
        return change_machine(&change, machine, err);
    status = number == &scenario->layout.nodes ? change_nodes(&change, scenario, err)
                                               : change_layout(&change, number, scenario, machine, err);
    return status == PTO_OK ? note(machine, text, err) : status;
}
