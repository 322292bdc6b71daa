/* The drop-in for NCCL, in front of a small NCCL (fake_nccl_forked.c), among processes that fork() starts, on
 * the host device: random calls with known results (nccl_calls.h), in several streams, in graphs and in
 * groups, those that are taken and those that are NCCL's mixed. Without calls: the doors alone, of two
 * processes.
 *
 *   test_nccl_dropin [CALLS [SEED [SIZE]]]
 *
 * FAKE_DRIVER=1: under CUDA's driver (of fake_cuda.c, in LD_LIBRARY_PATH), which has the contexts, the modes
 * of capturing and the captures, as for GPUs. */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nccl_processes.h"
#include "tap.h"

/* The last is the legacy default stream. A communicator has as many calls before another is made: each has
 * doors for a number of executors, and graphs have their own. */
enum { STREAMS = 4, REPLAYS = 3, SEVERAL = 4, CALLS_OF_ONE = 1000, IDS_MAX = 1024 };

static int calls, issued;
static uint64_t state; /* the same on all processes */
static pto_nccl_id_t id[IDS_MAX];
static void *stream[STREAMS];

static unsigned pick(unsigned below) { return calls_pick(&state, below); }

static void fail(const char *what, int call) {
    if (failures++ < 5)
        fprintf(stderr, "test_nccl_dropin: rank %d, call %d: %s\n", rank, call, what);
}

static void check(call_t *c) {
    failures += !calls_check(c);
    calls_release(c);
}

/* --- a driver ---------------------------------------------------------------------------------------------
 */

/* The host device under another name, so that the drop-in asks the driver. */
static pto_device_t driven;

static struct {
    int (*get_current)(void **context);
    int (*exchange_mode)(int *mode);
    void *context;
    bool captures; /* the program, in the mode in which nothing may wait */
} driver;

static void look_up(void *library, const char *symbol, void *function, size_t bytes) {
    void *found = library ? dlsym(library, symbol) : NULL;
    if (!found)
        exit(1);
    memcpy(function, &found, bytes);
}

static int mode_now(void) {
    int mode = 0, unused;
    driver.exchange_mode(&mode);
    unused = mode;
    driver.exchange_mode(&unused);
    return mode;
}

/* As cudaMalloc, it would end a capture of any other mode than the relaxed one, and needs a context. */
static pto_status_t allocate(size_t bytes, void **memory, pto_error_t *err) {
    enum { RELAXED = 2 };
    void *context = NULL;
    driver.get_current(&context);
    if (driver.captures && mode_now() != RELAXED)
        fail("memory is allocated while the program captures", 0);
    if (context != driver.context)
        fail("memory is allocated in another context", 0);
    return device->allocate(bytes, memory, err);
}

static void use_driver(void) {
    int (*init)(unsigned) = NULL, (*retain)(void **, int) = NULL, (*set_current)(void *) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *hook = NULL;
    uint64_t (*capture_of)(const void *) = pto_host_stream_capture;
    look_up(library, "cuInit", &init, sizeof init);
    look_up(library, "cuDevicePrimaryCtxRetain", &retain, sizeof retain);
    look_up(library, "cuCtxSetCurrent", &set_current, sizeof set_current);
    look_up(library, "cuCtxGetCurrent", &driver.get_current, sizeof driver.get_current);
    look_up(library, "cuThreadExchangeStreamCaptureMode", &driver.exchange_mode, sizeof driver.exchange_mode);
    look_up(library, "fake_capture_of", &hook, sizeof hook);
    memcpy(hook, &capture_of, sizeof capture_of);
    if (init(0) != 0 || retain(&driver.context, rank) != 0 || set_current(driver.context) != 0)
        exit(1);
    driven = *device;
    driven.name = "driven";
    driven.allocate = allocate;
    const tap_settings_t *settings = tap_settings();
    tap_settings_t *changed;
    memcpy(&changed, &settings, sizeof changed);
    changed->device = &driven;
}

/* After a call, the context and the mode are the program's own again. */
static void check_driver(int call) {
    void *context = NULL;
    if (!driver.context)
        return;
    driver.get_current(&context);
    if (context != driver.context || mode_now() != 0)
        fail("the program's context or mode has changed", call);
}

/* --- programs --------------------------------------------------------------------------------------------
 */

static call_t make(int number, const members_t *of) {
    call_t made = calls_random(of, number, stream[pick(STREAMS)], &state);
    calls_fill(&made);
    return made;
}

static void issue(const call_t *c) {
    issued++;
    if (calls_issue(c) != 0)
        fail("an error", c->number);
    check_driver(c->number);
}

/* EXPECT_TAKEN: some calls must be, or the test is wrong. */
static bool is_expected_to_take(void) { return getenv("EXPECT_TAKEN") != NULL; }

static bool taken_last; /* whether the last call did not reach NCCL */

static void plain(int number, const members_t *of) {
    const bool grouped = pick(2);
    call_t c = make(number, of);
    const int before = fake_calls;
    if (grouped)
        ncclGroupStart();
    issue(&c);
    if (grouped && ncclGroupEnd() != 0)
        fail("an error of the group", number);
    taken_last = fake_calls == before;
    finish(c.stream);
    check(&c);
}

/* Several in flight, in streams that nothing else orders, and two in one group. */
static void several(int number, const members_t *of) {
    call_t c[SEVERAL];
    const bool grouped = pick(2);
    for (int i = 0; i < SEVERAL; i++)
        c[i] = make(number, of);
    for (int i = 0; i < SEVERAL; i++) {
        if (grouped && i == 1)
            ncclGroupStart();
        issue(&c[i]);
        if (grouped && i == 2)
            ncclGroupEnd();
    }
    for (int i = SEVERAL - 1; i >= 0; i--)
        finish(c[i].stream);
    for (int i = 0; i < SEVERAL; i++)
        check(&c[i]);
}

/* A call that is captured, and never runs. */
static void capture_in_vain(int number, const members_t *of) {
    void *graph = NULL;
    call_t c = make(number, of);
    c.stream = stream[0];
    pto_host_graph_begin(c.stream, NULL);
    issue(&c);
    pto_host_graph_end(c.stream, &graph, NULL);
    device->stream_destroy(graph, NULL);
    calls_release(&c);
}

/* Each call reduces what the one before gave, from one buffer to the next, in streams that nothing but the
 * communicator's order orders. The greatest is the same whether the bits of these numbers are taken as whole
 * numbers, whose greatest may be found here, or as floating-point numbers, whose greatest is NCCL's. What is
 * captured meanwhile is no part of that order. */
static void chained(int number, const members_t *of) {
    enum { COUNT = 100 };
    int32_t buffer[SEVERAL + 1][COUNT];
    void *last = NULL;
    memset(buffer, 0, sizeof buffer);
    for (int i = 0; i < COUNT; i++)
        buffer[0][i] = 1 + number % 1000 + (of->rank + i) % of->size;
    for (int i = 0; i < SEVERAL; i++) {
        last = stream[pick(STREAMS)];
        issued++;
        if (ncclAllReduce(buffer[i], buffer[i + 1], COUNT, pick(2) ? PTO_NCCL_INT32 : PTO_NCCL_FLOAT32,
                          PTO_NCCL_MAX, of->handle, last) != 0)
            fail("an error of an allreduce", number);
        if (pick(8) == 0)
            capture_in_vain(number, of);
    }
    finish(last);
    for (int i = 0; i < COUNT; i++)
        if (buffer[SEVERAL][i] != number % 1000 + of->size) {
            fail("a call did not follow the one before in another stream", number);
            return;
        }
}

/* One to three calls, of which the last may be in a stream that joins the capture and is joined. */
static void captured(int number, const members_t *of) {
    call_t c[3], after;
    const int count = 1 + (int)pick(3);
    const bool forks = count > 1 && pick(2);
    void *graph = NULL, *fork = NULL, *join = NULL, *first = stream[0];
    for (int i = 0; i < count; i++) {
        c[i] = make(number + i, of);
        c[i].stream = forks && i == count - 1 ? stream[1] : first;
    }
    device->event_create(&fork, NULL);
    device->event_create(&join, NULL);
    pto_host_graph_begin(first, NULL);
    if (forks) {
        device->event_record(fork, first, NULL);
        device->event_follow(fork, stream[1], NULL);
    }
    driver.captures = true;
    for (int i = 0; i < count; i++)
        issue(&c[i]);
    driver.captures = false;
    if (forks) {
        device->event_record(join, stream[1], NULL);
        device->event_follow(join, first, NULL);
    }
    if (pto_host_graph_end(first, &graph, NULL) != PTO_OK)
        fail("the capture is lost", number);
    for (int replay = 0; replay < REPLAYS && graph; replay++) {
        for (int i = 0; i < count; i++) {
            c[i].number = number + i + replay;
            calls_fill(&c[i]);
        }
        pto_host_graph_launch(graph, first, NULL);
        after = make(number, of);
        after.stream = first;
        issue(&after);
        finish(first);
        check(&after);
        for (int i = 0; i < count; i++)
            failures += !calls_check(&c[i]);
    }
    device->event_destroy(fork, NULL);
    device->event_destroy(join, NULL);
    device->stream_destroy(graph, NULL);
    for (int i = 0; i < count; i++)
        calls_release(&c[i]);
}

static void split(const members_t *of) {
    members_t half = {.rank = of->rank % 2,
                      .size = of->size - of->size % 2 == of->rank && of->size % 2 ? 1 : 2};
    const uint64_t kept = state;
    if (ncclCommSplit(of->handle, of->rank / 2, of->rank, &half.handle, NULL) != 0)
        exit(1);
    for (int i = 0; i < 20; i++)
        plain(i, &half);
    ncclCommDestroy(half.handle);
    state = kept;
}

static void random_calls(void) {
    members_t all = {NULL, rank, size};
    int taken = 0, made = 2; /* the first are of others */
    for (int i = 0; issued < calls; i++) {
        const unsigned kind = pick(8);
        if (i % CALLS_OF_ONE == 0 && all.handle)
            ncclCommDestroy(all.handle);
        if (i % CALLS_OF_ONE == 0 && ncclCommInitRank(&all.handle, size, id[made++], rank) != 0)
            exit(1);
        if (kind == 0)
            several(i, &all);
        else if (kind == 1)
            captured(i, &all);
        else if (kind == 2)
            chained(i, &all);
        else
            plain(i, &all), taken += taken_last;
    }
    if (taken == 0 && is_expected_to_take())
        fail("no call was taken", calls);
    if (!getenv("PORTOLAN_MACHINE") && taken > 0)
        fail("a call was taken", calls);
    split(&all);
    ncclCommDestroy(all.handle);
    if (rank == 0)
        printf("%d calls of %d processes, %d of them NCCL's\n", issued, size, (int)fake_calls);
}

/* Process 0 waits for a call that the others never make, until it aborts. */
static void aborts(void) {
    void *comm = NULL;
    float data[100] = {0};
    if (ncclCommInitRank(&comm, size, id[1], rank) != 0)
        exit(1);
    ncclAllReduce(data, data, 100, PTO_NCCL_FLOAT32, PTO_NCCL_SUM, comm, stream[0]);
    finish(stream[0]);
    if (rank == 0)
        ncclAllReduce(data, data, 100, PTO_NCCL_FLOAT32, PTO_NCCL_SUM, comm, stream[0]);
    ncclCommAbort(comm);
    finish(stream[0]);
}

/* --- doors -----------------------------------------------------------------------------------------------
 */

typedef struct {
    const char *what;
    uint64_t digest[2];
    bool after;  /* process 1 comes after process 0 has waited in vain */
    bool aborts; /* process 0, while it waits */
    bool passes;
} door_case_t;

static void *abort_soon(void *comm) {
    usleep(50000);
    atomic_store(&((tap_comm_t *)comm)->aborts, true);
    return NULL;
}

static void *shared; /* by all processes: doors, and the number of those that have been passed */

/* All doors in one order, of which some are closed. */
static int doors(void) {
    atomic_int *ended = (atomic_int *)(void *)((char *)shared + tap_doors_bytes());
    static const door_case_t all[] = {{"the same digest", {7, 7}, false, false, true},
                                      {"another digest", {7, 8}, false, false, false},
                                      {"one has failed", {7, 0}, false, false, false},
                                      {"all have failed", {0, 0}, false, false, false},
                                      {"one comes too late", {7, 7}, true, false, false},
                                      {"the same, after all that", {9, 9}, false, false, true},
                                      {"one aborts", {7, 7}, true, true, false}};
    tap_comm_t comm = {.rank = rank, .size = 2, .doors = shared};
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
        pthread_t thread;
        const bool aborts = all[i].aborts && rank == 0, too_late = all[i].after && !all[i].aborts;
        while (all[i].after && rank == 1 && atomic_load(ended) <= i)
            usleep(1000);
        if (aborts && pthread_create(&thread, NULL, abort_soon, &comm) != 0)
            fail("a thread", i);
        if (tap_door_pass(&comm, all[i].digest[rank], too_late ? 0.2 : 1000) != all[i].passes)
            fail(all[i].what, i);
        if (aborts)
            pthread_join(thread, NULL);
        if (rank == 0)
            atomic_store(ended, i + 1);
    }
    comm.doors_seen = TAP_DOORS;
    if (tap_door_pass(&comm, 7, 100))
        fail("the last door", TAP_DOORS);
    return failures > 0;
}

/* On process 1 alone there is no room for executors, so all calls are NCCL's, and right. Later there is. */
static void one_fails(void) {
    members_t all = {NULL, rank, size};
    if (ncclCommInitRank(&all.handle, size, id[0], rank) != 0)
        exit(1);
    tap_comm_t *tap = tap_comm_of(all.handle);
    const size_t used = tap->symmetric.used;
    float data[100] = {0};
    tap->symmetric.used = rank == 1 ? tap->symmetric.bytes : used;
    for (int i = 0; i < 20; i++)
        plain(i, &all);
    if (rank != 1 && tap->symmetric.used != used)
        fail("what not all could make is kept", 20);
    tap->symmetric.used = used;
    const int before = fake_calls;
    for (size_t i = 0; i < 77; i++)
        data[i] = 1;
    ncclAllReduce(data, data, 77, PTO_NCCL_FLOAT32, PTO_NCCL_SUM, all.handle, stream[0]);
    finish(stream[0]);
    if (fake_calls != before || data[76] != (float)size)
        fail("what all can make is not taken", 77);
    ncclCommDestroy(all.handle);
}

static int run(void) {
    if (!open_streams(stream, STREAMS - 1))
        return 1;
    if (getenv("FAKE_DRIVER"))
        use_driver();
    random_calls();
    if (is_expected_to_take()) {
        one_fails();
        aborts();
    }
    return failures > 0;
}

int main(int argc, char **argv) {
    calls = argc > 1 ? atoi(argv[1]) : 300;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    size = argc > 3 ? atoi(argv[3]) : 2;
    for (int i = 0; i < IDS_MAX; i++)
        ncclGetUniqueId(&id[i]);
    shared = mmap(NULL, tap_doors_bytes() + sizeof(atomic_int), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return run_processes(calls == 0 ? doors : run);
}
