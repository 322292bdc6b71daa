/* Time-outs of runs (watchdog.h), in case another process has failed or waits forever. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel_nodes.h"
#include "tasks.h"
#include "watchdog.h"

enum { ABORT_GRACE_S = 5, DEFAULT_TIMEOUT_S = 20 };

/* Returns what the process does in a task, for messages. */
static const char *activity_of(const pto_exec_t *exec, const pto_task_t *task) {
    const pto_exec_choice_t *choice = exec->choices.item;
    const bool waits = task->choice && choice[task->choice - 1].branch < 0;
    return waits ? "waiting for a choice" : pto_task_activity(task->kind);
}

/* Returns the lane's current task, or NULL. A final kernel stays current until it completes. */
static const pto_task_t *current_task(const pto_lane_t *lane) {
    const pto_task_t *task = lane->tasks.item;
    int next = atomic_load(&lane->next), count = lane->tasks.count;
    if (next == count && count > 0 && task[count - 1].kind == PTO_TASK_KERNEL)
        next--;
    return next >= 0 && next < count ? &task[next] : NULL;
}

/* Returns the first lane that does not wait for another one. */
static int busy_lane(const pto_exec_t *exec) {
    for (int i = 0; i < exec->lane_count; i++) {
        const pto_task_t *task = current_task(&exec->lane[i]);
        if (task && task->kind != PTO_TASK_AFTER)
            return i;
    }
    return 0;
}

static void append_stage(const pto_exec_t *exec, int lane, const pto_task_t *task, char *text,
                         size_t text_size) {
    long long k = (long long)task->k;
    if (task->lanes < 0)
        snprintf(text, text_size, " in stage '%s', k %lld", task->stage, k);
    else
        snprintf(text, text_size, " in stage '%s', lane %d, %s %lld", task->stage, lane,
                 pto_plan_node(exec->plan, task->lanes)->kind == PTO_NODE_PIPELINE ? "chunk" : "k", k);
}

void pto_exec_where(const pto_exec_t *exec, int lane, char *text, size_t text_size) {
    pto_rank_t place = pto_layout_rank(&pto_plan_request(exec->plan)->layout, exec->job.logical);
    int used = snprintf(text, text_size, "rank %lld (MPI rank %d; node %lld, GPU %lld, core %lld)",
                        (long long)exec->job.logical, exec->job.rank, (long long)place.node,
                        (long long)place.gpu, (long long)place.core);
    lane = lane == PTO_LANE_BUSY ? busy_lane(exec) : lane;
    const pto_task_t *task = current_task(&exec->lane[lane]);
    if (task && used >= 0 && (size_t)used < text_size)
        append_stage(exec, lane, task, text + used, text_size - (size_t)used);
}

static const char *current_activity(const pto_exec_t *exec) {
    const pto_task_t *task = current_task(&exec->lane[busy_lane(exec)]);
    return task ? activity_of(exec, task) : "waiting for the other processes";
}

static bool is_late(const pto_exec_t *exec) {
    int64_t began = atomic_load(&exec->watchdog.began_ns);
    if (!exec->failed && !exec->watchdog.at_end && pto_kernels_gave_up(exec))
        return true;
    return began > 0 && pto_now_ns() - began > (int64_t)(exec->watchdog.timeout_s * 1e9);
}

pto_status_t pto_exec_deadline(const pto_exec_t *exec, pto_error_t *err) {
    bool returns = exec->options.timeout_s >= 0 && exec->options.on_timeout == PTO_TIMEOUT_RETURN;
    if (!returns || !is_late(exec))
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_TIMEOUT, "%s, no progress for %g s", current_activity(exec),
                         exec->watchdog.timeout_s);
}

static void end_job(const pto_exec_t *exec) {
    char where[256];
    const char *what = current_activity(exec);
    pto_exec_where(exec, PTO_LANE_BUSY, where, sizeof where);
    fprintf(stderr, "portolan: %s: %s, no progress for %g s; ending the job\n", where, what,
            exec->watchdog.timeout_s);
    /* MPI_Abort may block, if the main thread holds MPI's locks: the alarm then ends the process. */
    alarm(ABORT_GRACE_S);
    if (exec->job.team->end)
        exec->job.team->end(exec->job.team->context);
    else
        abort();
}

/* A run's start reads no clock, which takes as long as a short message. It is timed from the first look. */
static void set_begin(pto_watchdog_t *watchdog) {
    int_fast64_t began = PTO_BEGAN_NOW;
    atomic_compare_exchange_strong(&watchdog->began_ns, &began, pto_now_ns());
}

static void *watch(void *argument) {
    pto_exec_t *exec = argument;
    pto_watchdog_t *watchdog = &exec->watchdog;
    int64_t nap_ns = (int64_t)(watchdog->timeout_s * 1e9) / 16 + 1000000;
    pthread_mutex_lock(&watchdog->lock);
    while (!watchdog->stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        int64_t ns = until.tv_nsec + nap_ns;
        until.tv_sec += (time_t)(ns / 1000000000);
        until.tv_nsec = (long)(ns % 1000000000);
        pthread_cond_timedwait(&watchdog->wake, &watchdog->lock, &until);
        set_begin(watchdog);
        if (!watchdog->stop && is_late(exec))
            end_job(exec);
    }
    pthread_mutex_unlock(&watchdog->lock);
    return NULL;
}

pto_status_t pto_watchdog_begin(pto_exec_t *exec, pto_error_t *err) {
    pto_watchdog_t *watchdog = &exec->watchdog;
    double timeout_s = exec->options.timeout_s;
    watchdog->timeout_s = timeout_s != 0 ? timeout_s : DEFAULT_TIMEOUT_S;
    if (timeout_s < 0 || exec->options.on_timeout != PTO_TIMEOUT_ABORT)
        return PTO_OK;
    pthread_mutex_init(&watchdog->lock, NULL);
    pthread_cond_init(&watchdog->wake, NULL);
    int cause = pthread_create(&watchdog->thread, NULL, watch, exec);
    if (cause)
        return pto_error_set(err, PTO_ERR_IO, "pthread_create for the watchdog: %s", strerror(cause));
    watchdog->running = true;
    return PTO_OK;
}

/* The thread holds the lock while it looks at the executor. */
void pto_watchdog_watch_end(pto_exec_t *exec) {
    pto_watchdog_t *watchdog = &exec->watchdog;
    if (watchdog->running)
        pthread_mutex_lock(&watchdog->lock);
    watchdog->at_end = true;
    for (int i = 0; i < exec->lane_count; i++)
        atomic_store(&exec->lane[i].next, -1);
    atomic_store(&watchdog->began_ns, pto_now_ns());
    if (watchdog->running)
        pthread_mutex_unlock(&watchdog->lock);
}

void pto_watchdog_end(pto_exec_t *exec) {
    pto_watchdog_t *watchdog = &exec->watchdog;
    if (!watchdog->running)
        return;
    pthread_mutex_lock(&watchdog->lock);
    watchdog->stop = true;
    pthread_cond_signal(&watchdog->wake);
    pthread_mutex_unlock(&watchdog->lock);
    pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->wake);
    pthread_mutex_destroy(&watchdog->lock);
    watchdog->running = false;
}
