/* Out of memory: each allocation of a call is refused once. The call fails and says why, or it manages
 * without and has the same result; in both cases nothing is leaked. Allocations at one place in the code are
 * alike, so only the first two and the last of each are refused, and a few between.
 *
 * Beyond memory: an access after the end of an allocation, or after its end of life, is a fault, and what an
 * allocation holds at first does not change the result.
 *
 * Define _GNU_SOURCE first for dladdr. */
#ifndef PTO_TEST_REFUSED_MEMORY_H
#define PTO_TEST_REFUSED_MEMORY_H

#include <dlfcn.h>
#include <errno.h>

#include "portolan/api.h"
#include "sanitized.h"
#include "test.h"

/* The sanitizers have an allocator of their own, and guard what it gives. */
enum { CAN_REFUSE = !ADDRESS_SANITIZED };
#if !ADDRESS_SANITIZED
#include "../guarded_memory.h"
void *__libc_malloc(size_t size);                /* NOLINT(bugprone-reserved-identifier) */
void *__libc_calloc(size_t count, size_t size);  /* NOLINT(bugprone-reserved-identifier) */
void *__libc_realloc(void *memory, size_t size); /* NOLINT(bugprone-reserved-identifier) */
void __libc_free(void *memory);                  /* NOLINT(bugprone-reserved-identifier) */
#endif

enum { REQUESTS_MAX = 1 << 20, PLACES_MAX = 4096 };

static struct {
    bool on, guarded;
    int64_t count, refused; /* the number of the request to refuse, from 1; 0: none */
    int64_t held;
    const void *place[REQUESTS_MAX]; /* in the code */
} requests;

#if !ADDRESS_SANITIZED
/* Also by the C library, for strdup. */
#define SEEN_BY_ALL __attribute__((visibility("default")))

static bool refuse(const void *place) {
    if (!requests.on)
        return false;
    if (requests.refused == 0 && requests.count < REQUESTS_MAX)
        requests.place[requests.count] = place;
    if (++requests.count != requests.refused)
        return false;
    errno = ENOMEM;
    return true;
}

static bool guards(void) { return requests.on && requests.guarded; }

static void *hold(void *memory) {
    requests.held += requests.on && memory;
    return memory;
}

SEEN_BY_ALL void *malloc(size_t size) {
    if (refuse(__builtin_return_address(0)))
        return NULL;
    return hold(guards() ? guard(size) : __libc_malloc(size));
}

SEEN_BY_ALL void *calloc(size_t nmemb, size_t size) {
    if (refuse(__builtin_return_address(0)))
        return NULL;
    return hold(guards() ? memset(guard(nmemb * size), 0, nmemb * size) : __libc_calloc(nmemb, size));
}

SEEN_BY_ALL void *realloc(void *ptr, size_t size) {
    if (refuse(__builtin_return_address(0)))
        return NULL;
    if (guarded_bytes(ptr) > 0)
        return guard_resized(ptr, size);
    if (ptr)
        return __libc_realloc(ptr, size);
    return hold(guards() ? guard(size) : __libc_malloc(size));
}

SEEN_BY_ALL void free(void *ptr) {
    requests.held -= requests.on && ptr;
    if (ptr && !unguard(ptr))
        __libc_free(ptr);
}
#endif

/* What is tried: on success a text of all results, to be freed. */
typedef pto_status_t (*call_t)(char **text, pto_error_t *err);

/* Nothing but the call allocates while requests count. */
static pto_status_t try(call_t call, int64_t refused, char **text, pto_error_t *err) {
    *text = NULL;
    *err = (pto_error_t){0};
    requests.count = requests.held = 0;
    requests.refused = refused;
    requests.on = true;
    pto_status_t status = call(text, err);
    requests.on = false;
    return status;
}

/* Marks the first two and the last request of each place, and one of `every`. */
static inline void choose_requests(int64_t count, int64_t every, bool *chosen) {
    static const void *place[PLACES_MAX];
    static int64_t last[PLACES_MAX];
    int seen[PLACES_MAX] = {0}, places = 0;
    for (int64_t i = 0; i < count; i++) {
        int p = 0;
        while (p < places && place[p] != requests.place[i])
            p++;
        assert_true(p < PLACES_MAX);
        places += p == places;
        place[p] = requests.place[i];
        last[p] = i;
        chosen[i] = seen[p]++ < 2 || i % every == 0;
    }
    for (int p = 0; p < places; p++)
        chosen[last[p]] = true;
}

/* GSL itself does not look whether it gets what it asks for. */
static inline bool is_gsls(const void *place) {
    Dl_info info;
    return dladdr(place, &info) && info.dli_fname && strstr(info.dli_fname, "libgsl");
}

/* Before a test allocates: a skipped test frees nothing. */
static void skip_where_nothing_is_refused(void) {
    if (!CAN_REFUSE)
        skip();
}

/* The call does the same beyond memory. */
static inline void guard_all(call_t call, const char *whole) {
    char *text;
    pto_error_t err;
    requests.guarded = true;
    assert_int_equal(try(call, 0, &text, &err), PTO_OK);
    requests.guarded = false;
    assert_true(text && strcmp(text, whole) == 0);
    free(text);
}

static inline void refuse_each_and_guard_all(call_t call) {
    char *whole, *text;
    pto_error_t err;
    for (int i = 0; i < 2; i++) { /* what is kept for good is there the second time */
        if (try(call, 0, &whole, &err) != PTO_OK || !whole) {
            fail_msg("%s", err.message);
            return;
        }
        if (i == 0)
            free(whole);
    }
    assert_int_equal(requests.held, 1);
    guard_all(call, whole);
    int64_t count = requests.count, errors = 0;
    assert_true(count < REQUESTS_MAX);
    static bool chosen[REQUESTS_MAX];
    choose_requests(count, 1 + count / 10, chosen);
    for (int64_t i = 0; i < count; i++) {
        if (!chosen[i] || is_gsls(requests.place[i]))
            continue;
        pto_status_t status = try(call, i + 1, &text, &err);
        bool said = status != PTO_OK &&
                    (strstr(err.message, "out of memory") || strstr(err.message, strerror(ENOMEM)));
        if (!said && (status != PTO_OK || !text || strcmp(text, whole) != 0))
            fail_msg("request %lld of %lld: status %d, %s", (long long)i + 1, (long long)count, (int)status,
                     err.message);
        assert_int_equal(requests.held, text ? 1 : 0);
        errors += status != PTO_OK;
        free(text);
    }
    print_message("%lld requests, %lld errors\n", (long long)count, (long long)errors);
    assert_true(errors > 0);
    free(whole);
}

#endif
