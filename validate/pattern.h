/* Patterns: kernels of applications that are timed together with the communication that follows them. What is
 * timed are `steps` steps. Each step enqueues the kernel in the pattern's stream and then runs the plan,
 * which waits for that stream. */
#ifndef PTO_PATTERN_H
#define PTO_PATTERN_H

#include "validate.h"

typedef struct pattern pattern_t;

/* A process's data for a pattern, in device memory unless stated otherwise. */
typedef struct {
    const pattern_t *pattern; /* NULL: no pattern, or this process is a helper */
    const pto_device_t *device;
    const pto_request_t *request;
    int64_t owner;
    void *in; /* the user's buffers */
    void *out;
    size_t local_bytes;
    void *local; /* the kernel's data besides the user's buffers */
    void *host;  /* host memory for copies of `local` and of a user's buffer */
    void *stream;
} work_t;

struct pattern {
    const char *name;
    int steps;
    /* Errors: PTO_ERR_RANGE if the plan's collective is not the pattern's. */
    pto_status_t (*allowed)(const settings_t *settings, const pto_request_t *request, pto_error_t *err);
    size_t (*local_bytes)(const settings_t *settings, const pto_request_t *request);
    /* Writes the data before the first step. */
    pto_status_t (*fill)(const work_t *work, uint64_t seed, pto_error_t *err);
    /* Enqueues the kernel of one step. */
    pto_status_t (*kernel)(const work_t *work, pto_error_t *err);
    /* Compares the result of all steps with a serial computation. */
    pto_status_t (*compare)(const work_t *work, uint64_t seed, pto_error_t *err);
};

extern const pattern_t pattern_global_sum, pattern_stencil2d;

/* Returns the pattern of the options; NULL: none. */
const pattern_t *pattern_of(const settings_t *settings);
/* Errors: PTO_ERR_RANGE, PTO_ERR_NOT_APPLICABLE if the pattern does not fit the request or other options. */
pto_status_t pattern_allowed(const settings_t *settings, const pto_request_t *request, pto_error_t *err);
/* Allocates a process's data. `owner`: -1 for a helper. To be freed by work_free, after an error, too. */
pto_status_t work_create(const settings_t *settings, const pto_request_t *request, int64_t owner, void *in,
                         void *out, int64_t user_bytes, work_t *work, pto_error_t *err);
void work_free(work_t *work);
/* Executes all steps and waits for them. `exec` NULL: the kernels alone. */
pto_status_t work_steps(const settings_t *settings, const work_t *work, pto_exec_t *exec, pto_error_t *err);

#endif
