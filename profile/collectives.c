/* Wrappers of MPI's blocking, non-blocking and persistent collectives. parts.h counts their traffic. */
#include "intercept.h"
#include "parts.h"

static void note(int code, prof_parts_of_t *parts, prof_collective_t collective) {
    prof_note(&collective, code == MPI_SUCCESS ? parts : NULL);
}

static void note_started(const prof_call_t *call, int code, const MPI_Request *request) {
    if (code == MPI_SUCCESS && *request != MPI_REQUEST_NULL)
        prof_request_add(*request,
                         &(prof_request_t){.routine = (uint8_t)call->routine, .active = true, .peer = -1});
}

/* Record the parts of a persistent collective; they are counted each time the request is started. */
static void note_init(int code, prof_parts_of_t *parts, prof_collective_t collective,
                      const MPI_Request *request) {
    prof_persistent_t *recorded = prof_record_parts();
    note(code, parts, collective);
    prof_stop_recording();
    if (code == MPI_SUCCESS)
        prof_request_add(*request, &(prof_request_t){.routine = (uint8_t)collective.call->routine,
                                                     .persistent = true,
                                                     .peer = -1,
                                                     .persistent_parts = recorded});
}

/* All forms of a collective that the MPI library has. */
#define COLLECTIVE(name, iname, params, args, parts, root, in, out)                                          \
    PROF_SIMPLE_FORM(name, (PRELOAD_EACH params, MPI_Comm comm), (PRELOAD_EACH args, comm),                  \
                     note(code, parts, (prof_collective_t){&call, comm, root, in, out}))                     \
    PROF_SIMPLE_FORM(iname, (PRELOAD_EACH params, MPI_Comm comm, MPI_Request * request),                     \
                     (PRELOAD_EACH args, comm, request),                                                     \
                     note(code, parts, (prof_collective_t){&call, comm, root, in, out});                     \
                     note_started(&call, code, request))                                                     \
    INITS(INIT, name##_init, (PRELOAD_EACH params, INIT_PARAMS), (PRELOAD_EACH args, INIT_ARGS), parts,      \
          root, in, out)
#if PRELOAD_HAS_MPI4
#define INITS(one, ...) one(MPI_, __VA_ARGS__) one(PMPI_, __VA_ARGS__)
#elif PRELOAD_HAS_MPIX_INIT
#define INITS(one, ...) one(MPIX_, __VA_ARGS__) one(PMPIX_, __VA_ARGS__)
#else
#define INITS(...)
#endif
#define INIT_PARAMS MPI_Comm comm, MPI_Info info, MPI_Request *request
#define INIT_ARGS comm, info, request
#define INIT(prefix, name, params, args, parts, root, in, out)                                               \
    PROF_FORM(prefix, name, true, params, args, args, (void)0,                                               \
              note_init(code, parts, (prof_collective_t){&call, comm, root, in, out}, request))

static prof_side_t side_of(const void *buffer, MPI_Count count, const void *counts, size_t size,
                           MPI_Datatype type, const MPI_Datatype *types) {
    return (prof_side_t){buffer, count, counts, size > sizeof(int), type, types};
}

#define NO_SIDE side_of(NULL, 0, NULL, 0, MPI_DATATYPE_NULL, NULL)
#define IN side_of(in, in_count, NULL, 0, in_type, NULL)
#define OUT side_of(out, out_count, NULL, 0, out_type, NULL)
#define IN_COUNTS side_of(in, 0, in_counts, sizeof *in_counts, in_type, NULL)
#define OUT_COUNTS side_of(out, 0, out_counts, sizeof *out_counts, out_type, NULL)
#define IN_TYPES side_of(in, 0, in_counts, sizeof *in_counts, MPI_DATATYPE_NULL, in_types)
#define OUT_TYPES side_of(out, 0, out_counts, sizeof *out_counts, MPI_DATATYPE_NULL, out_types)
#define VECTOR_IN side_of(in, count, NULL, 0, type, NULL)
#define VECTOR_OUT side_of(out, count, NULL, 0, type, NULL)

#define PRELOAD_LIST "collective_list.h"
#include "each_count.h"

#define NO_PARTS                                                                                             \
    NULL, (prof_collective_t) { &call, comm, -1, NO_SIDE, NO_SIDE }
PROF_SIMPLE(Barrier, (MPI_Comm comm), (comm), note(code, NO_PARTS))
PROF_SIMPLE(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request), note(code, NO_PARTS);
            note_started(&call, code, request))
#define BARRIER_INIT(prefix, name)                                                                           \
    PROF_ONE(prefix##name, name, true, (INIT_PARAMS), (INIT_ARGS), (INIT_ARGS), (void)0,                     \
             note_init(code, NO_PARTS, request))
INITS(BARRIER_INIT, Barrier_init)
