/* The cost of a collective that NCCL runs: from measured rows of the machine file, or extrapolated from them
 * to other numbers of GPUs and nodes, not from the plan's stages. */
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

/* How a call is extrapolated from a measured job, the base: the base's row, and what is added to its time.
 * Hops, channels, chunks and protocols are NCCL's. */
typedef struct {
    pto_nccl_job_t base;
    pto_nccl_algorithm_t algorithm;
    pto_nccl_protocol_t protocol;
    const pto_cost_row_t *row; /* of the base, for `row_bytes` */
    double row_bytes;   /* a call of this size on the base puts as many bytes on each link as the call here */
    double hops;        /* additional hops within nodes; for alltoall: peers */
    double net_hops;    /* additional hops between nodes */
    double chunk_bytes; /* bytes that a channel waits for before it forwards them, at all hops within nodes */
    double net_bytes;   /* bytes that a node sends to others; 0: the row includes them */
    double wait_bytes;  /* bytes that the nodes of a chain wait for before they forward them */
    double ll_bytes;    /* bytes that the protocol LL carries between nodes; 0: another protocol is used */
    double more_s[PTO_NCCL_PROTOCOL_COUNT]; /* by how much each protocol is slower than the one used, as NCCL
                                               compares them; INFINITY: not used on such GPUs */
} pto_nccl_route_t;

/* Returns whether bytes between nodes have a cost; else nothing can be extrapolated to more nodes. */
bool pto_nccl_has_network(const pto_machine_t *machine);

/* Sets the route from `base` to `job` by one algorithm. False: the machine lacks parameters. */
bool pto_nccl_route(const pto_machine_t *machine, pto_nccl_kind_t kind, pto_nccl_algorithm_t algorithm,
                    pto_nccl_job_t base, pto_nccl_job_t job, double bytes, pto_nccl_route_t *route);

/* The same from the nearest measured job; false also if this job itself was measured. */
bool pto_nccl_extrapolated(const pto_machine_t *machine, pto_nccl_kind_t kind, pto_nccl_algorithm_t algorithm,
                           pto_nccl_job_t job, double bytes, pto_nccl_route_t *route);

/* Returns the time of the call by this route. */
double pto_nccl_route_s(const pto_machine_t *machine, pto_nccl_kind_t kind, const pto_nccl_route_t *route);

/* Charges the collective of a node that NCCL runs, and sets from what it is extrapolated. Errors:
 * PTO_ERR_NOT_APPLICABLE if the machine has no rows for it; the message says what to measure. */
pto_status_t pto_charge_nccl(pto_charge_t *charge, const pto_machine_t *machine, const pto_plan_t *plan,
                             const pto_node_t *node, pto_price_cache_t *cache,
                             pto_extrapolation_t *extrapolated, pto_error_t *err);

/* Returns whether processes of this core take part in NCCL's collective. */
bool pto_nccl_takes_core(const pto_node_t *node, int64_t core);

#endif
