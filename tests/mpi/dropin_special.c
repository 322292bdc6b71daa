#define _DEFAULT_SOURCE /* usleep */
#include "dropin_special.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

#include "profile_memory.h"

static void add_all(void *in, void *out, int *count, MPI_Datatype *type) {
    for (int i = 0; i < *count; i++)
        ((int *)out)[i] += ((const int *)in)[i];
}

static void user_operation(int *in, int *out) {
    MPI_Op op;
    MPI_Op_create(add_all, 1, &op);
    for (int i = 0; i < 8; i++)
        in[i] = rank + i;
    MPI_Allreduce(in, out, 8, MPI_INT, op, MPI_COMM_WORLD);
    expect(out[3] == size * (size - 1) / 2 + 3 * size, "a user's operation");
    MPI_Op_free(&op);
}

/* A vector on the root, integers on the others, and the other way round. */
static void derived_types(int *buffer) {
    MPI_Datatype every_second;
    MPI_Type_vector(4, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    for (int root = 0; root < 2; root++) {
        for (int i = 0; i < 8; i++)
            buffer[i] = rank == root ? 10 * i : -1;
        if (rank == 0)
            MPI_Bcast(buffer, 1, every_second, root, MPI_COMM_WORLD);
        else
            MPI_Bcast(buffer, 4, MPI_INT, root, MPI_COMM_WORLD);
        if (root == 0)
            expect(rank == 0 || (buffer[1] == 20 && buffer[3] == 60), "a vector at the root");
        else
            expect(rank != 0 || (buffer[2] == 10 && buffer[1] == -1), "a vector not at the root");
    }
    MPI_Type_free(&every_second);
}

/* Without gaps, but in another order. */
static void permuted_type(int *buffer) {
    MPI_Datatype swapped;
    MPI_Type_indexed(2, (const int[]){1, 1}, (const int[]){1, 0}, MPI_INT, &swapped);
    MPI_Type_commit(&swapped);
    buffer[0] = rank == 0 ? 5 : -1;
    buffer[1] = rank == 0 ? 6 : -1;
    if (rank == 0)
        MPI_Bcast(buffer, 1, swapped, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(buffer, 2, MPI_INT, 0, MPI_COMM_WORLD);
    expect(rank == 0 || (buffer[0] == 6 && buffer[1] == 5), "a datatype in another order");
    int *all = buffer + 2;
    buffer[0] = 10 * rank;
    buffer[1] = 10 * rank + 1;
    MPI_Allgather(buffer, 1, swapped, all, 2, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        expect(all[2 * i] == 10 * i + 1 && all[2 * i + 1] == 10 * i, "blocks of a datatype in another order");
    MPI_Type_free(&swapped);
}

/* The last process's counts change, and no other process's do. */
static void counts_that_few_see(int *in, int *out) {
    for (int i = 0; i < 12; i++) {
        int counts[64] = {0}, places[64] = {0}, count = 1 + i / 2 % 3;
        for (int j = 0; j < size; j++) {
            counts[j] = rank == size - 1 && j == rank ? count : 1;
            places[j] = j;
        }
        for (int j = 0; j < size + count; j++)
            in[j] = 100 * i + 10 * rank + j;
        MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
        expect(out[0] == 100 * i + rank && out[size - 1] == 100 * i + 10 * (size - 1) + rank,
               "counts that few processes see");
    }
}

/* Process i gets i elements: the report of the call must have the bytes of all of them. */
static void unequal_blocks(int *in, int *out) {
    int counts[64] = {0}, first = 0;
    for (int i = 0; i < size; i++)
        counts[i] = i;
    for (int i = 0; i < rank; i++)
        first += counts[i];
    for (int i = 0; i < size * (size - 1) / 2; i++)
        in[i] = i + rank;
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < counts[rank]; i++)
        expect(out[i] == size * (first + i) + size * (size - 1) / 2, "blocks of different sizes");
}

/* The root leaves many calls to MPI, far ahead of the others, and then takes one. */
static void far_ahead(int *on_gpu) {
    int on_host[4] = {0};
    if (rank != 0)
        usleep(20000);
    for (int i = 0; i < 33; i++) {
        int *buffer = rank == 0 && i < 32 ? on_host : on_gpu;
        buffer[0] = rank == 0 ? i : -1;
        MPI_Bcast(buffer, 4, MPI_INT, 0, MPI_COMM_WORLD);
        expect(buffer[0] == i, "a root that is far ahead");
    }
}

static void pairs(void *memory) {
    struct {
        double value;
        int index;
    } pair = {rank, rank}, *out = memory;
    MPI_Allreduce(&pair, out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    expect(out->index == size - 1, "MPI_MAXLOC");
}

static void between_groups(int *in, int *out) {
    MPI_Comm half, inter;
    int halves = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, halves, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - halves, 7, &inter);
    int others = 0, own = 0;
    MPI_Comm_remote_size(inter, &others);
    MPI_Comm_size(inter, &own);
    in[0] = 1;
    MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, inter);
    expect(out[0] == others, "an allreduce between two groups");
    int root = halves ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    in[0] = rank == 0 ? 77 : 0;
    MPI_Bcast(in, 1, MPI_INT, root, inter);
    expect(!halves || in[0] == 77, "a broadcast between two groups");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void nothing(int *in, int *out) {
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
    in[0] = rank;
    MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    expect(out[0] == rank, "MPI_COMM_SELF");
}

/* The arguments that MPI ignores are garbage. */
static void ignored_arguments(int *out) {
    for (int i = 0; i < size; i++)
        out[i] = rank * size + i;
    MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, 1, MPI_INT, MPI_COMM_WORLD);
    expect(out[size - 1] == (size - 1) * size + rank, "an alltoall in place");
    out[rank] = rank;
    MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, out, 1, MPI_INT, MPI_COMM_WORLD);
    expect(out[size - 1] == size - 1, "an allgather in place");
}

/* An error of the program is MPI's to report, by the program's own handler. */
static void wrong_arguments(int *in, int *out) {
    MPI_Comm mine;
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
    expect(MPI_Bcast(in, 1, MPI_INT, size + 3, mine) != MPI_SUCCESS, "a root that does not exist");
    expect(MPI_Allreduce(in, out, 1, MPI_DATATYPE_NULL, MPI_SUM, mine) != MPI_SUCCESS, "no datatype");
    expect(MPI_Allreduce(in, out, -1, MPI_INT, MPI_SUM, mine) != MPI_SUCCESS, "a negative count");
    MPI_Comm_free(&mine);
}

#ifdef OPEN_MPI /* Debian's MPICH checks no arguments */
enum { MPI_CHECKS = true };
#else
enum { MPI_CHECKS = false };
#endif

void run_special(void) {
    int *in = memory_allocate(MEMORY_GPU, 4096), *out = memory_allocate(MEMORY_GPU, 4096);
    if (!in || !out) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    for (int i = 0; i < 3; i++) {
        user_operation(in, out);
        derived_types(in);
        permuted_type(in);
        counts_that_few_see(in, out);
        unequal_blocks(in, out);
        far_ahead(in);
        pairs(out);
        between_groups(in, out);
        nothing(in, out);
        ignored_arguments(out);
        if (MPI_CHECKS)
            wrong_arguments(in, out);
    }
    memory_free(MEMORY_GPU, in);
    memory_free(MEMORY_GPU, out);
}

static void sum_of(MPI_Comm comm, int count, int *in, int *out) {
    for (int i = 0; i < count; i++)
        in[i] = rank + i;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
    expect(out[count - 1] == size * (size - 1) / 2 + (count - 1) * size, "a sum");
}

void run_kinds(const char *kinds, bool first_only) {
    MPI_Comm comm;
    MPI_Info info;
    int on_host[512];
    int *on_gpu = memory_allocate(MEMORY_GPU, sizeof on_host);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", kinds);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, first_only && rank > 0 ? MPI_INFO_NULL : info, &comm);
    for (int i = 0; i < 4; i++) {
        sum_of(comm, 256, on_host, on_host + 256);
        sum_of(comm, 256, on_gpu, on_gpu + 256);
    }
    MPI_Comm_free(&comm);
    MPI_Info_free(&info);
    memory_free(MEMORY_GPU, on_gpu);
}

enum { CAPTURED_CALLS = 4, CAPTURED_COUNT = 1024 };

/* Each call makes a plan: none before had as many elements. */
static void sum_in_capture(int *on_gpu, int count, bool waited_for) {
    int in[CAPTURED_COUNT], out[CAPTURED_COUNT];
    for (int i = 0; i < count; i++)
        in[i] = rank + i;
    memory_copy(on_gpu, in, (size_t)count * sizeof *in);
    expect(memory_capture_begin(waited_for), "no capture begins");
    for (int i = 0; i < CAPTURED_CALLS; i++)
        MPI_Allreduce(on_gpu, on_gpu + count, count - i, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(memory_capture_end(), "the capture is lost");
    memory_copy(out, on_gpu + count, (size_t)count * sizeof *out);
    for (int i = 0; i < count; i++)
        expect(out[i] == size * (size - 1) / 2 + i * size, "a sum while a stream is captured");
}

void run_capture(void) {
    int *on_gpu = memory_allocate(MEMORY_GPU, 2 * CAPTURED_COUNT * sizeof *on_gpu);
    sum_in_capture(on_gpu, CAPTURED_COUNT, true);
    sum_in_capture(on_gpu, CAPTURED_COUNT - CAPTURED_CALLS, false);
    memory_free(MEMORY_GPU, on_gpu);
}

void run_load(const char *library) {
    int buffers[512];
    for (int i = 0; i < 8; i++) {
        if (i == 4 && rank == size - 1)
            expect(dlopen(library, RTLD_LAZY) != NULL, "no such library");
        sum_of(MPI_COMM_WORLD, 256, buffers, buffers + 256);
    }
}

/* Between the program and what it has started, and among all of them: none of it is in one MPI_COMM_WORLD. */
static void sum_with_others(MPI_Comm between, bool first) {
    MPI_Comm all;
    int others = 0, count, *in = memory_allocate(MEMORY_GPU, 64), *out = memory_allocate(MEMORY_GPU, 64);
    MPI_Comm_remote_size(between, &others);
    MPI_Intercomm_merge(between, !first, &all);
    MPI_Comm_size(all, &count);
    expect(count == size + others, "processes that were started");
    for (int i = 0; i < 20 && in && out; i++) {
        in[0] = i + 1;
        MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, between);
        expect(out[0] == others * (i + 1), "a sum of the other group");
        MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, all);
        expect(out[0] == count * (i + 1), "a sum of both groups");
        MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(out[0] == size * (i + 1), "a sum of the own group");
    }
    memory_free(MEMORY_GPU, in);
    memory_free(MEMORY_GPU, out);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
}

void run_spawn(char *program) {
    MPI_Comm children;
    char *arguments[] = {"child", NULL};
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    sum_with_others(children, true);
}

void run_child(void) {
    MPI_Comm parents;
    MPI_Comm_get_parent(&parents);
    sum_with_others(parents, false);
}

void run_alias(void) {
    int own = 0, all[64];
    for (int i = 0; i < 4; i++) {
        int *in = rank == 0 ? all : &own;
        *in = 10 * i + rank;
        MPI_Allgather(in, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        for (int j = 0; j < size; j++)
            expect(all[j] == 10 * i + j, "an allgather with one buffer");
    }
}

/* --- communicators that the library makes --------------------------------------------------------------- */

static int comms_made;

#define EXPORT __attribute__((visibility("default")))

EXPORT int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *made) {
    comms_made++;
    return PMPI_Comm_dup(comm, made);
}

EXPORT int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made) {
    comms_made++;
    return PMPI_Comm_create(comm, group, made);
}

EXPORT int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made) {
    comms_made++;
    return PMPI_Comm_split(comm, color, key, made);
}

EXPORT int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    comms_made++;
    return PMPI_Comm_split_type(comm, type, key, info, made);
}

static int attributes_copied;

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *keep) {
    *keep = 0;
    attributes_copied++;
    return MPI_SUCCESS;
}

void run_plans(int count) {
    MPI_Comm comm;
    int key, *in = calloc(2 * (size_t)count, sizeof *in);
    if (!in) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comm, key, &key);
    comms_made = 0;
    for (int i = 1; i <= count; i++)
        sum_of(comm, i, in, in + count);
    sum_of(comm, 1, in, in + count);
    expect(comms_made <= 2, "each plan has communicators of its own");
    expect(attributes_copied == 0, "the program's attributes are copied");
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&key);
    free(in);
}

void run_live(int count) {
    int in[8], out[8];
    MPI_Comm *comm = calloc((size_t)count, sizeof *comm);
    if (!comm) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    for (int i = 0; i < count; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    comms_made = 0;
    for (int i = 0; i < count; i++)
        sum_of(comm[i], 1 + i % 8, in, out);
    expect(comms_made <= 256, "a program with many communicators has few left");
    for (int i = 0; i < count; i++)
        MPI_Comm_free(&comm[i]);
    free(comm);
    MPI_Comm one_more;
    comms_made = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &one_more);
    sum_of(one_more, 8, in, out);
    expect(comms_made == 3, "a communicator that is freed makes room for another one");
    MPI_Comm_free(&one_more);
}
