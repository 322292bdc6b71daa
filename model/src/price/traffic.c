/* Counts the messages of a step by locality level (traffic.h).
 *
 * Nodes hold consecutive indices of a group. In a shift by 1 on nodes of four members, three messages of each
 * node stay there, and one leaves it. In general, a shift by d stays on the node only for |d| < members per
 * node, and the levels of one node's messages repeat on every node: one node is enough.
 *
 * In an exchange with index xor k, and in steps of every 2^j-th member, the levels repeat only every
 * lcm(members per node, 4k) indices (twice that for folded groups). Large groups are scanned only in windows
 * of that length: at their start, at the end of their folded part, and at their end.
 *
 * In a folded group (portolan/plan.h), only every second process of the first part is a member. A member's
 * position is its index before folding, which determines its node, GPU and socket. */
#include "price/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Steps of up to this many acting members are scanned whole. */
enum { COUNT_ALL_MAX = 256 };

/* Returns the level of a message between two positions on one node, counted from the node's first. */
static pto_level_t position_level(const pto_layout_t *layout, int64_t per_gpu, int64_t a, int64_t b) {
    int64_t gpu_a = a / per_gpu, gpu_b = b / per_gpu;
    if (gpu_a == gpu_b)
        return PTO_LEVEL_ON_GPU;
    return gpu_a / layout->gpus_per_socket == gpu_b / layout->gpus_per_socket ? PTO_LEVEL_ON_SOCKET
                                                                              : PTO_LEVEL_ON_NODE;
}

static bool same_mix(const pto_mix_t *a, const pto_mix_t *b) {
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        if (a->messages[level] != b->messages[level])
            return false;
    return true;
}

/* Adds a mix unless it is listed. If there is no room, the last mix takes the maxima of both. */
static void add_mix(pto_traffic_t *traffic, const pto_mix_t *mix) {
    for (int i = 0; i < traffic->mix_count; i++)
        if (same_mix(&traffic->mix[i], mix))
            return;
    if (traffic->mix_count < PTO_MIX_MAX) {
        traffic->mix[traffic->mix_count++] = *mix;
        return;
    }
    pto_mix_t *last = &traffic->mix[PTO_MIX_MAX - 1];
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        if (mix->messages[level] > last->messages[level])
            last->messages[level] = mix->messages[level];
}

static void add_one_message(pto_traffic_t *traffic, pto_level_t level) {
    pto_mix_t mix = {{0}};
    mix.messages[level] = 1;
    add_mix(traffic, &mix);
}

/* The values first, first + stride, ... below `until`: a set of peers or of acting members. */
typedef struct {
    int64_t first;
    int64_t stride;
    int64_t until;
} set_t;

static int64_t set_size(set_t set) {
    return set.first < set.until ? (set.until - set.first - 1) / set.stride + 1 : 0;
}

static bool in_set(set_t set, int64_t value) {
    return value >= set.first && value < set.until && (value - set.first) % set.stride == 0;
}

/* Returns the number of the set's values in [from, until). */
static int64_t set_within(set_t set, int64_t from, int64_t until) {
    set_t head = set, tail = set;
    head.until = until < set.until ? until : set.until;
    tail.until = from < set.until ? from : set.until;
    return set_size(head) - set_size(tail);
}

/* Members [first, until) of a node. */
typedef struct {
    int64_t first;
    int64_t until;
} members_t;

/* The members on the same GPU, socket and node as one member, including itself. They are ranges, so a node's
 * messages are counted without looking at all pairs of its members. */
typedef struct {
    members_t gpu;
    members_t socket;
    members_t node;
} neighbors_t;

static members_t members_around(int64_t me, int64_t size, int64_t per_node) {
    int64_t first = me / size * size;
    return (members_t){first, size < per_node - first ? first + size : per_node};
}

static neighbors_t neighbors_of(const pto_layout_t *layout, const pto_group_t *group, int64_t me) {
    int64_t per_node = group->members_per_node;
    bool all_owners = group->kind == PTO_GROUP_OWNERS || group->kind == PTO_GROUP_NODE_OWNERS;
    int64_t per_gpu = all_owners ? layout->owners_per_gpu : 1;
    bool one_socket = layout->gpus_per_socket >= layout->gpus_per_node;
    int64_t per_socket = one_socket ? per_node : per_gpu * layout->gpus_per_socket;
    return (neighbors_t){
        members_around(me, per_gpu, per_node), members_around(me, per_socket, per_node), {0, per_node}};
}

/* Sets the levels at which some member of a node has another one of this node at a distance. `first`: the
 * neighbors of member 0, whose GPU and socket have as many members as any. */
static void meet_at(const neighbors_t *first, int64_t distance, bool *met) {
    int64_t gpu = first->gpu.until, socket = first->socket.until, node = first->node.until;
    met[PTO_LEVEL_ON_GPU] = met[PTO_LEVEL_ON_GPU] || distance < gpu;
    met[PTO_LEVEL_ON_SOCKET] = met[PTO_LEVEL_ON_SOCKET] || (distance < socket && socket > gpu);
    met[PTO_LEVEL_ON_NODE] = met[PTO_LEVEL_ON_NODE] || (distance < node && node > socket);
}

/* Counts a shift: each member sends to the one at a distance, modulo the group's size. The peer is `ahead` of
 * the member or, around the group's end, `back` from it. Both can be on the member's own node. */
static void count_shift(const pto_layout_t *layout, const pto_group_t *group, int64_t distance,
                        pto_traffic_t *traffic) {
    int64_t per_node = group->members_per_node;
    int64_t ahead = pto_floor_mod(distance, group->size), back = group->size - ahead;
    if (ahead == 0)
        return;
    bool met[PTO_LEVEL_COUNT] = {false};
    neighbors_t first = neighbors_of(layout, group, 0);
    meet_at(&first, ahead, met);
    meet_at(&first, back, met);
    traffic->off_per_node =
        per_node - (ahead < per_node ? per_node - ahead : 0) - (back < per_node ? per_node - back : 0);
    met[PTO_LEVEL_OFF_NODE] = traffic->off_per_node > 0;
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        if (met[level])
            add_one_message(traffic, (pto_level_t)level);
}

/* Each count includes the ones before it: `on_socket` those on the GPU, and so on. */
static pto_mix_t mix_of(int64_t on_gpu, int64_t on_socket, int64_t on_node, int64_t all) {
    pto_mix_t mix = {{0}};
    mix.messages[PTO_LEVEL_ON_GPU] = on_gpu;
    mix.messages[PTO_LEVEL_ON_SOCKET] = on_socket - on_gpu;
    mix.messages[PTO_LEVEL_ON_NODE] = on_node - on_socket;
    mix.messages[PTO_LEVEL_OFF_NODE] = all - on_node;
    return mix;
}

/* Returns the number of other `members` whose shift, sign * (other - me) modulo the size, is in the set.
 * On one side of `me`, the shifts are 1, 2, and so on; on the other side size - 1, size - 2, and so on. */
static int64_t shifts_within(set_t set, int64_t sign, int64_t me, members_t members, int64_t size) {
    int64_t below = me - members.first, above = members.until - 1 - me; /* numbers of members */
    int64_t forwards = sign > 0 ? above : below, backwards = sign > 0 ? below : above;
    return set_within(set, 1, forwards + 1) + set_within(set, size - backwards, size);
}

/* Each member sends to all members at the shifts of the set, times the sign. */
static void count_shifts(const pto_layout_t *layout, const pto_group_t *group, set_t set, int64_t sign,
                         pto_traffic_t *traffic) {
    int64_t messages = set_size(set) - (in_set(set, 0) ? 1 : 0);
    for (int64_t me = 0; me < group->members_per_node; me++) {
        neighbors_t neighbors = neighbors_of(layout, group, me);
        int64_t on_gpu = shifts_within(set, sign, me, neighbors.gpu, group->size);
        int64_t on_socket = shifts_within(set, sign, me, neighbors.socket, group->size);
        int64_t on_node = shifts_within(set, sign, me, neighbors.node, group->size);
        pto_mix_t mix = mix_of(on_gpu, on_socket, on_node, messages);
        traffic->off_per_node += mix.messages[PTO_LEVEL_OFF_NODE];
        add_mix(traffic, &mix);
    }
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A scan over members that have one partner each. */
typedef struct {
    const pto_layout_t *layout;
    const pto_group_t *group;
    set_t acting_set; /* the members that act */
    bool is_xor;
    int64_t distance; /* xor operand, or signed shift */
    /* Results: */
    bool met[PTO_LEVEL_COUNT]; /* a member has its partner at that level */
    int64_t off_per_node;      /* maximum number of members of a node with a partner on another node */
} scan_t;

/* Scans the acting members [from, to). Their positions ascend, so nodes come in order. */
static void scan_range(scan_t *scan, int64_t from, int64_t to) {
    const pto_group_t *group = scan->group;
    int64_t per_node = group->members_per_node;
    int64_t per_gpu = pto_group_members_per_gpu(scan->layout, group->kind);
    int64_t acting = set_size(scan->acting_set);
    int64_t node_end = 0, leaving = 0;
    from = from > 0 ? from : 0;
    to = to < acting ? to : acting;
    for (int64_t i = from; i < to; i++) {
        int64_t me = scan->acting_set.first + i * scan->acting_set.stride;
        int64_t peer = scan->is_xor ? me ^ scan->distance : pto_floor_mod(me + scan->distance, group->size);
        int64_t position = pto_fold_out(group->fold, me);
        int64_t peer_position = pto_fold_out(group->fold, peer);
        if (position >= node_end) {
            node_end = (position / per_node + 1) * per_node;
            leaving = 0;
        }
        if (peer_position >= node_end || peer_position < node_end - per_node) {
            scan->met[PTO_LEVEL_OFF_NODE] = true;
            leaving++;
            scan->off_per_node = leaving > scan->off_per_node ? leaving : scan->off_per_node;
        } else if (peer != me) {
            int64_t node_start = node_end - per_node;
            scan->met[position_level(scan->layout, per_gpu, position - node_start,
                                     peer_position - node_start)] = true;
        }
    }
}

/* Returns the number of members whose positions are before this one. */
static int64_t members_before(const pto_group_t *group, int64_t position) {
    return position <= 2 * group->fold ? position / 2 : position - group->fold;
}

/* Returns the number of members on the last node, where folding leaves out the fewest. */
static int64_t max_members_per_node(const pto_layout_t *layout, const pto_group_t *group) {
    int64_t node_end = layout->nodes * group->members_per_node;
    return members_before(group, node_end) - members_before(group, node_end - group->members_per_node);
}

/* Returns the maximum number of acting members on a node, if all members from the first to the last acting
 * one act. Nodes between the first and the last one then have all of their members. A folded node has no more
 * members than one that is not folded, and of two neighboring folded nodes, one may have one member more than
 * the other. So the busiest node is one of the first two or last three. */
static int64_t max_on_a_node(const pto_group_t *group, set_t acting_set) {
    int64_t per_node = group->members_per_node, most = 0;
    int64_t first = pto_fold_out(group->fold, acting_set.first) / per_node;
    int64_t last = pto_fold_out(group->fold, acting_set.until - 1) / per_node;
    const int64_t candidate[] = {first, first + 1, last - 2, last - 1, last};
    for (size_t i = 0; i < sizeof candidate / sizeof *candidate; i++) {
        int64_t node = candidate[i];
        int64_t here = node < first || node > last
                           ? 0
                           : set_within(acting_set, members_before(group, node * per_node),
                                        members_before(group, (node + 1) * per_node));
        most = here > most ? here : most;
    }
    return most;
}

/* Counts partners that are never on the same node, since they are at least a node's members apart. The
 * operands of xor are powers of two, so that they are the distances of the partners. */
static void count_far(scan_t *scan) {
    int64_t acting = set_size(scan->acting_set);
    int64_t stride = scan->acting_set.stride;
    int64_t members = max_members_per_node(scan->layout, scan->group);
    scan->met[PTO_LEVEL_OFF_NODE] = true;
    if (stride == 1) {
        scan->off_per_node = max_on_a_node(scan->group, scan->acting_set);
        return;
    }
    scan->off_per_node = (members - 1) / stride + 1;
    scan->off_per_node = acting < scan->off_per_node ? acting : scan->off_per_node;
}

/* Scans all members, or the windows that the head of this file derives. */
static void scan_members(scan_t *scan) {
    int64_t acting = set_size(scan->acting_set);
    int64_t per_node = scan->group->members_per_node;
    int64_t distance = scan->distance < 0 ? -scan->distance : scan->distance;
    bool wraps = !scan->is_xor && distance > scan->group->size - per_node;
    if (distance >= per_node && !wraps) {
        count_far(scan);
    } else if (acting <= COUNT_ALL_MAX) {
        scan_range(scan, 0, acting);
    } else {
        int64_t stride = scan->acting_set.stride;
        int64_t step = 4 * (distance > stride ? distance : stride);
        int64_t period = per_node / gcd(per_node, step) * step; /* the least common multiple, in indices */
        /* In acting members: */
        int64_t window = 2 * period / stride + 1;
        int64_t folded_end = (scan->group->fold - scan->acting_set.first) / stride;
        scan_range(scan, 0, window);
        scan_range(scan, folded_end - window, folded_end + window);
        scan_range(scan, acting - window, acting);
    }
}

/* Returns the number of a set's indices in `members` of the node from `node_start` on, without `me`. */
static int64_t indices_within(set_t set, int64_t node_start, members_t members, int64_t me) {
    return set_within(set, node_start + members.first, node_start + members.until) -
           (in_set(set, node_start + me) ? 1 : 0);
}

/* One member's messages to the members of a set. */
static void count_to_set(const pto_layout_t *layout, const pto_group_t *group, int64_t me, set_t set,
                         pto_traffic_t *traffic) {
    int64_t position = me % group->members_per_node, node_start = me - position;
    neighbors_t neighbors = neighbors_of(layout, group, position);
    int64_t on_gpu = indices_within(set, node_start, neighbors.gpu, position);
    int64_t on_socket = indices_within(set, node_start, neighbors.socket, position);
    int64_t on_node = indices_within(set, node_start, neighbors.node, position);
    pto_mix_t mix = mix_of(on_gpu, on_socket, on_node, set_size(set) - (in_set(set, me) ? 1 : 0));
    traffic->off_per_node += mix.messages[PTO_LEVEL_OFF_NODE];
    add_mix(traffic, &mix);
}

/* Counts the messages of all acting members to one, the target. Its own node's are counted one by one. Of the
 * other nodes with acting members, the busiest is one of the first three or last three. */
static void count_to_one(const pto_layout_t *layout, const pto_group_t *group, set_t acting_set,
                         int64_t target, pto_traffic_t *traffic) {
    int64_t per_node = group->members_per_node, home = target / per_node;
    int64_t per_gpu = pto_group_members_per_gpu(layout, group->kind);
    for (int64_t me = home * per_node; me < (home + 1) * per_node; me++)
        if (me != target && in_set(acting_set, me))
            add_one_message(traffic, position_level(layout, per_gpu, me % per_node, target % per_node));
    int64_t first = acting_set.first / per_node, last = (acting_set.until - 1) / per_node;
    for (int64_t i = 0; i < 6; i++) {
        int64_t node = i < 3 ? first + i : last - (i - 3);
        if (node < first || node > last || node == home)
            continue;
        int64_t leaving = set_within(acting_set, node * per_node, (node + 1) * per_node);
        traffic->off_per_node = leaving > traffic->off_per_node ? leaving : traffic->off_per_node;
    }
    if (traffic->off_per_node > 0)
        add_one_message(traffic, PTO_LEVEL_OFF_NODE);
}

/* Messages to members given by their index. */
static void count_indices(const pto_layout_t *layout, const pto_group_t *group, set_t acting_set, set_t set,
                          pto_traffic_t *traffic) {
    if (set_size(set) == 1) {
        count_to_one(layout, group, acting_set, set.first, traffic);
        return;
    }
    for (int64_t me = acting_set.first; me < acting_set.until; me += acting_set.stride)
        count_to_set(layout, group, me, set, traffic);
}

static void count_on_gpu(const pto_step_t *step, set_t set, int64_t core, pto_traffic_t *traffic) {
    pto_mix_t mix = {{0}};
    mix.messages[PTO_LEVEL_ON_GPU] = set_size(set);
    if (step->peers.kind == PTO_PEERS_INDEX && in_set(set, core))
        mix.messages[PTO_LEVEL_ON_GPU]--;
    add_mix(traffic, &mix);
}

/* Returns the members that take part in a step. */
static set_t members_of(const pto_step_t *step, int64_t k, int64_t core) {
    return (set_t){pto_expr_at(&step->who_first, k, core, 0), pto_expr_at(&step->who_stride, k, core, 0),
                   pto_expr_at(&step->who_until, k, core, 0)};
}

/* Tries members of the wider stride, from the first that is not below the narrow set. As common members
 * repeat every least common multiple of the strides, a few tries suffice. */
bool pto_steps_share_members(const pto_step_t *a, const pto_step_t *b, int64_t k, int64_t core) {
    set_t wide = members_of(a, k, core), narrow = members_of(b, k, core);
    if (a->group != b->group)
        return true;
    if (wide.stride < narrow.stride) {
        set_t other = wide;
        wide = narrow;
        narrow = other;
    }
    int64_t tries = narrow.stride / gcd(narrow.stride, wide.stride);
    int64_t at = wide.first + set_within(wide, wide.first, narrow.first) * wide.stride;
    for (; tries > 0 && at < wide.until && at < narrow.until; tries--, at += wide.stride)
        if (in_set(narrow, at))
            return true;
    return false;
}

bool pto_step_is_in_one_order(const pto_plan_t *plan, const pto_step_t *step) {
    const pto_group_t *group = pto_group_at(plan, step->group);
    const pto_peers_t *peers = &step->peers;
    return peers->kind == PTO_PEERS_INDEX && group->size > 1 && group->fold == 0 &&
           pto_range_is_all(&peers->first, &peers->stride, &peers->until, group->size) &&
           pto_range_is_all(&step->who_first, &step->who_stride, &step->who_until, group->size);
}

/* The numbers of a key. A set has three: first, stride, until. */
enum { KEY_SIGN, KEY_PEERS, KEY_ACTING = KEY_PEERS + 3, KEY_CORE = KEY_ACTING + 3, KEY_FOLD };

static set_t set_of_key(const pto_traffic_key_t *key, int first) {
    return (set_t){key->number[first], key->number[first + 1], key->number[first + 2]};
}

static pto_traffic_key_t key_of(const pto_plan_t *plan, const pto_step_t *step, int64_t k, int64_t core) {
    const pto_peers_t *peers = &step->peers;
    const pto_group_t *group = pto_group_at(plan, step->group);
    set_t set = {pto_expr_at(&peers->first, k, core, 0), 1, 0};
    set.until = set.first + 1;
    if (peers->kind != PTO_PEERS_XOR) {
        set.stride = pto_expr_at(&peers->stride, k, core, 0);
        set.until = pto_expr_at(&peers->until, k, core, 0);
    }
    if (peers->kind == PTO_PEERS_SHIFT && set.until > group->size)
        set.until = group->size;
    set_t acting_set = members_of(step, k, core);
    return (pto_traffic_key_t){.group = group->kind,
                               .kind = peers->kind,
                               .in_one_order = pto_step_is_in_one_order(plan, step),
                               .number = {peers->sign, set.first, set.stride, set.until, acting_set.first,
                                          acting_set.stride, acting_set.until,
                                          peers->kind == PTO_PEERS_INDEX ? core : 0, group->fold}};
}

static void count(const pto_plan_t *plan, const pto_step_t *step, const pto_traffic_key_t *key, int64_t core,
                  pto_traffic_t *traffic) {
    const pto_layout_t *layout = &plan->request.layout;
    const pto_group_t *group = pto_group_at(plan, step->group);
    const pto_peers_t *peers = &step->peers;
    set_t set = set_of_key(key, KEY_PEERS);
    set_t acting_set = set_of_key(key, KEY_ACTING);
    traffic->mix_count = 0;
    traffic->off_per_node = 0;
    if (set_size(set) == 0 || set_size(acting_set) == 0)
        return;
    if (pto_group_is_on_gpu(group->kind)) {
        count_on_gpu(step, set, core, traffic);
    } else if (key->in_one_order) {
        count_shifts(layout, group, (set_t){1, 1, group->size}, 1, traffic);
    } else if (peers->kind == PTO_PEERS_INDEX) {
        count_indices(layout, group, acting_set, set, traffic);
    } else if (peers->kind == PTO_PEERS_TORUS) {
        pto_mix_t mix = {{0}};
        mix.messages[PTO_LEVEL_OFF_NODE] = set_size(set);
        add_mix(traffic, &mix);
        traffic->off_per_node = set_size(set) * group->members_per_node;
    } else if (peers->kind == PTO_PEERS_SHIFT && set_size(acting_set) == group->size && group->fold == 0) {
        if (set_size(set) == 1)
            count_shift(layout, group, peers->sign * set.first, traffic);
        else
            count_shifts(layout, group, set, peers->sign, traffic);
    } else {
        bool is_xor = peers->kind == PTO_PEERS_XOR;
        scan_t scan = {.layout = layout,
                       .group = group,
                       .acting_set = acting_set,
                       .is_xor = is_xor,
                       .distance = is_xor ? set.first : peers->sign * set.first};
        scan_members(&scan);
        for (int level = 0; level < PTO_LEVEL_COUNT; level++)
            if (scan.met[level])
                add_one_message(traffic, (pto_level_t)level);
        traffic->off_per_node = scan.off_per_node;
    }
}

static bool same_key(const pto_traffic_key_t *a, const pto_traffic_key_t *b) {
    if (a->group != b->group || a->kind != b->kind || a->in_one_order != b->in_one_order)
        return false;
    for (int i = 0; i < PTO_TRAFFIC_KEY_NUMBERS; i++)
        if (a->number[i] != b->number[i])
            return false;
    return true;
}

bool pto_layouts_are_same(const pto_layout_t *a, const pto_layout_t *b) {
    return a->nodes == b->nodes && a->gpus_per_node == b->gpus_per_node &&
           a->owners_per_gpu == b->owners_per_gpu && a->procs_per_gpu == b->procs_per_gpu &&
           a->gpus_per_socket == b->gpus_per_socket;
}

/* Returns the place of a key in the cache, by Fibonacci hashing. */
static int slot_of(const pto_traffic_key_t *key) {
    uint64_t hash = (uint64_t)key->group << 8 | (uint64_t)key->kind;
    for (int i = 0; i < PTO_TRAFFIC_KEY_NUMBERS; i++)
        hash = ((hash << 5 | hash >> 59) ^ (uint64_t)key->number[i]) * PTO_GOLDEN_GAMMA;
    return (int)(hash >> 32) & (PTO_TRAFFIC_CACHED - 1);
}

const pto_traffic_t *pto_traffic_count(const pto_plan_t *plan, const pto_step_t *step, int64_t k,
                                       int64_t core, pto_traffic_cache_t *cache) {
    pto_traffic_key_t key = key_of(plan, step, k, core);
    if (!pto_layouts_are_same(&cache->layout, &plan->request.layout)) {
        memset(cache->known, 0, sizeof cache->known);
        cache->layout = plan->request.layout;
    }
    int slot = slot_of(&key);
    if (cache->known[slot] && same_key(&cache->key[slot], &key))
        return &cache->traffic[slot];
    cache->known[slot] = true;
    cache->key[slot] = key;
    count(plan, step, &key, core, &cache->traffic[slot]);
    return &cache->traffic[slot];
}

void pto_traffic_cache_init(pto_traffic_cache_t *cache) {
    cache->layout = (pto_layout_t){0};
    memset(cache->known, 0, sizeof cache->known);
}

pto_traffic_cache_t *pto_traffic_cache_create(void) {
    pto_traffic_cache_t *cache = malloc(sizeof *cache);
    if (cache)
        pto_traffic_cache_init(cache);
    return cache;
}
