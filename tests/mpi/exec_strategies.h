/* Strategies of the tests alone, for what no built-in one needs. */
#ifndef PTO_EXEC_STRATEGIES_H
#define PTO_EXEC_STRATEGIES_H

#include <stdint.h>

/* Register them all: then random cases draw them too. */
void strategies_register(void);

/* Shape of rings and pipelines; 0: it follows from the number of bytes. Equal on all processes. */
typedef struct {
    int64_t slots;
    int64_t chunks;
} chunks_shape_t;

extern chunks_shape_t chunks_shape;

#endif
