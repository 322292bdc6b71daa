/* Prices and explanations that agree to the last bit. */
#ifndef PTO_TEST_SAME_PRICE_H
#define PTO_TEST_SAME_PRICE_H

#include <stdint.h>
#include <string.h>

#include "portolan/price.h"

static inline bool same(double a, double b) {
    uint64_t bits[2];
    memcpy(&bits[0], &a, sizeof a);
    memcpy(&bits[1], &b, sizeof b);
    return bits[0] == bits[1];
}

static inline bool same_terms(const pto_explanation_t *a, const pto_explanation_t *b) {
    bool alike = a->count == b->count;
    for (int i = 0; alike && i < a->count; i++)
        alike = strcmp(a->term[i].key, b->term[i].key) == 0 && same(a->term[i].count, b->term[i].count) &&
                same(a->term[i].seconds, b->term[i].seconds);
    for (int i = 0; i < PTO_OCCUPIED_COUNT; i++)
        alike = alike && same(a->occupied_s[i], b->occupied_s[i]);
    return alike;
}

#endif
