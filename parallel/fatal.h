/* Error checks for programs that cannot continue after a failed MPI or GPU call: print where and why, and end
 * the job. guard_begin (guard.h) must have been called. */
#ifndef PTO_FATAL_H
#define PTO_FATAL_H

#include <stddef.h>

#include "portolan/api.h"

#define MPI_DO(call) check_mpi((call), #call, __FILE__, __LINE__)
#define GPU_DO(call) check_gpu((call), __FILE__, __LINE__)

/* Checks the result of an MPI call. `call` is its text. */
void check_mpi(int code, const char *call, const char *file, int line);

/* Checks the status of a call whose last argument was `&gpu_error`. */
void check_gpu(pto_status_t status, const char *file, int line);
extern pto_error_t gpu_error;

/* Prints a message and ends the job. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* calloc that ends the job if memory runs out. A `count` of 0 returns a valid pointer. */
void *must_allocate(size_t count, size_t size);

#endif
