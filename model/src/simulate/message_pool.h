/* Records of messages in flight, and queues and heaps of them (pool.c). */
#ifndef PTO_SIMULATE_MESSAGE_POOL_H
#define PTO_SIMULATE_MESSAGE_POOL_H

#include "plan/plan_internal.h"

enum { PTO_MESSAGE_STEP_BITS = 24, PTO_MESSAGE_STEP_MASK = (1 << PTO_MESSAGE_STEP_BITS) - 1 };

/* One message in flight, or held back until its receive is posted. 40 bytes, since there may be many. */
typedef struct {
    double start_s; /* when its sender began, or would have */
    int64_t bytes;
    uint32_t source;
    uint32_t target;
    uint32_t instance; /* of the stage */
    uint32_t next;     /* in a queue, or the left child in a heap */
    uint32_t right;
    unsigned step : PTO_MESSAGE_STEP_BITS; /* the plan's step that sends it */
    unsigned level : 3;
    unsigned space : 2;
    bool waits : 1;   /* held back */
    bool one_end : 1; /* one of sender and receiver is done with it */
} pto_message_t;

_Static_assert(sizeof(pto_message_t) <= 40, "a message is to stay within 40 bytes");

/* Messages by number, from 1. Their addresses are valid until the next one is taken. */
typedef struct {
    pto_message_t *message;
    size_t room;
    uint32_t used; /* the maximum that were in flight at once */
    uint32_t free_first;
} pto_pool_t;

static inline pto_message_t *pto_message_at(const pto_pool_t *pool, uint32_t number) {
    return &pool->message[number];
}

/* A queue of messages, linked by `next`; 0: none. */
typedef struct {
    uint32_t first;
    uint32_t last;
} pto_message_queue_t;

/* The number of a message that was never used; 0 when out of memory. */
uint32_t pto_pool_extend(pto_pool_t *pool);

/* The number of an unused message; 0 when out of memory. */
static inline uint32_t pto_pool_take(pto_pool_t *pool) {
    uint32_t number = pool->free_first;
    if (number)
        pool->free_first = pto_message_at(pool, number)->next;
    else
        number = pto_pool_extend(pool);
    return number;
}

void pto_pool_fini(pto_pool_t *pool);

static inline void pto_pool_give(pto_pool_t *pool, uint32_t number) {
    pto_message_at(pool, number)->next = pool->free_first;
    pool->free_first = number;
}

static inline void pto_queue_add(pto_pool_t *pool, pto_message_queue_t *queue, uint32_t number) {
    pto_message_at(pool, number)->next = 0;
    if (queue->first)
        pto_message_at(pool, queue->last)->next = number;
    else
        queue->first = number;
    queue->last = number;
}

/* The first message; 0: none. */
static inline uint32_t pto_queue_take(pto_pool_t *pool, pto_message_queue_t *queue) {
    uint32_t number = queue->first;
    if (number)
        queue->first = pto_message_at(pool, number)->next;
    return number;
}

/* Heaps ordered by stage, time and source. pto_heap_take needs a heap that is not empty. */
void pto_heap_add(pto_pool_t *pool, uint32_t *heap, uint32_t number);
uint32_t pto_heap_take(pto_pool_t *pool, uint32_t *heap);

#endif
