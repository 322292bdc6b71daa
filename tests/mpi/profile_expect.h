/* What the profiler must count: the messages of the tests' programs, by their two processes and spaces. */
#ifndef PROFILE_EXPECT_H
#define PROFILE_EXPECT_H

#include <stdint.h>

#include "profile_memory.h"

enum { RANKS_MAX = 16, SPACES = MEMORY_SPACES };

extern int rank, size; /* in MPI_COMM_WORLD */

void expect(int source, int destination, int from, int to, int64_t messages, int64_t bytes);
/* Collective: the sum over all processes, a row for each pair of processes and spaces. */
void expect_write(const char *path);

/* Memory in each space. */
extern char *memory[SPACES];
void take_memory(size_t bytes);

/* `count` rounds of a family of calls (profile_families.c); false: there is none with this name. */
bool run_family(const char *name, int64_t count);

#endif
