/* The policies by which member 0 of an either node chooses branch A or B for each other member
 * (pto_policy_kind_t in portolan/plan.h defines both). Doubling decides during a run, from the branches that
 * have completed. Learning decides before a run, from the times of earlier runs. The simulator and the
 * executor report events (pto_policy_begin, _arrived, _completed, _end) and ask for choices (_next). */
#include "portolan/policy.h"

#include <string.h>

#include "base/names.h"

static const struct {
    const char *name;
    bool waits; /* the choices depend on the events of the run (pto_policy_waits) */
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
    pto_branch_t other = branch == PTO_BRANCH_A ? PTO_BRANCH_B : PTO_BRANCH_A;
    policy->done[branch]++;
    int ahead = policy->done[branch] - policy->done[other];
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

/* h is the number of members that take branch B: the last h. */
enum {
    TRIES = 2,       /* runs with each h at first */
    RETRY_RUNS = 16, /* afterwards, every 16th run tries another h than the best one: */
    RETRIED = 4      /* one of the 4 values closest to it, in turn */
};

/* Returns the i-th closest h to `from`, upwards first; `from` itself is number 0. */
static int by_distance(const pto_policy_t *policy, int from, int i) {
    int up = from, down = from - 1, h = from;
    for (int number = 0; number <= i; number++) {
        bool goes_up = down < 0 || (up <= policy->members && up - from <= from - down);
        h = goes_up ? up++ : down--;
    }
    return h;
}

/* Returns the median time of the last runs with h, so that a single slow run has no effect. */
static double median_s(const pto_policy_t *policy, int h) {
    double sorted[PTO_POLICY_RECENT] = {0};
    int count = policy->tries[h] < PTO_POLICY_RECENT ? policy->tries[h] : PTO_POLICY_RECENT;
    for (int i = 0; i < count; i++) { /* insertion sort */
        int position = i;
        for (; position > 0 && sorted[position - 1] > policy->recent_s[h][i]; position--)
            sorted[position] = sorted[position - 1];
        sorted[position] = policy->recent_s[h][i];
    }
    return sorted[(count - 1) / 2];
}

/* Returns the h of the next run. */
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

/* The first run includes setup (connections, registration of memory), so its time is not recorded. */
void pto_policy_end(pto_policy_t *policy, double seconds) {
    if (policy->kind != PTO_POLICY_LEARNING)
        return;
    bool is_first_run = policy->runs++ == 0;
    int *tries = &policy->tries[policy->h];
    if (!is_first_run && seconds >= 0)
        policy->recent_s[policy->h][(*tries)++ % PTO_POLICY_RECENT] = seconds;
}

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
    if (policy->kind == PTO_POLICY_DOUBLING) {
        if (!can_tell_next(policy))
            return false;
        *member = policy->arrival[policy->next];
        *branch = policy->order[policy->next];
    } else {
        if (policy->next == policy->members)
            return false;
        *member = policy->next;
        *branch = policy->next >= policy->members - policy->h ? PTO_BRANCH_B : PTO_BRANCH_A;
    }
    policy->next++;
    policy->taken[*branch]++;
    return true;
}
