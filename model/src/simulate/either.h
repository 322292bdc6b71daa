/* Either nodes (plan.h): the choices of a simulation (either.c). Internal to libportolan. */
#ifndef PTO_SIMULATE_EITHER_H
#define PTO_SIMULATE_EITHER_H

#include "portolan/policy.h"

struct pto_sim;

/* Whether a process passes the stage that it has reached. UNKNOWN: not decided yet, so that it waits. */
typedef enum { PTO_SIM_UNKNOWN, PTO_SIM_PASSES, PTO_SIM_SKIPS } pto_sim_gate_t;

/* The state of one either node. Lane 1 + k - from is that of member 0 and member k (plan.h). */
typedef struct {
    bool begun;
    pto_policy_t policy;
    bool arrived[PTO_LANES_MAX];        /* [lane]: its member k has reached the node */
    int branch[PTO_LANES_MAX];          /* [lane]: 1 + the branch that it takes; 0: not known yet */
    int first_lane[PTO_BRANCH_COUNT];   /* member 0's first lane in the branch; 0: none yet */
    bool once_passed[PTO_BRANCH_COUNT]; /* that lane has ended the stage marked `once` */
} pto_sim_either_t;

/* Returns whether a process passes the stage that it has reached, in a branch of an either node. */
pto_sim_gate_t pto_sim_gate(struct pto_sim *sim, uint32_t rank);
/* A process has ended such a stage. */
void pto_sim_leave_branch(struct pto_sim *sim, uint32_t rank);

#endif
