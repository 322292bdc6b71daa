/* Prices a loop of pairwise exchanges of a table of byte counts. In the round of distance d, process i sends
 * one message to i + d and receives one from i - d. Its time t advances to
 *     t'[i] = max(t[i], t[i - d]) + max(time of its send, time of its receive).
 * The results are those of by_rank.c. But instead of a ledger, each process has its time in an array and, for
 * explanations, counts of the terms on its longest path. Pricing ends early if a lower bound of the price
 * exceeds the bound of the request. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "price/messages.h"

/* Explanations: counts for each process. A process that waits for its sender takes over the sender's counts,
 * so that they are those of its longest path. With two rows of costs, a process has the counts
 *     [messages, bytes of row 0; messages, bytes of row 1; LIMITED_BYTES ... LIMITED_MESSAGES]. */
typedef struct {
    bool wanted;
    int first_row[PTO_LEVEL_COUNT]; /* of the level's cost, among the rows of all levels */
    int rows;                       /* of all levels */
    size_t width;                   /* number of counts of each process */
    double *count;                  /* [group][member][width]: the counts before the round */
    double *next;                   /* [group][member][width]: the counts after the round */
    int64_t *origin;                /* [group][member]: the actor with which its longest path began */
    int64_t *next_origin;           /* [group][member]: the same after the round */
} terms_t;

/* The sums of a node's traffic (pto_outflow_t) in rounds in which its injection limits replace the cost of a
 * message. The parameters of the limits multiply these sums. */
typedef enum { LIMITED_BYTES, LIMITED_WAITED, LIMITED_CONTENDED, LIMITED_MESSAGES, LIMITED_COUNT } limited_t;

/* The exchange. The members of a group exchange with each other. A group is the processes with the same core;
 * or there is one group, of all owners. */
typedef struct {
    pto_pricing_t *pricing;
    const pto_stage_t *stage;
    pto_messages_t out; /* the sends of the first round */
    pto_table_t table;
    pto_parts_t parts;
    bool cyclic;      /* a core has only the blocks of its part */
    int64_t size;     /* number of members of a group */
    int64_t per_node; /* number of them on each node */
    int64_t first_core;
    int64_t groups;
    /* The current round: */
    int64_t distance;     /* from sender to receiver */
    bool all_leave;       /* all messages leave their nodes */
    int64_t block_core;   /* if blocks are cyclic, the core that has those of this round */
    int64_t *bytes;       /* [sender]: of the pair's entry in the table */
    double *time_s;       /* [group][member]: the time that it has reached before the round */
    double *next_s;       /* [group][member]: and after it */
    pto_behind_t *behind; /* [actor]: scratch of rest_exceeds */
    terms_t terms;
} pairs_t;

/* A message at one of its ends, under the limits of that end's node. */
typedef struct {
    pto_level_t level;
    const pto_postal_t *postal;
    int64_t bytes;
    double time_s;
    bool by_bytes; /* the node's limit on bytes replaces the cost of the message's bytes */
    bool by_rate;  /* the node's limit on messages and bytes replaces the message's whole cost */
} end_t;

static double larger(double a, double b) { return b > a ? b : a; }

/* Returns the actor of an index in arrays [group][member]. */
static int64_t actor_of(const pairs_t *pairs, int64_t index) {
    return pairs->first_core + index / pairs->size + index % pairs->size * pairs->out.per_index;
}

/* --- whether a loop is such an exchange ----------------------------------------------------------------- */

/* Returns whether each member has exactly one message, with the member at a distance. */
static bool has_one_message_each(const pto_messages_t *messages) {
    return messages->of_pairs && !messages->by_core && messages->peer_count == 1 && messages->per_index > 0 &&
           messages->who_first <= 0 && messages->who_stride == 1 &&
           messages->who_until >= messages->group->size && messages->step->send_empty &&
           messages->step->peers.kind == PTO_PEERS_SHIFT && pto_messages_all_cost(messages);
}

/* Returns whether the two steps are the two ends of the same messages. */
static bool are_matched(const pto_messages_t *out, const pto_messages_t *in) {
    const pto_step_t *send = out->step, *receive = in->step;
    return send->kind == PTO_STEP_SEND && receive->kind == PTO_STEP_RECV && send->group == receive->group &&
           send->core_first == receive->core_first && send->core_count == receive->core_count &&
           send->peers.sign == 1 && receive->peers.sign == -1 &&
           pto_expr_same(&send->peers.first, &receive->peers.first) && out->space == in->space &&
           out->buffer->blocks == PTO_BLOCKS_ROW && in->buffer->blocks == PTO_BLOCKS_COLUMN;
}

/* Fills in `pairs`, without its arrays and table. False: the loop is not such an exchange. */
static bool find_exchange(const pto_pricing_t *pricing, int loop, pairs_t *pairs) {
    const pto_node_t *node = pto_node_at(pricing->plan, loop), *body = node + 1;
    if (pto_latency_known(pricing->machine) || node->kind != PTO_NODE_LOOP || node->span != 1 ||
        node->from >= node->to || body->kind != PTO_NODE_STAGE)
        return false;
    const pto_stage_t *stage = pto_stage_at(pricing->plan, body->stage);
    if (stage->step_count != 2 || stage->order != PTO_ORDER_AT_ONCE || !pto_messages_are_plain(pricing))
        return false;
    pairs->stage = stage;
    pairs->out = pto_messages_of(pricing, pto_step_at(pricing->plan, stage->step_first), node->from);
    pto_messages_t in =
        pto_messages_of(pricing, pto_step_at(pricing->plan, stage->step_first + 1), node->from);
    pto_parts_t in_parts;
    pairs->size = pairs->out.group->size;
    pairs->per_node = pairs->out.group->members_per_node;
    pairs->first_core = pairs->out.step->core_first;
    bool one_group = pto_group_traits[pairs->out.group->kind].index & PTO_BY_CORE;
    pairs->groups = one_group ? 1 : pairs->out.step->core_count;
    pairs->cyclic = pairs->out.buffer->cyclic != PTO_CYCLIC_NONE;
    const pto_layout_t *layout = &pto_plan_request(pricing->plan)->layout;
    const pto_expr_t *distance = &pairs->out.step->peers.first;
    /* All distances are in 1 .. size - 1 and ascend: */
    bool others_in_turn = pto_expr_at(distance, node->from, 0, 0) > 0 &&
                          pto_expr_at(distance, node->to - 1, 0, 0) < pairs->size && distance->loop > 0;
    bool is_pairwise =
        has_one_message_each(&pairs->out) && has_one_message_each(&in) && are_matched(&pairs->out, &in);
    bool all_owners =
        pairs->size == pto_layout_owner_count(layout) &&
        (!one_group || (pairs->first_core == 0 && pairs->out.step->core_count == layout->owners_per_gpu));
    return others_in_turn && is_pairwise && all_owners &&
           pairs->cyclic == (in.buffer->cyclic != PTO_CYCLIC_NONE) &&
           pto_buffer_parts(pricing->plan, pairs->out.buffer, &pairs->parts) &&
           pto_buffer_parts(pricing->plan, in.buffer, &in_parts) &&
           pto_parts_are_same(&pairs->parts, &in_parts);
}

static bool is_exchange_of_pairs(const pto_pricing_t *pricing, int node) {
    pairs_t pairs = {.stage = NULL};
    return find_exchange(pricing, node, &pairs);
}

static void swap(double **a, double **b) {
    double *kept = *a;
    *a = *b;
    *b = kept;
}

/* --- explanations --------------------------------------------------------------------------------------- */

/* False: out of memory. */
static bool begin_terms(pairs_t *pairs) {
    terms_t *terms = &pairs->terms;
    size_t members = (size_t)(pairs->groups * pairs->size);
    for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
        terms->first_row[level] = terms->rows;
        terms->rows += pairs->out.cost[level]->count;
    }
    terms->width = 2 * (size_t)terms->rows + LIMITED_COUNT;
    terms->count = calloc(members * terms->width, sizeof *terms->count);
    terms->next = calloc(members * terms->width, sizeof *terms->next);
    terms->origin = malloc(members * sizeof *terms->origin);
    terms->next_origin = malloc(members * sizeof *terms->next_origin);
    if (!terms->count || !terms->next || !terms->origin || !terms->next_origin)
        return false;
    for (size_t i = 0; i < members; i++)
        terms->origin[i] = actor_of(pairs, (int64_t)i);
    pto_pricing_save(pairs->pricing, pairs->pricing->clocks.before);
    return true;
}

static void free_terms(terms_t *terms) {
    free(terms->count);
    free(terms->next);
    free(terms->origin);
    free(terms->next_origin);
}

/* Counts a message at one of its ends, or the limit that replaces its cost, as in pto_charge_settle. */
static void count_end(const pairs_t *pairs, const end_t *end, const pto_outflow_t *outflow, double *count) {
    pto_space_t space = pairs->out.space;
    int row = 0;
    while (&pairs->out.cost[end->level]->row[row].postal != end->postal)
        row++;
    double *own = count + 2 * (pairs->terms.first_row[end->level] + row); /* messages, bytes */
    double *limited = count + 2 * pairs->terms.rows;
    own[0] += end->by_rate ? 0 : 1;
    own[1] += end->by_bytes || end->by_rate ? 0 : (double)end->bytes;
    if (!end->by_bytes && !end->by_rate)
        return;
    limited[LIMITED_BYTES] += outflow->bytes[space];
    limited[LIMITED_WAITED] += outflow->waited[space];
    limited[LIMITED_CONTENDED] += outflow->contended[space];
    limited[LIMITED_MESSAGES] += end->by_rate ? outflow->messages[space] : 0;
}

/* Counts a member's round: it sends `out` and receives `in`. It begins at the time of `followed`: of itself,
 * or of its sender if it waits for that one. The longer of the two messages is on its path. */
static void count_member(const pairs_t *pairs, int64_t group, int64_t member, int64_t followed,
                         const end_t *out, const end_t *in) {
    const terms_t *terms = &pairs->terms;
    int64_t own = group * pairs->size + member, from = group * pairs->size + followed;
    double *count = terms->next + (size_t)own * terms->width;
    memcpy(count, terms->count + (size_t)from * terms->width, terms->width * sizeof *count);
    terms->next_origin[own] = terms->origin[from];
    count_end(pairs, in->time_s > out->time_s ? in : out,
              &pairs->pricing->shared.outflow[member / pairs->per_node], count);
    pto_time_t sent = {.s = out->time_s}, received = {.s = in->time_s};
    pto_occupied_messages(pairs->pricing, actor_of(pairs, own), sent, received);
}

static void end_round_of_terms(pairs_t *pairs) {
    terms_t *terms = &pairs->terms;
    int64_t *origin = terms->origin;
    pto_occupied_stage(pairs->pricing);
    swap(&terms->count, &terms->next);
    terms->origin = terms->next_origin;
    terms->next_origin = origin;
}

/* Enters a process's counts as terms of a charge. */
static void enter_terms(const pairs_t *pairs, const double *count, pto_charge_t *charge) {
    const double *limited = count + 2 * pairs->terms.rows;
    pto_space_t space = pairs->out.space;
    pto_outflow_t outflow = {.limits_known = false};
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        for (int row = 0; row < pairs->out.cost[level]->count; row++) {
            const double *own = count + 2 * (pairs->terms.first_row[level] + row);
            pto_entry_t entry = {
                .cell = pairs->out.cell[level], .space = space, .off_node = level == PTO_LEVEL_OFF_NODE};
            pto_charge_enter_postal(charge, entry, &pairs->out.cost[level]->row[row].postal, own[0], own[1]);
        }
    outflow.bytes[space] = limited[LIMITED_BYTES];
    outflow.waited[space] = limited[LIMITED_WAITED];
    outflow.contended[space] = limited[LIMITED_CONTENDED];
    outflow.messages[space] = limited[LIMITED_MESSAGES];
    pto_charge_enter_limits(charge, pairs->pricing->machine, &outflow, limited[LIMITED_MESSAGES] > 0);
}

/* Sets the terms of all ledgers. The terms before the loop are those of the actor with which the longest path
 * began. The terms of the loop are the counts. */
static void end_terms(const pairs_t *pairs) {
    pto_clocks_t *clocks = &pairs->pricing->clocks;
    for (int64_t i = 0; i < pairs->groups * pairs->size; i++) {
        pto_ledger_t *ledger = &clocks->ledger[actor_of(pairs, i)];
        pto_charge_t charge;
        pto_charge_begin(&charge, pairs->stage->name, &clocks->terms[PTO_TERMS_OUT]);
        enter_terms(pairs, pairs->terms.count + (size_t)i * pairs->terms.width, &charge);
        pto_pricing_must(pairs->pricing, pto_ledger_copy(ledger, &clocks->before[pairs->terms.origin[i]]) &&
                                             pto_ledger_add_terms(ledger, &charge));
    }
}

/* --- a round -------------------------------------------------------------------------------------------- */

static void begin_round(pairs_t *pairs, int64_t k) {
    pairs->distance = pto_expr_at(&pairs->out.step->peers.first, k, 0, 0);
    pairs->all_leave = pairs->distance >= pairs->per_node && pairs->distance <= pairs->size - pairs->per_node;
    pairs->block_core = pairs->distance % pairs->parts.count;
}

/* Reads the entries of the current distance for `count` senders from `first` on, modulo the group's size. */
static void read_bytes(pairs_t *pairs, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; i++) {
        int64_t sender = pto_messages_wrap(i, pairs->size);
        int64_t receiver = pto_messages_wrap(sender + pairs->distance, pairs->size);
        pairs->bytes[sender] = pto_table_entry(&pairs->table, sender, receiver);
    }
}

/* Returns the bytes of the message that a member of a group sends: its core's part of the entry. */
static int64_t own_bytes(const pairs_t *pairs, int64_t group, int64_t sender) {
    int64_t core = pairs->first_core + group;
    if (pairs->parts.kind == PTO_PARTS_SHARES)
        return pto_share_bytes(pairs->bytes[sender], pairs->parts.granularity_bytes, pairs->parts.count,
                               core);
    return pairs->cyclic && pairs->block_core != core ? 0 : pairs->bytes[sender];
}

static pto_level_t level_of(const pairs_t *pairs, int64_t sender) {
    int64_t receiver = pto_messages_wrap(sender + pairs->distance, pairs->size);
    if (pairs->all_leave || sender / pairs->per_node != receiver / pairs->per_node)
        return PTO_LEVEL_OFF_NODE;
    const pto_actor_t *actor = pairs->pricing->actors.actor + pairs->first_core;
    int64_t per_index = pairs->out.per_index;
    return pto_layout_level(&pto_plan_request(pairs->pricing->plan)->layout, actor[sender * per_index].place,
                            actor[receiver * per_index].place);
}

/* Returns the off-node traffic of a node in this round, and its limits. */
static pto_outflow_t outflow_of(const pairs_t *pairs, int64_t node) {
    pto_sum_t sent = {0, 0};
    for (int64_t member = node * pairs->per_node; member < (node + 1) * pairs->per_node; member++) {
        if (level_of(pairs, member) != PTO_LEVEL_OFF_NODE)
            continue;
        sent.messages += pairs->groups;
        for (int64_t group = 0; group < pairs->groups; group++)
            sent.bytes += own_bytes(pairs, group, member);
    }
    pto_outflow_t outflow = {.limits_known = false};
    pto_outflow_add_sum(&outflow, pairs->out.space, PTO_PEERS_SHIFT, pairs->out.in_one_order,
                        pairs->pricing->actors.node_count, (double)sent.messages, (double)sent.bytes);
    pto_outflow_find_limits(&outflow, pairs->pricing->machine);
    return outflow;
}

/* Returns a message at one of its ends, as pto_charge_time does for one message. `outflow`: the traffic of
 * the node at that end. */
static end_t end_of(const pairs_t *pairs, int64_t group, int64_t sender, const pto_outflow_t *outflow) {
    end_t end = {.level = level_of(pairs, sender), .bytes = own_bytes(pairs, group, sender)};
    end.postal = pto_messages_postal(pairs->out.cost[end.level], end.bytes);
    double alpha_s = end.postal->alpha_s.value;
    double bytes_s = (double)end.bytes * end.postal->beta_s_per_byte.value;
    if (end.level == PTO_LEVEL_OFF_NODE) {
        end.by_bytes = bytes_s < outflow->bytes_limit.s;
        bytes_s = larger(bytes_s, outflow->bytes_limit.s);
        end.by_rate = outflow->rate_limit.s > alpha_s + bytes_s;
    }
    end.time_s = end.by_rate ? outflow->rate_limit.s : alpha_s + bytes_s;
    return end;
}

/* Advances the members on a node from `time_s` to `next_s`. `never_wait`: instead adds the round's messages
 * to `next_s`, as if no member waited for its sender. */
static void advance_node(pairs_t *pairs, int64_t node, bool never_wait) {
    pto_outflow_t *outflow = &pairs->pricing->shared.outflow[node];
    int64_t first = node * pairs->per_node;
    *outflow = outflow_of(pairs, node);
    pto_price_visits += pairs->groups * pairs->per_node;
    for (int64_t group = 0; group < pairs->groups; group++) {
        const double *time_s = pairs->time_s + group * pairs->size;
        double *next_s = pairs->next_s + group * pairs->size;
        for (int64_t member = first; member < first + pairs->per_node; member++) {
            int64_t sender = pto_messages_wrap(member - pairs->distance, pairs->size);
            int64_t followed = time_s[sender] > time_s[member] ? sender : member;
            const end_t out = end_of(pairs, group, member, outflow),
                        in = end_of(pairs, group, sender, outflow);
            next_s[member] = (never_wait ? next_s[member] : time_s[followed]) + larger(out.time_s, in.time_s);
            if (pairs->terms.wanted && !never_wait)
                count_member(pairs, group, member, followed, &out, &in);
        }
    }
}

static void price_round(pairs_t *pairs, int64_t k) {
    begin_round(pairs, k);
    read_bytes(pairs, 0, pairs->size);
    pto_blocks_summed += pairs->size;
    for (int64_t node = 0; node < pairs->pricing->actors.node_count; node++)
        advance_node(pairs, node, false);
    if (pairs->terms.wanted)
        end_round_of_terms(pairs);
    swap(&pairs->time_s, &pairs->next_s);
}

/* Sets the processes' ledgers to these times. */
static void set_times(const pairs_t *pairs, const double *time_s) {
    const pto_clocks_t *clocks = &pairs->pricing->clocks;
    for (int64_t i = 0; i < pairs->groups * pairs->size; i++) {
        clocks->ledger[actor_of(pairs, i)].time.s = time_s[i];
        clocks->behind[actor_of(pairs, i)] = PTO_BEHIND_NOTHING;
    }
}

/* --- the bound ------------------------------------------------------------------------------------------ */

/* The bound is usually the price of another plan, often of one that sends all messages at once. To test early
 * whether this price exceeds it, the remaining rounds of only one node are priced, as if its processes never
 * waited, and then the stages after the loop. That gives a lower bound of the price for far less work. */

/* Returns whether rest_exceeds can price the stages after the loop and undo that: they change only the times
 * of ledgers and `behind`. So there are no explanations, flags, queues of copies, loops or calls of NCCL. */
static bool ends_plainly(const pto_pricing_t *pricing, int loop) {
    const pto_plan_t *plan = pricing->plan;
    bool plain = !pricing->clocks.explain && !pricing->shared.loads.links.memory_s_per_byte &&
                 pricing->flags.count == 0;
    for (int i = 0; i < pto_plan_node_count(plan) && plain; i++) {
        const pto_node_t *node = pto_node_at(plan, i);
        bool encloses = i < loop && i + node->span >= loop;
        bool matters = encloses || i > loop + pto_node_at(plan, loop)->span;
        if (matters && node->kind != PTO_NODE_STAGE)
            plain = node->kind == PTO_NODE_COLLECTIVE && node->by != PTO_DONE_BY_NCCL;
        const pto_stage_t *stage = pto_node_stage(plan, i);
        for (int s = 0; stage && matters && s < stage->step_count; s++)
            plain =
                plain && !pto_step_queues(plan, pricing->machine, pto_step_at(plan, stage->step_first + s));
    }
    return plain;
}

/* Returns whether the price exceeds its bound if processes leave the loop at the times in next_s. Prices the
 * stages after the loop, and restores the state. */
static bool rest_exceeds(pairs_t *pairs, int loop) {
    pto_pricing_t *pricing = pairs->pricing;
    const pto_pricing_t before = *pricing;
    const pto_clocks_t *clocks = &before.clocks;
    size_t behind_size = (size_t)pricing->actors.count * sizeof *pairs->behind;
    int rest = loop + 1 + pto_node_at(pricing->plan, loop)->span;
    memcpy(pairs->behind, clocks->behind, behind_size);
    pto_pricing_save(pricing, clocks->snapshot);
    set_times(pairs, pairs->next_s);
    pricing->err = NULL; /* errors are reported when the rest is priced after the rounds */
    pto_price_nodes(pricing, rest, pto_plan_node_count(pricing->plan) - rest, 0);
    bool exceeded = pricing->outcome.exceeded, out_of_memory = pricing->clocks.out_of_memory;
    *pricing = before;
    pricing->clocks.out_of_memory = out_of_memory;
    for (int64_t i = 0; i < pricing->actors.priced_count; i++)
        clocks->ledger[pricing->actors.priced[i]].time = clocks->snapshot[pricing->actors.priced[i]].time;
    memcpy(clocks->behind, pairs->behind, behind_size);
    return exceeded;
}

/* Returns the node whose rounds are priced. Any node would do. The last one to end in the previous price is
 * likely to end last here, too, as its messages are the same in another order. */
static int64_t choose_node(const pto_pricing_t *pricing) {
    int64_t latest = pto_tables_latest_node(pricing->tables);
    return latest >= 0 && latest < pricing->actors.node_count ? latest : 0;
}

/* Returns whether the price surely exceeds its bound, given the times before round `from`. */
static bool exceeds_bound(pairs_t *pairs, int loop, int64_t from) {
    const pto_pricing_t *pricing = pairs->pricing;
    if (isinf(pricing->bound_s))
        return false;
    int64_t node = choose_node(pricing), first = node * pairs->per_node, times = pairs->groups * pairs->size;
    double last_s = 0;
    memcpy(pairs->next_s, pairs->time_s, (size_t)times * sizeof *pairs->next_s);
    for (int64_t k = from; k < pto_node_at(pricing->plan, loop)->to; k++) {
        begin_round(pairs, k);
        read_bytes(pairs, first, pairs->per_node);
        read_bytes(pairs, first - pairs->distance, pairs->per_node);
        advance_node(pairs, node, true);
    }
    for (int64_t i = 0; i < times; i++)
        last_s = larger(last_s, pairs->next_s[i]);
    return last_s > pricing->bound_s || (ends_plainly(pricing, loop) && rest_exceeds(pairs, loop));
}

/* --- the loop ------------------------------------------------------------------------------------------- */

/* False: out of memory. */
static bool allocate(pairs_t *pairs) {
    size_t times = (size_t)(pairs->groups * pairs->size);
    pairs->terms.wanted = pairs->pricing->clocks.explain;
    pairs->bytes = malloc((size_t)pairs->size * sizeof *pairs->bytes);
    pairs->time_s = malloc(times * sizeof *pairs->time_s);
    pairs->next_s = malloc(times * sizeof *pairs->next_s);
    pairs->behind = malloc((size_t)pairs->pricing->actors.count * sizeof *pairs->behind);
    return pto_table_init(pto_plan_request(pairs->pricing->plan), &pairs->table) && pairs->bytes &&
           pairs->time_s && pairs->next_s && pairs->behind && (!pairs->terms.wanted || begin_terms(pairs));
}

static void release(pairs_t *pairs) {
    pto_table_fini(&pairs->table);
    free_terms(&pairs->terms);
    free(pairs->bytes);
    free(pairs->time_s);
    free(pairs->next_s);
    free(pairs->behind);
}

/* The bound is checked before the first round, after FIRST_CHECK rounds, then after CHECK_FACTOR times as
 * many, and so on. Rounds that are already priced include waits, so that later checks find more. */
enum { FIRST_CHECK = 16, CHECK_FACTOR = 4 };

static pto_status_t price_pairs(pto_pricing_t *pricing, int loop, int64_t outer) {
    (void)outer;
    pairs_t pairs = {.pricing = pricing};
    const pto_node_t *node = pto_node_at(pricing->plan, loop);
    if (!find_exchange(pricing, loop, &pairs) || !allocate(&pairs)) {
        pricing->clocks.out_of_memory = true;
        release(&pairs);
        return PTO_OK;
    }
    for (int64_t i = 0; i < pairs.groups * pairs.size; i++)
        pairs.time_s[i] = pricing->clocks.ledger[actor_of(&pairs, i)].time.s;
    for (int64_t k = node->from, next_check = k; k < node->to && !pricing->outcome.exceeded; k++) {
        if (k == next_check) {
            pricing->outcome.exceeded = exceeds_bound(&pairs, loop, k);
            next_check = node->from + (k > node->from ? CHECK_FACTOR * (k - node->from) : FIRST_CHECK);
        }
        if (!pricing->outcome.exceeded)
            price_round(&pairs, k);
    }
    if (pairs.terms.wanted)
        end_terms(&pairs);
    set_times(&pairs, pairs.time_s);
    release(&pairs);
    return PTO_OK;
}

const pto_pricer_t pto_pricer_pairs = {is_exchange_of_pairs, price_pairs};
