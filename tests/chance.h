/* Chance: numbers that are the same in every run and on every machine, by Knuth's generator MMIX, whose upper
 * bits are used. The same `chance_state` at first draws the same numbers. */
#ifndef PTO_TEST_CHANCE_H
#define PTO_TEST_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static uint64_t chance_state;

/* 0 to bound - 1; 0 if that is none. */
static inline int64_t below(int64_t bound) {
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return bound > 0 ? (int64_t)((chance_state >> 33) % (uint64_t)bound) : 0;
}

static inline int draw(int bound) { return (int)below(bound); }

static inline bool one_in(int64_t count) { return below(count) == 0; }

static inline int64_t one_of(const int64_t *value, size_t count) { return value[below((int64_t)count)]; }
#define ONE_OF(...) one_of((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8)

#endif
