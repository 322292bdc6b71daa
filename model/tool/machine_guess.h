/* What `portolan machine new` writes: guesses, each with its 95 percent interval. */
#ifndef PTO_TOOL_MACHINE_GUESS_H
#define PTO_TOOL_MACHINE_GUESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    double value, low, high;
} pto_guess_t;

/* "KEY: VALUE, KEY_95: [LOW, HIGH]" */
void pto_guess_write(FILE *stream, const char *key, pto_guess_t guess);

/* The block `nccl`, for the GPUs of a node that have a link of this cost per byte to each other.
 * `by_pcie`: they have none but that to the host. */
void pto_guess_write_nccl(FILE *stream, int64_t gpus, double link_s_per_byte, bool by_pcie);

#endif
