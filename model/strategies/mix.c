/* mix, gsb with mixed copies: h of the root's n - 1 members stage their data through host memory that the
 * node shares, the others copy by CUDA IPC, both at the same time (Faraji's thesis, section 5.3.1: the Static
 * Hyper-Q-aware algorithm). The two kinds wait for different engines of the GPU: staged copies for those
 * between GPU and host, copies by CUDA IPC for time slices or the GPU's memory (docs/decisions/0011). h is
 * the request's `staged_members`, a number for the inputs and one for the result. With h = 0 the plan is
 * gsb's.
 *
 * The staged members are the last ones, so that the blocks of the others are contiguous. The root takes the
 * staged blocks to its GPU one after another, each as soon as it has come. It copies the result to the host
 * once. In an allgather the staged blocks are there already, so it only adds the others. */
#include "intranode.h"

/* A step of the members that stage, with the root as peer; of the root, with them as peers. */
static pto_step_t staging(pto_step_kind_t kind, const pto_exchange_t *who, int64_t staged) {
    pto_step_t step = pto_step_of_others(kind, who);
    step.who_first = pto_constant(who->n - staged);
    return step;
}

static pto_step_t root_of_staging(pto_step_kind_t kind, const pto_exchange_t *who, int64_t staged) {
    pto_step_t step = pto_step_of_root(kind, who);
    step.peers.first = pto_constant(who->n - staged);
    return step;
}

static pto_exchange_t not_staging(const pto_exchange_t *who, int64_t staged) {
    pto_exchange_t rest = *who;
    rest.n -= staged;
    return rest;
}

static int host_buffer(pto_builder_t *builder, const pto_exchange_t *who, int like, const char *name,
                       int64_t blocks) {
    pto_buffer_t host = pto_intranode_shape(builder, who, like, name, blocks, who->n);
    host.space = PTO_SPACE_CPU;
    return pto_build_buffer(builder, host);
}

/* Take the block of the k-th staged member to the root's GPU. */
static void take_up(pto_builder_t *builder, const pto_exchange_t *who, int64_t staged, int flag, int host,
                    int64_t host_first, int gathered) {
    int64_t first = who->n - staged;
    pto_step_t wait = pto_step_of_root(PTO_STEP_WAIT, who);
    wait.peers.first = pto_loop_index(1, first);
    wait.peers.until = pto_loop_index(1, first + 1);
    wait.flag = flag;
    pto_step_t copy = pto_step_of_root(PTO_STEP_COPY, who);
    copy.peers.kind = PTO_PEERS_NONE;
    copy.source = pto_slice_block(host, PTO_ANCHOR_ABSOLUTE);
    copy.source.offset = pto_loop_index(1, host_first);
    copy.target = pto_slice_block(gathered, PTO_ANCHOR_ABSOLUTE);
    copy.target.offset = pto_loop_index(1, first);
    pto_build_stage(builder, "take up", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, wait);
    pto_build_step(builder, copy);
}

/* The staged blocks lie in `host` from block `host_first` on. */
static void stage_in(pto_builder_t *builder, const pto_exchange_t *who, int64_t staged, int source, int host,
                     int64_t host_first, int gathered) {
    pto_step_t copy = staging(PTO_STEP_COPY, who, staged);
    copy.source = pto_slice_all(builder, source);
    copy.target = pto_slice_block(host, PTO_ANCHOR_ME);
    copy.target.offset = pto_constant(host_first - (who->n - staged));
    copy.target.holder = PTO_HOLDER_PEER;
    pto_build_stage(builder, "stage", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, copy);
    pto_step_t signal = staging(PTO_STEP_SIGNAL, who, staged);
    signal.flag = pto_build_flag(builder, "staged");
    pto_build_stage(builder, "staged", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, signal);
    pto_build_loop(builder, 0, staged, false);
    take_up(builder, who, staged, signal.flag, host, host_first, gathered);
    pto_build_end(builder);
}

static void gather(pto_builder_t *builder, const pto_exchange_t *who, int64_t staged, int source, int host,
                   int64_t host_first, int gathered) {
    const pto_exchange_t rest = not_staging(who, staged);
    pto_build_parallel(builder);
    pto_build_branch(builder);
    pto_gsb_copy_in(builder, &rest, source, gathered);
    pto_build_end(builder);
    pto_build_branch(builder);
    stage_in(builder, who, staged, source, host, host_first, gathered);
    pto_build_end(builder);
    pto_build_end(builder);
}

static pto_slice_t first_blocks(int buffer, int64_t blocks) {
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.run = slice.stride = slice.until = pto_constant(blocks);
    return slice;
}

/* The root copies the first `blocks` blocks of `source` to `host`, and all of that is what members get. */
static void stage_out(pto_builder_t *builder, const pto_exchange_t *who, int64_t staged, int source,
                      int64_t blocks, int host, int target) {
    pto_step_t root = pto_step_of_root(PTO_STEP_COPY, who);
    root.peers.kind = PTO_PEERS_NONE;
    root.source = first_blocks(source, blocks);
    root.target = first_blocks(host, blocks);
    pto_build_stage(builder, "stage result", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, root);
    pto_intranode_flag(builder, "result staged", root_of_staging(PTO_STEP_SIGNAL, who, staged),
                       staging(PTO_STEP_WAIT, who, staged));
    pto_step_t members = staging(PTO_STEP_COPY, who, staged);
    members.source = pto_slice_all(builder, host);
    members.source.holder = PTO_HOLDER_PEER;
    members.target = pto_slice_all(builder, target);
    pto_build_stage(builder, "copy out staged", PTO_ORDER_SEQUENCE);
    pto_build_step(builder, members);
}

static void hand_out(pto_builder_t *builder, const pto_exchange_t *who, int64_t staged, int source,
                     int64_t blocks, int host, int target) {
    const pto_exchange_t rest = not_staging(who, staged);
    pto_build_parallel(builder);
    pto_build_branch(builder);
    pto_gsb_copy_out(builder, &rest, source, target);
    pto_build_end(builder);
    pto_build_branch(builder);
    stage_out(builder, who, staged, source, blocks, host, target);
    pto_build_end(builder);
    pto_build_end(builder);
}

static pto_staged_t staged_members(const pto_builder_t *builder) {
    return pto_builder_request(builder)->staged_members;
}

/* --- the operations ------------------------------------------------------------------------------------- */

static int reduce(pto_builder_t *builder, const pto_exchange_t *who, int source, int into,
                  pto_run_order_t runs) {
    int64_t staged = staged_members(builder).in;
    if (staged == 0)
        return pto_intranode_gsb.reduce(builder, who, source, into, runs);
    int gathered = pto_intranode_buffer(builder, who, source, "gathered", who->n, who->n);
    gather(builder, who, staged, source, host_buffer(builder, who, source, "staged", staged), 0, gathered);
    return pto_gsb_combine(builder, who, source, gathered, into);
}

/* In an allreduce the result is a temporary of the root. */
static void broadcast(pto_builder_t *builder, const pto_exchange_t *who, int source, int target,
                      pto_run_order_t runs) {
    int64_t staged = staged_members(builder).out;
    if (staged == 0)
        pto_intranode_gsb.broadcast(builder, who, source, target, runs);
    else
        hand_out(builder, who, staged, source, 1, host_buffer(builder, who, source, "staged result", 1),
                 target);
}

/* Without staged results the host buffer holds the staged blocks alone. */
static void allgather(pto_builder_t *builder, const pto_exchange_t *who, int source, int target) {
    const pto_staged_t staged = staged_members(builder);
    if (staged.in == 0 && staged.out == 0) {
        pto_intranode_gsb.allgather(builder, who, source, target);
        return;
    }
    /* Blocks of different sizes lie where all have theirs. */
    bool whole = staged.out > 0 || pto_builder_buffer(builder, source)->blocks != PTO_BLOCKS_EQUAL;
    int64_t first = who->n - staged.in;
    int gathered = pto_intranode_buffer(builder, who, source, "gathered", who->n, who->n);
    int host = host_buffer(builder, who, source, "staged", whole ? who->n : staged.in);
    pto_intranode_flag(builder, "result free", pto_step_of_others(PTO_STEP_SIGNAL, who),
                       pto_step_of_root(PTO_STEP_WAIT, who));
    pto_intranode_flag(builder, "inputs free", pto_step_of_root(PTO_STEP_SIGNAL, who),
                       pto_step_of_others(PTO_STEP_WAIT, who));
    if (staged.in > 0)
        gather(builder, who, staged.in, source, host, whole ? first : 0, gathered);
    else
        pto_gsb_copy_in(builder, who, source, gathered);
    if (staged.out > 0)
        hand_out(builder, who, staged.out, gathered, first, host, target);
    else
        pto_gsb_copy_out(builder, who, gathered, target);
}

const pto_intranode_t pto_intranode_mix = {.reduce = reduce, .broadcast = broadcast, .allgather = allgather};

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_intranode_build(builder, request, &pto_intranode_mix);
}

/* All are in one group. */
static int64_t members_of(const pto_request_t *request) { return pto_layout_owner_count(&request->layout); }

pto_status_t pto_mix_applicable(const pto_request_t *request, pto_error_t *err) {
    int64_t members = request->strategy->stages(request);
    const pto_staged_t *staged = &request->staged_members;
    int64_t most = staged->in > staged->out ? staged->in : staged->out;
    if (most < members)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%lld members cannot stage: the root has %lld others",
                         (long long)most, (long long)members - 1);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    pto_status_t status = pto_intranode_applicable(request, err);
    return status == PTO_OK ? pto_mix_applicable(request, err) : status;
}

const pto_strategy_t pto_strategy_mix = {
    .name = "mix",
    .summary = "as gsb, but some members' data go through host memory at the same time",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | PTO_ALLGATHERS,
    .direct = true,
    .stages = members_of,
    .collective_space = PTO_SPACE_GPU,
    .applicable = applicable,
    .build = build,
};
