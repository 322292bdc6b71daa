/* The parts that copy benchmarks share: cases, the two buffers of one process, and the copy between them. */
#ifndef PORTOLAN_CALIBRATE_MEMCPY_COMMON_H
#define PORTOLAN_CALIBRATE_MEMCPY_COMMON_H

#include "benchmark.h"

/* A benchmark's state. */
typedef struct {
    int device; /* the device that copies; with PTO_COPY_D2D, `source` is there */
    int peer;   /* with PTO_COPY_D2D, the device of `target`; equal to `device` for a copy within a GPU */
    int home;   /* the process's own device, selected again when done */
    bool pageable;
    bool strided; /* in rows, with gaps in the device's buffer */
    pto_copy_kind_t kind;
    void *source;
    void *target;
} copying_t;

/* Adds a case of one process, `rank`, named PREFIX_KIND. detail[0] is the kind. */
case_t *copying_case(case_list_t *list, const char *prefix, pto_copy_kind_t kind, int rank, bool on_socket);

/* Adds such a case of rank 0 and its own GPU. */
case_t *copying_own_case(const job_t *job, const char *prefix, pto_copy_kind_t kind, case_list_t *list);

/* Returns the state of copies with the process's own GPU. */
copying_t copying_own(const work_t *work, pto_copy_kind_t kind);

/* Makes the buffers of a state that is otherwise complete. */
void copying_open(const work_t *work, int64_t bytes);

/* Selects the process's own device again, as a benchmark's `close`. */
void copying_close(const work_t *work);

/* Copies and waits, as a benchmark's `once`. */
void copying_once(const work_t *work, int64_t bytes);

/* Copies and waits. */
void copy_and_wait(pto_move_t move);

/* Returns a copy of contiguous bytes. */
pto_move_t move_of_bytes(void *target, const void *source, size_t bytes);

#endif
