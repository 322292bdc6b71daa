/* Finds steps in which all nodes do the same: renumbering the nodes cyclically leaves the step unchanged. If
 * that holds for all steps of a plan, simulate and check need to treat one node only. */
#include "plan/plan_internal.h"

/* Returns whether peers are at the same distances for all members, or are all members. */
static bool peers_are_alike(const pto_peers_t *peers, const pto_group_t *group, bool ordered) {
    switch (peers->kind) {
    case PTO_PEERS_NONE:
    case PTO_PEERS_SHIFT:
    case PTO_PEERS_TORUS:
        return true;
    case PTO_PEERS_INDEX:
        return !ordered && pto_range_is_all(&peers->first, &peers->stride, &peers->until, group->size);
    case PTO_PEERS_XOR:
    case PTO_PEERS_CART:
    case PTO_PEERS_GRID:
    case PTO_PEERS_COUNT:
        break;
    }
    return false;
}

/* In a group within a node, members with the same GPU and core have the same index on all nodes. In a group
 * that spans nodes, all members must act. */
bool pto_step_is_alike_on_nodes(const pto_plan_t *plan, const pto_step_t *step, bool ordered) {
    const pto_group_t *group = pto_plan_group(plan, step->group);
    pto_peers_kind_t peers = step->peers.kind;
    if (pto_group_is_on_node(group->kind))
        return peers != PTO_PEERS_CART && peers != PTO_PEERS_GRID;
    return group->fold == 0 &&
           pto_range_is_all(&step->who_first, &step->who_stride, &step->who_until, group->size) &&
           peers_are_alike(&step->peers, group, ordered);
}
