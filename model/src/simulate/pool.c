/* Records of messages in flight, with queues and heaps of them. */
#include <stdlib.h>

#include "base/grow.h"
#include "simulate/simulate_internal.h"

uint32_t pto_pool_extend(pto_pool_t *pool) {
    size_t number = (size_t)pool->used + 1;
    if (number > UINT32_MAX || !PTO_RESERVE(pool->message, pool->room, number + 1))
        return 0;
    return pool->used = (uint32_t)number;
}

void pto_pool_fini(pto_pool_t *pool) { free(pool->message); }

static bool earlier(const pto_message_t *a, const pto_message_t *b) {
    if (a->instance != b->instance)
        return a->instance < b->instance;
    return a->start_s < b->start_s || (a->start_s == b->start_s && a->source < b->source);
}

/* Skew heaps (Sleator and Tarjan 1986): union is the only operation needed, with logarithmic amortised
 * cost. */
static uint32_t heap_unite(pto_pool_t *pool, uint32_t a, uint32_t b) {
    uint32_t root = 0;
    uint32_t *place = &root;
    while (a && b) {
        if (earlier(pto_message_at(pool, b), pto_message_at(pool, a))) {
            uint32_t other = a;
            a = b;
            b = other;
        }
        *place = a;
        pto_message_t *message = pto_message_at(pool, a);
        a = message->right;
        message->right = message->next;
        place = &message->next;
    }
    *place = a ? a : b;
    return root;
}

void pto_heap_add(pto_pool_t *pool, uint32_t *heap, uint32_t number) {
    pto_message_t *message = pto_message_at(pool, number);
    message->next = 0;
    message->right = 0;
    *heap = heap_unite(pool, *heap, number);
}

uint32_t pto_heap_take(pto_pool_t *pool, uint32_t *heap) {
    uint32_t number = *heap;
    const pto_message_t *message = pto_message_at(pool, number);
    *heap = heap_unite(pool, message->next, message->right);
    return number;
}
