/* How long the drop-in's first call of a kind takes on one process of many, without the others and without
 * MPI's own time (one_of_many.h): it prices all strategies, makes the plan of the cheapest one and its
 * executor. The number of MPI's collectives in it must not grow with the number of processes, or this fails.
 * Executors that open other processes' memory cannot be made without them; bench_create has those.
 *
 *   mpirun -n 1 bench_first_call */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench.h"
#include "dropin.h"
#include "mpi/die.h"
#include "one_of_many.h"

enum { REPEATS = 7, RANKS_MAX = 4096, NODE_SIZE = 4, PROMISED_RANKS = 1024 };

#define PROMISED_S 5e-3

static drop_comm_t *make_comm(void) {
    drop_comm_t *comm = calloc(1, sizeof *comm);
    int *node = calloc((size_t)many.size, sizeof *node);
    if (!comm || !node)
        die("out of memory");
    for (int i = 0; i < many.size; i++)
        node[i] = i - i % NODE_SIZE;
    *comm = (drop_comm_t){.comm = MPI_COMM_SELF, .rank = many.rank, .size = many.size, .node = node};
    return comm;
}

static void free_comm(drop_comm_t *comm) {
    drop_host_detach(comm);
    free(comm->gpus.place);
    free(comm->host.place);
    free(comm->node);
    free(comm);
}

typedef struct {
    double seconds;
    double predict_s;
    int collectives;
    int messages;
    char name[32];
} result_t;

static double predict_s(const drop_route_t *route) {
    pto_predictions_t predictions;
    double began_s = pto_now_s();
    if (pto_predict(&route->scenario, drop.machine, false, &predictions, NULL) != PTO_OK)
        die("no prediction");
    double seconds = pto_now_s() - began_s;
    pto_predictions_fini(&predictions);
    return seconds;
}

static result_t first_call(pto_collective_t collective, int64_t bytes) {
    const drop_key_t key = {.collective = collective,
                            .datatype = PTO_DATATYPE_FLOAT,
                            .op = PTO_OP_SUM,
                            .root = pto_collective_is_from_root(collective) ? 0 : -1,
                            .bytes = bytes};
    const drop_call_t call = {.collective = collective, .comm = MPI_COMM_SELF};
    drop_comm_t *comm = make_comm();
    many.collectives = many.messages = 0;
    double began_s = pto_now_s();
    drop_comm_find_gpus(comm, (uint64_t)(many.rank % NODE_SIZE) + 1);
    drop_route_t *route = comm->gpus.why_not ? NULL : drop_route_create(comm, &call, &key);
    if (!route)
        die(comm->gpus.why_not ? comm->gpus.why_not : "no route");
    result_t result = {.seconds = pto_now_s() - began_s};
    result.collectives = many.collectives;
    result.messages = many.messages;
    result.predict_s = predict_s(route);
    snprintf(result.name, sizeof result.name, "%s", route->name);
    drop_route_destroy(route);
    free_comm(comm);
    return result;
}

static result_t least(pto_collective_t collective, int64_t bytes) {
    result_t result = first_call(collective, bytes);
    for (int i = 1; i < (bench_is_short() ? 1 : REPEATS); i++) {
        result_t again = first_call(collective, bytes);
        if (again.seconds < result.seconds)
            result = again;
    }
    return result;
}

/* Whether a call on host buffers of one more kind is worth taking, which process 0 tells the others: most
 * calls are not, and pay for the answer. */
static double answer_s(pto_collective_t collective, int64_t bytes) {
    double best_s = INFINITY;
    for (int i = 0; i < (bench_is_short() ? 1 : REPEATS); i++) {
        const drop_call_t call = {.collective = collective, .out_count = bytes << i, .out_type = MPI_BYTE};
        drop_comm_t *comm = make_comm();
        comm->kinds = DROP_KIND_HOST;
        many.collectives = many.messages = 0;
        double began_s = pto_now_s();
        if (!drop_host_attach(comm))
            die("out of memory");
        drop_host_why_not(comm, &call);
        best_s = fmin(best_s, pto_now_s() - began_s);
        free_comm(comm);
    }
    return best_s;
}

static void bench_answers(pto_collective_t collective) {
    many.node_size = NODE_SIZE;
    many.rank = 0;
    for (many.size = 64; many.size <= (bench_is_short() ? 256 : RANKS_MAX); many.size *= 4) {
        double seconds = answer_s(collective, 1024);
        printf("%-15s %8s %6d %-20s %11d %9d %11s %9.3f%s\n", pto_collective_name(collective), "1024 and up",
               many.size, "host: whether to take", many.collectives, many.messages, "", 1e3 * seconds,
               many.size != PROMISED_RANKS ? ""
               : seconds <= PROMISED_S     ? "  kept"
                                           : "  NOT KEPT");
        if (many.collectives != 1)
            die("an answer takes one broadcast");
    }
}

/* The layout that a process guesses where it acts alone, of processes that are dealt to the nodes in turn. */
static double guess_s(void) {
    double best_s = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        drop_comm_t *comm = make_comm();
        for (int rank = 0; rank < many.size; rank++)
            comm->node[rank] = rank % (many.size / NODE_SIZE);
        double began_s = pto_now_s();
        if (!drop_comm_guess_gpus(comm, 1) || comm->gpus.why_not)
            die("no guess");
        best_s = fmin(best_s, pto_now_s() - began_s);
        free_comm(comm);
    }
    return best_s;
}

/* From 1,024 to 65,536 processes, sorting makes it about 100 times as long, comparing all pairs 4,000 times,
 * less what does not grow. */
static void bench_guess(void) {
    double first_s = 0, seconds = 0;
    for (many.size = 1024; many.size <= 65536; many.size *= 8) {
        seconds = guess_s();
        first_s = many.size == 1024 ? seconds : first_s;
        printf("%-15s %8s %6d %-20s %11d %9d %11s %9.3f\n", "any", "any", many.size, "guess of the GPUs", 0,
               0, "", 1e3 * seconds);
    }
    if (seconds > 400 * first_s)
        die("the guess compares all pairs of processes");
}

/* The cheapest strategy, or the one that is named. */
typedef struct {
    pto_collective_t collective;
    const char *strategy;
} row_t;

static void bench_one(const row_t *row, int64_t bytes) {
    result_t last = {.seconds = 0};
    drop.strategy = row->strategy;
    many.node_size = NODE_SIZE;
    many.rank = 1;
    for (many.size = 64; many.size <= (bench_is_short() ? 256 : RANKS_MAX); many.size *= 4) {
        result_t r = least(row->collective, bytes);
        printf("%-15s %8lld %6d %-20s %11d %9d %11.3f %9.3f%s\n", pto_collective_name(row->collective),
               (long long)bytes, many.size, r.name, r.collectives, r.messages, 1e3 * r.predict_s,
               1e3 * r.seconds,
               many.size != PROMISED_RANKS ? ""
               : r.seconds <= PROMISED_S   ? "  kept"
                                           : "  NOT KEPT");
        if (strcmp(r.name, last.name) == 0 && r.collectives != last.collectives)
            die("more collectives on more processes");
        last = r;
    }
}

int main(int argc, char **argv) {
    static const row_t rows[] = {
        {PTO_COLLECTIVE_ALLREDUCE, NULL},         {PTO_COLLECTIVE_REDUCE, NULL},
        {PTO_COLLECTIVE_BROADCAST, NULL},         {PTO_COLLECTIVE_ALLGATHER, NULL},
        {PTO_COLLECTIVE_ALLTOALL, NULL},          {PTO_COLLECTIVE_REDUCE_SCATTER, NULL},
        {PTO_COLLECTIVE_ALLREDUCE, "staged_ring"} /* an executor, of which a ring's is the largest */};
    static const int64_t sizes[] = {1024, 1048576};
    MPI_Init(&argc, &argv);
    drop.bytes_max = INT64_MAX;
    if (pto_device_find("host", &drop.device, NULL) != PTO_OK ||
        pto_machine_open("scenarios/machines/lassen-spectrum-refit.yaml", &drop.machine, NULL) != PTO_OK)
        die("no device or no machine file (run it in the source tree)");
    printf("# the first call of a kind under the drop-in, on one process of many, without MPI's own time\n"
           "# %-13s %8s %6s %-20s %11s %9s %11s %9s\n",
           "", "bytes", "ranks", "route", "collectives", "messages", "predict ms", "least ms");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            bench_one(&rows[r], sizes[s]);
    drop.strategy = strdup("own_algorithm"); /* is priced without a table of the library's algorithms */
    drop.takes_host = true;
    bench_answers(PTO_COLLECTIVE_ALLREDUCE);
    bench_answers(PTO_COLLECTIVE_ALLTOALL);
    bench_guess();
    MPI_Finalize();
    return 0;
}
