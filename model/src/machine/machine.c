/* What a machine knows, and looking it up. Reading it is machine_read.c's. */
#include "portolan/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/library_rules.h"

const char *pto_level_name(pto_level_t level) {
    static const char *const name[] = {"on_gpu", "on_socket", "on_node", "off_node"};
    return level < PTO_LEVEL_COUNT ? name[level] : "no level";
}

const char *pto_space_name(pto_space_t space) {
    static const char *const name[] = {"cpu", "gpu"};
    return space < PTO_SPACE_COUNT ? name[space] : "no space";
}

const char *pto_protocol_name(pto_protocol_t protocol) {
    static const char *const name[] = {"short", "eager", "rendezvous"};
    return protocol < PTO_PROTOCOL_COUNT ? name[protocol] : "no protocol";
}

const char *pto_copy_kind_name(pto_copy_kind_t kind) {
    static const char *const name[] = {"h2d", "d2h", "d2d", "h2h"};
    return kind < PTO_COPY_COUNT ? name[kind] : "no copy";
}

const char *pto_reach_name(pto_reach_t reach) {
    static const char *const name[] = {"on_socket", "off_socket"};
    return reach < PTO_REACH_COUNT ? name[reach] : "no reach";
}

const char *pto_remote_name(pto_remote_t remote) {
    static const char *const name[] = {"load", "store"};
    return remote < PTO_REMOTE_COUNT ? name[remote] : "no access";
}

const char *pto_power_key(pto_power_t power) {
    static const char *const key[] = {"gpu.idle_w", "gpu.copy_w", "gpu.kernel_w", "cpu.idle_w", "cpu.core_w"};
    return power < PTO_POWER_COUNT ? key[power] : "no power";
}

static const pto_piece_t *piece_for(const pto_message_cost_t *cost, int64_t bytes) {
    for (int i = 0; i + 1 < cost->count; i++)
        if (bytes < cost->piece[i].below_bytes)
            return &cost->piece[i];
    return cost->count > 0 ? &cost->piece[cost->count - 1] : NULL;
}

const pto_piece_t *pto_machine_message(const pto_machine_t *machine, pto_space_t space, pto_level_t level,
                                       int64_t bytes) {
    const pto_message_cost_t *cost = &machine->messages[space][level];
    if (cost->count == 0 && level == PTO_LEVEL_ON_GPU)
        cost = &machine->messages[space][PTO_LEVEL_ON_SOCKET];
    return piece_for(cost, bytes);
}

const pto_piece_t *pto_machine_gap(const pto_machine_t *machine, pto_space_t space, int64_t bytes) {
    return piece_for(&machine->per_message[space], bytes);
}

const pto_postal_t *pto_machine_copy(const pto_machine_t *machine, pto_copy_kind_t kind, bool pageable) {
    bool known = pageable && pto_postal_known(&machine->pageable[kind]);
    return known ? &machine->pageable[kind] : &machine->copies[kind][PTO_REACH_ON_SOCKET];
}

static const pto_reduce_piece_t *reduce_piece_for(const pto_reduce_cost_t *cost, int64_t bytes) {
    int at = 0;
    while (at < cost->count - 1 && bytes >= cost->piece[at].below_bytes)
        at++;
    return cost->count > 0 ? &cost->piece[at] : NULL;
}

const pto_postal_t *pto_cost_at(const pto_reduce_cost_t *cost, int64_t bytes) {
    const pto_reduce_piece_t *piece = reduce_piece_for(cost, bytes);
    return piece ? &piece->postal : NULL;
}

const pto_param_t *pto_machine_further(const pto_machine_t *machine, pto_space_t space, int64_t bytes) {
    const pto_reduce_piece_t *piece = reduce_piece_for(&machine->reduce[space], bytes);
    return piece && pto_param_known(&piece->further_s_per_byte) ? &piece->further_s_per_byte : NULL;
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

const char *pto_nccl_name(pto_nccl_kind_t kind) {
#define NAME(name, text) text,
    static const char *const name[] = {PTO_NCCL_TABLE(NAME)};
#undef NAME
    return kind < PTO_NCCL_COUNT ? name[kind] : "no collective";
}

void pto_nccl_row_name(const pto_nccl_cost_t *row, char *text) {
    int end = snprintf(text, PTO_NCCL_ROW_MAX, "%lld", (long long)row->gpus);
    if (row->nodes > 1)
        end += snprintf(text + end, PTO_NCCL_ROW_MAX - (size_t)end, ".nodes_%lld", (long long)row->nodes);
    if (row->from_bytes > 0 || row->below_bytes != INT64_MAX)
        snprintf(text + end, PTO_NCCL_ROW_MAX - (size_t)end, ".from_%lld", (long long)row->from_bytes);
}

const pto_nccl_cost_t *pto_machine_nccl(const pto_machine_t *machine, pto_nccl_kind_t kind, int64_t gpus,
                                        int64_t nodes, int64_t bytes) {
    for (int i = 0; i < machine->nccl_count[kind]; i++) {
        const pto_nccl_cost_t *row = &machine->nccl[kind][i];
        bool last = row->below_bytes == INT64_MAX;
        if (row->gpus == gpus && row->nodes == nodes && (last || bytes < row->below_bytes))
            return row;
    }
    return NULL;
}

static const pto_library_table_t *find_table(const pto_machine_t *machine, const char *collective,
                                             pto_space_t space) {
    for (int i = 0; i < machine->library_count; i++)
        if (machine->library[i].space == space && strcmp(machine->library[i].collective, collective) == 0)
            return &machine->library[i];
    return NULL;
}

const pto_library_rule_t *pto_machine_library(const pto_machine_t *machine, const char *collective,
                                              pto_space_t space, int64_t procs, int64_t bytes) {
    const pto_library_table_t *table = find_table(machine, collective, space);
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

static void free_postal(pto_postal_t *postal) { free(postal->flagged); }

static void free_pieces(pto_message_cost_t *cost) {
    for (int i = 0; i < PTO_PIECE_MAX; i++)
        free_postal(&cost->piece[i].postal);
}

static void free_messages(pto_machine_t *machine) {
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        for (int level = 0; level < PTO_LEVEL_COUNT; level++)
            free_pieces(&machine->messages[space][level]);
        free_pieces(&machine->per_message[space]);
    }
}

static void free_copies(pto_machine_t *machine) {
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++) {
        for (int reach = 0; reach < PTO_REACH_COUNT; reach++)
            free_postal(&machine->copies[kind][reach]);
        free_postal(&machine->pageable[kind]);
        for (int i = 0; i < machine->shared_copy_count[kind]; i++)
            free_postal(&machine->shared_copies[kind][i].postal);
        free(machine->shared_copies[kind]);
    }
}

static void free_cost(pto_reduce_cost_t *cost) {
    for (int i = 0; i < PTO_REDUCE_PIECE_MAX; i++)
        free_postal(&cost->piece[i].postal);
}

static void free_setup(pto_machine_t *machine) {
    free_cost(&machine->setup.open);
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        free_cost(&machine->setup.allocate[space]);
}

static void free_nccl(pto_machine_t *machine) {
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++) {
        for (int i = 0; i < machine->nccl_count[kind]; i++)
            free_postal(&machine->nccl[kind][i].postal);
        free(machine->nccl[kind]);
    }
}

void pto_machine_fini(pto_machine_t *machine) {
    free(machine->name);
    free(machine->source);
    free(machine->path);
    free(machine->model);
    free(machine->what_if);
    free_messages(machine);
    free_copies(machine);
    free_nccl(machine);
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        free_cost(&machine->reduce[space]);
    free_setup(machine);
    for (int reach = 0; reach < PTO_REACH_COUNT; reach++)
        free_postal(&machine->peer[reach]);
    for (int remote = 0; remote < PTO_REMOTE_COUNT; remote++)
        for (int reach = 0; reach < PTO_REACH_COUNT; reach++)
            free_postal(&machine->remote[remote][reach]);
    pto_library_tables_free(machine->library, machine->library_count);
    memset(machine, 0, sizeof *machine);
}
