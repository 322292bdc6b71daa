/* Functions that strategies for halo exchanges share. They build the steps of one phase for each side of a
 * process's part of the grid: the cells at its border that one neighbor needs. Borders may be packed into
 * contiguous memory. The order is pack, exchange, unpack. */
#ifndef PTO_PLAN_SIDES_H
#define PTO_PLAN_SIDES_H

#include "portolan/strategy.h"

/* One side: the border that goes to the neighbor on this side, and the halo that comes from the neighbor on
 * the opposite side. If several processes of a GPU share the work, each moves a part of both. */
typedef struct {
    int64_t core_first; /* the processes of each GPU that move it */
    int64_t core_count;
    pto_peers_t to;     /* the neighbor on this side */
    pto_peers_t from;   /* the neighbor on the opposite side */
    pto_slice_t border; /* of the field: cells that are sent */
    pto_slice_t halo;   /* of the field: cells that are received */
    bool own;           /* each process is its own neighbor on this side: it copies the border to the halo */
    bool packs;         /* messages go from packed_out to packed_in, not from border to halo; not if `own` */
    pto_slice_t packed_out; /* a contiguous copy of the border */
    pto_slice_t packed_in;  /* a contiguous copy of the halo */
} pto_side_t;

/* Returns the side in the direction of `shift`, with its neighbors. Its cells are unit number `unit` of the
 * `parts` units of pto_halo_units. `field`: the buffer of cells. It does not pack. */
pto_side_t pto_side_towards(const pto_builder_t *builder, int field, const int shift[PTO_DIMS_MAX],
                            int64_t parts, pto_expr_t unit);
/* Returns `cells` contiguous cells of a buffer from cell `first` on. */
pto_slice_t pto_side_packed(int buffer, pto_expr_t first, int64_t cells);

/* The functions below build steps for `count` sides; `who` names the group.
 * Builds the steps that copy borders to packed_out or, if `own`, to the halo. */
void pto_sides_pack(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count);
/* Builds a stage with the messages of the sides that are not `own`, if there are any. */
void pto_sides_exchange(pto_builder_t *builder, const pto_exchange_t *who, const char *name,
                        const pto_side_t *side, int count);
/* Builds the steps that copy from packed_in to halos. */
void pto_sides_unpack(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count);
/* Builds a stage for each side that is `own`, in which the processes copy the border to the halo. */
void pto_sides_own(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count);

#endif
