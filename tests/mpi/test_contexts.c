/* The drop-in in a thread that has no current context of CUDA, with the driver of fake_cuda.c: whatever it
 * asks of the device must be asked in the context of the call's memory, and the thread must have none
 * afterwards. In CUDA itself the run-time library would use GPU 0 instead, which is another process's. All of
 * this must be allowed while the program captures a stream, so the thread's mode of captures must be the
 * relaxed one, and its own afterwards. A run that fails is reported to the program's error handler. The
 * device is the host's, and looks at the driver's current context and mode first.
 *
 *   LD_LIBRARY_PATH=build/tests/fake_cuda mpirun -n 2 test_contexts */
#include <pthread.h>
#include <string.h>

#include "driver.h"
#include "dropin_begun.h"
#include "profile_memory.h"
#include "spaces.h"

enum { COUNT = 4096 };
enum { MODE_THREAD_LOCAL = 1, MODE_RELAXED = 2 }; /* of cuda.h */

static const pto_device_t *host;
static int (*get_current)(void **context);
static int (*questions)(void);
static int (*exchange_mode)(int *mode);
static void *own; /* the context of this process's memory */
static int asked, handled;
static bool copies_fail;

static void *current(void) {
    void *context = NULL;
    return get_current(&context) == 0 ? context : NULL;
}

static int current_mode(void) {
    int mode = MODE_RELAXED, relaxed;
    exchange_mode(&mode);
    relaxed = mode;
    exchange_mode(&relaxed);
    return mode;
}

static void look(const char *what) {
    bool allowed = current_mode() == MODE_RELAXED;
    asked++;
    if (current() == own && allowed)
        return;
    wrong++;
    fprintf(stderr, "rank %d: %s %s\n", drop.rank, what,
            allowed ? "in another context" : "that ends a capture");
}

static pto_status_t allocate_staging(size_t bytes, void **memory, pto_error_t *err) {
    look("allocate_staging");
    return host->allocate_staging(bytes, memory, err);
}

static pto_status_t release_staging(void *memory, pto_error_t *err) {
    look("release_staging");
    return host->release_staging(memory, err);
}

static pto_status_t stream_create(void **stream, pto_error_t *err) {
    look("stream_create");
    return host->stream_create(stream, err);
}

static pto_status_t stream_destroy(void *stream, pto_error_t *err) {
    look("stream_destroy");
    return host->stream_destroy(stream, err);
}

static pto_status_t copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    look("copy");
    return copies_fail ? pto_error_set(err, PTO_ERR_IO, "as the test wants") : host->copy(move, stream, err);
}

static pto_status_t finish(void *stream, pto_error_t *err) {
    look("finish");
    return host->finish(stream, err);
}

typedef struct {
    MPI_Comm comm;
    int *in;
    int *out;
} work_t;

static drop_task_t take_sum(const work_t *work, int count) {
    drop_task_t task = {.call = call_of(PTO_COLLECTIVE_ALLREDUCE, work->in, work->out, count)};
    task.call.comm = work->comm;
    drop_take(&task);
    return task;
}

static void sum(const work_t *work, int count) {
    drop_task_t task = take_sum(work, count);
    expect(task.route && task.route->method == DROP_STAGED,
           task.why_not ? task.why_not : "the call is left to MPI");
    expect(drop_finish(&task, by_mpi(&task, work->comm)) == MPI_SUCCESS, "the call fails");
    expect(!current(), "the thread is left with a context");
    expect(current_mode() == MODE_THREAD_LOCAL, "the thread is left with another mode of captures");
}

static void handle(MPI_Comm *comm, int *code, ...) {
    expect(*comm != MPI_COMM_NULL && *code != MPI_SUCCESS, "the error handler is told nothing");
    handled++;
}

/* A process whose copy fails has no result, which the program must hear. */
static void fail(const work_t *work) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(work->comm, handler);
    copies_fail = true;
    drop_task_t task = take_sum(work, COUNT);
    copies_fail = false;
    expect(task.done && drop_finish(&task, task.code) != MPI_SUCCESS, "a copy that fails is no error");
    expect(handled == 1, "the program's error handler is not called once");
    expect(!current() && current_mode() == MODE_THREAD_LOCAL, "the thread is left in another state by it");
    MPI_Errhandler_free(&handler);
}

static void *use_no_gpu(void *argument) {
    work_t *work = argument;
    int mode = MODE_THREAD_LOCAL;
    expect(!current(), "a new thread has a context");
    exchange_mode(&mode);
    sum(work, COUNT / 2);
    sum(work, COUNT); /* there is room for one kind of call: the first one ends within this */
    sum(work, COUNT);
    fail(work);
    int before = asked;
    MPI_Comm_free(&work->comm);
    expect(asked > before, "freeing the communicator frees nothing of the device");
    expect(!current(), "the thread is left with a context");
    return NULL;
}

/* Between two processes a broadcast is one message, so it is MPI's. */
static void broadcast(const work_t *work) {
    int asked_of_driver = 0;
    for (int i = 0; i < 3; i++) {
        drop_task_t task = {.call = call_of(PTO_COLLECTIVE_BROADCAST, work->in, work->in, COUNT)};
        task.call.comm = MPI_COMM_WORLD;
        task.call.root = 0;
        asked_of_driver = questions();
        drop_take(&task);
        asked_of_driver = questions() - asked_of_driver;
        expect(task.route && task.route->method == DROP_BY_MPI, "a broadcast is not MPI's");
        expect(drop_finish(&task, MPI_SUCCESS) == MPI_SUCCESS, "a broadcast fails");
        expect((i == 0) == (asked_of_driver > 0), "the driver is asked in vain, or not at all");
    }
}

static void begin_watched(void) {
    static pto_device_t device;
    begin();
    if (!memory_use_cuda(drop.rank) || !preload_spaces_begin() ||
        !preload_find_in_driver("cuCtxGetCurrent", &get_current, sizeof get_current) ||
        !preload_find_in_driver("fake_questions", &questions, sizeof questions) ||
        !preload_find_in_driver("cuThreadExchangeStreamCaptureMode", &exchange_mode, sizeof exchange_mode)) {
        fprintf(stderr, "test_contexts: no driver\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    host = drop.device;
    device = *host;
    device.name = "watched";
    device.allocate_staging = allocate_staging;
    device.release_staging = release_staging;
    device.stream_create = stream_create;
    device.stream_destroy = stream_destroy;
    device.copy = copy;
    device.finish = finish;
    own = current();
    drop.device = &device;
    drop.assumes_gpu = false;
    drop.plans_max = 1;
}

int main(int argc, char **argv) {
    int provided, numbers[COUNT];
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    begin_watched();
    work_t work = {.in = memory_allocate(MEMORY_GPU, sizeof numbers),
                   .out = memory_allocate(MEMORY_GPU, sizeof numbers)};
    for (int i = 0; i < COUNT; i++)
        numbers[i] = drop.rank + i % 100;
    memory_copy(work.in, numbers, sizeof numbers);
    broadcast(&work);
    drop.multithreaded = true;
    drop.strategy = strdup("three_step");
    MPI_Comm_dup(MPI_COMM_WORLD, &work.comm);
    pthread_create(&thread, NULL, use_no_gpu, &work);
    pthread_join(thread, NULL);
    memory_copy(numbers, work.out, sizeof numbers);
    for (int i = 0; i < COUNT; i++) {
        int wanted = drop.size * (i % 100) + drop.size * (drop.size - 1) / 2;
        expect(numbers[i] == wanted, "a sum is wrong");
    }
    expect(asked > 0, "the device is not used");
    return end();
}
