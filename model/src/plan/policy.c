/* The policies of either nodes. */
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

/* `count` more members take this branch. */
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

/* The first two members are told together. */
static bool is_told(const pto_policy_t *policy) {
    bool both_here = policy->arrived >= 2 || policy->members < 2;
    return both_here && policy->next < policy->arrived && policy->next < policy->ordered;
}

/* --- learning ------------------------------------------------------------------------------------------- */

enum {
    TRIES = 2,      /* of each number at first */
    RETRY_RUNS = 16 /* then every so many runs another number than the best is tried */
};

/* The i-th number by its distance from the first one to try. */
static int by_distance(const pto_policy_t *policy, int i) {
    int up = policy->first, down = policy->first - 1;
    for (;; i--) {
        bool goes_up = down < 0 || (up <= policy->members && up - policy->first <= policy->first - down);
        int at = goes_up ? up++ : down--;
        if (i == 0)
            return at;
    }
}

/* The number with the least mean, or with the least time ever but not `but`. */
static int least(const pto_policy_t *policy, const double *seconds, int but) {
    int best = but == 0 ? 1 : 0;
    for (int h = best + 1; h <= policy->members; h++)
        if (h != but && seconds[h] < seconds[best])
            best = h;
    return best;
}

static int choose(const pto_policy_t *policy) {
    int counted = 0;
    for (int h = 0; h <= policy->members; h++)
        counted += policy->tries[h];
    if (counted < TRIES * (policy->members + 1))
        return by_distance(policy, counted % (policy->members + 1));
    int best = least(policy, policy->mean_s, -1);
    return policy->runs % RETRY_RUNS == 0 ? least(policy, policy->least_s, best) : best;
}

/* The first run also sets up what later ones use, so it is not counted. */
void pto_policy_end(pto_policy_t *policy, double seconds) {
    int h = policy->h;
    if (policy->kind != PTO_POLICY_LEARNING || policy->runs++ == 0 || seconds < 0)
        return;
    int tries = policy->tries[h] < RETRY_RUNS ? ++policy->tries[h] : RETRY_RUNS;
    policy->mean_s[h] += (seconds - policy->mean_s[h]) / tries;
    if (tries == 1 || seconds < policy->least_s[h])
        policy->least_s[h] = seconds;
}

/* --- both ----------------------------------------------------------------------------------------------- */

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
    if (doubles ? !is_told(policy) : policy->next == policy->members)
        return false;
    *member = doubles ? policy->arrival[policy->next] : policy->next;
    *branch = doubles                                           ? policy->order[policy->next]
              : policy->next >= policy->members - policy->h ? PTO_BRANCH_B
                                                                : PTO_BRANCH_A;
    policy->next++;
    policy->taken[*branch]++;
    return true;
}
