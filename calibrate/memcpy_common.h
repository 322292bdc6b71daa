/* What all copy benchmarks share: the two buffers of one process, and the copy between them. */
#ifndef PORTOLAN_CALIBRATE_MEMCPY_COMMON_H
#define PORTOLAN_CALIBRATE_MEMCPY_COMMON_H

#include "benchmark.h"

/* A benchmark's state. */
typedef struct {
    int device; /* the device that copies; of a PTO_COPY_D2D it has `source` */
    int peer;   /* the device that has `target` of a PTO_COPY_D2D; `device` for a copy within a GPU */
    int home;   /* the process's own device, selected again when done */
    bool pageable;
    bool strided; /* the device's buffer is a share of several blocks */
    pto_copy_kind_t kind;
    void *source;
    void *target;
} copying_t;

/* Adds a case of one process, `rank`, named PREFIX_KIND. Its first detail is the kind. */
case_t *copying_case(case_list_t *list, const char *prefix, pto_copy_kind_t kind, int rank, bool on_socket);

/* Adds such a case of rank 0 and its own GPU. */
case_t *copying_own_case(const job_t *job, const char *prefix, pto_copy_kind_t kind, case_list_t *list);

/* Returns the state of copies with the process's own GPU. */
copying_t copying_own(const work_t *work, pto_copy_kind_t kind);

/* Makes the buffers of a state that is otherwise complete. */
void copying_open(const work_t *work, int64_t bytes);

/* Selects the process's own device again, as a benchmark's `close`. */
void copying_close(const work_t *work);

/* A copy that is waited for, as a benchmark's `once`. */
void copying_once(const work_t *work, int64_t bytes);

/* A copy of any kind that is waited for. */
void copy_and_wait(pto_move_t move);

/* Returns a copy of contiguous bytes. */
pto_move_t move_of_bytes(void *target, const void *source, size_t bytes);

#endif
