/* This process plays one rank of a job of many: MPI's calls on communicators are answered here, as if all
 * processes had said the same, and messages go nowhere, so nothing can be run. For benchmarks of what one
 * process does. */
#ifndef PTO_ONE_OF_MANY_H
#define PTO_ONE_OF_MANY_H

typedef struct {
    int size;
    int rank;
    int node_size; /* ranks are numbered node by node */
    int messages;  /* persistent sends and receives */
    int collectives;
} many_t;

extern many_t many;

#endif
