/* The state of resources that ranks share: links of nodes and between nodes (links.c, routes.c), and copy
 * engines of GPUs (engines.c). */
#ifndef PTO_SIMULATE_RESOURCES_H
#define PTO_SIMULATE_RESOURCES_H

#include "plan/plan_internal.h"
#include "price/paths.h"

/* The links that messages of a node pass, in the order of pto_resource_t. */
typedef enum {
    PTO_LINK_INJECTION,
    PTO_LINK_EJECTION,
    PTO_LINK_RATE,   /* the limit on a node's messages per second, at the sender */
    PTO_LINK_ROUTES, /* all links within the node, which have flows (routes.c) instead of jobs */
    PTO_LINK_FABRIC, /* all links between nodes, with flows, too; counted as node 0's */
    PTO_LINKS_PER_NODE
} pto_link_kind_t;

/* A job is a message on a link, for one of its ends; a side of a rank has at most one. It is done once
 * `progress_s` of the link, which grows by dt / jobs, has reached `until_s` (links.c). */
typedef struct {
    double until_s;
    uint32_t proc; /* its number over all plans */
} pto_link_job_t;

/* A link of a node, shared by jobs or, if pto_link_has_flows, by flows. */
typedef struct {
    double progress_s;    /* time that every job has received since the link was idle */
    double at_s;          /* the time of the last update of progress_s */
    double busy_since_s;  /* the beginning of the current busy period */
    double busy_s;        /* sum of the busy periods that have ended */
    double waiting_s;     /* sum of the delays of all messages */
    int32_t jobs;         /* or flows */
    int32_t waiting;      /* sides that wait for the end of a job */
    int64_t bytes;        /* since it was idle */
    bool has_delayed;     /* the last job was delayed by the others */
    pto_link_job_t job[]; /* the soonest last, with room for the ranks of a node */
} pto_link_t;

/* What waits for a flow's end: a sending side, a receiving side, or a copy or reduction. */
typedef enum { PTO_FLOW_SEND, PTO_FLOW_RECV, PTO_FLOW_COPY } pto_flow_use_t;

/* Bytes on their way over links of a node, or of the fabric. */
typedef struct {
    pto_path_t path; /* by number in sim->job.capacity */
    pto_flow_use_t use;
    uint32_t proc;          /* its number over all plans */
    bool slowed;            /* by other flows, or by a slow link; if not, it ends at alone_until_s */
    bool fixed;             /* while rates are computed: its rate is known */
    double alone_until_s;   /* its end if nothing slows it */
    double max_bytes_per_s; /* its rate if nothing slows it */
    double left_bytes;
    double bytes_per_s;
} pto_flow_t;

/* The flows of one node, or between nodes, in no order. */
typedef struct {
    pto_flow_t *flow;
    size_t room;
} pto_routes_t;

/* A link within all nodes, or of the fabric, while rates are computed. */
typedef struct {
    double bytes_per_s;
    double left_bytes_per_s;
    int32_t flows; /* whose rates are not known yet */
} pto_capacity_t;

/* A GPU's engines: one for each kind of copy, and its link to the other GPUs, inwards and outwards. Those
 * that no step of any plan uses have no record. */
enum { PTO_ENGINE_IN = PTO_COPY_COUNT, PTO_ENGINE_OUT, PTO_ENGINES_PER_GPU };
_Static_assert(PTO_ENGINES_PER_GPU <= 8, "the engines in use of a GPU are bits of a byte");

/* The copies of one GPU in one direction. Queued copies (copies.shared) are counted here, but timed by their
 * GPU's queues. */
typedef struct {
    _Alignas(64) uint32_t first; /* list of copies not queued: 1 + a process's number over all plans */
    int32_t active;              /* number of copies, queued ones included */
    int64_t total_bytes;
    int64_t busy_bytes; /* since it was idle */
    double next_s;      /* when its next copy ends */
    double at_s;        /* the time of the last update of its copies */
    double busy_since_s;
    double busy_s; /* sum of the busy periods that have ended */
    double waiting_s;
} pto_engine_t;

_Static_assert(sizeof(pto_engine_t) == 64, "an engine is to stay within a cache line");

#endif
