/* Memory in the spaces that the profiler distinguishes, for its tests: the host's; a GPU's and managed memory
 * from CUDA's driver (on a machine without a GPU, that of fake_cuda.c); or, without a driver, host memory
 * that the profiler is told to count as a GPU's. */
#ifndef PROFILE_MEMORY_H
#define PROFILE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum { MEMORY_CPU, MEMORY_GPU, MEMORY_MANAGED, MEMORY_SPACES };

extern const char *const memory_names[MEMORY_SPACES];

/* Load and initialize the driver, and use this GPU, modulo those there are; false if there is none. */
bool memory_use_cuda(int ordinal);
/* Use that GPU in a thread of its own: each thread has a current context, and none at first. */
bool memory_bind_thread(void);
/* The number of spaces that memory_allocate has. */
int memory_spaces(void);
/* Zeros. NULL: none. */
void *memory_allocate(int space, size_t bytes);
/* Page-locked host memory, with the driver only. */
void *memory_allocate_pinned(size_t bytes);
void memory_free(int space, void *memory);
/* Begin to capture a stream of its own, during which CUDA refuses most calls of all threads, and end that;
 * with the driver only. False: the driver refuses, at the end because something has ended the capture.
 * `waited_for`: by the default stream, which then nothing may use either. */
bool memory_capture_begin(bool waited_for);
bool memory_capture_end(void);
/* From and to any space. Ends the process if CUDA's driver fails. */
void memory_copy(void *to, const void *from, size_t bytes);

#endif
