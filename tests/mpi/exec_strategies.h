/* Strategies of the tests alone, for what no built-in one needs. */
#ifndef PTO_EXEC_STRATEGIES_H
#define PTO_EXEC_STRATEGIES_H

#include "exec_case.h"

/* Register them all: then random cases draw them too. */
void strategies_register(void);

/* Shape of rings and pipelines; 0: it follows from the number of bytes. Equal on all processes. */
typedef struct {
    int64_t slots;
    int64_t chunks;
} chunks_shape_t;

extern chunks_shape_t chunks_shape;

/* Prove and run, `count` times each: rings of 1 to 16 slots; pipelines of 1 to 4 slots, and branches. With
 * fewer chunks than slots, and with more. Collective. */
void strategies_run_rings(int64_t count, uint64_t seed, const pto_device_t *device);
void strategies_run_lanes(int64_t count, uint64_t seed, const pto_device_t *device);

#endif
