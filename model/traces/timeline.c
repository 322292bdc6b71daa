/* Collects the calls of all processes, of each up to a limit that falls as processes are added. */
#include "timeline.h"

#include <math.h>
#include <stdlib.h>

enum { TIMED_MAX = 1 << 19 };

pto_timeline_t *pto_timeline_create(void) {
    pto_timeline_t *timeline = calloc(1, sizeof *timeline);
    if (timeline) {
        timeline->kept = INT32_MAX;
        timeline->rank = -1;
    }
    return timeline;
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
    pto_recording_groups_fini(&timeline->groups);
    free(timeline->timed);
    free(timeline);
}

int pto_timeline_name(pto_timeline_t *timeline, const char *text) {
    return pto_text_index_add(&timeline->names, text);
}

/* Keep the first half of the calls of the process that has most, and as many of each other one. */
static void cut(pto_timeline_t *timeline) {
    int32_t most = 0;
    size_t count = 0;
    for (size_t i = 0; i < timeline->count; i++)
        most = timeline->timed[i].order > most ? timeline->timed[i].order : most;
    timeline->kept = (most + 1) / 2;
    timeline->is_cut = true;
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->timed[i].order < timeline->kept)
            timeline->timed[count++] = timeline->timed[i];
    timeline->count = count;
}

static bool make_room(pto_timeline_t *timeline) {
    if (timeline->count == TIMED_MAX)
        cut(timeline);
    if (timeline->count < timeline->room)
        return true;
    const size_t room = timeline->room ? 2 * timeline->room : 1024;
    pto_timed_t *grown = realloc(timeline->timed, room * sizeof *grown);
    if (!grown)
        return false;
    timeline->timed = grown;
    timeline->room = room;
    return true;
}

static bool is_collective(pto_timed_way_t way) {
    return way == PTO_TIMED_BY_ALL || way == PTO_TIMED_FROM_ROOT || way == PTO_TIMED_TO_ROOT;
}

bool pto_timeline_add(pto_timeline_t *timeline, const pto_timed_t *timed) {
    if (timed->rank != timeline->rank) {
        timeline->rank = timed->rank;
        timeline->order = 0;
        timeline->outside_s = NAN; /* until the first collective ends */
    } else
        timeline->outside_s += timed->begin_s - timeline->end_s;
    timeline->end_s = timed->end_s;
    if (timed->way == PTO_TIMED_NOT)
        return true;
    const int32_t order = timeline->order++;
    if (order >= timeline->kept) {
        timeline->is_cut = true;
        return true;
    }
    if (!make_room(timeline))
        return false;
    if (order >= timeline->kept)
        return true;
    pto_timed_t *added = &timeline->timed[timeline->count++];
    *added = *timed;
    added->order = order;
    added->outside_s = timed->is_bare ? NAN : timeline->outside_s;
    if (is_collective(timed->way))
        timeline->outside_s = 0;
    return true;
}

void pto_timeline_renumber(pto_timeline_t *timeline, size_t from, const int *call_of_kind) {
    for (size_t i = from; i < timeline->count; i++)
        if (timeline->timed[i].call >= 0)
            timeline->timed[i].call = call_of_kind ? call_of_kind[timeline->timed[i].call] : -1;
}

size_t pto_timeline_count(const pto_timeline_t *timeline) { return timeline->count; }
