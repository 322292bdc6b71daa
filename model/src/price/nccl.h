/* The cost of NCCL's own collective: from the rows of the machine file, not from the plan's stages. */
#ifndef PTO_PRICE_NCCL_H
#define PTO_PRICE_NCCL_H

#include "price/bounded.h"
#include "price/ledger.h"

/* The name of its stage where a price is explained or a simulation traced. */
extern const char pto_nccl_stage[];

/* GPUs of all nodes, equally many on each. */
typedef struct {
    int64_t gpus;
    int64_t nodes;
} pto_nccl_job_t;

/* How a price for other GPUs and nodes follows from the row of a measured job. */
typedef struct {
    pto_nccl_job_t base;
    pto_nccl_algorithm_t algorithm;
    pto_nccl_protocol_t protocol;
    const pto_cost_row_t *row; /* of the base, for as many bytes as its links carry as many as ours do */
    double row_bytes;
    double hops; /* more than the base has, within nodes and between them; peers for alltoall */
    double net_hops;
    double chunk_bytes; /* that a channel waits for at all hops within nodes together, before it passes them
                           on */
    double net_bytes;   /* that a node sends to others; 0: the row has them */
    double
        wait_bytes;  /* of chunks that the nodes of a chain wait for before they pass them on, all together */
    double ll_bytes; /* that LL carries between nodes; 0: another protocol does */
    double more_s[PTO_NCCL_PROTOCOL_COUNT]; /* that another protocol takes, by the hops and bytes that NCCL
                                               compares; INFINITY: not used on such GPUs */
} pto_nccl_route_t;

/* Returns whether bytes of GPUs between nodes have a cost: without one, nothing is known on more nodes than
 * were measured. */
bool pto_nccl_has_network(const pto_machine_t *machine);

/* The route by one algorithm; false: the machine lacks the collective or what extrapolates it. */
bool pto_nccl_route(const pto_machine_t *machine, pto_nccl_kind_t kind, pto_nccl_algorithm_t algorithm,
                    pto_nccl_job_t base, pto_nccl_job_t job, double bytes, pto_nccl_route_t *route);

/* The route from the nearest measured job; false also where this job itself was measured. */
bool pto_nccl_extrapolated(const pto_machine_t *machine, pto_nccl_kind_t kind, pto_nccl_algorithm_t algorithm,
                           pto_nccl_job_t job, double bytes, pto_nccl_route_t *route);

/* Returns the time of the call by this route. */
double pto_nccl_route_s(const pto_machine_t *machine, pto_nccl_kind_t kind, const pto_nccl_route_t *route);

/* The collective of a node that NCCL runs, and from what it is extrapolated. Errors: PTO_ERR_NOT_APPLICABLE
 * where the machine has no rows for it, with what to measure. */
pto_status_t pto_charge_nccl(pto_charge_t *charge, const pto_machine_t *machine, const pto_plan_t *plan,
                             const pto_node_t *node, pto_price_cache_t *cache,
                             pto_extrapolation_t *extrapolated, pto_error_t *err);

/* Returns whether processes of this core take part in NCCL's collective. */
bool pto_nccl_takes_core(const pto_node_t *node, int64_t core);

#endif
