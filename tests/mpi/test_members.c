/* What every member of a case of portolan-calibrate's does: to whom it sends and how much, what it copies to
 * where, how often it waits for the others, and what it counts as its time. On clocks of the test's own, by a
 * device whose every call takes a known time and on which the second process is twice as slow as the first,
 * and so on.
 *
 *   test_members               one process
 *   mpirun -n 4 test_members   four */
#include "../../calibrate/benchmark.h"
#include "barrier.h"
#include "members_expected.h"
#include "nccl/nccl_dl.h"
#include "shm.h"
#include "test.h"

/* A page, so that buffers have no room beyond it. */
enum { BYTES = 4096 };

enum { PROCESSES = 4, CHUNKS = 4 /* of staged messages, in turn */, ITERATIONS = 2 * CHUNKS };
enum { PIECES_MAX = 256, MESSAGES_MAX = 256, MEETINGS_MAX = 8 };

int rank;
static int size; /* 1, or PROCESSES */

/* --- the clocks ----------------------------------------------------------------------------------------- */

static double clock_s;

static void take(double seconds) { clock_s += seconds * (1 + rank); }

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */

double __wrap_now_s(void) { return clock_s += 1e-6; }

/* --- who waits for whom: clocks go on together ---------------------------------------------------------- */

static struct {
    together_t *together;
    MPI_Comm comm;
} meeting[MEETINGS_MAX];
static int meetings; /* since the trial began */
static bool meets;

together_t *__real_together_create(MPI_Comm comm);
together_t *__wrap_together_create(MPI_Comm comm) {
    int i = 0;
    while (meeting[i].together != NULL)
        assert_true(++i < MEETINGS_MAX);
    meeting[i].together = __real_together_create(comm);
    MPI_Comm_dup(comm, &meeting[i].comm);
    return meeting[i].together;
}

static int index_of(const together_t *together) {
    int i = 0;
    while (meeting[i].together != together)
        assert_true(++i < MEETINGS_MAX);
    return i;
}

void __real_together_destroy(together_t *together);
void __wrap_together_destroy(together_t *together) {
    int i = index_of(together);
    meeting[i].together = NULL;
    MPI_Comm_free(&meeting[i].comm);
    __real_together_destroy(together);
}

void __real_together_wait(together_t *together);
void __wrap_together_wait(together_t *together) {
    meetings++;
    meets = true;
    __real_together_wait(together);
    meets = false;
    MPI_Allreduce(MPI_IN_PLACE, &clock_s, 1, MPI_DOUBLE, MPI_MAX, meeting[index_of(together)].comm);
}

void __real_together_await(atomic_int *flag, int value);
void __wrap_together_await(atomic_int *flag, int value) {
    __real_together_await(flag, value);
    clock_s += meets ? 0 : AWAIT_FLAG; /* some linkers wrap calls within a file, too */
}

/* --- memory --------------------------------------------------------------------------------------------- */

typedef enum { ON_GPU, PINNED, PAGEABLE } place_t;

typedef struct {
    char *at;
    size_t bytes;
    place_t place;
} piece_t;

/* What the case has allocated, in this order. */
static piece_t piece[PIECES_MAX];
static int piece_count;
static const void *segment[PIECES_MAX]; /* that is open; NULL: none */

static void add_segment(const void *at) {
    int i = 0;
    while (segment[i] != NULL && segment[i] != at)
        assert_true(++i < PIECES_MAX);
    segment[i] = at;
}

static void drop_segment(const void *at) {
    for (int i = 0; i < PIECES_MAX; i++)
        if (segment[i] == at)
            segment[i] = NULL;
}

static int count_segments(void) {
    int count = 0;
    for (int i = 0; i < PIECES_MAX; i++)
        count += segment[i] != NULL;
    return count;
}

static void note_piece(void *at, size_t bytes, place_t place) {
    assert_true(piece_count < PIECES_MAX);
    piece[piece_count++] = (piece_t){at, bytes, place};
}

/* Ranges must lie within a piece; without one, they are in GPU memory of another process, if that may be. */
static place_t must_hold(const void *at, size_t bytes, bool must) {
    const char *from = at;
    for (int i = piece_count - 1; i >= 0; i--)
        if (from >= piece[i].at && from < piece[i].at + piece[i].bytes) {
            assert_true(from + bytes <= piece[i].at + piece[i].bytes);
            return piece[i].place;
        }
    assert_false(must);
    return ON_GPU;
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    void *memory = __real_aligned_alloc(alignment, bytes);
    note_piece(memory, bytes, PAGEABLE);
    return memory;
}

pto_status_t __real_pto_shared_create(size_t bytes, void **memory, pto_shared_handle_t *handle,
                                      pto_error_t *err);
pto_status_t __wrap_pto_shared_create(size_t bytes, void **memory, pto_shared_handle_t *handle,
                                      pto_error_t *err) {
    take(CREATE_SEGMENT);
    pto_status_t status = __real_pto_shared_create(bytes, memory, handle, err);
    add_segment(*memory);
    return status;
}

pto_status_t __real_pto_shared_open(const pto_shared_handle_t *handle, void **memory, pto_error_t *err);
pto_status_t __wrap_pto_shared_open(const pto_shared_handle_t *handle, void **memory, pto_error_t *err) {
    take(OPEN_SEGMENT);
    pto_status_t status = __real_pto_shared_open(handle, memory, err);
    add_segment(*memory);
    return status;
}

void __real_pto_shared_close(void *memory, const pto_shared_handle_t *handle);
void __wrap_pto_shared_close(void *memory, const pto_shared_handle_t *handle) {
    drop_segment(memory);
    __real_pto_shared_close(memory, handle);
}

void __real_pto_shared_destroy(void *memory, const pto_shared_handle_t *handle);
void __wrap_pto_shared_destroy(void *memory, const pto_shared_handle_t *handle) {
    drop_segment(memory);
    __real_pto_shared_destroy(memory, handle);
}

/* Copies by the CPU, of which no two in a row are of the same place. */
static size_t here_bytes; /* copies of so many take time; 0: none does */
static int here_copies;
static const char *here_last;

void *__real_memcpy(void *target, const void *source, size_t bytes);
void *__wrap_memcpy(void *target, const void *source, size_t bytes) {
    if (bytes > 0 && bytes == here_bytes) {
        const char *at = target;
        must_hold(target, bytes, true);
        assert_true(here_copies == 0 || at >= here_last + bytes || at + bytes <= here_last);
        here_last = at;
        here_copies++;
        take(COPY_HERE);
    }
    return __real_memcpy(target, source, bytes);
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* --- messages ------------------------------------------------------------------------------------------- */

static const case_t *current;
static bool in_trial;
static int64_t sent_bytes[PROCESSES];
static int sent_messages[PROCESSES];

/* Addresses in host memory, in the order in which they were used. */
typedef struct {
    const char *at[ITERATIONS];
    int count;
} noted_t;

static noted_t copied, passed; /* by copies; in messages that are waited for */

static void note(noted_t *noted, const void *at) {
    if (noted->count < ITERATIONS)
        noted->at[noted->count] = at;
    noted->count++;
}

/* What has begun and was not waited for. */
static struct {
    const MPI_Request *request;
    const char *at;
    size_t bytes;
} under_way[MESSAGES_MAX];
static int under_way_count;

/* What is under way at the same time shares no memory. Returns the bytes of the data. */
static int64_t begin_message(const void *data, int count, MPI_Datatype type, const MPI_Request *request) {
    MPI_Aint least, extent;
    int bytes;
    MPI_Type_size(type, &bytes);
    MPI_Type_get_true_extent(type, &least, &extent);
    const char *at = data;
    size_t span = (size_t)count * (size_t)extent;
    if (!in_trial || span == 0)
        return 0;
    must_hold(at, span, true);
    for (int i = 0; i < under_way_count; i++)
        assert_true(at + span <= under_way[i].at || under_way[i].at + under_way[i].bytes <= at);
    if (request != NULL) {
        assert_true(under_way_count < MESSAGES_MAX);
        under_way[under_way_count].request = request;
        under_way[under_way_count].at = at;
        under_way[under_way_count++].bytes = span;
    }
    return (int64_t)count * bytes;
}

static void begin_sending(const void *data, int count, MPI_Datatype type, int to,
                          const MPI_Request *request) {
    int64_t bytes = begin_message(data, count, type, request);
    if (bytes > 0) {
        sent_bytes[current->member[to]] += bytes;
        sent_messages[current->member[to]]++;
    }
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    begin_sending(data, count, type, to, NULL);
    note(&passed, data);
    clock_s += count > 0 ? MESSAGE : 0;
    return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    begin_message(data, count, type, NULL);
    note(&passed, data);
    clock_s += count > 0 ? MESSAGE : 0;
    return PMPI_Recv(data, count, type, from, tag, comm, status);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
    begin_sending(data, count, type, to, request);
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) {
    begin_message(data, count, type, request);
    return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

int MPI_Waitall(int count, MPI_Request request[], MPI_Status status[]) {
    int left = 0;
    for (int i = 0; i < under_way_count; i++)
        if (under_way[i].request < request || under_way[i].request >= request + count)
            under_way[left++] = under_way[i];
    assert_int_equal(under_way_count - left, count);
    under_way_count = left;
    clock_s += WAIT_ALL;
    return PMPI_Waitall(count, request, status);
}

/* --- the device ----------------------------------------------------------------------------------------- */

static const pto_device_t *host;
static int copies, copies_in, copies_pageable; /* in a trial; of them, from the host to the GPU */
static int open_count, allocated[2];           /* on the GPU; pinned */
static int polls;                              /* since an event was recorded */
static int64_t moved_bytes;
static uint32_t flag_value; /* that the flags of a ping-pong of GPUs have come to */

/* The emulated device's own calls take no time. */
static pto_status_t take_memory(pto_status_t (*call)(size_t bytes, void **memory, pto_error_t *err),
                                double seconds, size_t bytes, place_t place, void **memory,
                                pto_error_t *err) {
    double began_s = clock_s;
    pto_status_t status = call(bytes, memory, err);
    clock_s = began_s;
    take(seconds);
    allocated[place]++;
    note_piece(*memory, bytes, place);
    return status;
}

static pto_status_t allocate(size_t bytes, void **memory, pto_error_t *err) {
    return take_memory(host->allocate, ALLOCATE, bytes, ON_GPU, memory, err);
}

static pto_status_t allocate_staging(size_t bytes, void **memory, pto_error_t *err) {
    return take_memory(host->allocate_staging, STAGE, bytes, PINNED, memory, err);
}

static pto_status_t release(void *memory, pto_error_t *err) {
    allocated[ON_GPU] -= memory != NULL;
    return host->release(memory, err);
}

static pto_status_t release_staging(void *memory, pto_error_t *err) {
    allocated[PINNED] -= memory != NULL;
    return host->release_staging(memory, err);
}

static pto_status_t export_memory(const void *memory, pto_memory_handle_t *handle, pto_error_t *err) {
    take(EXPORT);
    return host->export_memory(memory, handle, err);
}

static pto_status_t open_memory(const pto_memory_handle_t *handle, void **memory, pto_error_t *err) {
    double began_s = clock_s;
    pto_status_t status = host->open_memory(handle, memory, err);
    clock_s = began_s;
    take(OPEN);
    open_count++;
    return status;
}

static pto_status_t close_memory(void *memory, pto_error_t *err) {
    open_count--;
    return host->close_memory(memory, err);
}

/* A process's memory is known by its bytes. */
static int mark_of(int owner) { return 1 + owner; }

static pto_status_t fill(void *memory, int byte, size_t bytes, pto_error_t *err) {
    memset(memory, byte != 0 ? mark_of(rank) : 0, bytes);
    return PTO_OK;
}

static pto_status_t copy(const pto_move_t *move, void *stream, pto_error_t *err) {
    place_t from = must_hold(move->source, (move->rows - 1) * move->source_pitch_bytes + move->bytes, false);
    place_t to = must_hold(move->target, (move->rows - 1) * move->target_pitch_bytes + move->bytes, false);
    assert_true(move->rows == 1 ||
                (move->target_pitch_bytes >= move->bytes && move->source_pitch_bytes >= move->bytes));
    assert_ptr_not_equal(move->target, move->source);
    note(&copied, to == ON_GPU ? move->source : move->target);
    copies++;
    copies_in += from != ON_GPU;
    copies_pageable += from == PAGEABLE || to == PAGEABLE;
    moved_bytes += (int64_t)(move->bytes * move->rows);
    take(COPY + (double)move->rows);
    return host->copy(move, stream, err);
}

static pto_status_t finish(void *stream, pto_error_t *err) {
    polls = 1;
    clock_s += FINISH;
    return host->finish(stream, err);
}

static pto_status_t copy_by(pto_bench_copy_t how, pto_copy_kind_t kind, void *target, const void *source,
                            size_t bytes, pto_error_t *err) {
    must_hold(target, bytes, true);
    must_hold(source, bytes, true);
    assert_true(kind <= PTO_COPY_H2H);
    moved_bytes += (int64_t)bytes;
    take(COPY_BY);
    return PTO_OK;
}

static pto_status_t reduce_on_gpu(void *target, const void *source, size_t count, pto_datatype_t datatype,
                                  pto_op_t op, void *stream, pto_error_t *err) {
    size_t bytes = count * (size_t)pto_datatype_bytes(datatype);
    must_hold(target, bytes, true);
    must_hold(source, bytes, true);
    moved_bytes += (int64_t)bytes;
    take(REDUCE);
    return PTO_OK;
}

static pto_status_t reduce_many(void *target, bool fresh, const void *const *source, int source_count,
                                size_t count, pto_datatype_t datatype, pto_op_t op, void *stream,
                                pto_error_t *err) {
    assert_true(fresh);
    for (int i = 0; i < source_count; i++) {
        must_hold(source[i], count * sizeof(float), true);
        assert_ptr_not_equal(source[i], target);
        assert_true(i == 0 || source[i] != source[i - 1]);
    }
    take(REDUCE_MANY + source_count - REDUCE);
    return reduce_on_gpu(target, source[0], count, datatype, op, stream, err);
}

static pto_status_t launch_empty(void *stream, pto_error_t *err) {
    take(LAUNCH);
    return PTO_OK;
}

static pto_status_t graph_launch(void *graph, void *stream, pto_error_t *err) {
    assert_non_null(graph);
    take(GRAPH);
    return PTO_OK;
}

static pto_status_t event_record(void *event, void *stream, pto_error_t *err) {
    polls = 0;
    take(RECORD);
    return PTO_OK;
}

/* The second question is answered by yes. */
static pto_status_t event_poll(void *event, bool *finished, pto_error_t *err) {
    take(POLL);
    *finished = ++polls >= 2;
    return PTO_OK;
}

static pto_status_t move_by_kernel(void *target, const void *source, size_t count, int width, int stride,
                                   int blocks, void *stream, pto_error_t *err) {
    must_hold(target, count * (size_t)(width * stride), false);
    must_hold(source, count * (size_t)width, false);
    assert_int_equal(blocks, current->procs);
    moved_bytes += (int64_t)count * width;
    take(MOVE);
    return host->bench->move(target, source, count, width, stride, blocks, stream, err);
}

static pto_status_t store_all(void *const *target, int target_count, const void *source, size_t bytes,
                              int blocks, void *stream, pto_error_t *err) {
    must_hold(source, (size_t)target_count * bytes, true);
    moved_bytes += (int64_t)bytes * target_count;
    take(STORE_ALL);
    return host->bench->store_all(target, target_count, source, bytes, blocks, stream, err);
}

static pto_status_t ping_pong(const pto_bench_ping_pong_t *side, void *stream, pto_error_t *err) {
    static const char zero[PTO_BENCH_PING_PONG_BYTES];
    must_hold(side->own, PTO_BENCH_PING_PONG_BYTES, true);
    assert_memory_equal(side->own, zero, sizeof zero);
    assert_ptr_not_equal(side->own, side->others);
    assert_int_equal(side->first, rank == current->member[0]);
    assert_int_equal(side->from, flag_value);
    assert_true(side->rounds > 0 && side->limit_s > 0);
    flag_value += 1 + (uint32_t)side->rounds;
    *side->result = (pto_bench_rounds_t){.elapsed_ns = (uint64_t)side->rounds * 2 * ROUND * 1000000000};
    return PTO_OK;
}

/* --- NCCL: what its buffers hold is not looked at, only where they are ---------------------------------- */

static struct {
    bool in_group, has_comm;
    int calls, barriers;                /* in a trial */
    int from[PROCESSES], to[PROCESSES]; /* the same, with these members */
    int64_t bytes;                      /* of the trial */
} nccl;

static const char unique = 77;

static int get_unique_id(pto_nccl_id_t *id) {
    assert_int_equal(rank, current->member[0]);
    memset(id->byte, unique, sizeof id->byte);
    return PTO_NCCL_SUCCESS;
}

static int comm_init_rank(void **comm, int ranks, pto_nccl_id_t id, int place) {
    assert_int_equal(ranks, current->member_count);
    assert_int_equal(current->member[place], rank);
    for (size_t i = 0; i < sizeof id.byte; i++)
        assert_int_equal(id.byte[i], unique);
    assert_false(nccl.has_comm);
    nccl.has_comm = true;
    *comm = &nccl;
    return PTO_NCCL_SUCCESS;
}

static int comm_destroy(void *comm) {
    assert_true(comm == &nccl && nccl.has_comm);
    nccl.has_comm = false;
    return PTO_NCCL_SUCCESS;
}

/* Blocks begin in whole buffers, the first of which is the input. */
static void note_call(const void *in, int in_blocks, int in_first, const void *out, int out_blocks,
                      int out_first, size_t bytes, const void *comm, const void *stream) {
    assert_true(in_trial && comm == &nccl && stream == gpu.stream);
    assert_int_equal(bytes, nccl.bytes);
    if (in != NULL) {
        assert_ptr_equal(in, piece[0].at + in_first * nccl.bytes);
        must_hold(in, (size_t)in_blocks * bytes, true);
    }
    if (out != NULL) {
        assert_ptr_equal(out, piece[1].at + out_first * nccl.bytes);
        must_hold(out, (size_t)out_blocks * bytes, true);
    }
    nccl.calls++;
    if (!nccl.in_group)
        take(COLLECTIVE);
}

static int all_reduce(const void *in, void *out, size_t count, int datatype, int op, void *comm,
                      void *stream) {
    assert_string_equal(current->benchmark, "nccl_allreduce");
    assert_true(datatype == PTO_NCCL_FLOAT32 && op == PTO_NCCL_SUM && !nccl.in_group);
    note_call(in, 1, 0, out, 1, 0, 4 * count, comm, stream);
    return PTO_NCCL_SUCCESS;
}

static int reduce(const void *in, void *out, size_t count, int datatype, int op, int root, void *comm,
                  void *stream) {
    assert_string_equal(current->benchmark, "nccl_reduce");
    assert_true(datatype == PTO_NCCL_FLOAT32 && op == PTO_NCCL_SUM && root == 0 && !nccl.in_group);
    note_call(in, 1, 0, out, 1, 0, 4 * count, comm, stream);
    return PTO_NCCL_SUCCESS;
}

static int reduce_scatter(const void *in, void *out, size_t count, int datatype, int op, void *comm,
                          void *stream) {
    assert_string_equal(current->benchmark, "nccl_reduce_scatter");
    assert_true(datatype == PTO_NCCL_FLOAT32 && op == PTO_NCCL_SUM && !nccl.in_group);
    note_call(in, current->member_count, 0, out, 1, 0, 4 * count, comm, stream);
    return PTO_NCCL_SUCCESS;
}

static int all_gather(const void *in, void *out, size_t count, int datatype, void *comm, void *stream) {
    assert_string_equal(current->benchmark, "nccl_allgather");
    assert_true(datatype == PTO_NCCL_INT8 && !nccl.in_group);
    note_call(in, 1, 0, out, current->member_count, 0, count, comm, stream);
    return PTO_NCCL_SUCCESS;
}

/* Of the root 0, or one from each member. */
static int broadcast(const void *in, void *out, size_t count, int datatype, int root, void *comm,
                     void *stream) {
    bool gathers = strcmp(current->benchmark, "nccl_allgatherv") == 0;
    assert_true(gathers || strcmp(current->benchmark, "nccl_broadcast") == 0);
    assert_true(datatype == PTO_NCCL_INT8 && nccl.in_group == gathers && (gathers || root == 0));
    note_call(in, 1, 0, out, 1, gathers ? root : 0, count, comm, stream);
    nccl.from[root]++;
    return PTO_NCCL_SUCCESS;
}

static int send(const void *in, size_t count, int datatype, int peer, void *comm, void *stream) {
    assert_string_equal(current->benchmark, "nccl_alltoall");
    assert_true(datatype == PTO_NCCL_INT8 && nccl.in_group);
    note_call(in, 1, peer, NULL, 0, 0, count, comm, stream);
    nccl.to[peer]++;
    return PTO_NCCL_SUCCESS;
}

static int recv(void *out, size_t count, int datatype, int peer, void *comm, void *stream) {
    assert_string_equal(current->benchmark, "nccl_alltoall");
    assert_true(datatype == PTO_NCCL_INT8 && nccl.in_group);
    note_call(NULL, 0, 0, out, 1, peer, count, comm, stream);
    nccl.from[peer]++;
    return PTO_NCCL_SUCCESS;
}

static int group_start(void) {
    assert_false(nccl.in_group);
    nccl.in_group = true;
    return PTO_NCCL_SUCCESS;
}

static int group_end(void) {
    assert_true(nccl.in_group);
    nccl.in_group = false;
    take(COLLECTIVE);
    return PTO_NCCL_SUCCESS;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): a name of the linker's --wrap */
pto_status_t __wrap_pto_nccl_library(const pto_nccl_library_t **library, pto_error_t *err) {
    static const pto_nccl_library_t made = {.ncclGetUniqueId = get_unique_id,
                                            .ncclCommInitRank = comm_init_rank,
                                            .ncclCommDestroy = comm_destroy,
                                            .ncclAllReduce = all_reduce,
                                            .ncclReduce = reduce,
                                            .ncclBroadcast = broadcast,
                                            .ncclAllGather = all_gather,
                                            .ncclReduceScatter = reduce_scatter,
                                            .ncclSend = send,
                                            .ncclRecv = recv,
                                            .ncclGroupStart = group_start,
                                            .ncclGroupEnd = group_end};
    *library = &made;
    return PTO_OK;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

int MPI_Barrier(MPI_Comm comm) {
    nccl.barriers += in_trial;
    return PMPI_Barrier(comm);
}

/* --- the job -------------------------------------------------------------------------------------------- */

/* Processes of one node with 4, 2 or 1 GPUs; and of two nodes, in turn, with 2 GPUs each. */
enum { TWO_GPUS = 1, TWO_NODES = 3, LAYOUTS };

process_t process[PROCESSES];

static void make_job(int layout, job_t *job) {
    static pto_device_t timed;
    static pto_device_bench_t timed_bench;
    const int devices[LAYOUTS] = {4, 2, 1, 2};
    int nodes = layout == TWO_NODES ? 2 : 1;
    *job = (job_t){.world = MPI_COMM_WORLD,
                   .rank = rank,
                   .size = size,
                   .process = process,
                   .node_count = nodes,
                   .sockets = 2,
                   .cores = 4,
                   .device_count = devices[layout],
                   .gpu_blocks = 4,
                   .cuda_aware = true};
    for (int device = 0; device < job->device_count; device++) {
        job->device_socket[device] = device / 2;
        for (int other = 0; other < job->device_count; other++)
            job->reach[device][other] = true;
    }
    for (int i = 0; i < size; i++) {
        process[i] = (process_t){.node = i % nodes, .node_rank = i / nodes, .socket = i / 2};
        process[i].device = process[i].node_rank % job->device_count;
        process[i].gpu_socket = job->device_socket[process[i].device];
        snprintf(process[i].bus, sizeof process[i].bus, "%d", process[i].device);
    }
    assert_int_equal(pto_device_find("host", &host, NULL), PTO_OK);
    timed = *host;
    timed_bench = *host->bench;
    timed.allocate = allocate;
    timed.allocate_staging = allocate_staging;
    timed.release = release;
    timed.release_staging = release_staging;
    timed.export_memory = export_memory;
    timed.open_memory = open_memory;
    timed.close_memory = close_memory;
    timed.copy = copy;
    timed.finish = finish;
    timed.reduce = reduce_on_gpu;
    timed.reduce_many = reduce_many;
    timed.event_record = event_record;
    timed.event_poll = event_poll;
    timed_bench.fill = fill;
    timed_bench.copy_by = copy_by;
    timed_bench.launch_empty = launch_empty;
    timed_bench.graph_launch = graph_launch;
    timed_bench.move = move_by_kernel;
    timed_bench.store_all = store_all;
    timed_bench.ping_pong = ping_pong;
    timed.bench = &timed_bench;
    gpu.device = &timed;
    gpu.bench = &timed_bench;
    gpu_select(process[rank].device);
}

/* --- a trial -------------------------------------------------------------------------------------------- */

static void must_be_of(const char *at, int64_t bytes, int owner) {
    for (int64_t i = 0; i < bytes; i++)
        if (at[i] != mark_of(owner))
            fail_msg("%s: byte %d is of %d, not of %d", current->benchmark, (int)i, at[i] - 1, owner);
}

/* Whose bytes have come to this member's memory in the first trial. */
static void check_data(const case_t *what, int place, int64_t bytes) {
    const int *member = what->member;
    if (is(what, "remote_store_all"))
        for (int i = 0; i < what->member_count; i++)
            must_be_of(piece[1].at + i * bytes, bytes, member[i]);
    else if (is(what, "remote_store_strided"))
        for (int64_t i = 0; i < bytes / 4; i++) {
            must_be_of(piece[1].at + 8 * i, 4, member[0]);
            must_be_of(piece[1].at + 8 * i + 4, 4, rank);
        }
    else if (begins(what, "remote_store") || is(what, "memcpy_peer"))
        must_be_of(piece[1].at, bytes, member[0]);
    else if (begins(what, "remote_load"))
        must_be_of(piece[1].at, bytes, member[1]);
    else if (begins(what, "memcpy_mixed") && place == 0)
        for (int i = 0; i < what->member_count; i++)
            must_be_of(piece[piece_count - 1].at + i * bytes, bytes,
                       copies_by_ipc(what, i) ? member[i] : rank);
}

static void must_take(const case_t *what, const char *name, double got, double wanted) {
    if (fabs(got - wanted) > 1e-3)
        fail_msg("%s takes %.9g, not %.9g; messages: %d, procs: %d", name, got, wanted, what->messages,
                 what->procs);
}

/* Of the chunks one is sent that was copied in the iteration before, while the next is copied; what was
 * received is copied on. */
static void check_chunks(int place, int64_t bytes, int iterations) {
    assert_int_equal(copied.count, iterations);
    assert_int_equal(passed.count, iterations);
    for (int i = 0; i < iterations; i++) {
        int past = place == 0 ? i + 1 : i;
        assert_true(past == iterations || passed.at[past] == copied.at[i]);
        assert_ptr_equal(passed.at[i], passed.at[i % CHUNKS]);
        for (int k = 0; k < i && i < CHUNKS; k++)
            assert_true(labs(passed.at[i] - passed.at[k]) >= bytes);
    }
}

/* What a member had NCCL do. */
static void check_nccl(const case_t *what, int iterations) {
    int members = what->member_count;
    bool is_to_all = is(what, "nccl_alltoall"), is_gatherv = is(what, "nccl_allgatherv");
    assert_int_equal(nccl.calls, iterations * (is_to_all ? 2 * members : is_gatherv ? members : 1));
    for (int i = 0; i < members; i++) {
        bool comes = is_to_all || is_gatherv || (is(what, "nccl_broadcast") && i == 0);
        assert_int_equal(nccl.from[i], comes ? iterations : 0);
        assert_int_equal(nccl.to[i], is_to_all ? iterations : 0);
    }
    /* The processes of a node meet by themselves. */
    bool one_node = process[what->member[0]].node == process[what->member[members - 1]].node;
    assert_int_equal(nccl.barriers, one_node ? 0 : iterations);
}

static void check_trial(const benchmark_t *benchmark, work_t *work, int64_t bytes, int iterations) {
    const case_t *what = work->bench_case;
    int place = work->me;
    meetings = copies = copies_in = copies_pageable = here_copies = 0;
    moved_bytes = 0;
    copied.count = passed.count = 0;
    nccl.calls = nccl.barriers = 0;
    nccl.bytes = bytes;
    memset(nccl.from, 0, sizeof nccl.from);
    memset(nccl.to, 0, sizeof nccl.to);
    memset(sent_bytes, 0, sizeof sent_bytes);
    memset(sent_messages, 0, sizeof sent_messages);
    here_bytes = SEES_MEMCPY && is(what, "memcpy_h2h") ? (size_t)bytes : 0;
    MPI_Allreduce(MPI_IN_PLACE, &clock_s, 1, MPI_DOUBLE, MPI_MAX, work->comm);
    in_trial = true;
    double seconds = work_trial(work, benchmark, bytes, iterations);
    in_trial = false;
    here_bytes = 0;
    must_take(what, what->benchmark, seconds,
              iterations * expected_seconds(what, place, bytes) + (is(what, "staged") ? FINISH : 0));
    for (int i = 0; i < what->member_count; i++) {
        int messages = i != place ? iterations * expected_messages(what, place, i) : 0;
        assert_int_equal(sent_messages[what->member[i]], messages);
        assert_int_equal(sent_bytes[what->member[i]], messages * bytes);
    }
    assert_int_equal(under_way_count, 0);
    int unread = 0;
    MPI_Barrier(work->comm);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, work->comm, &unread, MPI_STATUS_IGNORE);
    assert_false(unread);
    assert_int_equal(meetings, iterations * expected_meetings(what, place));
    assert_int_equal(copies, iterations * expected_copies(what, place));
    assert_int_equal(here_copies,
                     SEES_MEMCPY && is(what, "memcpy_h2h") && place < what->procs ? iterations : 0);
    assert_int_equal(copies_in, iterations * expected_copies_in(what, place, work->job));
    assert_int_equal(copies_pageable, begins(what, "memcpy_pageable") ? iterations : 0);
    assert_int_equal(moved_bytes, iterations * expected_bytes_moved(what, place, bytes));
    if (begins(what, "nccl"))
        check_nccl(what, iterations);
    if (is(what, "staged"))
        check_chunks(place, bytes, iterations);
    if (benchmark->parts != NULL) {
        double part_s[CASE_PART_MAX] = {-1, -1};
        int own = copies_by_ipc(what, place) ? 0 : 1;
        benchmark->parts(work, part_s);
        must_take(what, what->part[own], part_s[own],
                  iterations * ((COPY + 1) * slowest_member(what, place, true) + FINISH));
        assert_true(part_s[1 - own] < 0);
    }
    MPI_Barrier(work->comm);
    if (bytes == work->max_bytes)
        check_data(what, place, bytes);
    MPI_Barrier(work->comm);
}

static void check_case(const benchmark_t *benchmark, const job_t *job, const case_t *what) {
    MPI_Comm comm, node;
    int place = -1;
    int64_t bytes = what->sized ? BYTES : 0;
    for (int i = 0; i < what->member_count; i++)
        place = what->member[i] == rank ? i : place;
    MPI_Comm_split(MPI_COMM_WORLD, place < 0 ? MPI_UNDEFINED : 0, place, &comm);
    if (place < 0)
        return;
    MPI_Comm_split(comm, process[rank].node, place, &node);
    current = what;
    piece_count = 0;
    flag_value = 0;
    work_t work = {.job = job, .bench_case = what, .comm = comm, .me = place, .max_bytes = bytes};
    work.together = together_create(node);
    work_open(&work, benchmark);
    check_trial(benchmark, &work, bytes, ITERATIONS);
    check_trial(benchmark, &work, bytes / 2 < what->min_bytes ? bytes : bytes / 2, 1);
    work_close(&work, benchmark);
    together_destroy(work.together);
    assert_true(allocated[ON_GPU] == 0 && allocated[PINNED] == 0);
    assert_int_equal(open_count, 0);
    assert_false(nccl.has_comm);
    assert_int_equal(count_segments(), 0);
    MPI_Comm_free(&node);
    MPI_Comm_free(&comm);
}

static const benchmark_t *find_benchmark(const char *name) {
    for (int i = 0; i < benchmark_count; i++)
        if (strcmp(benchmark_registry[i]->name, name) == 0)
            return benchmark_registry[i];
    fail_msg("there is no benchmark %s", name);
    return NULL;
}

/* Benchmarks, by the processes that they need, and their cases in the layout of two GPUs. */
static const struct {
    const char *name;
    int processes, cases;
} known[] = {{"memcpy", 1, 9},
             {"memcpy_queued", 1, 21},
             {"memcpy_strided", 1, 18},
             {"memcpy_method", 1, 9},
             {"memcpy_h2h", 1, 1},
             {"reduce", 1, 34},
             {"reduce_many", 1, 7},
             {"kernel_launch", 1, 2},
             {"kernel_queued", 1, 1},
             {"graph_launch", 1, 1},
             {"event", 1, 3},
             {"ping_pong", PROCESSES, 8},
             {"ping_pong_strided", PROCESSES, 4},
             {"exchange", PROCESSES, 8},
             {"staged", PROCESSES, 4},
             {"injection", PROCESSES, 0},
             {"multi_message", PROCESSES, 25},
             {"memcpy_peer", PROCESSES, 2},
             {"memcpy_shared", PROCESSES, 12},
             {"remote", PROCESSES, 32},
             {"memcpy_mixed", PROCESSES, 6},
             {"memcpy_h2h", PROCESSES, 4},
             {"remote_all", PROCESSES, 1},
             {"setup", PROCESSES, 12},
             {"signal_flag", PROCESSES, 4},
             {"signal_device", PROCESSES, 2},
             {"nccl", PROCESSES, 7}};

TEST(members_do_what_their_case_says) {
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (known[k].processes != size)
            continue;
        const benchmark_t *benchmark = find_benchmark(known[k].name);
        for (int layout = 0; layout < (size == 1 ? TWO_NODES : LAYOUTS); layout++) {
            job_t job;
            case_list_t list = {0};
            make_job(layout, &job);
            case_list_fill(benchmark, &job, &list);
            if (layout == TWO_GPUS && list.case_count != known[k].cases)
                fail_msg("%d cases of %s", list.case_count, known[k].name);
            for (int i = 0; i < list.case_count; i++)
                check_case(benchmark, &job, &list.cases[i]);
            case_list_fini(&list);
        }
    }
}

static int enqueued;

static void enqueue_run(const work_t *work, int64_t bytes) {
    assert_true(bytes > 0);
    enqueued++;
    clock_s += *(const double *)work->state;
}

/* Whole graphs, or as many runs one by one, are timed with one wait; the first run of a size is not. */
TEST(runs_are_timed_behind_each_other) {
    static const struct {
        int64_t bytes;
        int each, iterations, launches;
    } sizes[] = {{64, 100, 1, 1},      {64, 100, 100, 1},  {64, 100, 101, 2},
                 {1 << 20, 64, 65, 2}, {1 << 23, 8, 8, 1}, {INT64_C(1) << 30, 5, 11, 3}};
    double run_s = 7;
    for (pto_runs_t how = PTO_RUNS_ENQUEUED; how <= PTO_RUNS_GRAPH; how++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            int each = sizes[i].each, launches = sizes[i].launches;
            job_t job;
            const benchmark_t benchmark = {.once = enqueue_run, .times = TIMES_RUNS};
            make_job(0, &job);
            job.runs = how;
            const case_t what = {.member_count = 1, .member = &rank};
            work_t work = {.job = &job, .bench_case = &what, .comm = MPI_COMM_SELF};
            work.together = together_create(MPI_COMM_SELF);
            work_open(&work, &benchmark);
            work.state = &run_s;
            for (int call = 0; call < 2; call++) {
                double launch_s = how == PTO_RUNS_GRAPH ? GRAPH * (1 + rank) : each * run_s;
                enqueued = 0;
                double got = work_trial(&work, &benchmark, sizes[i].bytes, sizes[i].iterations);
                double all_s = launches * launch_s + FINISH;
                assert_true(fabs(got - all_s / (launches * each) * sizes[i].iterations) < 1e-3);
                int first = call > 0 ? 0 : how == PTO_RUNS_GRAPH ? 1 + each : 1;
                assert_int_equal(enqueued, first + (how == PTO_RUNS_GRAPH ? 0 : launches * each));
            }
            work_close(&work, &benchmark);
            together_destroy(work.together);
        }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failed = size == 1 || size == PROCESSES ? run_all_tests(NULL, NULL) : 1;
    if (failed)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return failed;
}
