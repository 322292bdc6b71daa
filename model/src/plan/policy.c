/* The policies by which member 0 of an either node chooses, for each other member, branch A or branch B
 * (portolan/policy.h): by what has completed in the run (doubling), or by the times of runs (learning). */
#include "portolan/policy.h"

#include <string.h>

#include "base/names.h"

static const struct {
    const char *name;
    bool waits;
} kinds[] = {
    [PTO_POLICY_DOUBLING] = {"doubling", true},
    [PTO_POLICY_LEARNING] = {"learning", false},
};
PTO_EACH_NAMED(kinds, PTO_POLICY_COUNT);

const char *pto_policy_name(pto_policy_kind_t kind) {
    return kind < PTO_POLICY_COUNT ? kinds[kind].name : "no policy";
}

bool pto_policy_waits(pto_policy_kind_t kind) { return kinds[kind].waits; }

void pto_policy_init(pto_policy_t *policy, pto_policy_kind_t kind, int members, int first) {
    *policy = (pto_policy_t){.kind = kind, .members = members, .first = first < members ? first : members};
}

/* --- doubling ------------------------------------------------------------------------------------------- */

/* Decides that the next `count` members to arrive take this branch. */
static void order(pto_policy_t *policy, pto_branch_t branch, int count) {
    for (; count > 0 && policy->ordered < policy->members; count--)
        policy->order[policy->ordered++] = branch;
}

static void begin_doubling(pto_policy_t *policy) {
    policy->arrived = policy->ordered = 0;
    memset(policy->done, 0, sizeof policy->done);
    if (policy->members > 1)
        order(policy, PTO_BRANCH_B, 1);
    order(policy, PTO_BRANCH_A, 1);
}

void pto_policy_completed(pto_policy_t *policy, pto_branch_t branch) {
    int ahead = ++policy->done[branch] - policy->done[PTO_BRANCH_A + PTO_BRANCH_B - branch];
    if (ahead <= 0)
        order(policy, branch, 1);
    else
        order(policy, branch, 1 << (ahead < 6 ? ahead : 6)); /* 2^6 is more than all members */
}

/* Returns whether the next member can be told its branch. The first two members are told together. */
static bool can_tell_next(const pto_policy_t *policy) {
    bool first_two_arrived = policy->arrived >= 2 || policy->members < 2;
    return first_two_arrived && policy->next < policy->arrived && policy->next < policy->ordered;
}

/* --- learning ------------------------------------------------------------------------------------------- */

enum {
    TRIES = 2,       /* of each h at first */
    RETRY_RUNS = 16, /* afterwards, every 16th run tries another h than the best one: */
    RETRIED = 4      /* in turn, each of the 4 that are nearest to it */
};

/* Returns the h that is the i-th closest to `from`, which is itself number 0. */
static int by_distance(const pto_policy_t *policy, int from, int i) {
    int up = from, down = from - 1;
    for (;; i--) {
        bool goes_up = down < 0 || (up <= policy->members && up - from <= from - down);
        int h = goes_up ? up++ : down--;
        if (i == 0)
            return h;
    }
}

/* Returns the median time of the last runs with h, so that a single slow one does not count. */
static double median_s(const pto_policy_t *policy, int h) {
    double sorted[PTO_POLICY_RECENT] = {0};
    int count = policy->tries[h] < PTO_POLICY_RECENT ? policy->tries[h] : PTO_POLICY_RECENT;
    for (int i = 0; i < count; i++) {
        int at = i;
        for (; at > 0 && sorted[at - 1] > policy->recent_s[h][i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = policy->recent_s[h][i];
    }
    return sorted[(count - 1) / 2];
}

static int choose(const pto_policy_t *policy) {
    int untried = 0, tries = 0, best = 0;
    for (int h = 0; h <= policy->members; h++) {
        tries += policy->tries[h];
        untried += policy->tries[h] < TRIES;
    }
    if (untried > 0)
        return by_distance(policy, policy->first, tries % (policy->members + 1));
    for (int h = 1; h <= policy->members; h++)
        if (median_s(policy, h) < median_s(policy, best))
            best = h;
    int others = policy->members < RETRIED ? policy->members : RETRIED;
    bool retries = others > 0 && policy->runs % RETRY_RUNS == 0;
    return retries ? by_distance(policy, best, 1 + policy->runs / RETRY_RUNS % others) : best;
}

/* The first run also sets up what later ones use, so it is not counted. */
void pto_policy_end(pto_policy_t *policy, double seconds) {
    if (policy->kind == PTO_POLICY_LEARNING && policy->runs++ > 0 && seconds >= 0)
        policy->recent_s[policy->h][policy->tries[policy->h]++ % PTO_POLICY_RECENT] = seconds;
}

/* --- both policies -------------------------------------------------------------------------------------- */

void pto_policy_begin(pto_policy_t *policy) {
    memset(policy->taken, 0, sizeof policy->taken);
    policy->next = 0;
    if (policy->kind == PTO_POLICY_DOUBLING)
        begin_doubling(policy);
    else
        policy->h = choose(policy);
}

void pto_policy_arrived(pto_policy_t *policy, int member) {
    if (policy->kind == PTO_POLICY_DOUBLING)
        policy->arrival[policy->arrived++] = member;
}

bool pto_policy_next(pto_policy_t *policy, int *member, pto_branch_t *branch) {
    bool doubles = policy->kind == PTO_POLICY_DOUBLING;
    if (doubles ? !can_tell_next(policy) : policy->next == policy->members)
        return false;
    bool is_last_h = policy->next >= policy->members - policy->h;
    *member = doubles ? policy->arrival[policy->next] : policy->next;
    *branch = is_last_h ? PTO_BRANCH_B : PTO_BRANCH_A;
    if (doubles)
        *branch = policy->order[policy->next];
    policy->next++;
    policy->taken[*branch]++;
    return true;
}
