/* Ends the job with a message if an MPI or GPU call fails (fatal.h). */
#include "fatal.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "guard.h"

enum { TEXT_MAX = 2048 };

void check_mpi(int code, const char *call, const char *file, int line) {
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    die("%s:%d: %s: %s", file, line, call, text);
}

pto_error_t gpu_error;

void check_gpu(pto_status_t status, const char *file, int line) {
    if (status != PTO_OK)
        die("%s:%d: %s", file, line, gpu_error.message);
}

/* One write, so that lines of several processes do not mix. MPI_Abort alone may hang if MPI itself failed. */
void die(const char *format, ...) {
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s\n", guard_program(), text);
    guard_abort(1);
}

void *must_allocate(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        die("out of memory (%zu bytes)", count * size);
    return memory;
}
