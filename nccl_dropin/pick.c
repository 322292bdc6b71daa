/* The choice between NCCL and portolan's strategies for each kind of call. Every process prices the same
 * candidates on the same machine file, so all choose alike without communication. A candidate runs as one
 * kernel and never accesses another process's buffers, as the program may free these at any time. */
#include <stdlib.h>
#include <string.h>

#include "decide/candidates.h"
#include "environment.h"
#include "portolan/pick.h"
#include "tap.h"

enum { NCCL_FLOAT8_FIRST = 10, NCCL_FLOAT8_LAST = 11 };

/* Returns PTO_DATATYPE_COUNT if there is none. */
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

/* Accepts the operations whose results equal NCCL's: sums and products (up to rounding), and the minimum and
 * maximum of integers. NCCL has rules of its own for NaNs and averages. */
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

static bool has_valid_arguments(const tap_comm_t *comm, const tap_call_t *call, int64_t element_bytes) {
    return element_bytes > 0 && call->count > 0 && call->count <= (size_t)(INT64_MAX / 64 / element_bytes) &&
           call->peer >= 0 && call->peer < comm->size;
}

/* False: calls like this are never taken. */
static bool key_of(const tap_comm_t *comm, const tap_call_t *call, tap_key_t *key) {
    const int64_t element_bytes = tap_element_bytes(call->datatype);
    memset(key, 0, sizeof *key);
    if (tap_is_message(call) || !has_valid_arguments(comm, call, element_bytes))
        return false;
    key->collective = tap_collective_of(call);
    key->root = call->peer;
    key->bytes = (int64_t)call->count * element_bytes;
    key->datatype = PTO_DATATYPE_BYTE;
    if (!(tap_settings()->takes & 1u << key->collective))
        return false;
    if (!pto_collective_reduces(key->collective))
        return true;
    key->datatype = datatype_of(call->datatype);
    return key->datatype != PTO_DATATYPE_COUNT && op_of(call->op, call->datatype, &key->op);
}

static bool equal_keys(const tap_key_t *a, const tap_key_t *b) {
    return a->collective == b->collective && a->datatype == b->datatype && a->op == b->op &&
           a->root == b->root && a->bytes == b->bytes;
}

/* Returns whether a plan is a candidate. The collectives on vectors may be in place on some processes only,
 * so their plans must work in place and out of place. */
static bool is_candidate(const pto_plan_t *plan) {
    return pto_plan_is_one_launch(plan) && !pto_plan_uses_nccl(plan) && pto_plan_is_private(plan) &&
           (!pto_collective_is_vector(pto_plan_request(plan)->collective) || pto_plan_may_be_in_place(plan));
}

static pto_status_t bind(const tap_key_t *key, int size, pto_scenario_t *scenario, pto_error_t *err) {
    const pto_ask_t ask = {.collective = pto_collective_name(key->collective),
                           .datatype = pto_datatype_name(key->datatype),
                           .bytes = key->bytes,
                           .gpus_per_node = size,
                           .procs_per_gpu = 1};
    return pto_bind_cell(&ask, tap_settings()->machine, scenario, err);
}

/* Tries the strategies from the cheapest on, and takes the first whose plan is a candidate. It must be
 * cheaper than NCCL, unless the environment names it. */
static void choose(const tap_comm_t *comm, tap_pick_t *pick, const pto_predictions_t *all) {
    const char *wanted = tap_settings()->strategy;
    const int place = (comm->rank - pick->key.root + comm->size) % comm->size;
    pick->why_not = "no kernel applies";
    for (int i = 0; i < all->strategy_count; i++) {
        if (all->prediction[i].applicable && strcmp(all->strategy[i]->name, "nccl") == 0)
            pick->nccl_s = all->prediction[i].price.seconds;
        all->prediction[i].applicable &= !wanted || strcmp(all->strategy[i]->name, wanted) == 0;
    }
    for (int best; (best = pto_pick_at(all, 0)) >= 0; all->prediction[best].applicable = false) {
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
        pick->why_not = NULL;
        if (!wanted && pick->nccl_s == 0)
            pick->why_not = "the machine file does not price NCCL's";
        else if (!wanted && price.seconds >= pick->nccl_s)
            pick->why_not = "NCCL is cheaper";
        return;
    }
}

static void inform(const tap_comm_t *comm, const tap_pick_t *pick) {
    if (!tap_settings()->informs || comm->rank != 0)
        return;
    preload_say("INFO %s of %lld bytes, %s, on %d GPUs: %s, predicted %.2f us, NCCL's %.2f us%s%s",
                pto_collective_name(pick->key.collective), (long long)pick->key.bytes,
                pto_datatype_name(pick->key.datatype), comm->size, pick->why_not ? "NCCL" : pick->name,
                pick->predicted_s * 1e6, pick->nccl_s * 1e6, pick->why_not ? ": " : "",
                pick->why_not ? pick->why_not : "");
}

static tap_pick_t *make(const tap_comm_t *comm, const tap_key_t *key) {
    tap_pick_t *made = calloc(1, sizeof *made);
    pto_predictions_t predictions = {0};
    if (!made)
        return NULL;
    made->key = *key;
    made->why_not = "it has no price";
    pto_scenario_init(&made->scenario);
    if (bind(key, comm->size, &made->scenario, NULL) == PTO_OK &&
        pto_predict(&made->scenario, tap_settings()->machine, false, &predictions, NULL) == PTO_OK)
        choose(comm, made, &predictions);
    pto_predictions_fini(&predictions);
    inform(comm, made);
    return made;
}

static tap_pick_t *find(const tap_comm_t *comm, const tap_key_t *key) {
    tap_pick_t *pick = comm->picks;
    while (pick && !equal_keys(&pick->key, key))
        pick = pick->next;
    return pick;
}

tap_pick_t *tap_pick_known(const tap_comm_t *comm, const tap_call_t *call) {
    tap_key_t key;
    return key_of(comm, call, &key) ? find(comm, &key) : NULL;
}

/* All processes meet the kinds of calls in the same order, so all stop pricing at the same one. */
tap_pick_t *tap_pick_of(tap_comm_t *comm, const tap_call_t *call) {
    tap_key_t key;
    if (!key_of(comm, call, &key))
        return NULL;
    tap_pick_t *pick = find(comm, &key);
    if (!pick && comm->picks_made < tap_settings()->plans_max) {
        pick = make(comm, &key);
        if (!pick)
            return NULL;
        comm->picks_made++;
        pick->next = comm->picks;
        comm->picks = pick;
    }
    return pick && !pick->why_not ? pick : NULL;
}

void tap_picks_free(tap_comm_t *comm) {
    tap_symmetric_enter(&comm->symmetric);
    for (tap_pick_t *pick = comm->picks, *next; pick; pick = next) {
        next = pick->next;
        for (tap_run_t *run = pick->runs, *after; run; run = after) {
            after = run->next;
            pto_exec_destroy(run->exec);
            if (run->in_copy)
                tap_settings()->device->release(run->in_copy, NULL);
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
