/* Collects the calls of all processes, up to a limit per process that falls as processes are added. */
#include "timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { TIMED_MAX = 1 << 19 };

pto_timeline_t *pto_timeline_create(void) {
    pto_timeline_t *timeline = calloc(1, sizeof *timeline);
    if (timeline)
        timeline->calls_max = INT32_MAX;
    return timeline;
}

bool pto_recording_members_add(pto_recording_members_t *members, int64_t rank) {
    int64_t ranks = members->ranks ? members->ranks : 64;
    while (ranks <= rank)
        ranks *= 2;
    if (ranks > members->ranks) {
        bool *grown = realloc(members->has, (size_t)ranks);
        if (!grown)
            return false;
        memset(grown + members->ranks, 0, (size_t)(ranks - members->ranks));
        members->has = grown;
        members->ranks = ranks;
    }
    members->count += !members->has[rank];
    members->has[rank] = true;
    return true;
}

void pto_recording_groups_fini(pto_recording_groups_t *groups) {
    for (int i = 0; i < groups->count; i++)
        free(groups->members[i].has);
    free(groups->members);
    pto_text_index_fini(&groups->names);
    *groups = (pto_recording_groups_t){.count = 0};
}

void pto_timeline_destroy(pto_timeline_t *timeline) {
    if (!timeline)
        return;
    pto_text_index_fini(&timeline->names);
    pto_text_index_fini(&timeline->processes);
    pto_text_index_fini(&timeline->memberships);
    pto_recording_groups_fini(&timeline->groups);
    free(timeline->timed);
    free(timeline->process);
    free(timeline->membership);
    free(timeline);
}

int pto_timeline_name(pto_timeline_t *timeline, const char *text) {
    return pto_text_index_add(&timeline->names, text);
}

size_t pto_timeline_count(const pto_timeline_t *timeline) { return timeline->count; }

/* Halves the number of calls that are stored of each process at most. */
static void halve_calls(pto_timeline_t *timeline) {
    int32_t most = 0;
    size_t count = 0, before = 0; /* calls that remain, and those of them in earlier files */
    for (size_t i = 0; i < timeline->count; i++)
        most = timeline->timed[i].order > most ? timeline->timed[i].order : most;
    timeline->calls_max = (most + 1) / 2;
    timeline->is_cut = true;
    for (size_t i = 0; i < timeline->count; i++) {
        if (timeline->timed[i].order >= timeline->calls_max)
            continue;
        before += i < timeline->file_first;
        timeline->timed[count++] = timeline->timed[i];
    }
    timeline->file_first = before;
    timeline->count = count;
}

/* Tracks how long a process was outside of calls since its last collective; NaN before the first one. */
static void track_outside(pto_timed_process_t *process, pto_timed_t *timed) {
    if (!process->has_called)
        *process = (pto_timed_process_t){
            .has_called = true, .order = process->order, .end_s = timed->begin_s, .outside_s = NAN};
    process->outside_s += fmax(0, timed->begin_s - process->end_s);
    process->end_s = fmax(process->end_s, timed->end_s);
    timed->outside_s = timed->only_duration ? NAN : process->outside_s;
    if (timed->way > PTO_TIMED_NOT && timed->way < PTO_TIMED_SEND)
        process->outside_s = 0;
}

static bool reserve_process(pto_timeline_t *timeline, int32_t rank) {
    const size_t before = timeline->process_room;
    if (!PTO_RESERVE(timeline->process, timeline->process_room, rank + 1))
        return false;
    for (size_t i = before; i < timeline->process_room; i++)
        timeline->process[i] = (pto_timed_process_t){.order = 0};
    return true;
}

bool pto_timeline_add(pto_timeline_t *timeline, const pto_timed_t *timed) {
    pto_timed_t added = *timed;
    if (!reserve_process(timeline, timed->rank))
        return false;
    pto_timed_process_t *process = &timeline->process[timed->rank];
    if (!timeline->is_unordered) {
        track_outside(process, &added);
        if (timed->way == PTO_TIMED_NOT)
            return true;
    }
    added.order = process->order++;
    if (timeline->count == TIMED_MAX && added.order < timeline->calls_max)
        halve_calls(timeline);
    if (added.order >= timeline->calls_max) {
        timeline->is_cut = true;
        return true;
    }
    if (!PTO_RESERVE(timeline->timed, timeline->room, timeline->count + 1))
        return false;
    timeline->timed[timeline->count++] = added;
    return true;
}

void pto_timeline_begin_file(pto_timeline_t *timeline) {
    timeline->file_first = timeline->count;
    timeline->is_unordered = false;
}

/* Sorts by process, then by begin. Calls without a begin come last, in the file's order. */
static int by_begin(const void *left, const void *right) {
    const pto_timed_t *a = left, *b = right;
    int order = (a->rank > b->rank) - (a->rank < b->rank);
    if (order == 0)
        order = a->only_duration - b->only_duration;
    if (order == 0 && !a->only_duration)
        order = (a->begin_s > b->begin_s) - (a->begin_s < b->begin_s);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

/* Sorts the file's calls, and sets their outside_s and order. Then drops those that are not compared. */
static void sort_calls(pto_timeline_t *timeline) {
    pto_timed_t *timed = timeline->timed;
    size_t kept = timeline->file_first;
    if (kept == timeline->count)
        return;
    qsort(timed + kept, timeline->count - kept, sizeof *timed, by_begin);
    pto_timed_process_t process = {.order = 0};
    int32_t rank = -1;
    for (size_t i = timeline->file_first; i < timeline->count; i++) {
        if (timed[i].rank != rank)
            process = (pto_timed_process_t){.order = 0};
        rank = timed[i].rank;
        timed[kept] = timed[i];
        track_outside(&process, &timed[kept]);
        timed[kept].order = process.order;
        if (timed[kept].way != PTO_TIMED_NOT) {
            kept++;
            process.order++;
        }
    }
    timeline->count = kept;
}

void pto_timeline_end_file(pto_timeline_t *timeline, const int *call_of_kind) {
    for (size_t i = timeline->file_first; i < timeline->count; i++)
        if (timeline->timed[i].call >= 0)
            timeline->timed[i].call = call_of_kind ? call_of_kind[timeline->timed[i].call] : -1;
    if (timeline->is_unordered)
        sort_calls(timeline);
}

static void name_membership(char name[32], int communicator, int rank) {
    snprintf(name, 32, "%d %d", communicator, rank);
}

bool pto_timeline_set_member(pto_timeline_t *timeline, const char *communicator, int32_t rank, int32_t procs,
                             const char *process, pto_timed_t *timed) {
    char name[32];
    const int group = pto_timeline_name(timeline, communicator);
    const int member = group >= 0 ? pto_text_index_add(&timeline->processes, process) : -1;
    const int before = timeline->memberships.count;
    if (member < 0)
        return false;
    name_membership(name, group, rank);
    timed->membership = pto_text_index_add(&timeline->memberships, name);
    timed->rank = member;
    if (timed->membership < 0 ||
        !PTO_RESERVE(timeline->membership, timeline->membership_room, timed->membership + 1))
        return false;
    if (timed->membership == before)
        timeline->membership[before] = (pto_membership_t){group, rank, procs, member};
    return true;
}

/* Returns the communicator with most processes and, of several, with most known ones; -1 if there is none.
 * `known` is zeroed, with an element for each name. */
static int largest_communicator(const pto_timeline_t *timeline, int *known) {
    int largest = -1, procs = 0;
    for (int i = 0; i < timeline->memberships.count; i++)
        known[timeline->membership[i].communicator]++;
    for (int i = 0; i < timeline->memberships.count; i++) {
        const pto_membership_t *membership = &timeline->membership[i];
        if (membership->procs > procs ||
            (membership->procs == procs && known[membership->communicator] > known[largest])) {
            largest = membership->communicator;
            procs = membership->procs;
        }
    }
    return largest;
}

/* Returns a member's rank in the job; negative if unknown, or if its process has several ranks. */
static int32_t job_rank(const pto_membership_t *membership, int largest, const int32_t *rank) {
    return membership->communicator == largest ? membership->rank : rank[membership->process];
}

/* Sets the ranks of a call's process and peer. False if one is unknown. `rank`: by process, as in job_rank.
 */
static bool set_call_ranks(const pto_timeline_t *timeline, int largest, const int32_t *rank,
                           pto_timed_t *timed) {
    char name[32];
    const pto_membership_t *membership = &timeline->membership[timed->membership];
    timed->rank = job_rank(membership, largest, rank);
    if (timed->peer < 0)
        return timed->rank >= 0;
    name_membership(name, membership->communicator, timed->peer);
    const int peer = pto_text_index_find(&timeline->memberships, name);
    timed->peer = peer >= 0 ? job_rank(&timeline->membership[peer], largest, rank) : -1;
    return timed->rank >= 0 && timed->peer >= 0;
}

bool pto_timeline_set_ranks(pto_timeline_t *timeline) {
    enum { NONE = -1, SEVERAL = -2 };
    const int memberships = timeline->memberships.count, processes = timeline->processes.count;
    if (memberships == 0)
        return true;
    int32_t *rank = malloc((size_t)processes * sizeof *rank);
    int *known = calloc((size_t)timeline->names.count, sizeof *known);
    if (rank && known) {
        const int largest = largest_communicator(timeline, known);
        size_t kept = 0;
        for (int i = 0; i < processes; i++)
            rank[i] = NONE;
        for (int i = 0; i < memberships; i++) {
            const pto_membership_t *membership = &timeline->membership[i];
            if (membership->communicator == largest)
                rank[membership->process] = rank[membership->process] == NONE ? membership->rank : SEVERAL;
        }
        for (size_t i = 0; i < timeline->count; i++)
            if (timeline->timed[i].membership < 0 ||
                set_call_ranks(timeline, largest, rank, &timeline->timed[i]))
                timeline->timed[kept++] = timeline->timed[i];
        timeline->count = kept;
    }
    const bool able = rank && known;
    free(rank);
    free(known);
    return able;
}
