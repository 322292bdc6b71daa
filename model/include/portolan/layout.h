/* A layout: how many processes a job has and where they are. A logical rank is (node, gpu, core). Of each
 * GPU's procs_per_gpu processes, the first owners_per_gpu hold user data (owners); the others help. A layout
 * is pure arithmetic: that of a million GPUs is as small as any.
 *
 * Where data are in host memory (`in_host`), GPUs take no part, and each process is a place of its own:
 * gpus_per_node counts the processes of a node, and owners_per_gpu and procs_per_gpu are 1
 * (docs/decisions/0040). */
#ifndef PORTOLAN_LAYOUT_H
#define PORTOLAN_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/status.h"

PTO_API_BEGIN

typedef struct {
    int64_t nodes;
    int64_t gpus_per_node;
    int64_t owners_per_gpu;  /* 1 unless a scenario says otherwise */
    int64_t procs_per_gpu;   /* processes of one GPU, owners and helpers */
    int64_t gpus_per_socket; /* of the machine, which may have more GPUs than the job uses; at least 1. In
                                host memory: processes of a socket, among which they are spread evenly */
    bool in_host;            /* the owners' data are in host memory */
} pto_layout_t;

typedef struct {
    int64_t node;
    int64_t gpu;
    int64_t core;
} pto_rank_t;

/* Refuse a layout with a count below 1, more owners than cores, several processes a place in host memory, or
 * more ranks than an int64_t can number. */
pto_status_t pto_layout_check(const pto_layout_t *layout, pto_error_t *err);

/* All processes: nodes * gpus_per_node * procs_per_gpu. */
int64_t pto_layout_rank_count(const pto_layout_t *layout);

/* Processes that hold user data: nodes * gpus_per_node * owners_per_gpu. */
int64_t pto_layout_owner_count(const pto_layout_t *layout);

/* Ranks are numbered by node, then by GPU within the node, then by core within the GPU. */
pto_rank_t pto_layout_rank(const pto_layout_t *layout, int64_t number);
int64_t pto_layout_number(const pto_layout_t *layout, pto_rank_t rank);

/* Distance between two ranks; PTO_LEVEL_ON_GPU if they share a GPU. */
pto_level_t pto_layout_level(const pto_layout_t *layout, pto_rank_t a, pto_rank_t b);

PTO_API_END

#endif
