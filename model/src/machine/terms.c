/* Models as parts of a machine: what the papers publish (messages, injection, copies), and the terms that are
 * added to it one by one, so that each one's worth can be seen. A term left out is a part of the machine file
 * that is not there. */
#include "portolan/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text_file.h"
#include "machine/library_rules.h"

enum { TERM_NAME_MAX = 64 };

static void drop_postal(pto_postal_t *postal) {
    free(postal->flagged);
    *postal = (pto_postal_t){0};
}

static void drop_shared_copies(pto_machine_t *machine) {
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++) {
        for (int i = 0; i < machine->shared_copy_count[kind]; i++)
            drop_postal(&machine->shared_copies[kind][i].postal);
        free(machine->shared_copies[kind]);
        machine->shared_copies[kind] = NULL;
        machine->shared_copy_count[kind] = 0;
    }
}

static void drop_per_message(pto_machine_t *machine) {
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        for (int i = 0; i < PTO_PIECE_MAX; i++)
            drop_postal(&machine->per_message[space].piece[i].postal);
        machine->per_message[space] = (pto_message_cost_t){0};
    }
}

static void drop_reduce(pto_machine_t *machine) {
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        for (int i = 0; i < PTO_REDUCE_PIECE_MAX; i++)
            drop_postal(&machine->reduce[space].piece[i].postal);
        machine->reduce[space] = (pto_reduce_cost_t){0};
    }
}

static void drop_peer(pto_machine_t *machine) {
    for (int reach = 0; reach < PTO_REACH_COUNT; reach++)
        drop_postal(&machine->peer[reach]);
}

static void drop_further(pto_machine_t *machine) {
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        for (int i = 0; i < PTO_REDUCE_PIECE_MAX; i++)
            machine->reduce[space].piece[i].further_s_per_byte = (pto_param_t){0};
}

static void drop_remote(pto_machine_t *machine) {
    for (int remote = 0; remote < PTO_REMOTE_COUNT; remote++)
        for (int reach = 0; reach < PTO_REACH_COUNT; reach++)
            drop_postal(&machine->remote[remote][reach]);
    machine->remote_all_s_per_byte = (pto_param_t){0};
}

static void drop_signals(pto_machine_t *machine) {
    machine->signal_s = (pto_param_t){0};
    machine->event_s = (pto_param_t){0};
    machine->device_signal_s = (pto_param_t){0};
}

static void drop_launch(pto_machine_t *machine) {
    machine->kernel_launch_s = (pto_param_t){0};
    machine->graph_launch_s = (pto_param_t){0};
    machine->queued_launch_s = (pto_param_t){0};
}

static void drop_library(pto_machine_t *machine) {
    pto_library_tables_free(machine->library, machine->library_count);
    machine->library = NULL;
    machine->library_count = 0;
}

static void drop_nccl(pto_machine_t *machine) {
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++) {
        for (int i = 0; i < machine->nccl_count[kind]; i++)
            drop_postal(&machine->nccl[kind][i].postal);
        free(machine->nccl[kind]);
        machine->nccl[kind] = NULL;
        machine->nccl_count[kind] = 0;
    }
}

static void drop_message_rate(pto_machine_t *machine) {
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        machine->injection_s_per_message[space] = (pto_param_t){0};
}

static void drop_network(pto_machine_t *machine) { machine->contention = (pto_param_t){0}; }

static void drop_pageable(pto_machine_t *machine) {
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++)
        drop_postal(&machine->pageable[kind]);
}

static void drop_host_copies(pto_machine_t *machine) {
    for (int reach = 0; reach < PTO_REACH_COUNT; reach++)
        drop_postal(&machine->copies[PTO_COPY_H2H][reach]);
}

static const pto_model_term_t terms[] = {
    {"copies.shared", "copies that several processes make from or to one GPU at once", drop_shared_copies},
    {"copies.pageable", "copies from and to host memory that is not pinned", drop_pageable},
    {"copies.h2h", "copies within host memory", drop_host_copies},
    {"message_rate", "how many messages a node can send in a second", drop_message_rate},
    {"network", "contention of several nodes for one receiver", drop_network},
    {"per_message", "what further messages in flight cost a process", drop_per_message},
    {"reduce", "combining two buffers", drop_reduce},
    {"reduce.further", "what further inputs of one reduction cost, with 'reduce'", drop_further},
    {"peer", "copies from GPU to GPU of a node", drop_peer},
    {"remote", "kernels that load from and store to another GPU's memory", drop_remote},
    {"signals", "flags between processes, events of a GPU, flags between kernels", drop_signals},
    {"launch", "starting a kernel, a graph, a kernel behind others", drop_launch},
    {"library", "the MPI library's own choice of algorithms", drop_library},
    {"nccl", "what NCCL's own collectives take", drop_nccl},
};

enum { TERM_COUNT = (int)(sizeof terms / sizeof *terms) };

int pto_model_term_count(void) { return TERM_COUNT; }

const pto_model_term_t *pto_model_term_at(int index) { return &terms[index]; }

static const char *term_name(int index) { return terms[index].name; }

/* Names that a model may begin with; "full" stands alone. */
static const char *model_name(int index) { return index == 0 ? "full" : "published"; }

static pto_status_t keep_terms(const char *list, bool keep[TERM_COUNT], pto_error_t *err) {
    while (*list == '+') {
        size_t length = strcspn(++list, "+");
        char name[TERM_NAME_MAX];
        if (length >= sizeof name)
            return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown term '%.40s...'", list);
        memcpy(name, list, length);
        name[length] = '\0';
        int found = pto_name_find(name, TERM_COUNT, term_name);
        if (found < 0)
            return pto_name_unknown(err, "model term", name, TERM_COUNT, term_name);
        keep[found] = true;
        list += length;
    }
    return PTO_OK;
}

pto_status_t pto_machine_restrict(pto_machine_t *machine, const char *model, pto_error_t *err) {
    bool keep[TERM_COUNT] = {false};
    size_t head = strcspn(model, "+");
    if (strcmp(model, "full") == 0)
        return PTO_OK;
    if (head != strlen("published") || strncmp(model, "published", head) != 0)
        return pto_name_unknown(err, "model", model, 2, model_name);
    pto_status_t status = keep_terms(model + head, keep, err);
    if (status != PTO_OK)
        return status;
    char *copy = pto_text_copy(model);
    if (!copy)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a model's name");
    free(machine->model);
    machine->model = copy;
    for (int i = 0; i < TERM_COUNT; i++)
        if (!keep[i])
            terms[i].drop(machine);
    return PTO_OK;
}
