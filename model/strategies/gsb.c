/* gsb, the GPU shared buffer: all processes copy by CUDA IPC into one buffer in the root's device memory and
 * raise flags in host memory. The root reduces the buffer in one kernel (not in an allgather) and raises the
 * completion flag; all copy the result out (Faraji and Afsahi, "GPU-Aware Intranode MPI_Allreduce",
 * EuroMPI/ASIA 2014, section 3.1; Faraji's thesis, section 3.2.1).
 *
 * The result is separate from the inputs: by the time it is written in the next run, its writer has heard
 * from all processes that read it in this run. The flags count runs (docs/executing.md), so none is ever
 * stale. */
#include "intranode.h"

static int64_t blocks_of(const pto_builder_t *builder, int buffer) {
    return pto_builder_buffer(builder, buffer)->block_count;
}

void pto_gsb_copy_in(pto_builder_t *builder, const pto_exchange_t *who, int source, int gathered) {
    pto_build_stage(builder, "gather", PTO_ORDER_SEQUENCE);
    pto_step_t own = pto_intranode_root_alone(PTO_STEP_COPY, who);
    own.source = pto_slice_all(builder, source);
    own.target = own.source; /* as many blocks as a member has */
    own.target.buffer = gathered;
    own.target.anchor = PTO_ANCHOR_ME;
    own.target.anchor_step = blocks_of(builder, source);
    pto_build_step(builder, own);
    if (who->n == 1)
        return;
    pto_step_t others = pto_step_of_others(PTO_STEP_COPY, who);
    others.source = own.source;
    others.target = own.target;
    others.target.holder = PTO_HOLDER_PEER;
    pto_build_step(builder, others);
    pto_intranode_flag(builder, "copied", pto_step_of_others(PTO_STEP_SIGNAL, who),
                       pto_step_of_root(PTO_STEP_WAIT, who));
}

/* Returns the root's buffer with the blocks of all members. It is complete when the root has seen all flags.
 */
static int gather(pto_builder_t *builder, const pto_exchange_t *who, int source, pto_run_order_t runs) {
    int gathered =
        pto_intranode_buffer(builder, who, source, "gathered", who->n * blocks_of(builder, source), who->n);
    if (runs == PTO_RUN_LOOSE)
        pto_intranode_flag(builder, "inputs free", pto_step_of_root(PTO_STEP_SIGNAL, who),
                           pto_step_of_others(PTO_STEP_WAIT, who));
    pto_gsb_copy_in(builder, who, source, gathered);
    return gathered;
}

int pto_gsb_combine(pto_builder_t *builder, const pto_exchange_t *who, int source, int gathered, int into) {
    if (into < 0)
        into = pto_intranode_buffer(builder, who, source, "result", blocks_of(builder, source), who->n);
    pto_build_stage(builder, "reduce", PTO_ORDER_SEQUENCE);
    pto_step_t combine = pto_intranode_root_alone(PTO_STEP_REDUCE, who);
    combine.fresh = true;
    combine.source = pto_slice_all(builder, gathered);
    combine.target = pto_slice_all(builder, into);
    pto_build_step(builder, combine);
    return into;
}

static int reduce(pto_builder_t *builder, const pto_exchange_t *who, int source, int into,
                  pto_run_order_t runs) {
    return pto_gsb_combine(builder, who, source, gather(builder, who, source, runs), into);
}

void pto_gsb_copy_out(pto_builder_t *builder, const pto_exchange_t *who, int source, int target) {
    bool has_block_for_each = blocks_of(builder, source) > blocks_of(builder, target);
    if (who->n > 1)
        pto_intranode_flag(builder, "complete", pto_step_of_root(PTO_STEP_SIGNAL, who),
                           pto_step_of_others(PTO_STEP_WAIT, who));
    pto_build_stage(builder, "copy out", PTO_ORDER_SEQUENCE);
    pto_step_t root = pto_intranode_root_alone(PTO_STEP_COPY, who);
    root.source =
        has_block_for_each ? pto_slice_block(source, PTO_ANCHOR_ME) : pto_slice_all(builder, source);
    root.target = pto_slice_all(builder, target);
    pto_build_step(builder, root);
    if (who->n == 1)
        return;
    pto_step_t others = pto_step_of_others(PTO_STEP_COPY, who);
    others.source = root.source;
    others.source.holder = PTO_HOLDER_PEER;
    others.target = root.target;
    pto_build_step(builder, others);
}

/* Members read a result that is in a temporary of the root there. One in the user's buffer, or one that the
 * next run may overwrite before all have read it, is copied to a temporary first. */
static void broadcast(pto_builder_t *builder, const pto_exchange_t *who, int source, int target,
                      pto_run_order_t runs) {
    if (runs == PTO_RUN_LOOSE)
        pto_intranode_flag(builder, "result free", pto_step_of_others(PTO_STEP_SIGNAL, who),
                           pto_step_of_root(PTO_STEP_WAIT, who));
    if (runs == PTO_RUN_LOOSE || pto_builder_buffer(builder, source)->role != PTO_ROLE_TEMPORARY) {
        pto_step_t share = pto_intranode_root_alone(PTO_STEP_COPY, who);
        share.source = pto_slice_all(builder, source);
        source = pto_intranode_buffer(builder, who, source, "result", blocks_of(builder, source), who->n);
        share.target = pto_slice_all(builder, source);
        pto_build_stage(builder, "share", PTO_ORDER_SEQUENCE);
        pto_build_step(builder, share);
    }
    pto_gsb_copy_out(builder, who, source, target);
}

/* All members read the gathered blocks: in the next run, none may write its block before all have read them.
 */
static void allgather(pto_builder_t *builder, const pto_exchange_t *who, int source, int target) {
    pto_intranode_flag(builder, "result free", pto_step_of_others(PTO_STEP_SIGNAL, who),
                       pto_step_of_root(PTO_STEP_WAIT, who));
    int gathered = gather(builder, who, source, PTO_RUN_LOOSE);
    broadcast(builder, who, gathered, target, PTO_RUN_ORDERED);
}

/* The members write into the root's output. */
static void gather_to_root(pto_builder_t *builder, const pto_exchange_t *who, int source, int target) {
    pto_intranode_flag(builder, "output free", pto_step_of_root(PTO_STEP_SIGNAL, who),
                       pto_step_of_others(PTO_STEP_WAIT, who));
    pto_gsb_copy_in(builder, who, source, target);
}

const pto_intranode_t pto_intranode_gsb = {
    .reduce = reduce, .broadcast = broadcast, .allgather = allgather, .gather = gather_to_root};

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_intranode_build(builder, request, &pto_intranode_gsb);
}

const pto_strategy_t pto_strategy_gsb = {
    .name = "gsb",
    .summary = "a node's processes copy into a buffer on the root's GPU, which reduces; all copy out",
    .collectives = 1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_REDUCE |
                   1u << PTO_COLLECTIVE_BROADCAST | PTO_ALLGATHERS | 1u << PTO_COLLECTIVE_REDUCE_SCATTER |
                   1u << PTO_COLLECTIVE_GATHER | 1u << PTO_COLLECTIVE_SCATTER,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_intranode_applicable,
    .build = build,
};
