/* Either nodes at run time. Members and member 0 signal through counters in shared memory, like those of
 * the plan's own flags. Member 0 has a lane for each other member, for its side of that member's branch.
 * The schedule contains both branches; pto_choice_gate skips the tasks of the one that is not chosen.
 *
 * For example, member 3 reaches the node and increments `arrived`. Member 0 polls that, asks the policy, and
 * increments chosen[B]. Then member 3 does its tasks of B, and member 0 those in member 3's lane. */
#include "choices.h"

#include "buffers.h"
#include "watchdog.h"

static pto_exec_either_t *either_at(const pto_exec_t *exec, int index) {
    return (pto_exec_either_t *)exec->eithers.item + index;
}

static pto_exec_choice_t *choice_at(const pto_exec_t *exec, int index) {
    return (pto_exec_choice_t *)exec->choices.item + index;
}

static pto_status_t add_choice(pto_schedule_t *builder, const pto_node_t *node, int64_t member) {
    pto_exec_t *exec = builder->exec;
    const pto_group_t *group = pto_plan_group(exec->plan, node->group);
    int64_t chooser_rank = pto_group_rank(exec->plan, group, exec->job.logical, 0);
    int64_t member_rank = pto_group_rank(exec->plan, group, exec->job.logical, member);
    pto_exec_choice_t *choice = pto_vector_add(&exec->choices, sizeof *choice);
    if (!choice)
        return pto_schedule_out_of_memory(builder->err);
    choice->either = exec->eithers.count - 1;
    choice->branch = -1;
    choice->arrived = pto_exec_counter(exec, member_rank, chooser_rank, node->flag);
    for (int branch = 0; branch < PTO_BRANCH_COUNT; branch++)
        choice->chosen[branch] = pto_exec_counter(exec, chooser_rank, member_rank, node->flag + 1 + branch);
    return PTO_OK;
}

/* A learning policy begins with as many members on branch B as the plan is priced with. */
pto_status_t pto_choices_add(pto_schedule_t *builder) {
    pto_exec_t *exec = builder->exec;
    const pto_node_t *node = pto_plan_node(exec->plan, builder->walk->lanes);
    const pto_staged_t *staged = &pto_plan_request(exec->plan)->staged_members;
    int64_t me = pto_group_index(exec->plan, pto_plan_group(exec->plan, node->group), exec->job.logical);
    bool is_for_input = exec->eithers.count == 0; /* the first one; another one is for the output */
    pto_exec_either_t *either = pto_vector_add(&exec->eithers, sizeof *either);
    if (!either)
        return pto_schedule_out_of_memory(builder->err);
    either->node = builder->walk->lanes;
    either->chooses = me == 0;
    either->first = exec->choices.count;
    either->count = me == 0 ? (int)(node->to - node->from) : me > 0; /* 0: not in the group */
    if (either->chooses)
        pto_policy_init(&either->policy, node->policy, either->count,
                        (int)(is_for_input ? staged->in : staged->out));
    either->statistics.members = either->count;
    pto_status_t status = PTO_OK;
    for (int64_t i = 0; i < either->count && status == PTO_OK; i++)
        status = add_choice(builder, node, either->chooses ? node->from + i : me);
    return status;
}

const pto_exec_either_t *pto_choices_last(const pto_schedule_t *builder) {
    return either_at(builder->exec, builder->exec->eithers.count - 1);
}

int pto_choice_of(const pto_schedule_t *builder, int lane) {
    const pto_exec_either_t *either = pto_choices_last(builder);
    return either->first + (either->chooses ? lane - 1 : 0);
}

static void increment(atomic_uint_fast64_t *counter) {
    atomic_fetch_add_explicit(counter, 1, memory_order_release);
}

static void signal_choices(pto_exec_t *exec, pto_exec_either_t *either) {
    int member;
    pto_branch_t branch;
    while (pto_policy_next(&either->policy, &member, &branch)) {
        pto_exec_choice_t *choice = choice_at(exec, either->first + member);
        choice->branch = (int)branch;
        increment(choice->chosen[branch]);
    }
}

static void begin_policy(pto_exec_t *exec, pto_exec_either_t *either) {
    pto_policy_begin(&either->policy);
    for (int i = 0; i < either->count; i++)
        choice_at(exec, either->first + i)->branch = -1;
}

/* Passes new arrivals to the policy and signals what it chooses. Each member increments its counter once per
 * run, so in run r the member has arrived if the counter is at least r. */
static void poll_arrivals(pto_exec_t *exec, pto_exec_either_t *either) {
    for (int i = 0; i < either->count; i++) {
        pto_exec_choice_t *choice = choice_at(exec, either->first + i);
        if (choice->has_arrived || atomic_load_explicit(choice->arrived, memory_order_acquire) < exec->run)
            continue;
        choice->has_arrived = true;
        either->arrived++;
        either->began_ns = pto_now_ns(); /* the time counts from the last arrival */
        pto_policy_arrived(&either->policy, i);
    }
    signal_choices(exec, either);
}

/* Ends the timing of a run. If no task of a branch had to wait, the policy does not learn from it (-1). */
static void end_timing(pto_exec_either_t *either) {
    double seconds = (double)(pto_now_ns() - either->began_ns) * 1e-9;
    if (either->began_ns != 0)
        pto_policy_end(&either->policy, either->waited ? seconds : -1);
    either->began_ns = 0;
}

/* Another member only signals its arrival. At member 0, earlier either nodes have ended, since the lane's
 * stream has been drained: their timing ends here. */
void pto_choices_begin(pto_exec_t *exec, int index) {
    pto_exec_either_t *either = either_at(exec, index);
    if (!either->chooses) {
        for (int i = 0; i < either->count; i++) {
            choice_at(exec, either->first + i)->branch = -1;
            increment(choice_at(exec, either->first + i)->arrived);
        }
        return;
    }
    for (int i = 0; i < index; i++)
        end_timing(either_at(exec, i));
    if (!either->chosen_early)
        begin_policy(exec, either);
    for (int i = 0; i < either->count; i++)
        choice_at(exec, either->first + i)->has_arrived = false;
    for (int branch = 0; branch < PTO_BRANCH_COUNT; branch++) {
        either->first_lane[branch] = 0;
        either->once_passed[branch] = false;
    }
    either->arrived = either->completed = 0;
    either->chosen_early = either->waited = false;
    either->began_ns = pto_now_ns();
    poll_arrivals(exec, either);
}

void pto_choice_completed(pto_exec_t *exec, int index) {
    pto_exec_choice_t *choice = choice_at(exec, index);
    pto_exec_either_t *either = either_at(exec, choice->either);
    pto_policy_completed(&either->policy, (pto_branch_t)choice->branch);
    if (++either->completed < either->count)
        return;
    either->statistics.last = either->policy.taken[PTO_BRANCH_B];
    either->statistics.runs[either->statistics.last]++;
}

/* Chooses for the next run now, unless the policy must wait for arrivals. So members need not wait. */
void pto_choices_end(pto_exec_t *exec) {
    for (int i = 0; i < exec->eithers.count; i++) {
        pto_exec_either_t *either = either_at(exec, i);
        if (!either->chooses)
            continue;
        end_timing(either);
        if (pto_policy_waits(either->policy.kind))
            continue;
        begin_policy(exec, either);
        signal_choices(exec, either);
        either->chosen_early = true;
    }
}

/* Finds whether member 0 has chosen: in each run, it increments one of the counters, beyond `seen`. */
static void poll_choice(pto_exec_choice_t *choice) {
    for (int branch = 0; branch < PTO_BRANCH_COUNT && choice->branch < 0; branch++)
        if (atomic_load_explicit(choice->chosen[branch], memory_order_acquire) > choice->seen[branch]) {
            choice->seen[branch]++;
            choice->branch = branch;
        }
}

/* Returns the gate of a task of the chosen branch. Of member 0's lanes that take a branch, only the first
 * does the tasks marked `once`. The others skip these tasks, but not before the first lane has done them. */
static pto_gate_t gate_of_chooser(pto_exec_t *exec, pto_exec_either_t *either, pto_lane_t *lane,
                                  const pto_task_t *task) {
    const int index = (int)(lane - exec->lane);
    int *first_lane = &either->first_lane[task->branch];
    if (*first_lane == 0)
        *first_lane = index;
    if (*first_lane == index && !task->once)
        either->once_passed[task->branch] = true;
    if (!task->once || *first_lane == index)
        return PTO_GATE_OPEN;
    if (!either->once_passed[task->branch])
        return PTO_GATE_UNKNOWN;
    lane->pending |= exec->lane[*first_lane].pending; /* both lanes have the same stream */
    return PTO_GATE_CLOSED;
}

pto_gate_t pto_choice_gate(pto_exec_t *exec, pto_lane_t *lane, const pto_task_t *task) {
    pto_exec_choice_t *choice = choice_at(exec, task->choice - 1);
    pto_exec_either_t *either = either_at(exec, choice->either);
    if (!either->chooses)
        poll_choice(choice);
    else if (either->arrived < either->count || choice->branch < 0)
        poll_arrivals(exec, either);
    if (choice->branch < 0)
        return PTO_GATE_UNKNOWN;
    if (choice->branch != task->branch)
        return PTO_GATE_CLOSED;
    return either->chooses ? gate_of_chooser(exec, either, lane, task) : PTO_GATE_OPEN;
}

void pto_choice_waits(pto_exec_t *exec, const pto_task_t *task) {
    either_at(exec, choice_at(exec, task->choice - 1)->either)->waited = true;
}

bool pto_exec_choices(const pto_exec_t *exec, int index, pto_exec_choices_t *choices) {
    if (index < 0 || index >= exec->eithers.count || !either_at(exec, index)->chooses)
        return false;
    const pto_exec_either_t *either = either_at(exec, index);
    *choices = either->statistics;
    for (int number = 0; number <= either->count; number++)
        choices->timed += either->policy.tries[number];
    return true;
}
