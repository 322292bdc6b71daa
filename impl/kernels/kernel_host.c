/* Kernels (kernel.h) on the host device: the calling process executes the program for all parts, in `poll` or
 * as a step of a stream. Each part has its own position in the program; when a part has to wait, the next one
 * continues. The first part to be executed changes from run to run. This exposes programs in which a part
 * uses data that belong to another part. */
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "device/host_stream.h"
#include "device/reduce.h"
#include "line_format.h"
#include "parts.h"
#include "portolan/kernel.h"
#include "turns.h"
#include "watchdog.h"

/* Blocks and slices are so small that even short vectors have several parts. */
enum {
    BLOCKS = 3,
    BLOCK_BYTES = 64,
    SLICE_BYTES = 4096,
    LINES_BYTES_MAX = 1024,
    LINES_SLICE_BYTES = 128,
    PIECE_BYTES = 16 /* parts consist of such pieces (parts.h) */
};

typedef struct host_kernel host_kernel_t;

/* The operands from a creation or rebinding of the kernel to the next. They are kept until the runs that
 * were enqueued meanwhile have ended; if a graph contains one, until the kernel is destroyed. */
typedef struct binding {
    struct binding *before; /* the previous one; NULL: none */
    host_kernel_t *host;
    uint64_t enqueued; /* number of its enqueued runs that have not ended */
    bool in_graph;
    pto_operand_t operands[];
} binding_t;

struct host_kernel {
    pto_kernel_program_t program; /* with the operands of the current run */
    binding_t *binding;           /* the latest; it heads the list of all bindings in use */
    binding_t *spare;             /* for the next rebinding; NULL: none yet */
    uint64_t started;             /* number of runs, including enqueued ones once they begin */
    uint64_t ended;               /* number of these that have ended; the next one is the current run */
    atomic_bool gave_up;
    int64_t began_ns;  /* when the current run began, if it was enqueued */
    uint64_t enqueued; /* how many of `started` were enqueued; `poll` does not count them */
    int *at;           /* by part: its next op in the current run */
    unsigned *turn;    /* by block: its turn in that run, if blocks keep to the order of turns.h */
    pto_phases_t phases;
    const void **sources; /* room for the sources of any reduction */
    char *unpacked;       /* room for data unpacked from lines */
};

static pto_status_t host_blocks_max(pto_datatype_t datatype, pto_op_t op, int *blocks, pto_error_t *err) {
    (void)datatype, (void)op, (void)err;
    *blocks = BLOCKS;
    return PTO_OK;
}

static void host_kernel_destroy(void *kernel) {
    host_kernel_t *host = kernel;
    for (binding_t *before, *binding = host ? host->binding : NULL; binding; binding = before) {
        before = binding->before;
        free(binding);
    }
    if (host) {
        free(host->at);
        free(host->turn);
        free(host->spare);
        free(host->unpacked);
        free(host->sources);
    }
    free(host);
}

static size_t part_count(const pto_kernel_program_t *program) {
    return (size_t)program->blocks * (size_t)program->slices;
}

/* Returns the maximum bytes that an op with lines unpacks, or copies aside (reduce). */
static size_t max_line_bytes(const pto_kernel_program_t *program) {
    int64_t max_bytes = 0;
    for (int i = 0; i < program->op_count; i++) {
        const pto_kernel_op_t *op = &program->ops[i];
        int64_t bytes = 0;
        bool lines = false;
        for (int j = 0; j < op->count; j++) {
            const pto_operand_t *operand = &program->operands[op->first + j];
            lines = lines || operand->spot.lines;
            bytes += operand->bytes;
        }
        max_bytes = lines && bytes > max_bytes ? bytes : max_bytes;
    }
    return (size_t)max_bytes;
}

static bool is_unused(const binding_t *binding) { return binding->enqueued == 0 && !binding->in_graph; }

/* Removes unused bindings from the list. One of them becomes the spare. */
static void recycle_bindings(host_kernel_t *host) {
    for (binding_t **link = &host->binding; *link;) {
        binding_t *binding = *link;
        if (is_unused(binding)) {
            *link = binding->before;
            free(host->spare);
            host->spare = binding;
        } else {
            link = &binding->before;
        }
    }
}

static pto_status_t host_kernel_reserve(void *kernel, pto_error_t *err) {
    host_kernel_t *host = kernel;
    if (!host->spare)
        host->spare = calloc(1, sizeof *host->spare +
                                    (size_t)host->program.operand_count * sizeof *host->program.operands);
    return host->spare ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
}

static pto_status_t host_kernel_rebind(void *kernel, const pto_kernel_program_t *program, pto_error_t *err) {
    host_kernel_t *host = kernel;
    size_t bytes = (size_t)program->operand_count * sizeof *program->operands;
    binding_t *binding = host->spare;
    (void)err;
    assert(binding);
    host->spare = NULL;
    recycle_bindings(host);
    *binding = (binding_t){.before = host->binding, .host = host};
    if (bytes > 0)
        memcpy(binding->operands, program->operands, bytes);
    host->binding = binding;
    return PTO_OK;
}

static pto_status_t host_kernel_create(const pto_kernel_program_t *program, void **kernel, pto_error_t *err) {
    host_kernel_t *host = calloc(1, sizeof *host);
    if (host) {
        host->sources = calloc((size_t)program->operand_count + 1, sizeof *host->sources);
        host->unpacked = calloc(max_line_bytes(program) + 1, 1);
        host->at = calloc(part_count(program), sizeof *host->at);
        host->turn = calloc((size_t)program->blocks, sizeof *host->turn);
    }
    if (!host || !host->sources || !host->unpacked || !host->at || !host->turn) {
        host_kernel_destroy(host);
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a kernel");
    }
    host->program = *program;
    host->phases = pto_phases_of(program);
    pto_status_t status = host_kernel_reserve(host, err);
    if (status == PTO_OK)
        status = host_kernel_rebind(host, program, err);
    if (status == PTO_OK)
        *kernel = host;
    else
        host_kernel_destroy(host);
    return status;
}

static pto_status_t host_kernel_start(void *kernel, uint64_t run, bool queued, void *stream,
                                      pto_error_t *err) {
    host_kernel_t *host = kernel;
    pto_status_t status = pto_host_stream_finish(stream, err); /* it may contain enqueued runs */
    (void)queued;
    host->program.operands = host->binding->operands;
    host->started = run + host->enqueued;
    return status;
}

/* --- ops ----------------------------------------------------------------------------------------------- */

/* The part and the run that are being executed. */
typedef struct {
    host_kernel_t *host;
    int part; /* from 0 */
    uint64_t run;
} part_run_t;

/* Returns the address of an operand, in this run's copy. */
static char *address(const part_run_t *current, const pto_operand_t *operand) {
    return (char *)operand->spot.at + (int64_t)(current->run % 2) * operand->spot.copy_stride_bytes;
}

static pto_part_t part(const part_run_t *current, const pto_operand_t *operand) {
    const pto_kernel_program_t *program = &current->host->program;
    return pto_part(operand->bytes, PIECE_BYTES, program->blocks * program->slices, current->part);
}

typedef struct {
    atomic_uint_fast64_t half[2];
} line_t;
_Static_assert(sizeof(line_t) == PTO_LINE_BYTES, "each half of a line is stored and loaded as one");

typedef struct {
    line_t *line;
    atomic_uchar *tag;
} lines_t;

/* Returns the first line of a part. A part begins with a whole line. */
static lines_t lines_of(const part_run_t *current, const pto_operand_t *operand, pto_part_t own) {
    char *at = address(current, operand);
    int64_t first = own.offset_bytes / PTO_LINE_BYTES;
    char *tags = at + pto_line_count(operand->bytes) * PTO_LINE_BYTES;
    return (lines_t){(line_t *)(void *)at + first, (atomic_uchar *)tags + first};
}

/* Returns the used bytes of the line that begins `done` bytes into the part. */
static size_t in_line(pto_part_t own, int64_t done) {
    return (size_t)(own.bytes - done < PTO_LINE_BYTES ? own.bytes - done : PTO_LINE_BYTES);
}

static void to_lines(const part_run_t *current, const char *from, const pto_operand_t *target,
                     pto_part_t own) {
    lines_t to = lines_of(current, target, own);
    for (int64_t done = 0; done < own.bytes; done += PTO_LINE_BYTES, to.line++, to.tag++) {
        uint64_t data[2] = {0};
        memcpy(data, from + own.offset_bytes + done, in_line(own, done));
        for (int i = 0; i < 2; i++)
            atomic_store_explicit(&to.line->half[i], pto_line_half(data[i], current->run),
                                  memory_order_relaxed);
        atomic_store_explicit(to.tag, pto_line_tag(data[0], data[1], current->run), memory_order_relaxed);
    }
}

/* Unpacks a part from its lines into `unpacked`, and returns that; NULL if some lines have not arrived. */
static const char *from_lines(const part_run_t *current, const pto_operand_t *source, pto_part_t own,
                              char *unpacked) {
    lines_t from = lines_of(current, source, own);
    for (int64_t done = 0; done < own.bytes; done += PTO_LINE_BYTES, from.line++, from.tag++) {
        uint64_t data[2];
        uint8_t tag = atomic_load_explicit(from.tag, memory_order_relaxed);
        for (int i = 0; i < 2; i++)
            data[i] = atomic_load_explicit(&from.line->half[i], memory_order_relaxed);
        if (!pto_line_of_run(data[0], data[1], tag, current->run))
            return NULL;
        for (int i = 0; i < 2; i++)
            data[i] = pto_line_data(data[i], tag, i);
        memcpy(unpacked + done, data, in_line(own, done));
    }
    return unpacked;
}

/* Returns the bytes from `offset` to the end of its row. */
static int64_t row_rest(const pto_rows_t *rows, int64_t offset) { return rows->bytes - offset % rows->bytes; }

static char *in_row(char *first, const pto_rows_t *rows, int64_t offset) {
    return first + offset / rows->bytes * rows->pitch_bytes + offset % rows->bytes;
}

static void move_rows(char *source, const pto_rows_t *from, char *target, const pto_rows_t *to,
                      pto_part_t own) {
    const int64_t end = own.offset_bytes + own.bytes;
    int64_t bytes;
    for (int64_t at = own.offset_bytes; at < end; at += bytes) {
        bytes = row_rest(from, at) < row_rest(to, at) ? row_rest(from, at) : row_rest(to, at);
        bytes = bytes < end - at ? bytes : end - at;
        memcpy(in_row(target, to, at), in_row(source, from, at), (size_t)bytes);
    }
}

/* Copies a part. Returns false if it has to wait. */
static bool move(const part_run_t *current, const pto_operand_t *source, const pto_operand_t *target) {
    pto_part_t own = part(current, source);
    if (target->spot.lines) {
        to_lines(current, address(current, source), target, own);
        return true;
    }
    if (source->spot.lines) {
        const char *data = from_lines(current, source, own, current->host->unpacked);
        if (data)
            memcpy(address(current, target) + own.offset_bytes, data, (size_t)own.bytes);
        return data != NULL;
    }
    if (source->rows.rows > 1 || target->rows.rows > 1)
        move_rows(address(current, source), &source->rows, address(current, target), &target->rows, own);
    else if (own.bytes > 0)
        memmove(address(current, target) + own.offset_bytes, address(current, source) + own.offset_bytes,
                (size_t)own.bytes);
    return true;
}

/* Reduces a part of the sources into the target. Sources in lines are unpacked. A target that is a source,
 * but not the first, is copied aside: the first one overwrites it. Returns false if it has to wait. */
static bool reduce(const part_run_t *current, const pto_kernel_op_t *op) {
    const pto_kernel_program_t *program = &current->host->program;
    const pto_operand_t *operand = program->operands + op->first;
    const int sources_end = op->count - op->copies;
    pto_part_t own = part(current, operand);
    char *target = address(current, operand) + own.offset_bytes;
    const void **source = current->host->sources;
    size_t elements = (size_t)(own.bytes / pto_datatype_bytes(program->datatype));
    char *unpacked = current->host->unpacked;
    for (int i = 1; i < sources_end; i++) {
        const char *data = address(current, &operand[i]) + own.offset_bytes;
        if (operand[i].spot.lines)
            data = from_lines(current, &operand[i], own, unpacked);
        else if (data == target && i > 1)
            data = memcpy(unpacked, data, (size_t)own.bytes);
        if (!data)
            return false;
        source[i - 1] = data;
        unpacked += data == unpacked ? own.bytes : 0;
    }
    const int accumulates = source[0] == target; /* the target already holds the first source */
    pto_reduce_many_host(target, !accumulates, source + accumulates, sources_end - 1 - accumulates, elements,
                         program->datatype, program->op);
    for (int i = sources_end; i < op->count && own.bytes > 0; i++)
        memcpy(address(current, &operand[i]) + own.offset_bytes, target, (size_t)own.bytes);
    return true;
}

static atomic_uint_fast64_t *flag_of(const part_run_t *current, const pto_operand_t *operand) {
    void *flag = address(current, operand) + current->part * current->host->program.flag_pitch_bytes;
    return flag;
}

static bool all_raised(const part_run_t *current, const pto_operand_t *operand, int count) {
    for (int i = 0; i < count; i++)
        if (atomic_load_explicit(flag_of(current, &operand[i]), memory_order_acquire) < current->run)
            return false;
    return true;
}

/* Executes an op for a part. Returns false if it has to wait. It is then repeated from its beginning, which
 * is safe because its copies or reductions are independent (kernel.h). */
static bool do_op(const part_run_t *current, const pto_kernel_op_t *op) {
    const pto_operand_t *operand = current->host->program.operands + op->first;
    bool done = true;
    switch (op->kind) {
    case PTO_KERNEL_MOVE:
        for (int i = 0; i < op->count && done; i += 2)
            done = move(current, &operand[i], &operand[i + 1]);
        break;
    case PTO_KERNEL_SPREAD:
        for (int i = 1; i < op->count; i++)
            move(current, &operand[0], &operand[i]);
        break;
    case PTO_KERNEL_REDUCE:
        return reduce(current, op);
    case PTO_KERNEL_SIGNAL:
        for (int i = 0; i < op->count; i++)
            atomic_store_explicit(flag_of(current, &operand[i]), current->run, memory_order_release);
        break;
    case PTO_KERNEL_WAIT:
        return all_raised(current, operand, op->count);
    case PTO_KERNEL_KIND_COUNT:
        break;
    }
    return done;
}

/* --- runs ---------------------------------------------------------------------------------------------- */

/* Executes a part's ops up to `end`, or to one that has to wait. Returns whether it executed any. */
static bool advance_part(host_kernel_t *host, int part, uint64_t run, int end) {
    const part_run_t current = {host, part, run};
    int *at = &host->at[part], first = *at;
    while (*at < end && do_op(&current, &host->program.ops[*at]))
        ++*at;
    return *at > first;
}

/* Advances a block through its slices in the order of turns.h. Returns whether it executed any op. */
static bool advance_block(host_kernel_t *host, int block, uint64_t run) {
    const unsigned slices = (unsigned)host->program.slices;
    bool progress = false;
    for (unsigned *turn = &host->turn[block]; *turn < pto_turn_count(slices); ++*turn) {
        pto_turn_t now = pto_turn(slices, host->phases, *turn);
        if (now.slice == slices)
            continue;
        int part = (int)now.slice * host->program.blocks + block;
        progress = advance_part(host, part, run, (int)now.end) || progress;
        if (host->at[part] < (int)now.end)
            break;
    }
    return progress;
}

/* In every third run, blocks keep to the order of other devices (turns.h). Otherwise all parts are
 * independent, which exposes programs that depend on that order. */
static bool uses_device_order(uint64_t run) { return run % 3 == 2; }

/* Advances each part, or block, as far as possible. Returns whether any advanced. `completed`: all have. */
static bool advance_all(host_kernel_t *host, uint64_t run, bool *completed) {
    const size_t parts = part_count(&host->program);
    const size_t count = uses_device_order(run) ? (size_t)host->program.blocks : parts;
    bool progress = false;
    for (size_t i = 0; i < count; i++) {
        int next = (int)((run + i) % count);
        bool progressed = uses_device_order(run) ? advance_block(host, next, run)
                                                 : advance_part(host, next, run, host->program.op_count);
        progress = progress || progressed;
    }
    *completed = true;
    for (size_t i = 0; i < parts; i++)
        *completed = *completed && host->at[i] == host->program.op_count;
    return progress;
}

static void reset_positions(host_kernel_t *host) {
    memset(host->at, 0, part_count(&host->program) * sizeof *host->at);
    memset(host->turn, 0, (size_t)host->program.blocks * sizeof *host->turn);
}

/* Ends all started runs without executing them, once the kernel has given up. Other processes may still read
 * the memory that the runs would write, and must not take their signals for results. */
static void drop_runs(host_kernel_t *host) {
    reset_positions(host);
    host->ended = host->started;
}

/* Executes started runs as far as possible. */
static void advance(host_kernel_t *host) {
    if (atomic_load(&host->gave_up))
        drop_runs(host);
    for (bool progress = true, completed = false; progress && host->ended < host->started;) {
        progress = advance_all(host, host->ended + 1, &completed);
        if (!completed)
            continue;
        reset_positions(host);
        host->ended++;
    }
}

static pto_status_t host_kernel_poll(void *kernel, uint64_t *ended, pto_error_t *err) {
    host_kernel_t *host = kernel;
    (void)err;
    advance(host);
    if (host->ended < host->started)
        pto_host_streams_advance(); /* other processes may wait for work in other streams */
    *ended = host->ended - host->enqueued;
    return PTO_OK;
}

static bool is_late(const host_kernel_t *host) {
    return host->program.patience_s > 0 &&
           (double)(pto_now_ns() - host->began_ns) > host->program.patience_s * 1e9;
}

static bool host_kernel_gave_up(const void *kernel) {
    return atomic_load(&((const host_kernel_t *)kernel)->gave_up);
}

static void host_kernel_stop(void *kernel) { atomic_store(&((host_kernel_t *)kernel)->gave_up, true); }

/* Executes an enqueued run, once earlier ones have ended: a step of its stream (pto_host_step_t). */
static bool do_enqueued(void *context, bool *begun) {
    binding_t *binding = context;
    host_kernel_t *host = binding->host;
    if (!*begun && host->ended < host->started)
        return false;
    if (!*begun) {
        host->program.operands = binding->operands;
        host->started++;
        host->enqueued++;
        host->began_ns = pto_now_ns();
    }
    *begun = true;
    if (host->program.before && host_kernel_gave_up(host->program.before))
        atomic_store(&host->gave_up, true);
    advance(host);
    if (host->ended < host->started && is_late(host)) {
        atomic_store(&host->gave_up, true);
        drop_runs(host);
    }
    if (host->ended == host->started && !binding->in_graph)
        binding->enqueued--;
    return host->ended == host->started;
}

static pto_status_t host_kernel_enqueue(void *kernel, void *stream, pto_error_t *err) {
    binding_t *binding = ((host_kernel_t *)kernel)->binding;
    if (pto_host_stream_capture(stream) != 0)
        binding->in_graph = true;
    binding->enqueued++;
    pto_status_t status = pto_host_stream_step(do_enqueued, binding, stream, err);
    if (status != PTO_OK)
        binding->enqueued--;
    return status;
}

extern const pto_kernels_t pto_kernels_host;
const pto_kernels_t pto_kernels_host = {
    .flags_cut = {BLOCK_BYTES, SLICE_BYTES},
    .lines_cut = {BLOCK_BYTES, LINES_SLICE_BYTES},
    .lines_bytes_max = LINES_BYTES_MAX,
    .blocks_max = host_blocks_max,
    .create = host_kernel_create,
    .reserve = host_kernel_reserve,
    .rebind = host_kernel_rebind,
    .start = host_kernel_start,
    .enqueue = host_kernel_enqueue,
    .gave_up = host_kernel_gave_up,
    .stop = host_kernel_stop,
    .poll = host_kernel_poll,
    .polls_at_once = 1,
    .destroy = host_kernel_destroy,
};
