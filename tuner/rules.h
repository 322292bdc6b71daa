/* The rules of the tuner plugin: each names the algorithm and the protocol that NCCL should use for certain
 * calls. `portolan export --for nccl` writes them, and `portolan export --check` reads them by this code. */
#ifndef PTO_TUNER_RULES_H
#define PTO_TUNER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl_tuner.h"

enum { TUNER_RULES_MAX = 4096 };

/* A rule applies if all its conditions hold; -1 in a condition: any. */
typedef struct {
    int function;
    uint64_t first_bytes; /* both ends included */
    uint64_t last_bytes;
    int algorithm;
    int protocol;
    int channels; /* 0: NCCL's own number */
    int64_t nodes;
    int64_t ranks;
    int64_t pipe_operations;
    int64_t registered;
} tuner_rule_t;

typedef struct {
    int count;
    tuner_rule_t *rule;
    unsigned kept; /* bits of algorithms: no rule applies to a call that NCCL would run by one of them */
} tuner_rules_t;

/* What is wrong with a text, and in which line. */
typedef struct {
    int line;
    char message[160];
} tuner_fault_t;

/* Parse rules. False: `fault` describes the first wrong line, and there is nothing to free. */
bool tuner_rules_read(const char *text, size_t size, tuner_rules_t *rules, tuner_fault_t *fault);
void tuner_rules_fini(tuner_rules_t *rules);

/* One call, as NCCL describes it. */
typedef struct {
    int function;
    uint64_t bytes;
    int64_t ranks;
    int64_t nodes;
    int pipe_operations;
    int registered;
} tuner_call_t;

/* Returns the first rule that applies to the call and that NCCL can run according to its table of costs;
 * NULL: there is none, or NCCL would use an algorithm of `kept`. */
const tuner_rule_t *tuner_rules_find(const tuner_rules_t *rules, const tuner_call_t *call, const float *costs,
                                     int algorithms, int protocols);

#endif
