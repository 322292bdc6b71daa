/* The buffers that all copy benchmarks use: one of the host and one of the device, of one process, and the
 * copy between them. */
#ifndef PORTOLAN_CALIBRATE_MEMCPY_COMMON_H
#define PORTOLAN_CALIBRATE_MEMCPY_COMMON_H

#include "benchmark.h"

/* A benchmark's state. */
typedef struct {
    int device; /* the one that copies, and holds `source` of a PTO_COPY_D2D */
    int peer;   /* PTO_COPY_D2D: holds `target`; `device` for a copy within a GPU */
    int home;   /* the process's own, selected again when done */
    bool pageable;
    bool strided; /* the device's buffer is a share of several blocks */
    pto_copy_kind_t kind;
    void *source;
    void *target;
} copying_t;

/* A case of one process, `rank`, named PREFIX_KIND; its first detail is the kind. */
case_t *copying_case(case_list_t *list, const char *prefix, pto_copy_kind_t kind, int rank, bool on_socket);

/* The same of rank 0 and its own GPU. */
case_t *copying_own_case(const job_t *job, const char *prefix, pto_copy_kind_t kind, case_list_t *list);

/* Of the process's own GPU. */
copying_t copying_own(const work_t *work, pto_copy_kind_t kind);

void copying_open(copying_t *copying, int64_t bytes);

/* A benchmark's `close`: frees the buffers. */
void copying_close(const work_t *work);

/* A benchmark's `trial`: seconds for `iterations` copies, each waited for. */
double copying_trial(const work_t *work, int64_t bytes, int iterations);

/* The same of any copy. */
double copies_s(const pto_move_t *move, int iterations);

/* Of bytes that lie together. */
pto_move_t move_of_bytes(void *target, const void *source, size_t bytes);

#endif
