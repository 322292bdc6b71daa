/* Exchanges of tables without an explanation: pairwise, linear. What messages.c does for each process in each
 * round is here a few sums, in the same order, so that the prices have the same bits (test_price_tables). */
#include <stdlib.h>

#include "price/messages.h"

/* What a process's messages of one kind cost. */
typedef struct {
    double alpha_s;
    double off_node_alpha_s; /* of these, the off-node messages' */
    double on_node_s;
    double off_node_s;
    bool moved[PTO_LEVEL_COUNT];
} sums_t;

typedef struct {
    pto_pricing_t *pricing;
    const pto_request_t *request;
    pto_messages_t out;
    pto_messages_t in;
    int64_t per_node; /* processes */
    sums_t *sent;     /* by each process of the current node */
} pairs_t;

/* --- whether a stage is one ----------------------------------------------------------------------------- */

static bool all_cost(const pto_messages_t *messages) {
    bool all = true;
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        all = all && messages->cost[level]->count > 0;
    return all;
}

static bool is_of_all(const pto_messages_t *messages) {
    return messages->of_pairs && !messages->by_core && messages->per_index > 0 && messages->who_first <= 0 &&
           messages->who_stride == 1 && messages->who_until >= messages->group->size && all_cost(messages);
}

static bool begin(pairs_t *pairs, const pto_stage_t *stage, int64_t k) {
    pto_pricing_t *pricing = pairs->pricing;
    if (pricing->explain || pto_latency_known(pricing->machine) || stage->step_count != 2)
        return false;
    const pto_step_t *one = pto_plan_step(pricing->plan, stage->step_first), *other = one + 1;
    const pto_step_t *send = one->kind == PTO_STEP_SEND ? one : other, *receive = send == one ? other : one;
    if (send->kind != PTO_STEP_SEND || receive->kind != PTO_STEP_RECV || send->group != receive->group ||
        send->core_first != receive->core_first || send->core_count != receive->core_count)
        return false;
    pairs->out = pto_messages_of(pricing, send, k);
    pairs->in = pto_messages_of(pricing, receive, k);
    return is_of_all(&pairs->out) && is_of_all(&pairs->in) && pairs->out.is_skewed == pairs->in.is_skewed;
}

/* The part of a random table's hash that a source determines, of each. */
static bool hash_sources(pairs_t *pairs) {
    pto_pricing_t *pricing = pairs->pricing;
    int64_t size = pto_layout_owner_count(&pairs->request->layout); /* no group of them has more */
    if (!pairs->out.is_skewed || pricing->source_hash)
        return true;
    pricing->source_hash = malloc((size_t)size * sizeof *pricing->source_hash);
    for (int64_t i = 0; pricing->source_hash && i < size; i++)
        pricing->source_hash[i] = pto_skew_source(&pairs->out.skew, i);
    return pricing->source_hash;
}

/* --- one process ---------------------------------------------------------------------------------------- */

static int64_t bytes_of(const pairs_t *pairs, const pto_messages_t *messages, int64_t me, int64_t peer,
                        int64_t core) {
    const pto_buffer_t *buffer = messages->buffer;
    bool row = buffer->blocks == PTO_BLOCKS_ROW;
    if (!pto_messages_have(messages, me, peer, core))
        return 0;
    int64_t from = row ? me : peer, to = row ? peer : me;
    int64_t whole = messages->is_skewed
                        ? pto_skew_bytes_from(&messages->skew, pairs->pricing->source_hash[from], to)
                        : pto_request_bytes(pairs->request, from, to);
    return buffer->split > 1 ? pto_share_bytes(whole, buffer->granularity_bytes, buffer->split, core) : whole;
}

static void add_message(sums_t *sums, const pto_messages_t *messages, pto_level_t level, int64_t bytes) {
    const pto_cost_table_t *gap = sums->moved[level] ? messages->gap[level] : NULL;
    const pto_postal_t *postal = pto_messages_postal(gap ? gap : messages->cost[level], bytes);
    double alpha = postal->alpha_s.value, beta = (double)bytes * postal->beta_s_per_byte.value;
    sums->moved[level] = true;
    sums->alpha_s += alpha;
    if (level == PTO_LEVEL_OFF_NODE) {
        sums->off_node_alpha_s += alpha;
        sums->off_node_s += beta;
    } else {
        sums->on_node_s += beta;
    }
}

static int64_t peer_of(const pto_messages_t *messages, int64_t me, int64_t value) {
    const pto_peers_t *peers = &messages->step->peers;
    if (peers->kind == PTO_PEERS_SHIFT)
        return pto_messages_wrap(me + peers->sign * value, messages->group->size);
    return peers->kind == PTO_PEERS_XOR ? me ^ value : value;
}

/* Sum the messages of a process at its own end. Those it sends are added to what its node sends; of those it
 * receives, `*latest_s` becomes the time of the latest sender. */
static void sum_messages(pairs_t *pairs, const pto_messages_t *messages, int64_t actor, int64_t me,
                         sums_t *sums, pto_outflow_t *outflow, double *latest_s) {
    pto_pricing_t *pricing = pairs->pricing;
    const pto_layout_t *layout = &pairs->request->layout;
    pto_rank_t place = pricing->actor[actor].place;
    int64_t first_rank = actor - me * messages->per_index, value = messages->peer_first;
    pto_price_visits += 1 + messages->peer_count;
    for (int64_t j = 0; j < messages->peer_count; j++, value += messages->peer_stride) {
        int64_t peer = peer_of(messages, me, value), rank = first_rank + peer * messages->per_index;
        int64_t bytes = peer == me ? 0 : bytes_of(pairs, messages, me, peer, place.core);
        if (peer == me || (bytes == 0 && !messages->step->send_empty))
            continue;
        const pto_rank_t *other = &pricing->actor[rank].place;
        pto_level_t level =
            other->node != place.node ? PTO_LEVEL_OFF_NODE : pto_layout_level(layout, place, *other);
        add_message(sums, messages, level, bytes);
        if (latest_s && pricing->before[rank].time.s > *latest_s)
            *latest_s = pricing->before[rank].time.s;
        if (outflow && level == PTO_LEVEL_OFF_NODE)
            pto_outflow_add_from(outflow, messages->space, messages->step->peers.kind, messages->in_one_order,
                                 layout->nodes, 1, (double)bytes);
    }
}

/* pto_charge_time of these sums. */
static double seconds_of(const pairs_t *pairs, const sums_t *sums, pto_outflow_t *outflow) {
    double off_node_s = sums->off_node_alpha_s + sums->off_node_s;
    if (sums->moved[PTO_LEVEL_OFF_NODE]) {
        pto_outflow_find_limits(outflow, pairs->pricing->machine);
        double bytes_s = outflow->bytes_limit.s, rate_s = outflow->rate_limit.s;
        off_node_s = sums->off_node_alpha_s + (bytes_s > sums->off_node_s ? bytes_s : sums->off_node_s);
        off_node_s = rate_s > off_node_s ? rate_s : off_node_s;
    }
    return ((sums->alpha_s - sums->off_node_alpha_s) + sums->on_node_s) + off_node_s;
}

/* --- the stage ------------------------------------------------------------------------------------------ */

static void send(pairs_t *pairs, int64_t actor, int64_t me, pto_outflow_t *outflow) {
    sums_t *sent = &pairs->sent[actor % pairs->per_node];
    *sent = (sums_t){0};
    pairs->pricing->behind[actor] = PTO_BEHIND_NOTHING;
    sum_messages(pairs, &pairs->out, actor, me, sent, outflow, NULL);
}

static void receive(pairs_t *pairs, int64_t actor, int64_t me, pto_outflow_t *outflow) {
    double *own_s = &pairs->pricing->ledger[actor].time.s, latest_s = *own_s;
    sums_t received = {0};
    sum_messages(pairs, &pairs->in, actor, me, &received, NULL, &latest_s);
    double out_s = seconds_of(pairs, &pairs->sent[actor % pairs->per_node], outflow);
    double in_s = seconds_of(pairs, &received, outflow);
    *own_s = latest_s + (in_s > out_s ? in_s : out_s);
}

static void each_process(pairs_t *pairs, int64_t node,
                         void (*act)(pairs_t *, int64_t, int64_t, pto_outflow_t *)) {
    const pto_step_t *step = pairs->out.step;
    int64_t first = node * pairs->per_node, until = first + pairs->per_node;
    for (int64_t gpu = first; gpu < until; gpu += pairs->pricing->actors_per_gpu)
        for (int64_t core = step->core_first; core < step->core_first + step->core_count; core++) {
            int64_t me = pto_group_index_at(&pairs->request->layout, pairs->out.group,
                                            pairs->pricing->actor[gpu + core].place);
            if (me >= 0)
                act(pairs, gpu + core, me, &pairs->pricing->outflow[node]);
        }
}

bool pto_pairs_price(pto_pricing_t *pricing, const pto_stage_t *stage, int64_t k) {
    pairs_t pairs = {.pricing = pricing,
                     .request = pto_plan_request(pricing->plan),
                     .per_node = pricing->actor_count / pricing->node_count};
    if (!begin(&pairs, stage, k))
        return false;
    pairs.sent = calloc((size_t)pairs.per_node, sizeof *pairs.sent);
    if (!pairs.sent || !hash_sources(&pairs)) {
        pricing->out_of_memory = true;
        free(pairs.sent);
        return true;
    }
    for (int64_t actor = 0; actor < pricing->actor_count; actor++)
        pricing->before[actor].time = pricing->ledger[actor].time;
    for (int64_t node = 0; node < pricing->node_count; node++) {
        pricing->outflow[node] = (pto_outflow_t){0};
        each_process(&pairs, node, send);
        each_process(&pairs, node, receive);
    }
    free(pairs.sent);
    return true;
}
