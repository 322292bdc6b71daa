/* mix_doubling and mix_learning: mix with the staging members chosen at run time (Faraji's thesis, section
 * 5.3.2: the Dynamic Hyper-Q-aware algorithm). Branch A of an either node (plan.h) copies by CUDA IPC, branch
 * B goes through host memory. The policies are in portolan/policy.h.
 *
 * Any member may stage, so each has a block in the host buffer. The result of an allgather is copied there as
 * a whole. All members signal to the root that they have the result, because the policy needs the order or
 * the times of completion. An allgather then needs no other flag before the root's buffers are reused. */
#include "intranode.h"

/* Returns a step of member k, where k is the iteration of the either node, with the root as peer. */
static pto_step_t member_step(pto_step_kind_t kind, const pto_exchange_t *members) {
    pto_step_t step = pto_step_of_others(kind, members);
    step.who_first = pto_loop_index(1, 0);
    step.who_until = pto_loop_index(1, 1);
    return step;
}

/* Returns a step of the root with member k as peer. */
static pto_step_t root_step(pto_step_kind_t kind, const pto_exchange_t *members) {
    pto_step_t step = pto_step_of_root(kind, members);
    step.peers.first = pto_loop_index(1, 0);
    step.peers.until = pto_loop_index(1, 1);
    return step;
}

/* The members' blocks in `source` reach the root's `gathered`, directly (A) or through `host` (B). */
static void gather(pto_builder_t *builder, const pto_exchange_t *members, pto_policy_kind_t policy,
                   int source, int host, int gathered) {
    pto_slice_t all = pto_slice_all(builder, source);
    pto_slice_t mine = pto_slice_block(gathered, PTO_ANCHOR_ME);
    pto_build_either(builder, members, policy);
    pto_build_branch(builder);
    pto_build_local(builder, "gather own", pto_intranode_root_alone(PTO_STEP_COPY, members), all, mine);
    pto_build_end(builder);
    pto_build_branch(builder);
    pto_build_local(builder, "gather", member_step(PTO_STEP_COPY, members), all, pto_slice_of_peer(mine));
    pto_intranode_flag(builder, "copied", member_step(PTO_STEP_SIGNAL, members),
                       root_step(PTO_STEP_WAIT, members));
    pto_build_end(builder);
    pto_build_branch(builder);
    pto_build_local(builder, "stage", member_step(PTO_STEP_COPY, members), all,
                    pto_slice_of_peer(pto_slice_block(host, PTO_ANCHOR_ME)));
    pto_intranode_flag(builder, "staged", member_step(PTO_STEP_SIGNAL, members),
                       root_step(PTO_STEP_WAIT, members));
    pto_build_local(builder, "take up", root_step(PTO_STEP_COPY, members),
                    pto_slice_block(host, PTO_ANCHOR_PEER), pto_slice_block(gathered, PTO_ANCHOR_PEER));
    pto_build_end(builder);
    pto_build_end(builder);
}

/* The root's `source` reaches each member's `target`, directly (A) or through `host` (B). */
static void distribute(pto_builder_t *builder, const pto_exchange_t *members, pto_policy_kind_t policy,
                       int source, int host, int target) {
    pto_slice_t from = pto_slice_all(builder, source), to = pto_slice_all(builder, target);
    pto_slice_t staged = pto_slice_all(builder, host);
    pto_build_either(builder, members, policy);
    pto_build_branch(builder);
    pto_build_local(builder, "copy own", pto_intranode_root_alone(PTO_STEP_COPY, members), from, to);
    pto_build_end(builder);
    pto_build_branch(builder);
    pto_intranode_flag(builder, "complete", root_step(PTO_STEP_SIGNAL, members),
                       member_step(PTO_STEP_WAIT, members));
    pto_build_local(builder, "copy out", member_step(PTO_STEP_COPY, members), pto_slice_of_peer(from), to);
    pto_intranode_flag(builder, "copied out", member_step(PTO_STEP_SIGNAL, members),
                       root_step(PTO_STEP_WAIT, members));
    pto_build_end(builder);
    pto_build_branch(builder);
    pto_build_once(builder, "stage result", PTO_ORDER_SEQUENCE);
    pto_build_move(builder, pto_intranode_root_alone(PTO_STEP_COPY, members), from, staged);
    pto_intranode_flag(builder, "result staged", root_step(PTO_STEP_SIGNAL, members),
                       member_step(PTO_STEP_WAIT, members));
    pto_build_local(builder, "copy out staged", member_step(PTO_STEP_COPY, members),
                    pto_slice_of_peer(staged), to);
    pto_intranode_flag(builder, "copied out staged", member_step(PTO_STEP_SIGNAL, members),
                       root_step(PTO_STEP_WAIT, members));
    pto_build_end(builder);
    pto_build_end(builder);
}

static void allreduce(pto_builder_t *builder, const pto_exchange_t *members, pto_policy_kind_t policy) {
    int gathered = pto_intranode_buffer(builder, members, members->in, "gathered", members->n, members->n);
    gather(builder, members, policy, members->in,
           pto_intranode_host_buffer(builder, members, members->in, "staged", members->n), gathered);
    int result = pto_gsb_combine(builder, members, members->in, gathered, -1);
    distribute(builder, members, policy, result,
               pto_intranode_host_buffer(builder, members, result, "staged result", 1), members->out);
}

/* All members have signalled in the previous run that they have read the root's buffers. */
static void allgather(pto_builder_t *builder, const pto_exchange_t *members, pto_policy_kind_t policy) {
    int gathered = pto_intranode_buffer(builder, members, members->in, "gathered", members->n, members->n);
    int host = pto_intranode_host_buffer(builder, members, members->in, "staged", members->n);
    pto_flag_to_others(builder, "inputs free", members);
    gather(builder, members, policy, members->in, host, gathered);
    distribute(builder, members, policy, gathered, host, members->out);
}

static void build(pto_builder_t *builder, const pto_request_t *request, pto_policy_kind_t policy) {
    pto_exchange_t members = pto_route_user(builder, request);
    if (pto_collective_is_allgather(request->collective))
        allgather(builder, &members, policy);
    else
        allreduce(builder, &members, policy);
}

static void build_doubling(pto_builder_t *builder, const pto_request_t *request) {
    build(builder, request, PTO_POLICY_DOUBLING);
}

static void build_learning(pto_builder_t *builder, const pto_request_t *request) {
    build(builder, request, PTO_POLICY_LEARNING);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    pto_status_t status = pto_strategy_mix.applicable(request, err);
    int64_t owners = pto_layout_owner_count(&request->layout);
    if (status == PTO_OK && owners > PTO_POLICY_MEMBERS_MAX + 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s chooses for at most %d members, not for %lld",
                             request->strategy->name, PTO_POLICY_MEMBERS_MAX, (long long)owners - 1);
    return status;
}

const pto_strategy_t pto_strategy_mix_doubling = {
    .name = "mix_doubling",
    .summary = "mix, whose root chooses who stages by what completes first, twice as many each time",
    .collectives = PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLREDUCE,
    .direct = true,
    .stages = pto_mix_members,
    .fixed = &pto_strategy_mix,
    .collective_space = PTO_SPACE_GPU,
    .applicable = applicable,
    .build = build_doubling,
};

const pto_strategy_t pto_strategy_mix_learning = {
    .name = "mix_learning",
    .summary = "mix, whose root learns from run to run how many should stage",
    .collectives = PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLREDUCE,
    .direct = true,
    .stages = pto_mix_members,
    .fixed = &pto_strategy_mix,
    .collective_space = PTO_SPACE_GPU,
    .applicable = applicable,
    .build = build_learning,
};
