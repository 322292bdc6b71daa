/* A machine's numbers by key, for changing one of them and for asking what would change with it. The keys are
 * those of the machine file, dots between their levels. */
#include "portolan/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    pto_machine_param_t *param;
    int count;
    int capacity;
    bool failed;
} list_t;

/* Where in the file a number stands: `row` is empty where a table has no rows. */
typedef struct {
    const char *base;
    const char *row;
} place_t;

enum { BASE_MAX = 40, ROW_MAX = 32 };

/* What machine files hold and no price contains, by key or by what comes before its last dot. */
static bool is_measured_only(const char *key) {
    static const char *const name[] = {
        "signals.event_s",       "launch.queued_s",       "copies.h2d.off_socket",
        "copies.d2h.off_socket", "copies.d2d.off_socket", "copies.h2h.off_socket",
    };
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        size_t length = strlen(name[i]);
        if (strncmp(key, name[i], length) == 0 && (key[length] == '\0' || key[length] == '.'))
            return true;
    }
    return false;
}

static pto_machine_param_t *add(list_t *list, place_t place, const char *leaf) {
    static pto_machine_param_t nowhere;
    if (list->count == list->capacity && !list->failed) {
        int capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        pto_machine_param_t *grown = realloc(list->param, (size_t)capacity * sizeof *grown);
        list->failed = !grown;
        if (grown) {
            list->param = grown;
            list->capacity = capacity;
        }
    }
    if (list->failed)
        return &nowhere;
    pto_machine_param_t *param = &list->param[list->count++];
    *param = (pto_machine_param_t){0};
    snprintf(param->key, sizeof param->key, "%s%s%s.%s", place.base, *place.row ? "." : "", place.row, leaf);
    snprintf(param->group, sizeof param->group, "%s.%s", place.base, leaf);
    param->measured_only = is_measured_only(param->key);
    return param;
}

static void add_pair(list_t *list, place_t place, const char *second_leaf, pto_param_t *alpha_s,
                     pto_param_t *second) {
    pto_machine_param_t *param = add(list, place, "alpha_s");
    param->param = alpha_s;
    param->partner = second;
    param = add(list, place, second_leaf);
    param->param = second;
    param->partner = alpha_s;
}

static void add_postal(list_t *list, place_t place, pto_postal_t *postal) {
    add_pair(list, place, "beta_s_per_byte", &postal->alpha_s, &postal->beta_s_per_byte);
    for (int i = list->count - 2; i < list->count && !list->failed; i++)
        list->param[i].flagged = postal->flagged;
}

static void add_pieces(list_t *list, const char *what, pto_message_cost_t *cost) {
    char base[BASE_MAX];
    for (int i = 0; i < cost->count; i++) {
        snprintf(base, sizeof base, "%s.%s", what, pto_protocol_name(cost->piece[i].protocol));
        add_postal(list, (place_t){base, ""}, &cost->piece[i].postal);
        if (i + 1 < cost->count)
            add(list, (place_t){base, ""}, "below_bytes")->number = &cost->piece[i].below_bytes;
    }
}

static void add_messages(list_t *list, pto_machine_t *machine) {
    char base[BASE_MAX];
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
            snprintf(base, sizeof base, "messages.%s.%s", pto_space_name((pto_space_t)space),
                     pto_level_name((pto_level_t)level));
            add_pieces(list, base, &machine->messages[space][level]);
        }
}

static void add_reaches(list_t *list, const char *what, pto_postal_t *postal) {
    char base[BASE_MAX];
    for (int reach = 0; reach < PTO_REACH_COUNT; reach++) {
        snprintf(base, sizeof base, "%s.%s", what, pto_reach_name((pto_reach_t)reach));
        add_postal(list, (place_t){base, ""}, &postal[reach]);
    }
}

static void add_copies(list_t *list, pto_machine_t *machine) {
    char base[BASE_MAX], row[ROW_MAX];
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++) {
        snprintf(base, sizeof base, "copies.%s", pto_copy_kind_name((pto_copy_kind_t)kind));
        add_reaches(list, base, machine->copies[kind]);
    }
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++) {
        snprintf(base, sizeof base, "copies.shared.%s", pto_copy_kind_name((pto_copy_kind_t)kind));
        for (int i = 0; i < machine->shared_copy_count[kind]; i++) {
            pto_shared_copy_t *shared = &machine->shared_copies[kind][i];
            int end = snprintf(row, sizeof row, "%d%s", shared->procs, shared->strided ? ".strided" : "");
            if (shared->from_bytes > 0 || shared->below_bytes != INT64_MAX)
                snprintf(row + end, sizeof row - (size_t)end, ".from_%lld", (long long)shared->from_bytes);
            add_postal(list, (place_t){base, row}, &shared->postal);
        }
        snprintf(base, sizeof base, "copies.pageable.%s", pto_copy_kind_name((pto_copy_kind_t)kind));
        add_postal(list, (place_t){base, ""}, &machine->pageable[kind]);
    }
}

/* One piece without limits is how a file writes a cost for all sizes; a machine without one could have it. */
/* `reduces`: its rows may say what further inputs cost. */
static void add_cost(list_t *list, const char *base, pto_reduce_cost_t *cost, bool reduces) {
    char row[ROW_MAX];
    for (int i = 0; i == 0 || i < cost->count; i++) {
        row[0] = '\0';
        if (cost->count > 1)
            snprintf(row, sizeof row, "from_%lld", (long long)cost->piece[i].from_bytes);
        add_postal(list, (place_t){base, row}, &cost->piece[i].postal);
        if (reduces)
            add(list, (place_t){base, row}, "further_s_per_byte")->param = &cost->piece[i].further_s_per_byte;
        if (i + 1 < cost->count)
            add(list, (place_t){base, row}, "below_bytes")->number = &cost->piece[i].below_bytes;
    }
}

static void add_spaces(list_t *list, pto_machine_t *machine) {
    char base[BASE_MAX];
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        const char *name = pto_space_name((pto_space_t)space);
        snprintf(base, sizeof base, "injection.%s", name);
        add(list, (place_t){base, ""}, "s_per_byte")->param = &machine->injection_s_per_byte[space];
        add(list, (place_t){base, ""}, "s_per_message")->param = &machine->injection_s_per_message[space];
        snprintf(base, sizeof base, "reduce.%s", name);
        add_cost(list, base, &machine->reduce[space], true);
        snprintf(base, sizeof base, "per_message.%s", name);
        add_pieces(list, base, &machine->per_message[space]);
    }
}

static void add_remote(list_t *list, pto_machine_t *machine) {
    char base[BASE_MAX];
    for (int remote = 0; remote < PTO_REMOTE_COUNT; remote++) {
        snprintf(base, sizeof base, "remote.%s", pto_remote_name((pto_remote_t)remote));
        add_reaches(list, base, machine->remote[remote]);
    }
    add(list, (place_t){"remote", ""}, "all_s_per_byte")->param = &machine->remote_all_s_per_byte;
}

static void add_setup(list_t *list, pto_machine_t *machine) {
    add_cost(list, "setup.open", &machine->setup.open, false);
    add_cost(list, "setup.allocate.gpu", &machine->setup.allocate[PTO_SPACE_GPU], false);
    add_cost(list, "setup.allocate.cpu", &machine->setup.allocate[PTO_SPACE_CPU], false);
    add(list, (place_t){"setup", ""}, "segment_s")->param = &machine->setup.segment_s;
}

static void add_nccl(list_t *list, pto_machine_t *machine) {
    char base[BASE_MAX], row[PTO_NCCL_ROW_MAX];
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++) {
        snprintf(base, sizeof base, "nccl.%s", pto_nccl_name((pto_nccl_kind_t)kind));
        for (int i = 0; i < machine->nccl_count[kind]; i++) {
            pto_nccl_cost_t *cost = &machine->nccl[kind][i];
            pto_nccl_row_name(cost, row);
            add_postal(list, (place_t){base, row}, &cost->postal);
            if (cost->below_bytes != INT64_MAX)
                add(list, (place_t){base, row}, "below_bytes")->number = &cost->below_bytes;
        }
    }
}

static void add_powers(list_t *list, pto_machine_t *machine) {
    for (int power = 0; power < PTO_POWER_COUNT; power++)
        add(list, (place_t){"energy", ""}, pto_power_key((pto_power_t)power))->param =
            &machine->power_w[power];
}

static void add_single(list_t *list, pto_machine_t *machine) {
    const struct {
        const char *base;
        const char *leaf;
        pto_param_t *param;
    } single[] = {
        {"network", "contention", &machine->contention},
        {"signals", "flag_s", &machine->signal_s},
        {"signals", "event_s", &machine->event_s},
        {"signals", "device_s", &machine->device_signal_s},
        {"launch", "kernel_s", &machine->kernel_launch_s},
        {"launch", "graph_s", &machine->graph_launch_s},
        {"launch", "queued_s", &machine->queued_launch_s},
        {"memory", "gpu_bytes", &machine->gpu_memory_bytes},
        {"memory", "host_bytes", &machine->host_memory_bytes},
    };
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        add(list, (place_t){single[i].base, ""}, single[i].leaf)->param = single[i].param;
    add(list, (place_t){"node", ""}, "sockets")->number = &machine->node.sockets;
    add(list, (place_t){"node", ""}, "gpus")->number = &machine->node.gpus;
    add(list, (place_t){"node", ""}, "cores")->number = &machine->node.cores;
}

pto_status_t pto_machine_params(pto_machine_t *machine, pto_machine_param_t **param, int *param_count,
                                pto_error_t *err) {
    list_t list = {0};
    add_messages(&list, machine);
    add_spaces(&list, machine);
    add_copies(&list, machine);
    add_reaches(&list, "peer", machine->peer);
    add_remote(&list, machine);
    add_single(&list, machine);
    add_nccl(&list, machine);
    add_powers(&list, machine);
    add_setup(&list, machine);
    if (list.failed) {
        free(list.param);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a machine's parameters");
    }
    *param = list.param;
    *param_count = list.count;
    return PTO_OK;
}
