/* Writes machine files and topology files. The sections (mappings) of a machine file follow from the keys of
 * the registry of parameters (registry.h): a section has the words that follow its path, recursively. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/registry.h"
#include "machine/topology_internal.h"
#include "portolan/output.h"
#include "portolan/printable.h"

enum { NUMBER_MAX = 32, PLACE_MAX = 32 };

static void put(pto_text_t *writer, const char *text) { pto_text_add(writer, "%s", text); }

/* Returns the fewest digits that read back as the same double. */
static const char *number(double value, char *text) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, NUMBER_MAX, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

/* A double-quoted scalar. Unprintable characters are escaped, so that the reader accepts them. */
static void put_quoted(pto_text_t *writer, const char *text) {
    char escaped[PTO_ESCAPED_MAX];
    put(writer, "\"");
    while (*text != '\0') {
        text += pto_escape(text, escaped);
        put(writer, *escaped == '"' || *escaped == '\\' ? "\\" : "");
        put(writer, escaped);
    }
    put(writer, "\"");
}

static void put_if_any(pto_text_t *writer, const char *key, const char *text) {
    if (text != NULL) {
        put(writer, key);
        put_quoted(writer, text);
    }
}

/* `key: value` and, if there is an interval, `separator` and `key_95: [low, high]`. */
static void put_number(pto_text_t *writer, const char *key, const pto_param_t *param, const char *separator) {
    char low[NUMBER_MAX], high[NUMBER_MAX];
    pto_text_add(writer, "%s: %s", key, number(param->value, low));
    if (param->has_interval)
        pto_text_add(writer, "%s%s_95: [%s, %s]", separator, key, number(param->low, low),
                     number(param->high, high));
}

static void put_param(pto_text_t *writer, pto_field_t field, const pto_param_t *param) {
    put_number(writer, pto_field_name(field), param, ", ");
}

/* The sample count and residual of a fit, and the reason to doubt it, as far as they are known. */
static void put_quality(pto_text_t *writer, int64_t sample_count, double residual, const char *flagged) {
    if (sample_count > 0)
        pto_text_add(writer, ", samples: %" PRId64, sample_count);
    if (residual > 0) {
        char value[NUMBER_MAX];
        pto_text_add(writer, ", residual: %s", number(residual, value));
    }
    put_if_any(writer, ", flagged: ", flagged);
}

/* Writes a postal cost without the braces of its mapping. */
static void put_postal(pto_text_t *writer, const pto_postal_t *postal) {
    put_param(writer, PTO_FIELD_ALPHA, &postal->alpha_s);
    put(writer, ", ");
    put_param(writer, PTO_FIELD_BETA, &postal->beta_s_per_byte);
    put_quality(writer, postal->sample_count, postal->residual, postal->flagged);
}

static void put_below(pto_text_t *writer, int64_t below_bytes) {
    if (below_bytes != INT64_MAX)
        pto_text_add(writer, "below_bytes: %" PRId64 ", ", below_bytes);
}

/* Write the key of a row. */
static void put_row_key(pto_text_t *writer, pto_rows_by_t by, const pto_cost_row_t *row) {
    if (by == PTO_ROWS_BY_PROTOCOL) {
        pto_text_add(writer, "protocol: %s, ", pto_protocol_name(row->protocol));
    } else if (by == PTO_ROWS_BY_PROCS) {
        pto_text_add(writer, "procs: %" PRId64 ", %s", row->procs, row->strided ? "strided: true, " : "");
    } else if (pto_rows_have_gpus(by)) {
        pto_text_add(writer, "gpus: %" PRId64 ", ", row->gpus);
        if (row->nodes > 1)
            pto_text_add(writer, "nodes: %" PRId64 ", ", row->nodes);
    }
}

/* Writes the rows of a cost as a list. A single row is a mapping if rows differ only in their bytes. */
static void put_cost(pto_text_t *writer, int indent, pto_rows_by_t by, const pto_cost_table_t *cost) {
    bool is_list = cost->count > 1 || by != PTO_ROWS_BY_BYTES;
    put(writer, is_list ? "\n" : " ");
    for (int i = 0; i < cost->count; i++) {
        const pto_cost_row_t *row = &cost->row[i];
        if (is_list)
            pto_text_add(writer, "%*s- ", indent, "");
        put(writer, "{");
        put_row_key(writer, by, row);
        put_below(writer, row->below_bytes);
        put_postal(writer, &row->postal);
        if (pto_param_known(&row->extra_input_s_per_byte)) {
            put(writer, ", ");
            put_param(writer, PTO_FIELD_EXTRA_INPUT, &row->extra_input_s_per_byte);
        }
        put(writer, "}\n");
    }
}

/* --- sections ------------------------------------------------------------------------------------------- */

/* The comments after the keys of some sections. */
static const struct {
    const char *path;
    const char *comment;
} comments[] = {
    {"injection", "1/R_N"},
    {"gap", "each additional message that a process has in flight, off the node"},
    {"gap.within", "the same within the node"},
    {"setup", "once, before a plan's first run"},
    {"nccl", "gpus: of all nodes"},
};

static const char *comment_of(const char *path) {
    for (size_t i = 0; i < sizeof comments / sizeof *comments; i++)
        if (strcmp(comments[i].path, path) == 0)
            return comments[i].comment;
    return NULL;
}

/* A mapping of the file: the words that follow a path. */
typedef struct {
    bool known;       /* it has some values */
    bool is_complete; /* it has all that are required */
    bool is_flat;     /* it has only numbers, so it is written on one line */
} section_t;

static pto_cell_t cell_of(const pto_word_t *word) {
    return (pto_cell_t){.family = word->family, .at = word->at};
}

static void child_of(const char *path, const pto_word_t *word, char child[PTO_PARAM_KEY_MAX]) {
    snprintf(child, PTO_PARAM_KEY_MAX, "%s%s%.*s", path, *path ? "." : "", (int)word->length, word->text);
}

static section_t section_at(const pto_machine_t *machine, const char *path) {
    section_t section = {.is_complete = true, .is_flat = true};
    for (pto_word_t word = {0}; pto_word_next(machine, path, &word);) {
        const pto_cell_t cell = cell_of(&word);
        char child[PTO_PARAM_KEY_MAX];
        child_of(path, &word, child);
        bool known = word.at ? pto_cell_known(&cell) : section_at(machine, child).known;
        section.known = section.known || known;
        section.is_flat = section.is_flat && word.at &&
                          (cell.family->form == PTO_FORM_VALUE || cell.family->form == PTO_FORM_WHOLE);
        section.is_complete = section.is_complete && (known || !word.at || !word.required);
    }
    return section;
}

/* Bytes have no exponent and no interval. */
static void put_value(pto_text_t *writer, const char *key, const pto_cell_t *cell, const char *separator) {
    if (cell->family->unit == PTO_UNIT_BYTES)
        pto_text_add(writer, "%s: %.0f", key, ((const pto_param_t *)cell->at)->value);
    else
        put_number(writer, key, cell->at, separator);
}

static void put_leaf(pto_text_t *writer, int indent, const char *key, const pto_cell_t *cell) {
    switch (cell->family->form) {
    case PTO_FORM_WHOLE:
        pto_text_add(writer, "%s: %" PRId64, key, *(const int64_t *)cell->at);
        return;
    case PTO_FORM_VALUE:
        put_value(writer, key, cell, ", ");
        return;
    case PTO_FORM_POSTAL:
        pto_text_add(writer, "%*s%s: {", indent, "", key);
        put_postal(writer, cell->at);
        put(writer, "}\n");
        return;
    case PTO_FORM_COST:
        pto_text_add(writer, "%*s%s:", indent, "", key);
        put_cost(writer, indent + 2, cell->family->by, cell->at);
        return;
    }
}

/* Writes a number that stands among mappings, and its interval, on separate lines. */
static void put_number_lines(pto_text_t *writer, int indent, const char *key, const pto_cell_t *cell) {
    char separator[PLACE_MAX];
    snprintf(separator, sizeof separator, "\n%*s", indent, "");
    put(writer, separator + 1); /* without the line break */
    put_value(writer, key, cell, separator);
    put(writer, "\n");
}

static void put_children(pto_text_t *writer, const pto_machine_t *machine, const char *path, int indent,
                         bool on_one_line);

static void put_section(pto_text_t *writer, const pto_machine_t *machine, const char *path, int indent) {
    const char *dot = strrchr(path, '.'), *comment = comment_of(path);
    section_t section = section_at(machine, path);
    if (!section.known || !section.is_complete)
        return;
    pto_text_add(writer, "%s%*s%s:", indent == 0 ? "\n" : "", indent, "", dot != NULL ? dot + 1 : path);
    if (section.is_flat)
        put(writer, " {");
    else
        pto_text_add(writer, "%s%s\n", comment != NULL ? " # " : "", comment != NULL ? comment : "");
    put_children(writer, machine, path, indent + 2, section.is_flat);
    put(writer, section.is_flat ? "}\n" : "");
}

/* Writes what the section at `path` contains. Several families may share a word; the first one writes the
 * section below it, for all of them. */
static void put_children(pto_text_t *writer, const pto_machine_t *machine, const char *path, int indent,
                         bool on_one_line) {
    const char *separator = "";
    for (pto_word_t word = {0}; pto_word_next(machine, path, &word);) {
        const pto_cell_t cell = cell_of(&word);
        char child[PTO_PARAM_KEY_MAX];
        child_of(path, &word, child);
        pto_word_t first = {0}; /* below the child */
        if (!word.at) {
            if (pto_word_next(machine, child, &first) && first.family == word.family)
                put_section(writer, machine, child, indent);
        } else if (pto_cell_known(&cell) && !on_one_line && cell.family->form == PTO_FORM_VALUE) {
            put_number_lines(writer, indent, word.text, &cell);
        } else if (pto_cell_known(&cell)) {
            put(writer, separator);
            put_leaf(writer, indent, word.text, &cell);
            separator = on_one_line ? ", " : "";
        }
    }
}

/* --- the library's own algorithms ----------------------------------------------------------------------- */

static void put_rule(pto_text_t *writer, int indent, const pto_library_rule_t *rule) {
    pto_text_add(writer, "%*s- {", indent, "");
    put_below(writer, rule->below_bytes);
    if (rule->procs > 0)
        pto_text_add(writer, "procs: %" PRId64 ", ", rule->procs);
    if (rule->algorithm)
        pto_text_add(writer, "algorithm: %s%s", rule->algorithm, rule->staged ? ", staged: true" : "");
    if (rule->segment_bytes > 0)
        pto_text_add(writer, ", segment_bytes: %" PRId64, rule->segment_bytes);
    put_if_any(writer, ", flagged: ", rule->flagged);
    if (rule->algorithm)
        put(writer, "}\n");
    else
        pto_text_add(writer, "staged_in: %" PRId64 ", staged_out: %" PRId64 "}\n", rule->staged_members.in,
                     rule->staged_members.out);
}

static void put_library_table(pto_text_t *writer, const pto_library_table_t *table) {
    pto_text_add(writer, "    %s:\n", pto_space_name(table->space));
    for (int r = 0; r < table->rule_count; r++)
        put_rule(writer, 6, &table->rule[r]);
}

/* Writes the tables that are not from the library's file, in one mapping for each collective. */
static void put_library(pto_text_t *writer, const pto_machine_t *machine) {
    const pto_library_table_t *table = machine->library;
    bool any = false;
    for (int i = 0; i < machine->library_count; i++) {
        bool first = !table[i].of_library;
        for (int j = 0; j < i; j++)
            first = first && (table[j].of_library || strcmp(table[j].collective, table[i].collective) != 0);
        if (!first)
            continue;
        pto_text_add(writer, "%s  %s:\n", any ? "" : "\nlibrary:\n", table[i].collective);
        any = true;
        for (int j = i; j < machine->library_count; j++)
            if (!table[j].of_library && strcmp(table[j].collective, table[i].collective) == 0)
                put_library_table(writer, &table[j]);
    }
}

static void put_tuning(pto_text_t *writer, const pto_machine_t *machine) {
    for (int i = 0; i < machine->tuning_count; i++) {
        const pto_library_table_t *table = &machine->tuning[i];
        pto_text_add(writer, "%s  %s:\n", i == 0 ? "\ntuning:\n" : "", table->collective);
        for (int r = 0; r < table->rule_count; r++)
            put_rule(writer, 4, &table->rule[r]);
    }
}

/* --- accuracy ------------------------------------------------------------------------------------------- */

static void put_fitted_to(pto_text_t *writer, const pto_machine_t *machine) {
    for (int i = 0; i < machine->fitted_to_count; i++) {
        const pto_fitted_to_t *fitted = &machine->fitted_to[i];
        put(writer, i == 0 ? "\nfitted_to:\n  - {file: " : "  - {file: ");
        put_quoted(writer, fitted->file);
        pto_text_add(writer, ", digest: \"%s\", nodes: [", fitted->digest);
        for (int n = 0; n < fitted->node_count; n++)
            pto_text_add(writer, "%s%" PRId64, n > 0 ? ", " : "", fitted->nodes[n]);
        put(writer, "]}\n");
    }
}

static void put_span(pto_text_t *writer, const char *key, const pto_covered_t *span) {
    if (span->most > 0)
        pto_text_add(writer, "  %s: [%" PRId64 ", %" PRId64 "]\n", key, span->least, span->most);
}

static void put_share(pto_text_t *writer, const char *key, double value) {
    char text[NUMBER_MAX];
    if (value > 0)
        pto_text_add(writer, "  %s: %s\n", key, number(value, text));
}

static void put_model_error(pto_text_t *writer, const pto_model_error_t *error) {
    char text[NUMBER_MAX];
    if (error->source == NULL)
        return;
    put(writer, "\nmodel_error: # of ln(measured / predicted), beside the parameters' own\n  source: ");
    put_quoted(writer, error->source);
    put(writer, "\n");
    put_span(writer, "nodes", &error->node);
    put_span(writer, "procs_per_node", &error->proc);
    put_span(writer, "bytes", &error->byte);
    put_share(writer, "doubling", error->doubling);
    put_share(writer, "tie", error->tie);
    put(writer, "  strategies:\n");
    for (int i = 0; i < error->row_count; i++)
        pto_text_add(writer, "    - {strategy: %s, log_95: %s, samples: %" PRId64 "}\n",
                     error->row[i].strategy, number(error->row[i].log_95, text), error->row[i].samples);
}

/* --- topologies ----------------------------------------------------------------------------------------- */

static void put_link(pto_text_t *writer, const pto_topology_t *topology, int index) {
    const pto_topology_link_t *there = pto_topology_link_at(topology, index);
    const pto_topology_link_t *back = pto_topology_link_at(topology, index + 1);
    char value[NUMBER_MAX];
    pto_text_add(writer, "- {between: [%s, %s], ", pto_topology_vertex_name(topology, there->from),
                 pto_topology_vertex_name(topology, there->to));
    put_number(writer, "s_per_byte", &there->s_per_byte, ", ");
    if (back->s_per_byte.value < there->s_per_byte.value || back->s_per_byte.value > there->s_per_byte.value)
        pto_text_add(writer, ", back_s_per_byte: %s", number(back->s_per_byte.value, value));
    if (pto_param_known(&there->alpha_s))
        pto_text_add(writer, ", alpha_s: %s", number(there->alpha_s.value, value));
    put(writer, "}\n");
}

static void put_route(pto_text_t *writer, const pto_topology_t *topology, int from, int to) {
    const pto_route_t *route = pto_topology_route_of(topology, from, to);
    pto_text_add(writer, "- {between: [%s, %s], through: [", pto_topology_vertex_name(topology, from),
                 pto_topology_vertex_name(topology, to));
    for (int i = 1; i < route->count; i++)
        pto_text_add(writer, "%s%s", i > 1 ? ", " : "",
                     pto_topology_vertex_name(topology, topology->link[route->link[i]].from));
    put(writer, "]}\n");
}

static void put_routes(pto_text_t *writer, int indent, const pto_topology_t *topology) {
    int devices = pto_topology_devices(topology);
    bool first = true;
    for (int from = 0; from < devices; from++)
        for (int to = from + 1; to < devices; to++) {
            if (!pto_topology_route_of(topology, from, to)->given)
                continue;
            if (first)
                pto_text_add(writer, "%*sroutes:\n", indent, "");
            first = false;
            pto_text_add(writer, "%*s", indent + 2, "");
            put_route(writer, topology, from, to);
        }
}

static void put_text_line(pto_text_t *writer, int indent, const char *key, const char *text) {
    if (text == NULL)
        return;
    pto_text_add(writer, "%*s%s: ", indent, "", key);
    put_quoted(writer, text);
    put(writer, "\n");
}

static void put_topology(pto_text_t *writer, int indent, const pto_topology_t *topology) {
    put_text_line(writer, indent, "topology", topology->name);
    put_text_line(writer, indent, "source", topology->source);
    pto_text_add(writer, "%*sdevices: {gpus: %d, sockets: %d, nics: %d}\n%*slinks:\n", indent, "",
                 pto_topology_device_count(topology, PTO_DEVICE_GPU),
                 pto_topology_device_count(topology, PTO_DEVICE_SOCKET),
                 pto_topology_device_count(topology, PTO_DEVICE_NIC), indent, "");
    for (int i = 0; i < topology->link_count; i += 2) {
        pto_text_add(writer, "%*s", indent + 2, "");
        put_link(writer, topology, i);
    }
    put_routes(writer, indent, topology);
}

pto_status_t pto_topology_format(const pto_topology_t *topology, char **text, pto_error_t *err) {
    pto_text_t writer = {0};
    put_topology(&writer, 0, topology);
    return pto_text_take(&writer, "a topology file", text, err);
}

static void put_fabric(pto_text_t *writer, const pto_fabric_t *fabric) {
    char value[NUMBER_MAX];
    if (fabric->levels > 0)
        put(writer, "\nfabric:\n");
    for (int i = 0; i < fabric->levels; i++) {
        const pto_fabric_level_t *level = &fabric->level[i];
        pto_text_add(writer, "  - {nodes: %lld, s_per_byte: %s", (long long)level->nodes,
                     number(level->s_per_byte[0].value, value));
        pto_text_add(writer, ", back_s_per_byte: %s}\n", number(level->s_per_byte[1].value, value));
    }
}

/* Writes a comment of one or more lines. Comments have no escapes: unprintable characters become question
 * marks. */
static void put_comment(pto_text_t *writer, const char *comment) {
    bool at_line_start = true;
    while (*comment != '\0') {
        size_t size = pto_printable(comment);
        bool ends_line = *comment == '\n';
        if (at_line_start)
            put(writer, ends_line ? "#" : "# ");
        if (size > 0)
            pto_text_add(writer, "%.*s", (int)size, comment);
        else
            put(writer, ends_line ? "\n" : "?");
        at_line_start = ends_line;
        comment += size > 0 ? size : 1;
    }
    put(writer, at_line_start ? "" : "\n");
}

pto_status_t pto_machine_error_format(const pto_machine_t *machine, char **text, pto_error_t *err) {
    pto_text_t writer = {0};
    put(&writer, "");
    put_model_error(&writer, &machine->model_error);
    return pto_text_take(&writer, "a model's error", text, err);
}

pto_status_t pto_machine_format(const pto_machine_t *machine, const char *comment, char **text,
                                pto_error_t *err) {
    pto_text_t writer = {0};
    put_comment(&writer, comment != NULL ? comment : "");
    put(&writer, "machine: ");
    put_quoted(&writer, machine->name != NULL ? machine->name : "");
    put(&writer, "\nsource: ");
    put_quoted(&writer, machine->source != NULL ? machine->source : "");
    put_if_any(&writer, "\ninherits: ", machine->inherits);
    put_if_any(&writer, "\ngpu: ", machine->gpu);
    if (machine->basis != PTO_BASIS_UNKNOWN)
        pto_text_add(&writer, "\nbasis: %s", pto_basis_name(machine->basis));
    if (machine->mpi_library != NULL)
        pto_text_add(&writer, "\nmpi_library: %s", machine->mpi_library);
    if (machine->mps != PTO_MPS_UNKNOWN)
        pto_text_add(&writer, "\nmps: %s", pto_mps_name(machine->mps));
    if (machine->runs != PTO_RUNS_WAITED)
        pto_text_add(&writer, "\nruns: %s", pto_runs_name(machine->runs));
    put_children(&writer, machine, "", 0, false);
    put_library(&writer, machine);
    if (machine->topology != NULL) {
        put(&writer, "\ntopology:\n");
        put_topology(&writer, 2, machine->topology);
    }
    put_fabric(&writer, &machine->fabric);
    put_tuning(&writer, machine);
    put_fitted_to(&writer, machine);
    put_model_error(&writer, &machine->model_error);
    return pto_text_take(&writer, "a machine file", text, err);
}

pto_status_t pto_machine_write(const pto_machine_t *machine, const char *comment, const char *path,
                               bool force, pto_error_t *err) {
    char *text = NULL;
    pto_output_t *output = NULL;
    pto_status_t status = pto_machine_format(machine, comment, &text, err);
    if (status == PTO_OK)
        status = pto_output_open(path, force, &output, err);
    if (status == PTO_OK) {
        fputs(text, pto_output_stream(output));
        status = pto_output_close(output, true, err);
    }
    free(text);
    return status;
}
