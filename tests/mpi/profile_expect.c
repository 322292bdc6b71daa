/* The matrix of what the profiler must count. */
#include "profile_expect.h"

#include <mpi.h>
#include <stdio.h>

typedef struct {
    int64_t messages[RANKS_MAX][RANKS_MAX][SPACES][SPACES];
    int64_t bytes[RANKS_MAX][RANKS_MAX][SPACES][SPACES];
} matrix_t;

static matrix_t expected;
int rank, size;
char *memory[SPACES];

void expect(int source, int destination, int from, int to, int64_t messages, int64_t bytes) {
    expected.messages[source][destination][from][to] += messages;
    expected.bytes[source][destination][from][to] += bytes;
}

/* Each process has a part of it. */
void expect_write(const char *path) {
    static matrix_t sum;
    MPI_Reduce(&expected, &sum, (int)(sizeof sum / sizeof(int64_t)), MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    FILE *file = rank == 0 ? fopen(path, "w") : NULL;
    for (int i = 0; file && i < size; i++)
        for (int j = 0; j < size; j++)
            for (int from = 0; from < SPACES; from++)
                for (int to = 0; to < SPACES; to++)
                    if (sum.messages[i][j][from][to] > 0)
                        fprintf(file, "%d,%d,%s,%s,%lld,%lld\n", i, j, memory_names[from], memory_names[to],
                                (long long)sum.messages[i][j][from][to],
                                (long long)sum.bytes[i][j][from][to]);
    if (file)
        fclose(file);
}

void take_memory(size_t bytes) {
    for (int space = 0; space < memory_spaces(); space++)
        memory[space] = memory_allocate(space, bytes);
}
