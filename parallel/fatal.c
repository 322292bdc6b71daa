/* Ends the job with a message if an MPI or GPU call fails (fatal.h). */
#include "fatal.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "guard.h"

/* Not by MPI_Abort alone, which may hang after a failure in MPI itself. */
static _Noreturn void end_job(void) { guard_abort(1); }

void check_mpi(int code, const char *call, const char *file, int line) {
    if (code == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "%s: %s:%d: %s: %s\n", guard_program(), file, line, call, text);
    end_job();
}

pto_error_t gpu_error;

void check_gpu(pto_status_t status, const char *file, int line) {
    if (status != PTO_OK) {
        fprintf(stderr, "%s: %s:%d: %s\n", guard_program(), file, line, gpu_error.message);
        end_job();
    }
}

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", guard_program());
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    end_job();
}

void *must_allocate(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        die("out of memory (%zu bytes)", count * size);
    return memory;
}
