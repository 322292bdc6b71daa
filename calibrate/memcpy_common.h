/* The parts that copy benchmarks share: cases, the two buffers of one process, and the copy between them. */
#ifndef PORTOLAN_CALIBRATE_MEMCPY_COMMON_H
#define PORTOLAN_CALIBRATE_MEMCPY_COMMON_H

#include "benchmark.h"

/* A benchmark's state. */
typedef struct {
    pto_copy_kind_t kind;
    void *source;
    void *target;
} copying_t;

/* Adds a case of one process, `rank`, named PREFIX_KIND. detail[0] is the kind. */
case_t *copying_case(case_list_t *list, const char *prefix, pto_copy_kind_t kind, int rank, bool on_socket);

/* Adds such a case of rank 0 and its own GPU. */
case_t *copying_own_case(const job_t *job, const char *prefix, pto_copy_kind_t kind, case_list_t *list);

/* Makes the buffers of a copy with the selected GPU; host memory is pageable or pinned. */
void copying_make(const work_t *work, pto_copy_kind_t kind, bool pageable);

/* The same for the case's kind, with pinned memory, as a benchmark's `open`. */
void copying_open(const work_t *work);

/* Copies and waits, as a benchmark's `once`. */
void copying_once(const work_t *work, int64_t bytes);

/* Copies and waits. */
void copy_and_wait(pto_move_t move);

/* Returns a copy of contiguous bytes, `at` bytes from the beginning of both buffers. */
pto_move_t copying_move(const copying_t *copying, size_t at, size_t bytes);

/* Returns a copy of contiguous bytes. */
pto_move_t move_of_bytes(void *target, const void *source, size_t bytes);

#endif
