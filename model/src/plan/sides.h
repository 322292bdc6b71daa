/* What strategies for halo exchanges share: the steps of one phase, for each side of a process's part of the
 * grid. Borders may be packed into contiguous memory. */
#ifndef PTO_PLAN_SIDES_H
#define PTO_PLAN_SIDES_H

#include "portolan/strategy.h"

/* One side: the border that goes to the neighbor there, and the halo that comes from the neighbor on the
 * opposite side; or the part of both that some of a GPU's processes move. */
typedef struct {
    int64_t core_first; /* the processes of each GPU that move it */
    int64_t core_count;
    pto_peers_t to;
    pto_peers_t from;
    pto_slice_t border;
    pto_slice_t halo;
    bool own;   /* each process is its own neighbor there: it copies the border to the halo */
    bool packs; /* messages go from packed_out to packed_in, not from border to halo; not if own */
    pto_slice_t packed_out; /* contiguous copies of the border and the halo */
    pto_slice_t packed_in;
} pto_side_t;

/* Returns the side towards `shift` with its neighbors and its cells: number `unit` of the `parts` units of
 * pto_halo_units. */
pto_side_t pto_side_towards(const pto_builder_t *builder, int field, const int shift[PTO_DIMS_MAX],
                            int64_t parts, pto_expr_t unit);
/* Returns `cells` contiguous cells of a buffer from cell `first` on. */
pto_slice_t pto_side_packed(int buffer, pto_expr_t first, int64_t cells);

/* Builds the steps that copy borders to packed_out or, if own, to the halo. All of these functions build for
 * `count` sides, each with its own processes. */
void pto_sides_pack(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count);
/* Builds a stage with the messages of the sides that are not own, if there are any. */
void pto_sides_exchange(pto_builder_t *builder, const pto_exchange_t *who, const char *name,
                        const pto_side_t *side, int count);
/* Builds the steps that copy from packed_in to halos. */
void pto_sides_unpack(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count);
/* Builds a stage for each side of processes that are their own neighbors, which copy the border. */
void pto_sides_own(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count);

#endif
