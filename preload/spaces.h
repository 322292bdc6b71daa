/* The memory space of a buffer: CPU, GPU or managed memory. CUDA's driver knows it, if there is one. A
 * program that emulates a GPU declares its memory by portolan_profile_memory. */
#ifndef PRELOAD_SPACES_H
#define PRELOAD_SPACES_H

#include <mpi.h>
#include <stdbool.h>

typedef enum {
    PRELOAD_CPU,
    PRELOAD_GPU,
    PRELOAD_MANAGED,
    PRELOAD_UNKNOWN,
    PRELOAD_SPACE_COUNT
} preload_space_t;

/* Looks for CUDA. Returns whether this process may have memory in more than one space. */
bool preload_spaces_begin(void);
preload_space_t preload_space(const void *memory);
/* The space of a message's buffer: with MPI_BOTTOM, the address is in the datatype. */
preload_space_t preload_find_message_space(const void *memory, MPI_Datatype type);
/* Whether there can be memory other than the CPU's: there is a driver, or the program has declared some. */
extern bool preload_spaces_differ;
static inline preload_space_t preload_message_space(const void *memory, MPI_Datatype type) {
    return preload_spaces_differ ? preload_find_message_space(memory, type) : PRELOAD_CPU;
}

#endif
