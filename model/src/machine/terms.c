/* The terms of `--model`: the published model (messages, injection, copies) and the terms that can be added
 * to it, to see what each contributes. Leaving out a term removes its parameters from the machine. */
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text_file.h"
#include "machine/library.h"
#include "machine/registry.h"

enum { TERM_NAME_MAX = 64 };

static const char extra_input_term[] = "reduce.extra_input";

static const pto_model_term_t terms[] = {
    {"copies.shared", "copies that several processes make from or to one GPU at once"},
    {"messages.latency", "what passes between the ends of a message and occupies neither"},
    {"messages.both_ways", "messages within a node that a process sends and receives at once"},
    {"messages.to", "messages between host and GPU memory"},
    {"messages.staged", "messages within a node between the copies of a pipeline"},
    {"messages.strided", "the rows of messages that are not contiguous, as of a halo's columns"},
    {"copies.strided", "the rows of copies that are not contiguous, as of a halo's columns"},
    {"copies.pageable", "copies from and to host memory that is not pinned"},
    {"copies.h2h", "copies within host memory"},
    {"copies.queued", "copies of a pipeline that follow each other in a stream"},
    {"message_rate", "how many messages a node can send in a second"},
    {"network", "contention of several nodes for one receiver"},
    {"gap", "the cost of each additional message that a process has in flight"},
    {"reduce", "combining two buffers"},
    {extra_input_term, "the cost of additional inputs of one reduction, with 'reduce'"},
    {"peer", "copies from GPU to GPU of a node"},
    {"remote", "kernels that load from and store to another GPU's memory"},
    {"remote.lines", "whole runs of kernels whose data carry their flags"},
    {"signals", "flags between processes, events of a GPU, flags between kernels"},
    {"launch", "starting a kernel, a graph, a kernel behind others"},
    {"library", "the MPI library's own choice of algorithms"},
    {"tuning", "choices that replace those by price"},
    {"nccl", "what NCCL's own collectives take"},
    {"memory.host", "the rate of a socket's memory, which copies, messages and reductions share"},
    {"topology", "the links of a node, which its messages and copies share"},
    {"fabric", "the links between nodes, which their messages share"},
};

static void drop(pto_machine_t *machine, const char *term) {
    for (pto_cell_t cell = {0}; pto_cell_next(machine, &cell);) {
        const pto_cost_table_t *cost = cell.family->has_extra_input ? cell.at : NULL;
        for (int i = 0; cost && i < cost->count && strcmp(term, extra_input_term) == 0; i++)
            cost->row[i].extra_input_s_per_byte = (pto_param_t){0};
        if (cell.family->term && strcmp(cell.family->term, term) == 0)
            pto_cell_clear(&cell);
    }
    if (strcmp(term, "library") == 0)
        pto_library_tables_clear(&machine->library, &machine->library_count);
    if (strcmp(term, "topology") == 0) {
        pto_topology_destroy(machine->topology);
        machine->topology = NULL;
    }
    if (strcmp(term, "fabric") == 0)
        machine->fabric.levels = 0;
    if (strcmp(term, "tuning") == 0)
        pto_library_tables_clear(&machine->tuning, &machine->tuning_count);
}

enum { TERM_COUNT = (int)(sizeof terms / sizeof *terms) };

int pto_model_term_count(void) { return TERM_COUNT; }
const pto_model_term_t *pto_model_term_at(int index) { return &terms[index]; }
static const char *term_name(int index) { return index < TERM_COUNT ? terms[index].name : NULL; }

/* Names that a model may begin with; "full" takes no terms after it. */
static PTO_WORD_LIST(model_name, "full", "published");

/* Sets keep[i] for each term i of `list`, which is "" or "+TERM+TERM...". */
static pto_status_t keep_terms(const char *list, bool keep[TERM_COUNT], pto_error_t *err) {
    while (*list == '+') {
        size_t length = strcspn(++list, "+");
        char name[TERM_NAME_MAX];
        if (length >= sizeof name)
            return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown term '%.40s...'", list);
        memcpy(name, list, length);
        name[length] = '\0';
        int found = 0;
        pto_status_t status = pto_name_find(name, "model term", term_name, &found, err);
        if (status != PTO_OK)
            return status;
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
        return pto_name_find(model, "model", model_name, &(int){0}, err);
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
            drop(machine, terms[i].name);
    return PTO_OK;
}
