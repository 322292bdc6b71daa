/* Whether a call on host buffers is worth taking: only where the machine file knows which algorithms the MPI
 * library uses for them, and one of portolan's is faster by more than both prices are uncertain and the
 * agreement takes (docs/decisions/0047). Most calls are not worth it, so the answer is found once for all
 * sizes between two powers of two.
 *
 * Process 0 of a communicator prices, and tells the others in the first call of each such class: a process
 * that ran out of memory, or whose arithmetic differs, must not answer for itself. Every process of a call
 * knows its collective and its bytes, whatever it passes, so all of them know whether they have been told. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "dropin.h"
#include "environment.h"

enum {
    AGREEMENT_BYTES = 32, /* of drop_messages_offer */
    CLASSES = 64,
    PLAN_MESSAGES =
        20,   /* collectives of MPI in which a plan is made, with the communicators for the first one */
    TURNS = 4 /* plans that are made for each that is kept */
};

/* Whether a plan pays for calls of one collective with bytes between two powers of two. A value of PAYS or
 * more also tells how many calls of a kind are left to MPI first. */
typedef enum { UNKNOWN, NOT_FASTER, NO_PRICE, PAYS, LATEST = 255 } answer_t;

typedef struct {
    unsigned char of[PTO_COLLECTIVE_COUNT][CLASSES];
} answers_t;

/* Process 0's results for communicators of one shape. Kept until the process ends: a program may make and
 * free communicators all the time. */
typedef struct shape shape_t;
struct shape {
    shape_t *next;
    int64_t nodes;
    int64_t procs_per_node;
    bool by_board; /* agreement is by shared memory */
    answers_t found;
};

/* Calls of the same collective, bytes and root, which all processes of a call know. */
enum { KINDS_KEPT = 64, REST_MAX = 64 };
typedef struct {
    uint64_t kind;
    uint64_t used;    /* the communicator's call that was the last of them */
    const char *left; /* why the next ones are left to MPI, whatever the processes pass; NULL: they are not */
    int calls;
    int rest; /* calls until the processes agree again */
    int rest_next;
} kind_t;

/* What is known about host buffers. It is the same on all processes. */
struct drop_host {
    const char *never[PTO_COLLECTIVE_COUNT]; /* why no call is worth taking, whatever its bytes */
    answers_t told;
    kind_t kinds[KINDS_KEPT]; /* those used last */
    int plans_made;
    double agreement_s; /* predicted; negative: not yet */
};

static const char no_table[] = "host buffers, and no table of MPI's algorithms for them";
static const char other_order[] = "host buffers, and ranks in another order than the nodes";
static const char not_priced[] = "buffers in host memory";
static const char other_gpus[] = "host buffers beside the runtime of other GPUs";
static const char asserted_gpu[] = "GPU buffers alone, as the program asserts";
static const char counts_differ[] = "host buffers with counts that differ";
static const char first_calls[] = "host buffers, in the first calls of a kind";
static const char many_plans[] = "host buffers, after as many plans as a communicator may have";
static const char refused[] = "host buffers, which other processes could not take in the calls before";
static const char *const why_of[] = {[NOT_FASTER] = "host buffers, where MPI is predicted to be as fast",
                                     [NO_PRICE] = "host buffers on processes that have no price"};

/* A strategy that the user has named is used whatever it costs. */
static bool is_forced(void) { return drop.strategy != NULL; }

bool drop_host_begin(void) {
    if (!preload_is_on("PORTOLAN_HOST", false, drop_say) || drop.assumes_gpu)
        return false;
    if (is_forced())
        return strcmp(drop.strategy, "own_algorithm") == 0;
    for (pto_collective_t i = 0; i < PTO_COLLECTIVE_COUNT; i++)
        if (pto_machine_has_library(drop.machine, pto_collective_name(i), PTO_SPACE_CPU))
            return true;
    return false;
}

/* Reasons that need no price. */
static const char *why_never(const drop_comm_t *comm, pto_collective_t collective) {
    if (comm->host.why)
        return comm->host.why;
    if (collective == PTO_COLLECTIVE_ALLTOALLV || collective == PTO_COLLECTIVE_ALLGATHERV)
        return counts_differ;
    if (!comm->host.in_order && !pto_collective_is_vector(collective))
        return other_order;
    bool has_table = pto_machine_has_library(drop.machine, pto_collective_name(collective), PTO_SPACE_CPU);
    return has_table || is_forced() ? NULL : no_table;
}

bool drop_host_attach(drop_comm_t *comm) {
    comm->hosted = calloc(1, sizeof *comm->hosted);
    if (!comm->hosted || !drop_comm_find_host(comm))
        return false;
    comm->hosted->agreement_s = -1;
    for (pto_collective_t i = 0; i < PTO_COLLECTIVE_COUNT; i++)
        comm->hosted->never[i] = why_never(comm, i);
    return true;
}

void drop_host_detach(drop_comm_t *comm) {
    free(comm->hosted);
    comm->hosted = NULL;
}

/* --- the agreement -------------------------------------------------------------------------------------- */

/* A message of all processes to each other. */
static double message_s(const drop_comm_t *comm) {
    pto_price_t price;
    const pto_ask_t ask = {.collective = "allreduce",
                           .strategy = "mpi",
                           .datatype = "byte",
                           .bytes = AGREEMENT_BYTES,
                           .nodes = comm->host.nodes,
                           .procs_per_node = comm->host.gpus_per_node};
    return pto_predict_one(drop.machine, &ask, NULL, &price, NULL) == PTO_OK ? price.seconds : INFINITY;
}

/* On one node each process sees the flags of all, one after another. */
static double price_agreement(const drop_comm_t *comm) {
    double flag_s;
    if (comm->on_one_node && pto_machine_get(drop.machine, "signals.flag_s", &flag_s, NULL) == PTO_OK)
        return (double)comm->size * flag_s;
    if (!comm->on_one_node && drop.assumes_host && !drop.by_messages)
        return 0;
    return message_s(comm);
}

static double agreement_s(const drop_comm_t *comm) {
    if (comm->hosted->agreement_s < 0)
        comm->hosted->agreement_s = price_agreement(comm);
    return comm->hosted->agreement_s;
}

/* --- prices --------------------------------------------------------------------------------------------- */

static bool cost_of(const pto_predictions_t *predictions, const char *name, pto_cost_t *cost) {
    for (int i = 0; i < predictions->strategy_count; i++)
        if (strcmp(predictions->strategy[i]->name, name) == 0)
            return pto_prediction_cost(pto_prediction_at(predictions, 0, i), PTO_BY_TIME, cost);
    return false;
}

/* Returns the least gain of a call by one of portolan's algorithms; negative: it may lose. */
static double least_gain_s(const drop_comm_t *comm, const pto_predictions_t *predictions) {
    pto_cost_t own, library;
    bool has_library = cost_of(predictions, "mpi", &library);
    bool has_own = cost_of(predictions, "own_algorithm", &own);
    if (!has_own || !has_library)
        return has_own && is_forced() ? INFINITY : -1;
    double gain_s = library.low - own.high - agreement_s(comm);
    return drop.misprices ? -gain_s : gain_s;
}

bool drop_host_gains(const drop_comm_t *comm, const pto_predictions_t *predictions) {
    return least_gain_s(comm, predictions) > 0;
}

/* Prices of bytes do not depend on what they mean, nor on the root. */
static answer_t price(const drop_comm_t *comm, pto_collective_t collective, int64_t bytes, double *gain_s) {
    const drop_cell_t cell = {.collective = collective,
                              .datatype = PTO_DATATYPE_BYTE,
                              .op = PTO_OP_SUM,
                              .root = drop_has_root(collective) ? 0 : -1,
                              .in_host = true,
                              .bytes = bytes};
    pto_scenario_t scenario;
    pto_predictions_t predictions = {0};
    pto_error_t err;
    pto_scenario_init(&scenario);
    pto_status_t status = drop_fill_scenario(&comm->host, &cell, &scenario, &err);
    if (status == PTO_OK)
        status = pto_predict(&scenario, drop.machine, true, &predictions, &err);
    *gain_s = status == PTO_OK ? least_gain_s(comm, &predictions) : -1;
    pto_predictions_fini(&predictions);
    pto_scenario_fini(&scenario);
    return status != PTO_OK ? NO_PRICE : *gain_s > 0 ? PAYS : NOT_FASTER;
}

/* MPI has the first calls of a kind: as many as a plan must serve until it has gained what making it takes. A
 * program thus loses at most about as much by plans that it does not use again as it would have gained. */
static int calls_left(const drop_comm_t *comm, double gain_s, double pricing_s) {
    double calls = ceil((pricing_s + PLAN_MESSAGES * message_s(comm)) / gain_s);
    if (drop.repeats >= 0 || is_forced())
        calls = drop.repeats >= 0 ? (double)drop.repeats : 0;
    return calls < LATEST - PAYS ? (int)calls : LATEST - PAYS;
}

static answer_t find_answer(const drop_comm_t *comm, pto_collective_t collective, int class) {
    int64_t first = (int64_t)1 << class, last = first + (first - 1);
    double began_s = pto_now_s(), gain_s, last_gain_s;
    answer_t answer = price(comm, collective, first, &gain_s);
    if (answer == PAYS)
        answer = price(comm, collective, last, &last_gain_s);
    if (answer != PAYS)
        return answer;
    gain_s = fmin(gain_s, last_gain_s);
    return (answer_t)(PAYS + calls_left(comm, gain_s, pto_now_s() - began_s));
}

/* --- process 0 answers ---------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static shape_t *find_shape(const drop_comm_t *comm) {
    static shape_t *all;
    shape_t *found = all;
    while (found && !(found->nodes == comm->host.nodes && found->procs_per_node == comm->host.gpus_per_node &&
                      found->by_board == comm->on_one_node))
        found = found->next;
    if (found)
        return found;
    found = calloc(1, sizeof *found);
    if (!found)
        return NULL;
    found->next = all;
    found->nodes = comm->host.nodes;
    found->procs_per_node = comm->host.gpus_per_node;
    found->by_board = comm->on_one_node;
    all = found;
    return found;
}

/* Collective. Process 0 tells all that it knows of such communicators, so that a program that makes one after
 * the other pays for one message in each. */
static answer_t ask(const drop_comm_t *comm, pto_collective_t collective, int class) {
    answers_t *told = &comm->hosted->told;
    unsigned char *answer = &told->of[collective][class];
    if (comm->rank == 0) {
        shape_t *shape = find_shape(comm);
        unsigned char *found = shape ? &shape->found.of[collective][class] : answer;
        if (*found == UNKNOWN)
            *found = (unsigned char)find_answer(comm, collective, class);
        if (shape)
            *told = shape->found;
    }
    MPI_Bcast(told, (int)sizeof *told, MPI_BYTE, 0, comm->comm);
    if (*answer == UNKNOWN) /* the broadcast has failed, or processes passed different numbers of bytes */
        *answer = NO_PRICE;
    return (answer_t)*answer;
}

static int class_of(int64_t bytes) { return CLASSES - 1 - __builtin_clzll((unsigned long long)bytes); }

/* --- kinds of calls ------------------------------------------------------------------------------------- */

static uint64_t kind_of(const drop_call_t *call, int64_t bytes) {
    uint64_t kind = pto_hash_add(pto_hash_add(PTO_HASH_START, (uint64_t)call->collective), (uint64_t)bytes);
    return pto_hash_add(kind, (uint64_t)call->root);
}

/* Returns the call's kind; one that is new takes the place of the one unused for longest. */
static kind_t *find_kind(const drop_comm_t *comm, const drop_call_t *call) {
    kind_t *kinds = comm->hosted->kinds, *oldest = kinds;
    uint64_t kind = kind_of(call, drop_call_bytes(call, comm->size));
    for (int i = 0; i < KINDS_KEPT; i++) {
        if (kinds[i].kind == kind)
            return &kinds[i];
        if (kinds[i].used < oldest->used)
            oldest = &kinds[i];
    }
    *oldest = (kind_t){.kind = kind};
    return oldest;
}

/* A program with ever new kinds would make plans for ever. */
static bool has_turns(const drop_comm_t *comm) { return comm->hosted->plans_made / TURNS < drop.plans_max; }

static const char *why_not_now(const drop_comm_t *comm, const drop_call_t *call, int calls_first) {
    kind_t *kind = find_kind(comm, call);
    if (kind->used == 0 && !has_turns(comm))
        kind->left = many_plans;
    kind->used = comm->calls;
    if (kind->left)
        return kind->left;
    if (kind->calls < calls_first) {
        kind->calls++;
        return first_calls;
    }
    if (kind->rest == 0)
        return NULL;
    kind->rest--;
    return refused;
}

void drop_host_note_agreement(const drop_comm_t *comm, const drop_call_t *call, bool agreed) {
    kind_t *kind = find_kind(comm, call);
    kind->rest = agreed ? 0 : kind->rest_next;
    kind->rest_next = agreed ? 0 : kind->rest_next == 0 ? 1 : 2 * kind->rest_next;
    if (kind->rest_next > REST_MAX)
        kind->rest_next = REST_MAX;
}

bool drop_host_may_plan(const drop_comm_t *comm, const drop_call_t *call) {
    bool may = has_turns(comm);
    if (may)
        comm->hosted->plans_made++;
    else
        find_kind(comm, call)->left = many_plans;
    return may;
}

void drop_host_leave(const drop_comm_t *comm, const drop_call_t *call) {
    find_kind(comm, call)->left = why_of[NOT_FASTER];
}

const char *drop_host_why_not(drop_comm_t *comm, const drop_call_t *call) {
    pto_collective_t collective = call->collective;
    if (!comm->hosted)
        return drop.has_foreign ? other_gpus : not_priced;
    if (!(comm->kinds & DROP_KIND_HOST))
        return asserted_gpu;
    if (comm->hosted->never[collective])
        return comm->hosted->never[collective];
    int64_t bytes = drop_call_bytes(call, comm->size);
    if (bytes <= 0)
        return "no data";
    answer_t answer = (answer_t)comm->hosted->told.of[collective][class_of(bytes)];
    if (answer == UNKNOWN)
        answer = ask(comm, collective, class_of(bytes));
    const char *why = answer < PAYS ? why_of[answer] : why_not_now(comm, call, (int)(answer - PAYS));
    return why || drop_comm_needs_board(comm) ? why : comm->why;
}
