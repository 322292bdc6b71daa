/* Whether a call on host buffers is worth taking over. The machine file must say which algorithms the MPI
 * library uses on host memory, and one of portolan's must be faster than MPI's by more than the uncertainty
 * of both prices and the cost of the vote (docs/decisions/0047). Most calls do not meet this, so the answer
 * is computed once for all sizes between two powers of two: a size class. For example, the first allreduce of
 * 5,000 bytes gets the answer for size class 12, which is 4,096 to 8,191 bytes. If that is PAYS + 10, the
 * first ten allreduces of exactly 5,000 bytes are left to MPI, and later ones are worth a plan.
 *
 * Process 0 of a communicator computes the prices, and broadcasts its answers in the first call of each size
 * class. Answers computed by each process could differ, for lack of memory or by rounding. All processes of a
 * call know its collective and its bytes, so all of them know whether they already have the answer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "dropin.h"
#include "environment.h"

enum {
    VOTE_BYTES = 32, /* of drop_messages_vote */
    SIZE_CLASSES = 64,
    PLAN_MESSAGES = 20,     /* collectives of MPI that the creation of a plan takes */
    PLANS_MADE_PER_KEPT = 4 /* a communicator creates at most 4 * drop.plans_max plans, and keeps plans_max */
};

/* Whether a plan pays for calls of one collective in one size class. Any value PAYS + n means that it does,
 * once n calls of a kind have been left to MPI. Values are kept as bytes. */
typedef enum { UNKNOWN, NOT_FASTER, NO_PRICE, PAYS, ANSWER_MAX = 255 } answer_t;

typedef struct {
    unsigned char of[PTO_COLLECTIVE_COUNT][SIZE_CLASSES];
} answers_t;

/* Process 0's answers for all communicators with the same numbers of nodes and processes. They are kept until
 * the process ends, as programs may create and free communicators again and again. */
typedef struct shape shape_t;
struct shape {
    shape_t *next;
    int64_t nodes;
    int64_t procs_per_node;
    bool by_board; /* votes are in shared memory */
    answers_t found;
};

/* A kind of calls: those of the same collective, bytes and root, which all processes of a call know. */
enum { KINDS_KEPT = 64, BACKOFF_MAX = 64 };
typedef struct {
    uint64_t kind;       /* a digest of the three */
    uint64_t used;       /* number of the communicator's call that was the last of this kind; 0: a new kind */
    const char *why_not; /* why all later ones are left to MPI; NULL: they are not */
    int calls;           /* so far, that were left to MPI because the answer was PAYS + n */
    int backoff;         /* calls to leave to MPI before the next vote */
    int backoff_next;    /* the backoff after the next failed vote: in turn 0, 1, 2, 4, ... BACKOFF_MAX */
} kind_t;

/* What host.c keeps for a communicator, the same on all its processes but for vote_s. */
struct drop_host {
    const char *never[PTO_COLLECTIVE_COUNT]; /* why no call is worth taking over, whatever its bytes */
    answers_t answers;                       /* that process 0 has broadcast */
    kind_t kinds[KINDS_KEPT];                /* those used last */
    int plans_made;
    double vote_s; /* predicted; negative: not predicted yet */
};

static const char many_plans[] = "host buffers, after as many plans as a communicator may have";
static const char *const why_of[] = {[NOT_FASTER] = "host buffers, where MPI is predicted to be as fast",
                                     [NO_PRICE] = "host buffers on processes that have no price"};

/* Returns whether the user has named a strategy, which is used whatever it costs. */
static bool is_forced(void) { return drop.strategy != NULL; }

bool drop_host_begin(void) {
    if (!preload_is_on("PORTOLAN_HOST", false) || drop.assumes_gpu)
        return false;
    if (is_forced())
        return strcmp(drop.strategy, "own_algorithm") == 0;
    for (pto_collective_t i = 0; i < PTO_COLLECTIVE_COUNT; i++)
        if (pto_machine_has_library(drop.machine, pto_collective_name(i), PTO_SPACE_CPU))
            return true;
    return false;
}

/* Returns why a collective is left to MPI on all host buffers; NULL: prices decide. */
static const char *why_never(const drop_comm_t *comm, pto_collective_t collective) {
    if (comm->host.why_not)
        return comm->host.why_not;
    if (collective == PTO_COLLECTIVE_ALLTOALLV || collective == PTO_COLLECTIVE_ALLGATHERV)
        return "host buffers with counts that differ";
    if (!comm->host.in_order && !pto_collective_is_vector(collective))
        return "host buffers, and ranks in another order than the nodes";
    bool has_table = pto_machine_has_library(drop.machine, pto_collective_name(collective), PTO_SPACE_CPU);
    return has_table || is_forced() ? NULL : "host buffers, and no table of MPI's algorithms for them";
}

bool drop_host_attach(drop_comm_t *comm) {
    comm->host_state = calloc(1, sizeof *comm->host_state);
    if (!comm->host_state || !drop_comm_find_host(comm))
        return false;
    comm->host_state->vote_s = -1;
    for (pto_collective_t i = 0; i < PTO_COLLECTIVE_COUNT; i++)
        comm->host_state->never[i] = why_never(comm, i);
    return true;
}

void drop_host_detach(drop_comm_t *comm) {
    free(comm->host_state);
    comm->host_state = NULL;
}

/* The predicted time of an allreduce by MPI. */
static double allreduce_s(const drop_comm_t *comm) {
    pto_price_t price;
    const pto_ask_t ask = {.collective = "allreduce",
                           .strategy = "mpi",
                           .datatype = "byte",
                           .bytes = VOTE_BYTES,
                           .nodes = comm->host.nodes,
                           .procs_per_node = comm->host.gpus_per_node};
    return pto_predict_one(drop.machine, &ask, NULL, &price, NULL) == PTO_OK ? price.seconds : INFINITY;
}

/* Returns the predicted time of a vote (agree.c). On one node, each process reads the flags of all others,
 * one after another. Between nodes a vote is an allreduce, or nothing where the user promises host memory. */
static double price_vote(const drop_comm_t *comm) {
    double flag_s;
    if (comm->on_one_node && pto_machine_get(drop.machine, "signals.flag_s", &flag_s, NULL) == PTO_OK)
        return (double)comm->size * flag_s;
    if (!comm->on_one_node && drop.assumes_host && !drop.forces_messages)
        return 0;
    return allreduce_s(comm);
}

static double vote_s(const drop_comm_t *comm) {
    if (comm->host_state->vote_s < 0)
        comm->host_state->vote_s = price_vote(comm);
    return comm->host_state->vote_s;
}

static bool cost_of(const pto_predictions_t *predictions, const char *name, pto_cost_t *cost) {
    for (int i = 0; i < predictions->strategy_count; i++)
        if (strcmp(predictions->strategy[i]->name, name) == 0)
            return pto_prediction_cost(pto_prediction_at(predictions, 0, i), PTO_BY_TIME, cost);
    return false;
}

/* Returns how much faster than MPI a call by portolan's cheapest algorithm is at least: from the upper end of
 * its predicted interval, plus the vote, to the lower end of MPI's. Negative: it may be slower. */
static double worst_case_gain_s(const drop_comm_t *comm, const pto_predictions_t *predictions) {
    pto_cost_t own, library;
    bool has_library = cost_of(predictions, "mpi", &library);
    bool has_own = cost_of(predictions, "own_algorithm", &own);
    if (!has_own || !has_library)
        return has_own && is_forced() ? INFINITY : -1;
    double gain_s = library.low - own.high - vote_s(comm);
    return drop.misprices ? -gain_s : gain_s;
}

bool drop_host_gains(const drop_comm_t *comm, const pto_predictions_t *predictions) {
    return worst_case_gain_s(comm, predictions) > 0;
}

/* Prices a collective at one size; `*gain_s` is its gain. The datatype and the root do not matter. */
static answer_t price(const drop_comm_t *comm, pto_collective_t collective, int64_t bytes, double *gain_s) {
    const drop_key_t key = {.collective = collective,
                            .datatype = PTO_DATATYPE_BYTE,
                            .op = PTO_OP_SUM,
                            .root = drop_has_root(collective) ? 0 : -1,
                            .in_host = true,
                            .bytes = bytes};
    pto_scenario_t scenario;
    pto_predictions_t predictions = {0};
    pto_error_t err;
    pto_scenario_init(&scenario);
    pto_status_t status = drop_fill_scenario(&comm->host, &key, &scenario, &err);
    if (status == PTO_OK)
        status = pto_predict(&scenario, drop.machine, true, &predictions, &err);
    *gain_s = status == PTO_OK ? worst_case_gain_s(comm, &predictions) : -1;
    pto_predictions_fini(&predictions);
    pto_scenario_fini(&scenario);
    return status != PTO_OK ? NO_PRICE : *gain_s > 0 ? PAYS : NOT_FASTER;
}

/* Returns how many calls of a kind are left to MPI first: as many as a plan must serve to make up for the
 * time of its creation (the rule of the ski-rental problem). If the program then makes no more calls of the
 * kind, the plan has cost at most about what it could have gained from the first call on. */
static int calls_by_mpi_first(const drop_comm_t *comm, double gain_s, double pricing_s) {
    double calls = ceil((pricing_s + PLAN_MESSAGES * allreduce_s(comm)) / gain_s);
    if (drop.repeats >= 0 || is_forced())
        calls = drop.repeats >= 0 ? (double)drop.repeats : 0;
    return calls < ANSWER_MAX - PAYS ? (int)calls : ANSWER_MAX - PAYS;
}

/* A plan must pay at both ends of the size class; the smaller gain counts. */
static answer_t find_answer(const drop_comm_t *comm, pto_collective_t collective, int class) {
    int64_t min_bytes = (int64_t)1 << class, max_bytes = min_bytes + (min_bytes - 1);
    double began_s = pto_now_s(), gain_at_min_s, gain_at_max_s;
    answer_t answer = price(comm, collective, min_bytes, &gain_at_min_s);
    if (answer == PAYS)
        answer = price(comm, collective, max_bytes, &gain_at_max_s);
    if (answer != PAYS)
        return answer;
    double gain_s = fmin(gain_at_min_s, gain_at_max_s);
    return (answer_t)(PAYS + calls_by_mpi_first(comm, gain_s, pto_now_s() - began_s));
}

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

/* Collective. Process 0 broadcasts all its answers for communicators of this shape, not only the one asked
 * for. So if a program creates one communicator after the other, each usually needs a single broadcast. */
static answer_t ask_process_0(const drop_comm_t *comm, pto_collective_t collective, int class) {
    answers_t *answers = &comm->host_state->answers;
    unsigned char *answer = &answers->of[collective][class];
    if (comm->rank == 0) {
        shape_t *shape = find_shape(comm);
        unsigned char *found = shape ? &shape->found.of[collective][class] : answer;
        if (*found == UNKNOWN)
            *found = (unsigned char)find_answer(comm, collective, class);
        if (shape)
            *answers = shape->found;
    }
    MPI_Bcast(answers, (int)sizeof *answers, MPI_BYTE, 0, comm->comm);
    if (*answer == UNKNOWN) /* the broadcast has failed, or the processes' sizes differ */
        *answer = NO_PRICE;
    return (answer_t)*answer;
}

static int size_class_of(int64_t bytes) {
    return SIZE_CLASSES - 1 - __builtin_clzll((unsigned long long)bytes);
}

static uint64_t kind_of(const drop_call_t *call, int64_t bytes) {
    uint64_t kind = pto_hash_add(pto_hash_add(PTO_HASH_START, (uint64_t)call->collective), (uint64_t)bytes);
    return pto_hash_add(kind, (uint64_t)call->root);
}

/* Returns the call's kind; one that is new takes the place of the one unused for longest. */
static kind_t *find_kind(const drop_comm_t *comm, const drop_call_t *call) {
    kind_t *kinds = comm->host_state->kinds, *oldest = kinds;
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

/* Limits the plans of a communicator: a program with ever new kinds of calls would spend its time on them. */
static bool may_create_plan(const drop_comm_t *comm) {
    return comm->host_state->plans_made / PLANS_MADE_PER_KEPT < drop.plans_max;
}

/* For a size class in which a plan pays after `calls_first` calls. */
static const char *why_not_now(const drop_comm_t *comm, const drop_call_t *call, int calls_first) {
    kind_t *kind = find_kind(comm, call);
    if (kind->used == 0 && !may_create_plan(comm))
        kind->why_not = many_plans;
    kind->used = comm->calls;
    if (kind->why_not)
        return kind->why_not;
    if (kind->calls < calls_first) {
        kind->calls++;
        return "host buffers, in the first calls of a kind";
    }
    if (kind->backoff == 0)
        return NULL;
    kind->backoff--;
    return "host buffers, which other processes could not take in the calls before";
}

void drop_host_note_agreement(const drop_comm_t *comm, const drop_call_t *call, bool agreed) {
    kind_t *kind = find_kind(comm, call);
    const int doubled = kind->backoff_next == 0 ? 1 : 2 * kind->backoff_next;
    kind->backoff = agreed ? 0 : kind->backoff_next;
    kind->backoff_next = agreed ? 0 : (int)fmin(doubled, BACKOFF_MAX);
}

bool drop_host_may_plan(const drop_comm_t *comm, const drop_call_t *call) {
    bool may = may_create_plan(comm);
    if (may)
        comm->host_state->plans_made++;
    else
        find_kind(comm, call)->why_not = many_plans;
    return may;
}

void drop_host_leave(const drop_comm_t *comm, const drop_call_t *call) {
    find_kind(comm, call)->why_not = why_of[NOT_FASTER];
}

const char *drop_host_why_not(drop_comm_t *comm, const drop_call_t *call) {
    pto_collective_t collective = call->collective;
    if (!comm->host_state)
        return drop.has_other_gpus ? "host buffers beside the runtime of other GPUs"
                                   : "buffers in host memory";
    if (!(comm->kinds & DROP_KIND_HOST))
        return "GPU buffers alone, as the program asserts";
    if (comm->host_state->never[collective])
        return comm->host_state->never[collective];
    int64_t bytes = drop_call_bytes(call, comm->size);
    if (bytes <= 0)
        return "no data";
    answer_t answer = (answer_t)comm->host_state->answers.of[collective][size_class_of(bytes)];
    if (answer == UNKNOWN)
        answer = ask_process_0(comm, collective, size_class_of(bytes));
    const char *why_not = answer < PAYS ? why_of[answer] : why_not_now(comm, call, (int)(answer - PAYS));
    if (why_not)
        return why_not;
    return drop_comm_needs_board(comm) ? NULL : comm->why_not;
}
