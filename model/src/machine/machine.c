/* Machines: lookups of costs, creating, copying and destroying. read.c reads the file. */
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "machine/library.h"
#include "machine/registry.h"
#include "machine/topology_internal.h"

/* Returns the row for these bytes, among rows that differ only in bytes; the last row has no limit. NULL: the
 * table is empty. */
static const pto_cost_row_t *row_for(const pto_cost_table_t *cost, int64_t bytes) {
    int i = 0;
    while (i < cost->count - 1 && bytes >= cost->row[i].below_bytes)
        i++;
    return cost->count > 0 ? &cost->row[i] : NULL;
}

const pto_cost_row_t *pto_machine_message(const pto_machine_t *machine, pto_space_t space, pto_level_t level,
                                          int64_t bytes) {
    const pto_cost_table_t *cost = &machine->messages[space][level];
    if (cost->count == 0 && level == PTO_LEVEL_ON_GPU)
        cost = &machine->messages[space][PTO_LEVEL_ON_SOCKET];
    return row_for(cost, bytes);
}

const pto_cost_row_t *pto_machine_mixed(const pto_machine_t *machine, pto_space_t to, pto_level_t level,
                                        int64_t bytes) {
    return row_for(&machine->mixed_messages[to][level], bytes);
}

const pto_cost_table_t *pto_machine_gap(const pto_machine_t *machine, pto_space_t space, pto_level_t level) {
    bool falls_back = level == PTO_LEVEL_ON_GPU && machine->messages[space][level].count == 0;
    const pto_cost_table_t *cost = &machine->gap[space][falls_back ? PTO_LEVEL_ON_SOCKET : level];
    return cost->count > 0 ? cost : NULL;
}

const pto_postal_t *pto_machine_copy(const pto_machine_t *machine, pto_copy_kind_t kind, pto_reach_t reach,
                                     bool pageable) {
    if (pageable && pto_postal_known(&machine->pageable[kind]))
        return &machine->pageable[kind];
    bool known = pto_postal_known(&machine->copies[kind][reach]);
    return &machine->copies[kind][known ? reach : PTO_REACH_ON_SOCKET];
}

const pto_postal_t *pto_cost_at(const pto_cost_table_t *cost, int64_t bytes) {
    const pto_cost_row_t *row = row_for(cost, bytes);
    return row ? &row->postal : NULL;
}

const pto_param_t *pto_machine_extra_input(const pto_machine_t *machine, pto_space_t space, int64_t bytes) {
    const pto_cost_row_t *row = row_for(&machine->reduce[space], bytes);
    return row && pto_param_known(&row->extra_input_s_per_byte) ? &row->extra_input_s_per_byte : NULL;
}

const pto_postal_t *pto_machine_remote(const pto_machine_t *machine, pto_remote_t remote, pto_reach_t reach) {
    const pto_postal_t *postal = &machine->remote[remote][reach];
    if (!pto_postal_known(postal))
        postal = &machine->remote[remote][PTO_REACH_ON_SOCKET];
    return pto_postal_known(postal) ? postal : NULL;
}

const pto_postal_t *pto_machine_reduce(const pto_machine_t *machine, pto_space_t space, int64_t bytes) {
    return pto_cost_at(&machine->reduce[space], bytes);
}

static const pto_cost_row_t *row_by_gpus(const pto_cost_table_t *cost, int64_t gpus, int64_t nodes,
                                         int64_t bytes) {
    for (int i = 0; i < cost->count; i++) {
        const pto_cost_row_t *row = &cost->row[i];
        bool last = row->below_bytes == INT64_MAX;
        if (row->gpus == gpus && row->nodes == nodes && (last || bytes < row->below_bytes))
            return row;
    }
    return NULL;
}

const pto_cost_row_t *pto_machine_nccl(const pto_machine_t *machine, pto_nccl_kind_t kind, int64_t gpus,
                                       int64_t nodes, int64_t bytes) {
    return row_by_gpus(&machine->nccl[kind], gpus, nodes, bytes);
}

const pto_cost_row_t *pto_machine_lines(const pto_machine_t *machine, int64_t gpus, int64_t bytes) {
    return row_by_gpus(&machine->remote_lines, gpus, 1, bytes);
}

const pto_library_table_t *pto_library_table_find(const pto_library_table_t *table, int count,
                                                  const char *collective, pto_space_t space) {
    for (int i = 0; i < count; i++)
        if (table[i].space == space && strcmp(table[i].collective, collective) == 0)
            return &table[i];
    return NULL;
}

/* Returns the rule for a call. Rows for the largest number of processes up to `procs` apply; of these, the
 * first whose range contains the bytes. NULL: none. */
static const pto_library_rule_t *find_rule(const pto_library_table_t *table, int64_t procs, int64_t bytes) {
    const pto_library_rule_t *last = NULL, *found = NULL;
    int64_t largest = -1;
    for (int i = 0; table && i < table->rule_count; i++)
        if (table->rule[i].procs <= procs && table->rule[i].procs > largest)
            largest = table->rule[i].procs;
    for (int i = 0; table && i < table->rule_count && !found; i++) {
        if (table->rule[i].procs != largest)
            continue;
        last = &table->rule[i];
        if (bytes < last->below_bytes)
            found = last;
    }
    return found ? found : last;
}

const pto_library_rule_t *pto_machine_library(const pto_machine_t *machine, const char *collective,
                                              pto_space_t space, int64_t procs, int64_t bytes) {
    return find_rule(pto_library_table_find(machine->library, machine->library_count, collective, space),
                     procs, bytes);
}

bool pto_machine_has_library(const pto_machine_t *machine, const char *collective, pto_space_t space) {
    return pto_library_table_find(machine->library, machine->library_count, collective, space) != NULL;
}

const pto_library_rule_t *pto_machine_tuning(const pto_machine_t *machine, const char *collective,
                                             int64_t procs, int64_t bytes) {
    return find_rule(
        pto_library_table_find(machine->tuning, machine->tuning_count, collective, PTO_SPACE_CPU), procs,
        bytes);
}

void pto_machine_fini(pto_machine_t *machine) {
    free(machine->name);
    free(machine->source);
    free(machine->gpu);
    free(machine->mpi_library);
    free(machine->inherits);
    pto_machine_files_fini(&machine->files);
    free(machine->model);
    free(machine->what_if);
    for (pto_cell_t cell = {0}; pto_cell_next(machine, &cell);)
        pto_cell_clear(&cell);
    pto_library_tables_free(machine->library, machine->library_count);
    pto_topology_destroy(machine->topology);
    pto_library_tables_free(machine->tuning, machine->tuning_count);
    pto_fitted_to_free(machine->fitted_to, machine->fitted_to_count);
    pto_model_error_fini(&machine->model_error);
    memset(machine, 0, sizeof *machine);
}

/* Moves a machine to the heap if `status`, of reading it, is PTO_OK. Returns the status of both. */
static pto_status_t keep(pto_status_t status, pto_machine_t *made, pto_machine_t **machine,
                         pto_error_t *err) {
    if (status != PTO_OK)
        return status;
    *machine = malloc(sizeof **machine);
    if (!*machine) {
        pto_machine_fini(made);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a machine");
    }
    **machine = *made;
    return PTO_OK;
}

pto_status_t pto_machine_open(const char *path, pto_machine_t **machine, pto_error_t *err) {
    pto_machine_t made;
    return keep(pto_machine_read(path, &made, err), &made, machine, err);
}

pto_status_t pto_machine_create(const char *text, size_t text_size, const char *path, pto_machine_t **machine,
                                pto_error_t *err) {
    pto_machine_t made;
    return keep(pto_machine_parse(text, text_size, path, &made, err), &made, machine, err);
}

pto_status_t pto_machine_duplicate(const pto_machine_t *machine, pto_machine_t **duplicate,
                                   pto_error_t *err) {
    pto_machine_t made;
    return keep(pto_machine_clone(machine, &made, err), &made, duplicate, err);
}

void pto_machine_destroy(pto_machine_t *machine) {
    if (machine)
        pto_machine_fini(machine);
    free(machine);
}

const char *pto_machine_name(const pto_machine_t *machine) { return machine->name; }
const char *pto_machine_source(const pto_machine_t *machine) { return machine->source; }
const char *pto_machine_path(const pto_machine_t *machine) { return machine->path; }

const char *pto_machine_file(const pto_machine_t *machine, int file) {
    return machine->files.path[file < machine->files.count ? file : 0];
}

const char *pto_machine_model(const pto_machine_t *machine) { return machine->model; }
const char *pto_machine_what_if(const pto_machine_t *machine) { return machine->what_if; }
const char *pto_machine_error_source(const pto_machine_t *machine) { return machine->model_error.source; }

int pto_machine_fitted_to(const pto_machine_t *machine, const char *digest, const int64_t **nodes) {
    for (int i = 0; i < machine->fitted_to_count; i++)
        if (strcmp(machine->fitted_to[i].digest, digest) == 0) {
            *nodes = machine->fitted_to[i].nodes;
            return machine->fitted_to[i].node_count;
        }
    return 0;
}

const char *pto_machine_gpu(const pto_machine_t *machine) { return machine->gpu; }
pto_basis_t pto_machine_basis(const pto_machine_t *machine) { return machine->basis; }
pto_mps_t pto_machine_mps(const pto_machine_t *machine) { return machine->mps; }
pto_runs_t pto_machine_runs(const pto_machine_t *machine) { return machine->runs; }

static bool copy_files(const pto_machine_files_t *from, pto_machine_files_t *to) {
    bool complete = true;
    for (int i = 0; i < from->count && complete; i++) {
        complete = pto_text_copy_any(from->path[i], &to->path[i]);
        to->count += complete;
    }
    return complete;
}

static bool copy_topology(const pto_topology_t *from, pto_topology_t **to) {
    *to = from ? pto_topology_copy(from) : NULL;
    return !from || *to;
}

static bool copy_cells(const pto_machine_t *machine, pto_machine_t *clone) {
    pto_cell_t from = {0}, to = {0};
    while (pto_cell_next(machine, &from) && pto_cell_next(clone, &to))
        if (!pto_cell_copy(&from, &to))
            return false;
    return true;
}

pto_status_t pto_machine_clone(const pto_machine_t *machine, pto_machine_t *clone, pto_error_t *err) {
    pto_machine_t made = {
        .basis = machine->basis, .mps = machine->mps, .runs = machine->runs, .fabric = machine->fabric};
    bool complete =
        pto_text_copy_any(machine->name, &made.name) && pto_text_copy_any(machine->source, &made.source) &&
        pto_text_copy_any(machine->gpu, &made.gpu) &&
        pto_text_copy_any(machine->mpi_library, &made.mpi_library) &&
        pto_text_copy_any(machine->inherits, &made.inherits) && copy_files(&machine->files, &made.files) &&
        pto_text_copy_any(machine->model, &made.model) &&
        pto_text_copy_any(machine->what_if, &made.what_if) && copy_cells(machine, &made) &&
        copy_topology(machine->topology, &made.topology) &&
        pto_library_tables_copy(machine->library, machine->library_count, &made.library) &&
        pto_library_tables_copy(machine->tuning, machine->tuning_count, &made.tuning) &&
        pto_fitted_to_copy(machine->fitted_to, machine->fitted_to_count, &made.fitted_to) &&
        pto_model_error_copy(&machine->model_error, &made.model_error);
    made.library_count = made.library ? machine->library_count : 0;
    made.tuning_count = made.tuning ? machine->tuning_count : 0;
    made.fitted_to_count = made.fitted_to ? machine->fitted_to_count : 0;
    if (!complete) {
        pto_machine_fini(&made);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a copy of a machine");
    }
    made.path = made.files.path[0];
    *clone = made;
    return PTO_OK;
}
