/* Wrappers of functions that start or end a program, such as MPI_Init, or create communicators. */
#include "intercept.h"

#include <stdlib.h>
#include <unistd.h>

#include "environment.h"

pthread_mutex_t prof_mutex = PTHREAD_MUTEX_INITIALIZER;
_Thread_local int prof_depth;

static void begin(int code) {
    int provided = MPI_THREAD_SINGLE, mine, all = 0;
    if (code != MPI_SUCCESS || prof.running)
        return;
    prof_depth++;
    PMPI_Comm_rank(MPI_COMM_WORLD, &prof.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &prof.size);
    preload_speak_as(prof.rank == 0 ? "portolan-profile" : NULL);
    PMPI_Query_thread(&provided);
    prof.threaded = provided == MPI_THREAD_MULTIPLE;
    prof_groups_begin();
    prof_group_of(MPI_COMM_WORLD); /* before other communicators with the same processes */
    prof_group_of(MPI_COMM_SELF);
    prof_plans_begin();
    mine = preload_spaces_begin() || getenv("PORTOLAN_PROFILE_ORDER") != NULL;
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    prof.ordered = prof.has_spaces = all != 0;
    mine = prof_count_begin();
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    prof.running = prof.enabled = all != 0;
    if (prof.running)
        prof_files_begin();
    PMPI_Barrier(MPI_COMM_WORLD);
    prof.origin_ns = pto_now_ns();
    prof.origin_ticks = prof_ticks();
    prof_depth--;
}

PRELOAD_PASS_INIT(begin(code))

/* Gives a new communicator its identifier now, because the order of creation is the same on all its
 * processes. */
static void note_created(int code, const MPI_Comm *made) {
    if (!prof_enter(true))
        return;
    prof_lock();
    if (code == MPI_SUCCESS && *made != MPI_COMM_NULL)
        prof_group_of(*made);
    prof_unlock();
    prof_leave();
}

#define CREATES(name, params, args) PRELOAD_PASS_BOTH(name, params, args, (void)0, note_created(code, made))

CREATES(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
CREATES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), (comm, info, made))
CREATES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made))
CREATES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made),
        (comm, group, tag, made))
CREATES(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
CREATES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
        (comm, type, key, info, made))
CREATES(Cart_create,
        (MPI_Comm comm, int dims, const int sizes[], const int periods[], int reorder, MPI_Comm *made),
        (comm, dims, sizes, periods, reorder, made))
CREATES(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *made), (comm, remain, made))
CREATES(Graph_create,
        (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm *made),
        (comm, nodes, index, edges, reorder, made))
CREATES(Dist_graph_create,
        (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
         const int weights[], MPI_Info info, int reorder, MPI_Comm *made),
        (comm, n, sources, degrees, destinations, weights, info, reorder, made))
CREATES(Dist_graph_create_adjacent,
        (MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
         const int destinations[], const int out_weights[], MPI_Info info, int reorder, MPI_Comm *made),
        (comm, in, sources, in_weights, out, destinations, out_weights, info, reorder, made))
CREATES(Intercomm_create, (MPI_Comm comm, int leader, MPI_Comm peers, int remote, int tag, MPI_Comm *made),
        (comm, leader, peers, remote, tag, made))
#if PRELOAD_HAS_MPI4
CREATES(Comm_create_from_group,
        (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *made),
        (group, tag, info, handler, made))
#endif
CREATES(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *made), (comm, high, made))

/* `prof_depth` keeps the messages that write the files from being counted. */
static void end(void) {
    if (!prof.running)
        return;
    prof_depth++;
    prof.enabled = prof.running = false;
    prof_write_all();
    prof_depth--;
}

static void switch_counting(int level) { prof.enabled = prof.running && level != 0; }

PRELOAD_PASS_BOTH(Finalize, (void), (), end(), (void)0)
PRELOAD_PASS_BOTH(Abort, (MPI_Comm comm, int status), (comm, status), prof_write_own(), (void)0)
PRELOAD_PASS_BOTH(Pcontrol, (const int level, ...), (level), switch_counting(level), (void)0)

/* After a fatal error, MPI libraries end a program by _exit, which calls no functions of atexit. */
#define EXIT(name)                                                                                           \
    PRELOAD_EXPORT _Noreturn void name(int status) {                                                         \
        void (*next)(int);                                                                                   \
        prof_write_own();                                                                                    \
        preload_next(#name, &next, sizeof next);                                                             \
        next(status);                                                                                        \
        abort();                                                                                             \
    }
EXIT(_exit)
EXIT(_Exit)
