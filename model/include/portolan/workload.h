/* A workload: one step of an application as collectives and computation, in order or at once, on the world or
 * on the communicators of a grid. Read from YAML (docs/formats.md, 'Workload file'); step.h predicts it. */
#ifndef PORTOLAN_WORKLOAD_H
#define PORTOLAN_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/scenario.h"
#include "portolan/status.h"

PTO_API_BEGIN

enum { PTO_WORKLOAD_DIMS_MAX = 8, PTO_WORKLOAD_CALLS_MAX = 512 };

typedef struct {
    char *name;
    int64_t size; /* 0: as many as fill the layout */
} pto_dimension_t;

/* What the communicators of a call share. Each GPU is in one of them, and all make the call at once. */
typedef struct {
    int64_t count;    /* communicators in the job */
    int64_t per_node; /* with members on one node */
    int64_t per_socket;
    bool has_gaps; /* the nodes of one do not follow each other */
} pto_communicators_t;

/* A call, or computation. */
typedef struct {
    pto_scenario_t scenario; /* the call; once bound, its layout is that of one communicator */
    char *name;              /* NULL: not given */
    unsigned along;          /* bit d: the members of a communicator differ in dimension d */
    int64_t times;
    double compute_s; /* computation; a call: 0 */
    int entry;        /* of the step; what has the same number runs at once */
    pto_place_t place;
    pto_communicators_t communicators; /* once bound; of a call */
} pto_workload_call_t;

/* Processes are numbered as owners are: by node, then by GPU. The last dimension varies fastest. */
typedef struct {
    char *name;
    char *path;
    char *machine_path; /* resolved against the workload's folder; NULL: not given */
    pto_place_t machine_place;
    pto_place_t layout_place;
    pto_place_t grid_place;
    pto_layout_t layout; /* of the job; 0 where left open until bound */
    pto_data_memory_t memory;
    int64_t procs_per_node; /* host memory only; 0: all cores */
    int dim_count;
    pto_dimension_t dim[PTO_WORKLOAD_DIMS_MAX];
    int entry_count;
    int call_count;
    pto_workload_call_t *call;
} pto_workload_t;

/* Read a workload file. Relative paths in it are relative to its folder. Errors: those of pto_scenario_read,
 * and PTO_ERR_TOO_LARGE for too many calls, with file, line and column. `*workload` is set on success. */
pto_status_t pto_workload_read(const char *path, pto_workload_t *workload, pto_error_t *err);
pto_status_t pto_workload_parse(const char *text, size_t text_size, const char *path,
                                pto_workload_t *workload, pto_error_t *err);
void pto_workload_fini(pto_workload_t *workload);

/* Bind a workload to a machine, once: complete the layout and the grid, and give each call the layout of its
 * communicators. Errors: PTO_ERR_RANGE if the grid does not have as many processes as the layout has GPUs, or
 * if communicators of one call have different numbers of GPUs on their nodes; those of pto_scenario_check and
 * _bind. */
pto_status_t pto_workload_bind(pto_workload_t *workload, const pto_machine_t *machine, pto_error_t *err);

/* False: computation. */
bool pto_workload_is_call(const pto_workload_call_t *call);

/* The communicators of a bound call, by their processes: `member` has communicators.count times as many as
 * each has members, one communicator after another. Free it with free(). */
pto_status_t pto_workload_members(const pto_workload_t *workload, const pto_workload_call_t *call,
                                  int64_t **member, pto_error_t *err);

/* "gradients", or the collective's name where the call has none. */
const char *pto_workload_call_name(const pto_workload_call_t *call);

/* "world", or the dimensions that a call's communicators extend along, as "data+tensor". Returns `text`. */
enum { PTO_WORKLOAD_ALONG_MAX = 160 };
const char *pto_workload_along_text(const pto_workload_t *workload, unsigned along,
                                    char text[PTO_WORKLOAD_ALONG_MAX]);

PTO_API_END

#endif
