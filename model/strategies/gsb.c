/* gsb, the GPU shared buffer: all processes copy by CUDA IPC into one buffer in the root's device memory and
 * raise flags in host memory. The root reduces the buffer in one kernel (not in an allgather) and raises the
 * completion flag. All then copy the result from the root (Faraji and Afsahi, "GPU-Aware Intranode
 * MPI_Allreduce", EuroMPI/ASIA 2014, section 3.1; Faraji's thesis, section 3.2.1).
 *
 * The result has a buffer of its own, which needs no flag for reuse. Before the root writes the next run's
 * result, it has received the next run's inputs from all processes, so they have read the last result. Flags
 * count runs (docs/executing.md), so none is ever stale. */
#include "intranode.h"

static int64_t blocks_of(const pto_builder_t *builder, int buffer) {
    return pto_builder_buffer(builder, buffer)->block_count;
}

void pto_gsb_copy_in(pto_builder_t *builder, const pto_exchange_t *members, int source, int gathered) {
    const pto_slice_t own = pto_slice_all(builder, source);
    pto_slice_t place = own; /* with the member's number of blocks */
    place.buffer = gathered;
    place.anchor = PTO_ANCHOR_ME;
    place.anchor_step = blocks_of(builder, source);
    pto_intranode_copy_in(builder, members, own, place);
    if (members->n > 1)
        pto_flag_to_root(builder, "copied", members);
}

/* Returns the root's buffer with the blocks of all members. It is complete when the root has seen all flags.
 */
static int gather(pto_builder_t *builder, const pto_exchange_t *members, int source, pto_run_order_t runs) {
    int gathered = pto_intranode_buffer(builder, members, source, "gathered",
                                        members->n * blocks_of(builder, source), members->n);
    if (runs == PTO_RUN_LOOSE)
        pto_flag_to_others(builder, "inputs free", members);
    pto_gsb_copy_in(builder, members, source, gathered);
    return gathered;
}

int pto_gsb_combine(pto_builder_t *builder, const pto_exchange_t *members, int source, int gathered,
                    int into) {
    if (into < 0)
        into =
            pto_intranode_buffer(builder, members, source, "result", blocks_of(builder, source), members->n);
    pto_step_t combine = pto_intranode_root_alone(PTO_STEP_REDUCE, members);
    combine.fresh = true;
    pto_build_local(builder, "reduce", combine, pto_slice_all(builder, gathered),
                    pto_slice_all(builder, into));
    return into;
}

static int reduce(pto_builder_t *builder, const pto_exchange_t *members, int source, int into,
                  pto_run_order_t runs) {
    return pto_gsb_combine(builder, members, source, gather(builder, members, source, runs), into);
}

void pto_gsb_copy_out(pto_builder_t *builder, const pto_exchange_t *members, int source, int target) {
    bool has_block_for_each = blocks_of(builder, source) > blocks_of(builder, target);
    if (members->n > 1)
        pto_flag_to_others(builder, "complete", members);
    pto_intranode_copy_out(builder, members,
                           has_block_for_each ? pto_slice_block(source, PTO_ANCHOR_ME)
                                              : pto_slice_all(builder, source),
                           pto_slice_all(builder, target));
}

/* Members read the root's result directly if it is in a temporary. A result in the user's buffer, or one that
 * the next run may overwrite before all have read it, is copied to a temporary first. */
static void broadcast(pto_builder_t *builder, const pto_exchange_t *members, int source, int target,
                      pto_run_order_t runs) {
    if (runs == PTO_RUN_LOOSE)
        pto_flag_to_root(builder, "result free", members);
    if (runs == PTO_RUN_LOOSE || pto_builder_buffer(builder, source)->role != PTO_ROLE_TEMPORARY) {
        const pto_slice_t result = pto_slice_all(builder, source);
        source =
            pto_intranode_buffer(builder, members, source, "result", blocks_of(builder, source), members->n);
        pto_build_local(builder, "share", pto_intranode_root_alone(PTO_STEP_COPY, members), result,
                        pto_slice_all(builder, source));
    }
    pto_gsb_copy_out(builder, members, source, target);
}

/* All members read all gathered blocks, so none may write its next block before all have read them. */
static void allgather(pto_builder_t *builder, const pto_exchange_t *members, int source, int target) {
    pto_flag_to_root(builder, "result free", members);
    int gathered = gather(builder, members, source, PTO_RUN_LOOSE);
    broadcast(builder, members, gathered, target, PTO_RUN_ORDERED);
}

/* The members write into the root's output. */
static void gather_to_root(pto_builder_t *builder, const pto_exchange_t *members, int source, int target) {
    pto_flag_to_others(builder, "output free", members);
    pto_gsb_copy_in(builder, members, source, target);
}

const pto_intranode_t pto_intranode_gsb = {
    .reduce = reduce, .broadcast = broadcast, .allgather = allgather, .gather = gather_to_root};

static void build(pto_builder_t *builder, const pto_request_t *request) {
    pto_intranode_build(builder, request, &pto_intranode_gsb);
}

const pto_strategy_t pto_strategy_gsb = {
    .name = "gsb",
    .summary = "a node's processes copy into a buffer on the root's GPU, which reduces; all copy out",
    .collectives = PTO_VECTORS | PTO_ALLGATHERS | PTO_ROOTED | 1u << PTO_COLLECTIVE_REDUCE_SCATTER,
    .direct = true,
    .collective_space = PTO_SPACE_GPU,
    .applicable = pto_intranode_applicable,
    .build = build,
};
