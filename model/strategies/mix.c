/* mix, gsb with mixed copies: h of the n - 1 other members stage their data through host memory shared by the
 * node. The rest copy by CUDA IPC to and from the root at the same time (Faraji's thesis, section 5.3.1: the
 * Static Hyper-Q-aware algorithm). The two kinds of copies use different resources of the GPU: staged copies
 * use its engines for copies to and from the host, copies by CUDA IPC use its time slices or its memory
 * (docs/decisions/0011). h is the request's `staged_members`, one number for the inputs and one for the
 * result. With h = 0 the plan is gsb's.
 *
 * The last members stage, so that the blocks of the others are contiguous. The root copies the staged blocks
 * to its GPU one by one, each as soon as it has arrived. It copies the result to the host once. In an
 * allgather the host buffer already holds the staged blocks, so the root adds only the others. */
#include <assert.h>

#include "intranode.h"

typedef struct {
    pto_builder_t *builder;
    const pto_exchange_t *members;
    int64_t direct_count; /* number of members, the root first, that copy by CUDA IPC; the others stage */
} mix_t;

/* The buffers on the route of the members' blocks to the root's GPU. */
typedef struct {
    int source;         /* at each member */
    int host;           /* host memory that the node shares: the blocks of the staging members */
    int64_t host_first; /* the first staging member's block in `host` */
    int gathered;       /* on the root's GPU: the blocks of all members */
} inputs_t;

/* The buffers on the route of the root's result to the members. */
typedef struct {
    int source;          /* on the root's GPU */
    int64_t block_count; /* blocks of `source` that the root copies to `host`, which may hold more */
    int host;            /* host memory that the node shares */
    int target;          /* at each member: of as many blocks as `host` */
} result_t;

/* Returns a step of all members that stage, with the root as peer. */
static pto_step_t step_of_staging(pto_step_kind_t kind, const mix_t *mix) {
    pto_step_t step = pto_step_of_others(kind, mix->members);
    step.who_first = pto_constant(mix->direct_count);
    return step;
}

/* Returns a step of the root, with all members that stage as peers. */
static pto_step_t step_of_root(pto_step_kind_t kind, const mix_t *mix) {
    pto_step_t step = pto_step_of_root(kind, mix->members);
    step.peers.first = pto_constant(mix->direct_count);
    return step;
}

static pto_exchange_t direct_members(const mix_t *mix) {
    pto_exchange_t members = *mix->members;
    members.n = mix->direct_count;
    return members;
}

/* The body of a loop over the staging members: the root waits for a member's block and copies it to its GPU.
 */
static void collect_block(const mix_t *mix, const inputs_t *inputs, int flag) {
    pto_slice_t staged = pto_slice_block(inputs->host, PTO_ANCHOR_ABSOLUTE);
    pto_slice_t place = pto_slice_block(inputs->gathered, PTO_ANCHOR_ABSOLUTE);
    pto_step_t wait = pto_step_of_root(PTO_STEP_WAIT, mix->members);
    wait.peers.first = pto_loop_index(1, mix->direct_count);
    wait.peers.until = pto_loop_index(1, mix->direct_count + 1);
    wait.flag = flag;
    staged.offset = pto_loop_index(1, inputs->host_first);
    place.offset = pto_loop_index(1, mix->direct_count);
    pto_build_stage(mix->builder, "take up", PTO_ORDER_SEQUENCE);
    pto_build_step(mix->builder, wait);
    pto_build_move(mix->builder, pto_intranode_root_alone(PTO_STEP_COPY, mix->members), staged, place);
}

static void stage_inputs(const mix_t *mix, const inputs_t *inputs) {
    pto_step_t signal = step_of_staging(PTO_STEP_SIGNAL, mix);
    pto_slice_t place = pto_slice_block(inputs->host, PTO_ANCHOR_ME);
    place.offset = pto_constant(inputs->host_first - mix->direct_count);
    pto_build_local(mix->builder, "stage", step_of_staging(PTO_STEP_COPY, mix),
                    pto_slice_all(mix->builder, inputs->source), pto_slice_of_peer(place));
    signal.flag = pto_build_flag(mix->builder, "staged");
    pto_build_stage(mix->builder, "staged", PTO_ORDER_SEQUENCE);
    pto_build_step(mix->builder, signal);
    pto_build_loop(mix->builder, 0, mix->members->n - mix->direct_count, false);
    collect_block(mix, inputs, signal.flag);
    pto_build_end(mix->builder);
}

/* The blocks of both kinds of members reach the root's GPU, concurrently. */
static void gather_inputs(const mix_t *mix, const inputs_t *inputs) {
    const pto_exchange_t direct = direct_members(mix);
    pto_build_parallel(mix->builder);
    pto_build_branch(mix->builder);
    pto_gsb_copy_in(mix->builder, &direct, inputs->source, inputs->gathered);
    pto_build_end(mix->builder);
    pto_build_branch(mix->builder);
    stage_inputs(mix, inputs);
    pto_build_end(mix->builder);
    pto_build_end(mix->builder);
}

static pto_slice_t first_blocks(int buffer, int64_t count) {
    pto_slice_t slice = pto_slice_block(buffer, PTO_ANCHOR_ABSOLUTE);
    slice.run = slice.stride = slice.until = pto_constant(count);
    return slice;
}

/* The root copies the result to the host, and the staging members copy all of `host` from there. */
static void stage_result(const mix_t *mix, const result_t *result) {
    pto_build_local(mix->builder, "stage result", pto_intranode_root_alone(PTO_STEP_COPY, mix->members),
                    first_blocks(result->source, result->block_count),
                    first_blocks(result->host, result->block_count));
    pto_intranode_flag(mix->builder, "result staged", step_of_root(PTO_STEP_SIGNAL, mix),
                       step_of_staging(PTO_STEP_WAIT, mix));
    pto_build_local(mix->builder, "copy out staged", step_of_staging(PTO_STEP_COPY, mix),
                    pto_slice_of_peer(pto_slice_all(mix->builder, result->host)),
                    pto_slice_all(mix->builder, result->target));
}

/* The result reaches both kinds of members, concurrently. */
static void distribute_result(const mix_t *mix, const result_t *result) {
    const pto_exchange_t direct = direct_members(mix);
    pto_build_parallel(mix->builder);
    pto_build_branch(mix->builder);
    pto_gsb_copy_out(mix->builder, &direct, result->source, result->target);
    pto_build_end(mix->builder);
    pto_build_branch(mix->builder);
    stage_result(mix, result);
    pto_build_end(mix->builder);
    pto_build_end(mix->builder);
}

/* With staging members, these operations require PTO_RUN_ORDERED (intranode.h). */
static int reduce(pto_builder_t *builder, const pto_exchange_t *members, int source, int into,
                  pto_run_order_t runs) {
    int64_t staging_count = pto_builder_request(builder)->staged_members.in;
    if (staging_count == 0)
        return pto_intranode_gsb.reduce(builder, members, source, into, runs);
    assert(runs == PTO_RUN_ORDERED);
    const mix_t mix = {builder, members, members->n - staging_count};
    inputs_t inputs = {.source = source};
    inputs.gathered = pto_intranode_buffer(builder, members, source, "gathered", members->n, members->n);
    inputs.host = pto_intranode_host_buffer(builder, members, source, "staged", staging_count);
    gather_inputs(&mix, &inputs);
    return pto_gsb_combine(builder, members, source, inputs.gathered, into);
}

static void broadcast(pto_builder_t *builder, const pto_exchange_t *members, int source, int target,
                      pto_run_order_t runs) {
    int64_t staging_count = pto_builder_request(builder)->staged_members.out;
    if (staging_count == 0) {
        pto_intranode_gsb.broadcast(builder, members, source, target, runs);
        return;
    }
    assert(runs == PTO_RUN_ORDERED);
    const mix_t mix = {builder, members, members->n - staging_count};
    const result_t result = {source, 1,
                             pto_intranode_host_buffer(builder, members, source, "staged result", 1), target};
    distribute_result(&mix, &result);
}

/* The host buffer holds the blocks of all members if the result is staged, too, or if blocks differ in size,
 * since the offset of a block then depends on those before it. Otherwise it holds only the staged blocks. */
static void allgather(pto_builder_t *builder, const pto_exchange_t *members, int source, int target) {
    const pto_staged_t staged = pto_builder_request(builder)->staged_members;
    if (staged.in == 0 && staged.out == 0) {
        pto_intranode_gsb.allgather(builder, members, source, target);
        return;
    }
    const mix_t in = {builder, members, members->n - staged.in},
                out = {builder, members, members->n - staged.out};
    bool hosts_all = staged.out > 0 || pto_builder_buffer(builder, source)->blocks != PTO_BLOCKS_EQUAL;
    int gathered = pto_intranode_buffer(builder, members, source, "gathered", members->n, members->n);
    int host =
        pto_intranode_host_buffer(builder, members, source, "staged", hosts_all ? members->n : staged.in);
    const inputs_t inputs = {source, host, hosts_all ? in.direct_count : 0, gathered};
    const result_t result = {gathered, in.direct_count, host, target};
    pto_flag_to_root(builder, "result free", members);
    pto_flag_to_others(builder, "inputs free", members);
    if (staged.in > 0)
        gather_inputs(&in, &inputs);
    else
        pto_gsb_copy_in(builder, members, source, gathered);
    if (staged.out > 0)
        distribute_result(&out, &result);
    else
        pto_gsb_copy_out(builder, members, gathered, target);
}

const pto_intranode_t pto_intranode_mix = {.reduce = reduce, .broadcast = broadcast, .allgather = allgather};

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_intranode_build(builder, request, &pto_intranode_mix);
}

int64_t pto_mix_members(const pto_request_t *request) { return pto_layout_owner_count(&request->layout); }

pto_status_t pto_mix_applicable(const pto_request_t *request, pto_error_t *err) {
    int64_t members = request->strategy->stages(request);
    const pto_staged_t *staged = &request->staged_members;
    int64_t staging_count = staged->in > staged->out ? staged->in : staged->out;
    if (staging_count < members)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%lld members cannot stage: the root has %lld others",
                         (long long)staging_count, (long long)members - 1);
}

static pto_status_t applicable(const pto_request_t *request, pto_error_t *err) {
    pto_status_t status = pto_intranode_applicable(request, err);
    return status == PTO_OK ? pto_mix_applicable(request, err) : status;
}

const pto_strategy_t pto_strategy_mix = {
    .name = "mix",
    .summary = "as gsb, but some members' data go through host memory at the same time",
    .collectives = PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_ALLREDUCE,
    .direct = true,
    .stages = pto_mix_members,
    .collective_space = PTO_SPACE_GPU,
    .applicable = applicable,
    .build = build,
};
