/* Allocations after whose end a page begins that cannot be accessed, so that an access beyond them, or after
 * their end of life, is a fault. For tests that replace malloc and free. Not for several threads. Define
 * _GNU_SOURCE. */
#ifndef PTO_TEST_GUARDED_MEMORY_H
#define PTO_TEST_GUARDED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GUARDED_MAX = 1 << 16 /* at a time */, PAGE_BYTES = 4096 };

static struct {
    void *memory; /* NULL: none */
    size_t bytes;
} guarded[GUARDED_MAX];
static int guarded_count;

/* Aligned as malloc does, so that up to 15 bytes lie between an allocation and the page after it. */
static size_t guarded_room(size_t bytes) { return (bytes + 15) / 16 * 16; }

static size_t guarded_mapped(size_t bytes) {
    return (guarded_room(bytes) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

/* Where an allocation is in the table, or would be. */
static size_t guarded_place(const void *memory) {
    size_t at = ((uintptr_t)memory >> 4) * 2654435761u % GUARDED_MAX;
    while (guarded[at].memory && guarded[at].memory != memory)
        at = (at + 1) % GUARDED_MAX;
    return at;
}

/* 0: it is not guarded. */
static size_t guarded_bytes(const void *memory) {
    const size_t at = guarded_place(memory);
    return memory && guarded[at].memory ? guarded[at].bytes : 0;
}

/* Uninitialised bytes are 0xa5, which no count or flag is. */
static void *guard(size_t bytes) {
    bytes = bytes > 0 ? bytes : 1;
    const size_t room = guarded_room(bytes), mapped = guarded_mapped(bytes);
    char *base = mmap(NULL, mapped + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + mapped, PAGE_BYTES, PROT_NONE) != 0 ||
        ++guarded_count == GUARDED_MAX)
        abort();
    char *memory = base + mapped - room;
    memset(memory, 0xa5, room);
    const size_t at = guarded_place(memory);
    guarded[at].memory = memory;
    guarded[at].bytes = bytes;
    return memory;
}

/* Whether it was guarded. Later ones that were put off its place move up. */
static bool unguard(void *memory) {
    const size_t bytes = guarded_bytes(memory), at = guarded_place(memory);
    if (bytes == 0)
        return false;
    munmap((char *)memory + guarded_room(bytes) - guarded_mapped(bytes), guarded_mapped(bytes) + PAGE_BYTES);
    guarded[at].memory = NULL;
    guarded_count--;
    for (size_t next = (at + 1) % GUARDED_MAX; guarded[next].memory; next = (next + 1) % GUARDED_MAX) {
        void *moved = guarded[next].memory;
        const size_t moved_bytes = guarded[next].bytes;
        guarded[next].memory = NULL;
        const size_t to = guarded_place(moved);
        guarded[to].memory = moved;
        guarded[to].bytes = moved_bytes;
    }
    return true;
}

/* As realloc of one that is guarded. */
static void *guard_resized(void *memory, size_t bytes) {
    const size_t kept = guarded_bytes(memory);
    void *grown = guard(bytes);
    memcpy(grown, memory, kept < bytes ? kept : bytes);
    unguard(memory);
    return grown;
}

#endif
