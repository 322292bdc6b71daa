/* Shared by the strategies for halo exchanges that pack borders into contiguous memory: the steps of one
 * phase, side by side. */
#ifndef PTO_STRATEGIES_HALO_H
#define PTO_STRATEGIES_HALO_H

#include "portolan/strategy.h"

/* A border towards a neighbor and the halo that comes from the opposite one, or what some of a GPU's
 * processes move of them. */
typedef struct {
    int64_t core_first; /* who does */
    int64_t core_count;
    pto_peers_t to;
    pto_peers_t from;
    pto_slice_t border;
    pto_slice_t halo;
    bool own;               /* everyone is its own neighbor: the border is copied to the halo */
    bool packs;             /* messages go through the copies below, not from border to halo; never if own */
    pto_slice_t packed_out; /* the contiguous copies */
    pto_slice_t packed_in;
} pto_side_t;

/* The neighbors and cells of the side towards `shift`: all of it, or a unit. */
pto_side_t pto_side_towards(const pto_builder_t *builder, int field, const int shift[PTO_DIMS_MAX],
                            int64_t parts, pto_expr_t unit);
/* `cells` contiguous cells of a buffer from cell `first` on. */
pto_slice_t pto_side_packed(int buffer, pto_expr_t first, int64_t cells);

/* Steps for `count` sides, each by the cores of the side: copies of own borders and of those that are packed;
 * a stage of the messages of all others, if there are any; copies of the halos that are packed. */
void pto_sides_pack(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count);
void pto_sides_exchange(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count);
void pto_sides_unpack(pto_builder_t *builder, const pto_exchange_t *who, const pto_side_t *side, int count);

#endif
