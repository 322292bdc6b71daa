/* Whether a call on host buffers is worth taking: only where the machine file knows which algorithms the MPI
 * library uses for them, and one of portolan's is faster by more than both prices are uncertain and the
 * agreement takes (docs/decisions/0047). Most calls are not worth it, so the answer is found once for all
 * sizes between two powers of two. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dropin.h"

enum { AGREEMENT_BYTES = 32 /* of drop_messages_offer */, CLASSES = 64 };

/* Of all communicators with such a layout. Kept until the process ends: a program may make and free
 * communicators all the time. */
struct drop_answers {
    drop_answers_t *next;
    int64_t nodes;
    int64_t procs_per_node;
    bool by_board;      /* agreement is by shared memory */
    double agreement_s; /* predicted */
    /* Why calls are left to MPI, by powers of two of bytes; NULL: not known yet. */
    const char *why[PTO_COLLECTIVE_COUNT][CLASSES];
};

static const char pays[] = "";
static const char no_table[] = "host buffers, and no table of MPI's algorithms for them";
static const char not_faster[] = "host buffers, where MPI is predicted to be as fast";
static const char no_price[] = "host buffers on processes that have no price";
static const char other_order[] = "host buffers, and ranks in another order than the nodes";
static const char not_priced[] = "buffers in host memory";
static const char asserted_gpu[] = "GPU buffers alone, as the program asserts";
static const char counts_differ[] = "host buffers with counts that differ";

/* A strategy that the user has named is used whatever it costs. */
static bool is_forced(void) { return drop.strategy != NULL; }

bool drop_host_begin(void) {
    const char *text = getenv("PORTOLAN_HOST");
    if (drop.assumes_gpu || !text || strcmp(text, "1") != 0)
        return false;
    if (is_forced())
        return strcmp(drop.strategy, "own_algorithm") == 0;
    for (pto_collective_t i = 0; i < PTO_COLLECTIVE_COUNT; i++)
        if (pto_machine_has_library(drop.machine, pto_collective_name(i), PTO_SPACE_CPU))
            return true;
    return false;
}

/* --- the agreement -------------------------------------------------------------------------------------- */

/* On one node each process sees the flags of all, one after another. */
static double agreement_s(const drop_comm_t *comm) {
    double flag_s;
    pto_price_t price;
    const pto_ask_t ask = {.collective = "allreduce",
                           .strategy = "mpi",
                           .datatype = "byte",
                           .bytes = AGREEMENT_BYTES,
                           .nodes = comm->host.nodes,
                           .procs_per_node = comm->host.gpus_per_node};
    if (comm->board && pto_machine_get(drop.machine, "signals.flag_s", &flag_s, NULL) == PTO_OK)
        return (double)comm->size * flag_s;
    if (!comm->board && drop.assumes_host && !drop.by_messages)
        return 0;
    return pto_predict_one(drop.machine, &ask, NULL, &price, NULL) == PTO_OK ? price.seconds : INFINITY;
}

/* --- prices --------------------------------------------------------------------------------------------- */

static bool cost_of(const pto_predictions_t *predictions, const char *name, pto_cost_t *cost, int *index) {
    for (int i = 0; i < predictions->strategy_count; i++)
        if (strcmp(predictions->strategy[i]->name, name) == 0) {
            *index = i;
            return pto_prediction_cost(pto_prediction_at(predictions, 0, i), PTO_BY_TIME, cost);
        }
    return false;
}

bool drop_host_gains(const drop_comm_t *comm, const pto_predictions_t *predictions, double *library_s) {
    pto_cost_t own, library;
    int index;
    bool has_library = cost_of(predictions, "mpi", &library, &index);
    bool has_own = cost_of(predictions, "own_algorithm", &own, &index);
    *library_s = has_library ? library.value : 0;
    if (!has_own || !has_library)
        return has_own && is_forced();
    return own.high + comm->answers->agreement_s < library.low;
}

/* Prices of bytes do not depend on what they mean, nor on the root. */
static bool gains(const drop_comm_t *comm, pto_collective_t collective, int64_t bytes, const char **why) {
    bool has_root = pto_collective_is_from_root(collective) || pto_collective_is_to_root(collective);
    const drop_cell_t cell = {.collective = collective,
                              .datatype = PTO_DATATYPE_BYTE,
                              .op = PTO_OP_SUM,
                              .root = has_root ? 0 : -1,
                              .in_host = true,
                              .bytes = bytes};
    pto_scenario_t scenario;
    pto_predictions_t predictions = {0};
    pto_error_t err;
    double library_s;
    pto_scenario_init(&scenario);
    pto_status_t status = drop_fill_scenario(&comm->host, &cell, &scenario, &err);
    if (status == PTO_OK)
        status = pto_predict(&scenario, drop.machine, true, &predictions, &err);
    bool found = status == PTO_OK && drop_host_gains(comm, &predictions, &library_s);
    *why = status == PTO_OK ? not_faster : no_price;
    pto_predictions_fini(&predictions);
    pto_scenario_fini(&scenario);
    return found;
}

/* --- the answer ----------------------------------------------------------------------------------------- */

static drop_answers_t *find_answers(const drop_comm_t *comm) {
    static drop_answers_t *all;
    drop_answers_t *found = all;
    while (found && !(found->nodes == comm->host.nodes && found->procs_per_node == comm->host.gpus_per_node &&
                      found->by_board == (comm->board != NULL)))
        found = found->next;
    if (found)
        return found;
    found = calloc(1, sizeof *found);
    if (!found)
        return NULL;
    *found = (drop_answers_t){.next = all,
                              .nodes = comm->host.nodes,
                              .procs_per_node = comm->host.gpus_per_node,
                              .by_board = comm->board != NULL,
                              .agreement_s = agreement_s(comm)};
    all = found;
    return found;
}

/* NULL: the communicator has a layout and its answers. */
static const char *look_at(drop_comm_t *comm) {
    if (!drop.takes_host)
        return not_priced;
    if (!(comm->kinds & DROP_KIND_HOST))
        return asserted_gpu;
    if (!comm->host.found)
        drop_comm_find_host(comm);
    if (!comm->host.why && !comm->answers)
        comm->answers = find_answers(comm);
    return comm->host.why ? comm->host.why : comm->answers ? NULL : "out of memory";
}

static const char *find_why(const drop_comm_t *comm, pto_collective_t collective, int class) {
    int64_t first = (int64_t)1 << class, last = first + (first - 1);
    const char *why;
    if (!is_forced() &&
        !pto_machine_has_library(drop.machine, pto_collective_name(collective), PTO_SPACE_CPU))
        return no_table;
    return gains(comm, collective, first, &why) && gains(comm, collective, last, &why) ? pays : why;
}

static int class_of(int64_t bytes) { return CLASSES - 1 - __builtin_clzll((unsigned long long)bytes); }

bool drop_host_pays(drop_comm_t *comm, const drop_call_t *call, const char **why) {
    pto_collective_t collective = call->collective;
    bool has_counts = collective == PTO_COLLECTIVE_ALLTOALLV || collective == PTO_COLLECTIVE_ALLGATHERV;
    int64_t bytes = has_counts ? 0 : drop_call_bytes(call, comm->size);
    const char *none = bytes > 0 ? look_at(comm) : has_counts ? counts_differ : "no data";
    if (!none && !comm->host.in_order && !pto_collective_is_vector(collective))
        none = other_order;
    if (none) {
        *why = none;
        return false;
    }
    const char **known = &comm->answers->why[collective][class_of(bytes)];
    if (!*known)
        *known = find_why(comm, collective, class_of(bytes));
    if (*known != pays)
        *why = *known;
    return *known == pays;
}
