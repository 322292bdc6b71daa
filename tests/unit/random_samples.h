/* Random sets of samples, of all benchmarks from which something is fitted. The same seed gives the same set
 * everywhere. */
#ifndef PTO_TEST_RANDOM_SAMPLES_H
#define PTO_TEST_RANDOM_SAMPLES_H

#include "made_samples.h"
#include "test.h"

enum { DRAWN_SIZES_MAX = 144, DRAWN_FILES_MAX = 3 };

/* A set that is being made. */
typedef struct {
    uint64_t state;
    pto_samples_t samples;
    pto_sample_t row; /* of the next samples, but for its time */
    int repeats;      /* of each row */
    double noise;     /* share of the time, either way */
    double outliers;  /* share of samples that take three times as long */
    bool coarse;      /* times have three digits, so that many are equal */
    int slow_run;     /* takes 1.4 times as long; 0: none */
    int files;
    int64_t size[DRAWN_SIZES_MAX];
    int size_count;
} drawn_t;

/* 0 to below 1. */
static double draw_share(drawn_t *drawn) { return (shake(&drawn->state) + 1) / 2; }

static bool draw_chance(drawn_t *drawn, double share) { return draw_share(drawn) < share; }

/* 0 to count - 1. */
static int draw_index(drawn_t *drawn, int count) { return (int)(draw_share(drawn) * count); }

/* A cost of about this. */
static double draw_cost(drawn_t *drawn, double usual) { return usual * (0.6 + draw_share(drawn)); }

static double to_three_digits(double seconds) {
    char text[32];
    snprintf(text, sizeof text, "%.2e", seconds);
    return strtod(text, NULL);
}

static void draw_rows(drawn_t *drawn, double seconds) {
    for (int run = 1; run <= drawn->repeats; run++) {
        pto_sample_t *row = &drawn->row;
        row->seconds = seconds * (1 + drawn->noise * shake(&drawn->state));
        row->seconds *= draw_chance(drawn, drawn->outliers) ? 3 : 1;
        row->seconds *= run == drawn->slow_run ? 1.4 : 1;
        if (drawn->coarse)
            row->seconds = to_three_digits(row->seconds);
        row->run = run;
        row->file = run % drawn->files;
        add(&drawn->samples, *row);
    }
}

/* The sizes of a series: powers of two times a factor, sometimes one to three only, sometimes with 0,
 * sometimes closer than a factor of two. */
static void draw_sizes(drawn_t *drawn, int64_t least, int64_t most) {
    static const int factors[] = {2, 4, 4, 8, 16};
    int factor = factors[draw_index(drawn, 5)];
    int room = draw_chance(drawn, 0.15) ? 1 + draw_index(drawn, 3) : DRAWN_SIZES_MAX;
    least += draw_chance(drawn, 0.2) ? draw_index(drawn, 7) : 0;
    drawn->size_count = 0;
    if (draw_chance(drawn, 0.05))
        drawn->size[drawn->size_count++] = 0;
    bool close = draw_chance(drawn, 0.05);
    for (int64_t size = least; size <= most && drawn->size_count < room;
         size = close ? size + size / 8 + 1 : size * factor)
        drawn->size[drawn->size_count++] = size;
}

/* Some of these numbers, such as of processes; returns how many. */
static int draw_some(drawn_t *drawn, const int *of, int count, int *some) {
    int kept = 0;
    double share = draw_chance(drawn, 0.5) ? 1 : 0.6;
    for (int i = 0; i < count; i++)
        if (draw_chance(drawn, share))
            some[kept++] = of[i];
    return kept;
}

static void next_rows(drawn_t *drawn, pto_benchmark_t benchmark, pto_sample_space_t where,
                      pto_sample_level_t place) {
    drawn->row = (pto_sample_t){.benchmark = (uint8_t)benchmark,
                                .where = (uint8_t)where,
                                .place = (uint8_t)place,
                                .procs = 1,
                                .messages = 1,
                                .pair_hash = pto_sample_pair_hash("0-1")};
}

/* --- pieces --------------------------------------------------------------------------------------------- */

typedef struct {
    int count;
    int64_t below_bytes[3];
    double alpha_s[3];
    double s_per_byte[3];
} pieces_t;

static pieces_t draw_pieces(drawn_t *drawn, double alpha_s, double s_per_byte) {
    pieces_t pieces = {.count = 1 + draw_index(drawn, 3)};
    int64_t below = INT64_C(1) << (6 + draw_index(drawn, 5));
    for (int i = 0; i < pieces.count; i++) {
        pieces.below_bytes[i] = i == pieces.count - 1 ? INT64_MAX : below;
        pieces.alpha_s[i] = draw_cost(drawn, alpha_s) * (1 + 2.5 * i);
        pieces.s_per_byte[i] = draw_cost(drawn, s_per_byte) / (1 + 1.5 * i);
        below <<= 3 + draw_index(drawn, 4);
    }
    return pieces;
}

static double piece_s(const pieces_t *pieces, int64_t bytes) {
    int i = 0;
    while (bytes >= pieces->below_bytes[i])
        i++;
    return pieces->alpha_s[i] + pieces->s_per_byte[i] * (double)bytes;
}

/* One size after the other along pieces, times a factor. */
static void draw_along(drawn_t *drawn, const pieces_t *pieces, double factor) {
    for (int i = 0; i < drawn->size_count; i++) {
        drawn->row.bytes = drawn->size[i];
        draw_rows(drawn, factor * piece_s(pieces, drawn->size[i]));
    }
}

static void draw_series(drawn_t *drawn, int64_t most, double alpha_s, double s_per_byte, double factor) {
    pieces_t pieces = draw_pieces(drawn, alpha_s, s_per_byte);
    draw_sizes(drawn, 1 + draw_index(drawn, 64), most);
    draw_along(drawn, &pieces, factor);
}

/* --- messages ------------------------------------------------------------------------------------------- */

static pto_sample_space_t draw_space(drawn_t *drawn) {
    return draw_chance(drawn, 0.6) ? PTO_IN_CPU : PTO_IN_GPU;
}

static void draw_messages(drawn_t *drawn) {
    for (int place = PTO_AT_ON_GPU; place <= PTO_AT_OFF_NODE; place++)
        for (int where = PTO_IN_CPU; where <= PTO_IN_GPU; where++)
            if (draw_chance(drawn, 0.4)) {
                next_rows(drawn, PTO_BENCHMARK_PING_PONG, (pto_sample_space_t)where,
                          (pto_sample_level_t)place);
                draw_series(drawn, 1 << 24, 1.5e-6, 3e-10, 1);
            }
}

/* Messages of one process, and of several that share what a node injects. */
static void draw_injection(drawn_t *drawn) {
    static const int counts[] = {1, 2, 4, 8, 16};
    int procs[5], count = draw_some(drawn, counts, 5, procs);
    pto_sample_space_t where = draw_space(drawn);
    pieces_t alone = draw_pieces(drawn, 1.5e-6, 3e-10);
    double s_per_byte = draw_cost(drawn, draw_chance(drawn, 0.8) ? 2.4e-11 : 3e-12);
    double s_per_message = draw_chance(drawn, 0.7) ? draw_cost(drawn, 4e-7) : 0;
    next_rows(drawn, PTO_BENCHMARK_PING_PONG, where, PTO_AT_OFF_NODE);
    draw_sizes(drawn, 1, 1 << 23);
    if (draw_chance(drawn, 0.9))
        draw_along(drawn, &alone, 1);
    if (draw_chance(drawn, 0.8))
        draw_sizes(drawn, 1, 1 << 22);
    next_rows(drawn, PTO_BENCHMARK_INJECTION, where, PTO_AT_OFF_NODE);
    for (int p = 0; p < count; p++)
        for (int i = 0; i < drawn->size_count; i++) {
            drawn->row.procs = procs[p];
            drawn->row.bytes = drawn->size[i];
            double together_s = procs[p] * (s_per_byte * (double)drawn->size[i] + s_per_message);
            draw_rows(drawn, fmax(piece_s(&alone, drawn->size[i]), together_s + alone.alpha_s[0]));
        }
}

/* Several messages of one process, and the messages that they are compared with. */
static void draw_gaps(drawn_t *drawn) {
    static const int counts[] = {1, 2, 4, 8};
    int messages[4], count = draw_some(drawn, counts, 4, messages);
    pto_sample_space_t where = draw_space(drawn);
    pto_sample_level_t place =
        where == PTO_IN_GPU && draw_chance(drawn, 0.5) ? PTO_AT_ON_SOCKET : PTO_AT_OFF_NODE;
    pieces_t alone = draw_pieces(drawn, 1.5e-6, 3e-10), gap = draw_pieces(drawn, 3e-7, 1e-10);
    next_rows(drawn, PTO_BENCHMARK_PING_PONG, where, place);
    draw_sizes(drawn, 1, 1 << 22);
    draw_along(drawn, &alone, 1);
    draw_sizes(drawn, 16, 1 << 18);
    next_rows(drawn, place == PTO_AT_OFF_NODE ? PTO_BENCHMARK_MULTI_MESSAGE : PTO_BENCHMARK_MULTI_MESSAGE_ONE,
              where, place);
    for (int m = 0; m < count; m++)
        for (int i = 0; i < drawn->size_count; i++)
            if (!draw_chance(drawn, 0.1)) {
                drawn->row.messages = messages[m];
                drawn->row.bytes = drawn->size[i];
                draw_rows(drawn, piece_s(&alone, drawn->size[i]) +
                                     (messages[m] - 1) * piece_s(&gap, drawn->size[i]));
            }
}

/* Messages both ways, and between copies. */
static void draw_both_ways(drawn_t *drawn) {
    static const pto_sample_level_t places[] = {PTO_AT_ON_SOCKET, PTO_AT_ON_NODE};
    pto_sample_space_t where = draw_space(drawn);
    pieces_t pieces = draw_pieces(drawn, 5e-7, 1.5e-10);
    for (int p = draw_index(drawn, 2); p < 2; p++) {
        next_rows(drawn, PTO_BENCHMARK_PING_PONG, where, places[p]);
        draw_sizes(drawn, 1, 1 << 22);
        draw_along(drawn, &pieces, 1);
        pieces_t both = pieces;
        for (int i = 0; i < both.count; i++) {
            both.alpha_s[i] = 3e-6;
            both.s_per_byte[i] *= 0.9 + draw_share(drawn);
        }
        draw_sizes(drawn, 64, 1 << 22);
        next_rows(drawn, PTO_BENCHMARK_EXCHANGE, where, places[p]);
        draw_along(drawn, &both, 1);
        next_rows(drawn, PTO_BENCHMARK_STAGED, PTO_IN_CPU, places[p]);
        draw_along(drawn, &both, 1.3);
    }
}

/* --- copies and times ----------------------------------------------------------------------------------- */

static void draw_copies(drawn_t *drawn) {
    static const pto_benchmark_t copies[] = {
        PTO_BENCHMARK_MEMCPY_H2D,         PTO_BENCHMARK_MEMCPY_D2H, PTO_BENCHMARK_MEMCPY_D2D,
        PTO_BENCHMARK_MEMCPY_PEER,        PTO_BENCHMARK_MEMCPY_H2H, PTO_BENCHMARK_MEMCPY_PAGEABLE_H2D,
        PTO_BENCHMARK_MEMCPY_PAGEABLE_D2H};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        for (int far = 0; far < 2; far++)
            if (draw_chance(drawn, 0.4)) {
                next_rows(drawn, copies[i], PTO_IN_NONE, far ? PTO_AT_OFF_SOCKET : PTO_AT_ON_SOCKET);
                drawn->row.procs = draw_chance(drawn, 0.9) ? 1 : 2;
                draw_series(drawn, 1 << 24, 8e-6, 2e-11, 1);
            }
}

static void draw_host_memory(drawn_t *drawn) {
    static const int counts[] = {2, 8, 16};
    int procs[3], count = draw_some(drawn, counts, 3, procs);
    double alone = draw_cost(drawn, 8e-11),
           together = draw_cost(drawn, draw_chance(drawn, 0.7) ? 1e-11 : 4e-12);
    draw_sizes(drawn, 64, 1 << 22);
    next_rows(drawn, PTO_BENCHMARK_MEMCPY_H2H, PTO_IN_CPU, PTO_AT_ON_SOCKET);
    for (int p = -1; p < count; p++)
        for (int i = 0; i < drawn->size_count; i++) {
            double bytes = (double)drawn->size[i];
            drawn->row.procs = p < 0 ? 1 : procs[p];
            drawn->row.bytes = drawn->size[i];
            draw_rows(drawn, 2e-7 + bytes * (p < 0 ? alone : 2 * procs[p] * together));
        }
}

/* Copies of several processes, small ones of which may wait for their turn. */
static void draw_shared(drawn_t *drawn) {
    static const int counts[] = {1, 2, 4};
    for (int kind = PTO_BENCHMARK_MEMCPY_SHARED_H2D; kind <= PTO_BENCHMARK_MEMCPY_SHARED_STRIDED_D2H;
         kind++) {
        int procs[3], count = draw_some(drawn, counts, draw_chance(drawn, 0.6) ? 3 : 0, procs);
        double turn_s = draw_chance(drawn, 0.6) ? draw_cost(drawn, 8e-5) : 0;
        double alpha_s = draw_cost(drawn, 8e-6), s_per_byte = draw_cost(drawn, 2e-11);
        int64_t from_bytes = INT64_C(1) << (8 + draw_index(drawn, 12));
        draw_sizes(drawn, draw_chance(drawn, 0.2) ? 4096 : 64, 1 << 24);
        next_rows(drawn, (pto_benchmark_t)kind, PTO_IN_NONE, PTO_AT_ON_SOCKET);
        for (int p = 0; p < count; p++)
            for (int i = 0; i < drawn->size_count; i++) {
                drawn->row.procs = procs[p];
                drawn->row.bytes = drawn->size[i];
                draw_rows(drawn, alpha_s + (drawn->size[i] < from_bytes ? turn_s : 0) +
                                     procs[p] * s_per_byte * (double)drawn->size[i]);
            }
    }
}

/* Queued copies and launches (`messages` of them), and strided ones, in rows of `messages` bytes. */
static void draw_additional(drawn_t *drawn) {
    static const pto_benchmark_t queued[] = {PTO_BENCHMARK_MEMCPY_QUEUED_H2D, PTO_BENCHMARK_MEMCPY_QUEUED_D2H,
                                             PTO_BENCHMARK_MEMCPY_QUEUED_D2D, PTO_BENCHMARK_RUN_LAUNCH};
    static const pto_benchmark_t strided[] = {
        PTO_BENCHMARK_MEMCPY_STRIDED_H2D, PTO_BENCHMARK_MEMCPY_STRIDED_D2H, PTO_BENCHMARK_MEMCPY_STRIDED_D2D,
        PTO_BENCHMARK_PING_PONG_STRIDED};
    static const int counts[] = {1, 2, 4, 16}, lengths[] = {16, 256, 4096};
    for (int kind = 0; kind < 8; kind++) {
        int some[4];
        bool rows = kind >= 4;
        int count = rows ? draw_some(drawn, lengths, 3, some) : draw_some(drawn, counts, 4, some);
        double alpha_s = draw_cost(drawn, 8e-6), each_s = draw_cost(drawn, rows ? 2e-9 : 1.5e-6);
        draw_sizes(drawn, rows ? 1024 : 4, 1 << 20);
        next_rows(drawn, rows ? strided[kind - 4] : queued[kind], kind == 7 ? draw_space(drawn) : PTO_IN_NONE,
                  PTO_AT_ON_SOCKET);
        for (int m = 0; m < count && draw_chance(drawn, 0.8); m++)
            for (int i = 0; i < drawn->size_count; i++) {
                double bytes = kind == 3 ? 0 : (double)drawn->size[i];
                drawn->row.messages = some[m];
                drawn->row.bytes = (int64_t)bytes;
                draw_rows(drawn, rows ? alpha_s + each_s * (bytes / some[m] - 1) + 2e-11 * bytes
                                      : alpha_s + each_s * (some[m] - 1) + 2e-11 * some[m] * bytes);
            }
    }
}

static void draw_times(drawn_t *drawn) {
    static const pto_benchmark_t times[] = {PTO_BENCHMARK_SIGNAL_FLAG,   PTO_BENCHMARK_SIGNAL_EVENT,
                                            PTO_BENCHMARK_KERNEL_LAUNCH, PTO_BENCHMARK_SIGNAL_DEVICE,
                                            PTO_BENCHMARK_GRAPH_LAUNCH,  PTO_BENCHMARK_KERNEL_QUEUED,
                                            PTO_BENCHMARK_SETUP_SEGMENT, PTO_BENCHMARK_OTHER};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (draw_chance(drawn, 0.6)) {
            next_rows(drawn, times[i], PTO_IN_CPU, PTO_AT_ON_SOCKET);
            draw_rows(drawn, draw_cost(drawn, i == 0 ? 8e-8 : 3e-6));
        }
}

static void draw_setup(drawn_t *drawn) {
    static const pto_benchmark_t sized[] = {PTO_BENCHMARK_SETUP_OPEN, PTO_BENCHMARK_SETUP_ALLOCATE};
    for (int kind = 0; kind < 4; kind++)
        for (int procs = 1; procs <= 4; procs += 3)
            if (draw_chance(drawn, 0.6)) {
                next_rows(drawn, sized[kind % 2], kind < 2 ? PTO_IN_GPU : PTO_IN_CPU, PTO_AT_NONE);
                drawn->row.procs = procs;
                draw_series(drawn, 1 << 24, 2e-5, 1e-11, procs);
            }
}

/* --- kernels -------------------------------------------------------------------------------------------- */

/* Of several operations and types, which differ little or much. */
static void draw_reductions(drawn_t *drawn) {
    static const char *const pairs[] = {"sum-float", "max-double", "prod-int32", "min-bfloat16"};
    pto_sample_space_t where = draw_space(drawn);
    double differ = draw_chance(drawn, 0.5) ? 0.1 : 3;
    pieces_t pieces = draw_pieces(drawn, draw_chance(drawn, 0.2) ? 2e-8 : 7e-6, 1e-10);
    draw_sizes(drawn, 8, 1 << 24);
    for (int p = 0; p < 4; p++)
        if (draw_chance(drawn, 0.6)) {
            next_rows(drawn, PTO_BENCHMARK_REDUCE, where, PTO_AT_NONE);
            drawn->row.pair_hash = pto_sample_pair_hash(pairs[p]);
            draw_along(drawn, &pieces, 1 + differ * draw_share(drawn));
        }
    double more = draw_cost(drawn, draw_chance(drawn, 0.8) ? 5e-11 : -1e-12);
    double two = draw_chance(drawn, 0.6) ? 1 : 1.4;
    draw_sizes(drawn, 1024, 1 << 23);
    next_rows(drawn, PTO_BENCHMARK_REDUCE_MANY, where, PTO_AT_NONE);
    for (int inputs = draw_chance(drawn, 0.1) ? 1 : 2; inputs <= 8; inputs *= 2)
        for (int i = 0; i < drawn->size_count; i++) {
            drawn->row.messages = inputs;
            drawn->row.bytes = drawn->size[i];
            draw_rows(drawn,
                      two * piece_s(&pieces, drawn->size[i]) + (inputs - 2) * more * (double)drawn->size[i]);
        }
}

/* Of one width: an empty kernel, and accesses of some thread blocks. */
static void draw_access(drawn_t *drawn, pto_benchmark_t benchmark, pto_sample_level_t place) {
    static const int blocks[] = {1, 8, 64};
    int procs[3], count = draw_some(drawn, blocks, 3, procs);
    double launch_s = draw_cost(drawn, 8e-6), alpha_s = draw_cost(drawn, 1.5e-6);
    double s_per_byte = draw_cost(drawn, draw_chance(drawn, 0.9) ? 5e-12 : 0);
    draw_sizes(drawn, 16, 1 << 22);
    next_rows(drawn, benchmark, PTO_IN_NONE, place);
    for (int p = 0; p < count; p++) {
        drawn->row.procs = procs[p];
        drawn->row.bytes = 0;
        if (draw_chance(drawn, 0.9))
            draw_rows(drawn, launch_s);
        for (int i = 0; i < drawn->size_count; i++) {
            drawn->row.bytes = drawn->size[i];
            draw_rows(drawn, launch_s + alpha_s + s_per_byte * (64.0 / procs[p]) * (double)drawn->size[i]);
        }
    }
}

static void draw_remote(drawn_t *drawn) {
    for (int benchmark = PTO_BENCHMARK_REMOTE_LOAD_4; benchmark <= PTO_BENCHMARK_REMOTE_STORE_STRIDED;
         benchmark++)
        for (int far = 0; far < 2; far++)
            if (draw_chance(drawn, far ? 0.3 : 0.8))
                draw_access(drawn, (pto_benchmark_t)benchmark, far ? PTO_AT_OFF_SOCKET : PTO_AT_ON_SOCKET);
    double s_per_byte = draw_cost(drawn, draw_chance(drawn, 0.9) ? 2.6e-12 : 0);
    draw_sizes(drawn, 1024, 1 << 24);
    next_rows(drawn, PTO_BENCHMARK_REMOTE_STORE_ALL, PTO_IN_NONE, PTO_AT_ON_SOCKET);
    for (int gpus = draw_chance(drawn, 0.2) ? 1 : 2; gpus <= 4; gpus += 1 + draw_index(drawn, 4))
        for (int i = 0; i < drawn->size_count; i++) {
            drawn->row.procs = gpus;
            drawn->row.bytes = drawn->size[i];
            draw_rows(drawn, 1e-5 + s_per_byte * (gpus - 1) * (double)drawn->size[i]);
        }
}

/* --- NCCL ----------------------------------------------------------------------------------------------- */

static int nccl_steps(int kind, int gpus) { return kind == PTO_NCCL_ALLREDUCE ? 2 * (gpus - 1) : gpus - 1; }

/* Two lines, and for chains a third where chunks are full. */
static double nccl_s(const double cost[4], int kind, int gpus, int nodes, int64_t bytes, int64_t simple) {
    int steps = nccl_steps(kind, gpus);
    double size = (double)bytes, link = size * (kind == PTO_NCCL_ALLREDUCE ? 2 : 1);
    bool chain = kind == PTO_NCCL_REDUCE || kind == PTO_NCCL_BROADCAST;
    if (bytes < simple)
        return cost[0] + 5e-7 * steps + 7e-6 * (nodes - 1) + 2 * cost[2] * link;
    return cost[1] + 1.9e-6 * steps + 7e-6 * (nodes - 1) + cost[2] * link +
           (chain ? (gpus - 1) * fmin(size / 16, 524288) * cost[3] : 0);
}

static void draw_nccl(drawn_t *drawn) {
    static const int counts[] = {2, 3, 4, 8};
    static const double usual[] = {1.4e-5, 2.4e-5, 3e-12, 8e-11};
    for (int kind = 0; kind < PTO_NCCL_COUNT; kind++) {
        int gpus[4], count = draw_some(drawn, counts, draw_chance(drawn, 0.6) ? 4 : 0, gpus);
        double cost[4];
        for (int i = 0; i < 4; i++)
            cost[i] = draw_cost(drawn, usual[i]);
        int64_t simple = INT64_C(1) << (18 + draw_index(drawn, 4));
        draw_sizes(drawn, 64, 1 << 26);
        next_rows(drawn, (pto_benchmark_t)(PTO_BENCHMARK_NCCL_ALLREDUCE + kind), PTO_IN_GPU, PTO_AT_NONE);
        for (int g = 0; g < count; g++)
            for (int nodes = 1; nodes <= 2; nodes++)
                for (int i = 0; i < drawn->size_count && (nodes == 1 || g % 2 == 0); i++) {
                    drawn->row.procs = gpus[g];
                    drawn->row.messages = nodes;
                    drawn->row.bytes = drawn->size[i];
                    draw_rows(drawn, nccl_s(cost, kind, gpus[g], nodes, drawn->size[i], simple));
                }
    }
    next_rows(drawn, PTO_BENCHMARK_RUN_LINES, PTO_IN_GPU, PTO_AT_NONE);
    draw_sizes(drawn, 8, 1 << 22);
    for (int gpus = draw_chance(drawn, 0.2) ? 1 : 2; gpus <= 4; gpus++)
        for (int i = 0; i < drawn->size_count; i++) {
            drawn->row.procs = gpus;
            drawn->row.bytes = drawn->size[i];
            draw_rows(drawn, (gpus - 0.9) * (1.8e-6 + 5e-12 * (double)drawn->size[i]));
        }
}

/* --- a whole set ---------------------------------------------------------------------------------------- */

static void (*const draw_group[])(drawn_t *) = {
    draw_messages,   draw_injection, draw_gaps,  draw_both_ways,  draw_copies, draw_host_memory, draw_shared,
    draw_additional, draw_times,     draw_setup, draw_reductions, draw_remote, draw_nccl};

enum { DRAW_GROUPS = sizeof draw_group / sizeof *draw_group };

/* What the files of a set say of themselves. */
static void draw_files(drawn_t *drawn) {
    static const char *const nodes[] = {"2 sockets, 4 GPUs, 32 cores", "1 socket, 8 GPUs, 16 cores",
                                        "4 gpus, 16 cores, 2 Sockets"};
    static const char *const mps[] = {"mps=no", "mps=yes", "other=1"}, *const runs[] = {"runs=waited", "x=1",
                                                                                        "runs=graph"};
    drawn->files = 1 + draw_index(drawn, DRAWN_FILES_MAX);
    int node = draw_index(drawn, 3), usual_mps = draw_index(drawn, 3);
    for (int i = 0; i < drawn->files; i++) {
        char text[512], path[16];
        int own_mps = draw_chance(drawn, 0.2) ? draw_index(drawn, 3) : usual_mps;
        int own_runs = draw_chance(drawn, 0.1) ? 2 : draw_index(drawn, 2);
        snprintf(path, sizeof path, "%d.csv", i);
        snprintf(text, sizeof text,
                 "# machine=made-up\n# node=%s\n# %s\n# %s\n"
                 "benchmark,space,level,pair,procs,messages,bytes,run,seconds\n",
                 nodes[node], mps[own_mps], runs[own_runs]);
        assert_int_equal(pto_samples_parse(text, strlen(text), path, &drawn->samples, NULL), PTO_OK);
    }
}

/* One group of benchmarks, and others with some probability. */
static inline pto_samples_t draw_samples(uint64_t seed, int group, double others) {
    static const double noise[] = {0.001, 0.02, 0.02, 0.1, 0.5, 0.95}, outliers[] = {0, 0, 0.03, 0.2};
    static const int repeats[] = {1, 2, 3, 5, 6, 8};
    drawn_t drawn = {.state = seed};
    draw_share(&drawn);
    draw_files(&drawn);
    drawn.noise = noise[draw_index(&drawn, 6)];
    drawn.outliers = outliers[draw_index(&drawn, 4)];
    drawn.repeats = repeats[draw_index(&drawn, 6)];
    drawn.coarse = draw_chance(&drawn, 0.3);
    drawn.slow_run = draw_chance(&drawn, 0.2) ? 2 : 0;
    for (int g = 0; g < DRAW_GROUPS; g++)
        if (g == group || draw_chance(&drawn, others))
            draw_group[g](&drawn);
    return drawn.samples;
}

#endif
