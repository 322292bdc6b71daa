/* The memory space of a buffer. CUDA's driver knows, where the machine has one; a program that emulates a GPU
 * names its memory (portolan_profile_memory). */
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

/* Look for CUDA; returns whether this process may have memory in more than one space. */
bool preload_spaces_begin(void);
preload_space_t preload_space(const void *memory);
/* Of a message: with MPI_BOTTOM, the datatype has the address. */
preload_space_t preload_find_message_space(const void *memory, MPI_Datatype type);
/* There is a driver, or memory that the program has named. */
extern bool preload_spaces_differ;
static inline preload_space_t preload_message_space(const void *memory, MPI_Datatype type) {
    return preload_spaces_differ ? preload_find_message_space(memory, type) : PRELOAD_CPU;
}

#endif
