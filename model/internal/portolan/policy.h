/* Policies: how member 0 of an either node (plan.h) chooses for each other member, in every run, between
 * branch A and branch B (pto_policy_kind_t). The simulator and the executor run the same code. */
#ifndef PORTOLAN_POLICY_H
#define PORTOLAN_POLICY_H

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

typedef enum { PTO_BRANCH_A, PTO_BRANCH_B, PTO_BRANCH_COUNT } pto_branch_t;

enum { PTO_POLICY_RECENT = 5 };

/* The state of one either node's policy. Members are numbered from 0. Users read `taken` alone. */
typedef struct {
    int taken[PTO_BRANCH_COUNT]; /* number of members that took each branch in this run */
    pto_policy_kind_t kind;
    int members;
    int next; /* how many members have been told their branch; doubling: in the order of arrival */
    /* Doubling: */
    int arrived;                                /* number of members in `arrival` */
    int arrival[PTO_POLICY_MEMBERS_MAX];        /* members in the order of their arrival */
    int ordered;                                /* number of branches in `order` */
    pto_branch_t order[PTO_POLICY_MEMBERS_MAX]; /* branches of the members in that order */
    int done[PTO_BRANCH_COUNT];                 /* number of members that have completed each branch */
    /* Learning, where the last h members take B: */
    int first;                                                      /* the first h to try */
    int h;                                                          /* of this run */
    int runs;                                                       /* that have ended */
    int tries[PTO_POLICY_MEMBERS_MAX + 1];                          /* by h */
    double recent_s[PTO_POLICY_MEMBERS_MAX + 1][PTO_POLICY_RECENT]; /* by h: the times of its last runs */
} pto_policy_t;

/* `first`: the number of members that take B in the first run of PTO_POLICY_LEARNING. */
void pto_policy_init(pto_policy_t *policy, pto_policy_kind_t kind, int members, int first);

/* Whether the choices of a run depend on what happens in it. If not, they can be made before it begins. */
bool pto_policy_waits(pto_policy_kind_t kind);

/* Events: a run begins; a member arrives; it completes; the run ends after `seconds` (negative: unknown). */
void pto_policy_begin(pto_policy_t *policy);
void pto_policy_arrived(pto_policy_t *policy, int member);
void pto_policy_completed(pto_policy_t *policy, pto_branch_t branch);
void pto_policy_end(pto_policy_t *policy, double seconds);

/* The next member to be told its branch; false if there is none as yet. */
bool pto_policy_next(pto_policy_t *policy, int *member, pto_branch_t *branch);

PTO_API_END

#endif
