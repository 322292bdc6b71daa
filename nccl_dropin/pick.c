/* Which strategy has a kind of call. Every process prices the same candidates on the same machine file, so
 * all choose alike without a word. Candidates are strategies of one kernel that leave the program's buffers
 * to the process that owns them: others never open memory that the program may free at any time. */
#include <stdlib.h>
#include <string.h>

#include "decide/candidates.h"
#include "portolan/pick.h"
#include "tap.h"

/* --- NCCL's numbers ------------------------------------------------------------------------------------- */

enum { NCCL_FLOAT8_FIRST = 10, NCCL_FLOAT8_LAST = 11 };

static pto_datatype_t datatype_of(int number) {
    for (int type = 0; type < PTO_DATATYPE_COUNT; type++)
        if (type != PTO_DATATYPE_BYTE && pto_nccl_datatype((pto_datatype_t)type) == number)
            return (pto_datatype_t)type;
    return PTO_DATATYPE_COUNT;
}

int64_t tap_element_bytes(int number) {
    if (number >= NCCL_FLOAT8_FIRST && number <= NCCL_FLOAT8_LAST)
        return 1;
    pto_datatype_t type = datatype_of(number);
    return type == PTO_DATATYPE_COUNT ? 0 : pto_datatype_bytes(type);
}

static bool is_integer(int number) { return number >= PTO_NCCL_INT8 && number <= PTO_NCCL_UINT64; }

/* Reductions whose result is NCCL's for all values: sums and products up to rounding, and what integers have
 * least and most. NCCL's rules for NaNs, averages and operations of the program's are its own. */
static bool op_of(int op, int datatype, pto_op_t *found) {
    static const pto_op_t known[] = {[PTO_NCCL_SUM] = PTO_OP_SUM,
                                     [PTO_NCCL_PROD] = PTO_OP_PROD,
                                     [PTO_NCCL_MAX] = PTO_OP_MAX,
                                     [PTO_NCCL_MIN] = PTO_OP_MIN};
    if (op < PTO_NCCL_SUM || op > PTO_NCCL_MIN || (op >= PTO_NCCL_MAX && !is_integer(datatype)))
        return false;
    *found = known[op];
    return true;
}

static bool is_right(const tap_comm_t *comm, const tap_call_t *call, int64_t element_bytes) {
    return element_bytes > 0 && call->count > 0 && call->count <= (size_t)(INT64_MAX / 64 / element_bytes) &&
           call->peer >= 0 && call->peer < comm->size;
}

/* False: of a kind that is never taken. */
static bool cell_of(const tap_comm_t *comm, const tap_call_t *call, tap_cell_t *cell) {
    const int64_t element_bytes = tap_element_bytes(call->datatype);
    memset(cell, 0, sizeof *cell);
    if (tap_is_message(call) || !is_right(comm, call, element_bytes))
        return false;
    cell->collective = tap_collective_of(call);
    cell->root = call->peer;
    cell->bytes = (int64_t)call->count * element_bytes;
    cell->datatype = PTO_DATATYPE_BYTE;
    if (!(tap_settings()->takes & 1u << cell->collective))
        return false;
    if (!pto_collective_reduces(cell->collective))
        return true;
    cell->datatype = datatype_of(call->datatype);
    return cell->datatype != PTO_DATATYPE_COUNT && op_of(call->op, call->datatype, &cell->op);
}

static bool is_same(const tap_cell_t *a, const tap_cell_t *b) {
    return a->collective == b->collective && a->datatype == b->datatype && a->op == b->op &&
           a->root == b->root && a->bytes == b->bytes;
}

/* --- choosing ------------------------------------------------------------------------------------------- */

/* Whether a plan may be taken. A vector may be in place on some processes, so its plan must allow for
 * that. */
static bool is_candidate(const pto_plan_t *plan) {
    return pto_plan_is_one_launch(plan) && !pto_plan_uses_nccl(plan) && pto_plan_is_private(plan) &&
           (!pto_collective_is_vector(pto_plan_request(plan)->collective) || pto_plan_may_be_in_place(plan));
}

static pto_status_t bind(const tap_cell_t *cell, int size, pto_scenario_t *scenario, pto_error_t *err) {
    const pto_ask_t ask = {.collective = pto_collective_name(cell->collective),
                           .datatype = pto_datatype_name(cell->datatype),
                           .bytes = cell->bytes,
                           .gpus_per_node = size,
                           .procs_per_gpu = 1};
    return pto_bind_cell(&ask, tap_settings()->machine, scenario, err);
}

/* The cheapest of those that are left; -1: none. */
static int cheapest(const pto_predictions_t *all) {
    int best = -1;
    for (int i = 0; i < all->strategy_count; i++) {
        const pto_prediction_t *own = &all->prediction[i];
        if (own->applicable && (best < 0 || own->price.seconds < all->prediction[best].price.seconds))
            best = i;
    }
    return best;
}

/* From the cheapest strategy on, the first that is a candidate. One that the environment names is taken
 * whatever it costs. */
static void choose(const tap_comm_t *comm, tap_pick_t *pick, const pto_predictions_t *all) {
    const char *wanted = tap_settings()->strategy;
    const int place = (comm->rank - pick->cell.root + comm->size) % comm->size;
    pick->why = "no kernel applies";
    for (int i = 0; i < all->strategy_count; i++) {
        if (all->prediction[i].applicable && strcmp(all->strategy[i]->name, "nccl") == 0)
            pick->nccl_s = all->prediction[i].price.seconds;
        all->prediction[i].applicable &= !wanted || strcmp(all->strategy[i]->name, wanted) == 0;
    }
    for (int best; (best = cheapest(all)) >= 0; all->prediction[best].applicable = false) {
        pto_price_t price;
        pto_plan_t *plan = NULL;
        if (pto_plan_choose(&pick->scenario, tap_settings()->machine, 0, all->strategy[best], &plan, &price,
                            NULL, NULL) != PTO_OK)
            continue;
        if (!is_candidate(plan)) {
            pto_plan_destroy(plan);
            continue;
        }
        pick->plan = plan;
        pick->in_bytes = pto_exec_user_bytes(plan, place, PTO_ROLE_IN);
        pick->out_bytes = pto_exec_user_bytes(plan, place, PTO_ROLE_OUT);
        pick->name = all->strategy[best]->name;
        pick->predicted_s = price.seconds;
        pick->why = wanted                         ? NULL
                    : pick->nccl_s == 0            ? "the machine file does not price NCCL's"
                    : price.seconds < pick->nccl_s ? NULL
                                                   : "NCCL is cheaper";
        return;
    }
}

static void tell(const tap_comm_t *comm, const tap_pick_t *pick) {
    if (!tap_settings()->informs)
        return;
    tap_say(comm->rank, "INFO %s of %lld bytes, %s, on %d GPUs: %s, predicted %.2f us, NCCL's %.2f us%s%s",
            pto_collective_name(pick->cell.collective), (long long)pick->cell.bytes,
            pto_datatype_name(pick->cell.datatype), comm->size, pick->why ? "NCCL" : pick->name,
            pick->predicted_s * 1e6, pick->nccl_s * 1e6, pick->why ? ": " : "", pick->why ? pick->why : "");
}

static tap_pick_t *make(const tap_comm_t *comm, const tap_cell_t *cell) {
    tap_pick_t *made = calloc(1, sizeof *made);
    pto_predictions_t predictions = {0};
    if (!made)
        return NULL;
    made->cell = *cell;
    made->why = "it has no price";
    pto_scenario_init(&made->scenario);
    if (bind(cell, comm->size, &made->scenario, NULL) == PTO_OK &&
        pto_predict(&made->scenario, tap_settings()->machine, false, &predictions, NULL) == PTO_OK)
        choose(comm, made, &predictions);
    pto_predictions_fini(&predictions);
    tell(comm, made);
    return made;
}

static tap_pick_t *find(const tap_comm_t *comm, const tap_cell_t *cell) {
    tap_pick_t *pick = comm->picks;
    while (pick && !is_same(&pick->cell, cell))
        pick = pick->next;
    return pick;
}

tap_pick_t *tap_pick_known(const tap_comm_t *comm, const tap_call_t *call) {
    tap_cell_t cell;
    return cell_of(comm, call, &cell) ? find(comm, &cell) : NULL;
}

/* Every process meets the same kinds of calls in the same order, and stops pricing at the same one. */
tap_pick_t *tap_pick_of(tap_comm_t *comm, const tap_call_t *call) {
    tap_cell_t cell;
    if (!cell_of(comm, call, &cell))
        return NULL;
    tap_pick_t *pick = find(comm, &cell);
    if (!pick && comm->picks_made < tap_settings()->plans_max) {
        pick = make(comm, &cell);
        if (!pick)
            return NULL;
        comm->picks_made++;
        pick->next = comm->picks;
        comm->picks = pick;
    }
    return pick && !pick->why ? pick : NULL;
}

void tap_picks_free(tap_comm_t *comm) {
    tap_symmetric_enter(&comm->symmetric);
    for (tap_pick_t *pick = comm->picks, *next; pick; pick = next) {
        next = pick->next;
        for (tap_run_t *run = pick->runs, *after; run; run = after) {
            after = run->next;
            pto_exec_destroy(run->exec);
            if (run->aside)
                tap_settings()->device->release(run->aside, NULL);
            if (run->stream)
                tap_settings()->device->stream_destroy(run->stream, NULL);
            free(run);
        }
        pto_plan_destroy(pick->plan);
        pto_scenario_fini(&pick->scenario);
        free(pick);
    }
    tap_symmetric_leave();
    comm->picks = NULL;
}
