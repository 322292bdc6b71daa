/* The profiler's output files. At MPI_Finalize, process 0 writes them with the rows of all processes, which
 * send it their text. A process that ends in another way writes files of its own, possibly from a signal
 * handler. So all text is formatted by async-signal-safe functions only, without stdio and malloc. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "profile.h"
#include "rows.h"

enum { TEXT_MAX = 1 << 15, LINE_MAX = 512, PATH_ROOM = 4096, TAG = 32000 };
enum { ROWS_DEFAULT = 1000000 };

/* The destination of text: a file, or process 0, which writes it to a file. */
typedef struct {
    bool to_process_0;
    preload_rows_t rows;
    size_t used;
    char text[TEXT_MAX];
} sink_t;

static sink_t sink;
static MPI_Comm relay = MPI_COMM_NULL; /* on which processes send their text to process 0 */
static char prefix[PATH_ROOM - 64];    /* of the files' names */

static void flush(void) {
    if (sink.used > 0 && sink.to_process_0)
        PMPI_Send(sink.text, (int)sink.used, MPI_BYTE, 0, TAG, relay);
    else
        preload_rows_put(&sink.rows, sink.text, sink.used);
    sink.used = 0;
}

static void put(const char *text) {
    size_t size = strlen(text);
    memcpy(sink.text + sink.used, text, size);
    sink.used += size;
}

/* Writes a number with at least `digits` digits. Returns the text, which is within `room`. */
static char *digits_of(uint64_t number, unsigned base, int digits, char room[24]) {
    char *at = room + 23;
    *at = '\0';
    for (; number > 0 || digits > 0; number /= base, digits--)
        *--at = "0123456789abcdef"[number % base];
    return at;
}

static void put_number(int64_t number) {
    char room[24];
    if (number < 0)
        put("-");
    put(digits_of((uint64_t)(number < 0 ? -number : number), 10, 1, room));
}

static double ns_per_tick;

/* Sets ns_per_tick, by the ticks and the clock since counting began. */
static void find_tick(void) {
    int64_t ticks = prof_ticks() - prof.origin_ticks;
    ns_per_tick = ticks > 0 ? (double)(pto_now_ns() - prof.origin_ns) / (double)ticks : 1;
}

static void put_seconds(int64_t ticks) {
    char room[24];
    int64_t ns = ticks > 0 ? (int64_t)((double)ticks * ns_per_tick) : 0;
    put_number(ns / 1000000000);
    put(".");
    put(digits_of((uint64_t)(ns % 1000000000), 10, 9, room));
}

static void put_field(int64_t number) {
    put(",");
    put_number(number);
}

static void put_word(const char *word) {
    put(",");
    put(word);
}

static void put_time(int64_t ticks) {
    put(",");
    put_seconds(ticks);
}

/* Ends a line, and makes room for the next one. */
static void end_line(void) {
    put("\n");
    if (sink.used > TEXT_MAX - LINE_MAX)
        flush();
}

/* Ends a line with two fields: the time in calls, and the time until requests completed. */
static void end_line_with(int64_t inside, int64_t waiting) {
    put_time(inside);
    put_time(waiting);
    end_line();
}

static const char *const space_names[PRELOAD_SPACE_COUNT] = {[PRELOAD_CPU] = "cpu",
                                                             [PRELOAD_GPU] = "gpu",
                                                             [PRELOAD_MANAGED] = "managed",
                                                             [PRELOAD_UNKNOWN] = "unknown"};

#define ROUTINE(name) "MPI_" #name,
static const char *const routine_names[] = {
#include "routine_list.h"
};
#undef ROUTINE

static void put_kind(int kind) {
    static const char *const names[PROF_BY_PLAN] = {[PROF_MESSAGE] = "message",
                                                    [PROF_WRITE] = "one_sided",
                                                    [PROF_READ] = "one_sided",
                                                    [PROF_EXACT] = "exact"};
    put(kind < PROF_BY_PLAN ? names[kind] : "plan:");
    if (kind >= PROF_BY_PLAN)
        put(prof_plan_name(kind));
}

/* The cells to write; those without messages are empty slots. */
static const prof_cell_t *cells;
static size_t cell_count;

static void write_cells(void) {
    for (size_t i = 0; i < cell_count; i++) {
        const prof_cell_t *cell = &cells[i];
        if (cell->messages == 0)
            continue;
        const prof_key_t *key = &cell->key;
        bool reads = key->kind == PROF_READ;
        put_number(reads ? key->peer : prof.rank);
        put_field(reads ? prof.rank : key->peer);
        put_word(space_names[reads ? key->peer_space : key->space]);
        put_word(space_names[reads ? key->space : key->peer_space]);
        put(",");
        put_kind(key->kind);
        put_word(routine_names[key->routine]);
        put_field(cell->messages);
        put_field(cell->bytes);
        end_line_with(cell->inside_ticks, cell->waiting_ticks);
    }
}

static void write_times(void) {
    for (int routine = 0; routine < PROF_ROUTINE_COUNT; routine++)
        for (int space = 0; space < PRELOAD_SPACE_COUNT; space++) {
            const prof_time_t *time = &prof.time[routine][space];
            if (time->calls == 0 && time->waiting_ticks == 0)
                continue;
            put_number(prof.rank);
            put_word(routine_names[routine]);
            put_word(space_names[space]);
            put_field(time->calls);
            end_line_with(time->inside_ticks, time->waiting_ticks);
        }
}

static void write_sizes(void) {
    for (int routine = 0; routine < PROF_ROUTINE_COUNT; routine++)
        for (int space = 0; space < PRELOAD_SPACE_COUNT; space++)
            for (int class = 0; class < PROF_SIZES; class ++) {
                const prof_size_t *size = &prof.sizes[routine][space][class];
                if (size->messages == 0)
                    continue;
                put_number(prof.rank);
                put_word(routine_names[routine]);
                put_word(space_names[space]);
                put_field(class > 0 ? (int64_t)1 << (class - 1) : 0);
                put_field((int64_t)1 << class);
                put_field(size->messages);
                put_field(size->bytes);
                end_line();
            }
}

static void write_rows(void) {
    for (int64_t i = 0; i < prof.row_count; i++) {
        const prof_row_t *row = &prof.chunk[i / PROF_ROWS_PER_CHUNK][i % PROF_ROWS_PER_CHUNK];
        char room[24];
        put_number(prof.rank);
        put_time(row->begin_ticks - prof.origin_ticks);
        put_time(row->end_ticks - prof.origin_ticks);
        put_word(routine_names[row->routine]);
        put_word(row->group ? digits_of(row->group->id, 16, 16, room) : "");
        put_field(row->group ? row->group->size : 0);
        put(",");
        if (row->peer >= 0)
            put_number(row->peer);
        put(",");
        if (row->tag >= 0)
            put_number(row->tag);
        put_field(row->bytes);
        put_word(space_names[row->space]);
        end_line();
    }
}

typedef struct {
    const char *name;
    const char *columns;
    void (*write)(void);
} table_t;

static const table_t tables[] = {
    {"traffic",
     "source,destination,source_space,destination_space,kind,routine,messages,bytes,seconds,waiting_s",
     write_cells},
    {"sizes", "rank,routine,space,from_bytes,below_bytes,messages,bytes", write_sizes},
    {"times", "rank,routine,space,calls,seconds,waiting_s", write_times},
    {"calls", "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space", write_rows},
};
enum { TABLES = sizeof tables / sizeof *tables };

/* Writes a comment if calls or messages of this process were not counted. */
static void write_lost(const char *table) {
    int64_t lost = strcmp(table, "calls") == 0     ? prof.rows_lost
                   : strcmp(table, "traffic") == 0 ? prof.messages_lost
                                                   : 0;
    if (lost == 0)
        return;
    put("# rank ");
    put_number(prof.rank);
    put(": not counted: ");
    put_number(lost);
    end_line();
}

static char *append(char *end, const char *text) {
    size_t size = strlen(text);
    memcpy(end, text, size + 1);
    return end + size;
}

/* PREFIXNAME.csv, or PREFIXNAME.RANK.csv. */
static void make_path(char path[PATH_ROOM], const table_t *table, bool own) {
    char room[24], *end = append(append(path, prefix), table->name);
    if (own)
        end = append(append(end, "."), digits_of((uint64_t)prof.rank, 10, 1, room));
    append(end, ".csv");
}

static void open_file(const char *path) {
    sink.to_process_0 = false;
    sink.rows = (preload_rows_t){.file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666)};
    sink.rows.cause = sink.rows.file < 0 ? errno : 0;
}

static void write_heading(const table_t *table, bool complete) {
    put("# portolan-profile");
    end_line();
    put("# ranks=");
    put_number(prof.size);
    end_line();
    if (!complete) {
        put("# incomplete: one process, which ended before MPI_Finalize");
        end_line();
    }
    put(table->columns);
    end_line();
}

enum { TO_WRITE, IS_WRITING, IS_WRITTEN };
static atomic_int written;
static pid_t process; /* forked children must not write */
static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGILL,  SIGABRT,
                              SIGBUS, SIGFPE, SIGSEGV, SIGTERM, SIGXCPU};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction program_action[SIGNALS];

/* Prints an error, possibly in a signal handler. */
static void print_write_error(char path[PATH_ROOM]) {
    static const char begin[] = "portolan-profile: cannot write ";
    size_t size = strlen(path);
    path[size] = '\n';
    if (write(STDERR_FILENO, begin, sizeof begin - 1) < 0 || write(STDERR_FILENO, path, size + 1) < 0)
        return;
}

static void write_tables(void) {
    char path[PATH_ROOM];
    cells = prof.cells.slot;
    cell_count = prof.cells.capacity;
    find_tick();
    for (int i = 0; i < TABLES; i++) {
        make_path(path, &tables[i], true);
        open_file(path);
        write_heading(&tables[i], false);
        write_lost(tables[i].name);
        tables[i].write();
        flush();
        if (preload_rows_close(&sink.rows) != 0)
            print_write_error(path);
    }
}

/* Writes the files once and completely. When one process of a job exits, mpirun sends SIGTERM to the others,
 * which may be writing. So the writing thread blocks signals, and other threads wait for it. */
void prof_write_own(void) {
    int state = TO_WRITE;
    sigset_t ending, saved;
    if (prof.origin_ticks == 0 || getpid() != process)
        return;
    sigemptyset(&ending);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&ending, signals[i]);
    pthread_sigmask(SIG_BLOCK, &ending, &saved);
    if (atomic_compare_exchange_strong(&written, &state, IS_WRITING)) {
        write_tables();
        written = IS_WRITTEN;
    }
    while (written == IS_WRITING)
        poll(NULL, 0, 10);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

/* Writes the files, then lets the signal have the effect that it has without the profiler. */
static void on_signal(int number) {
    int saved = errno;
    prof_write_own();
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == number)
            sigaction(number, &program_action[i], NULL);
    errno = saved;
    raise(number);
}

/* Writes the files at signals that end the program. A signal that the program ignores stays ignored. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &program_action[i]);
        if (program_action[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

void prof_files_begin(void) {
    const char *text = getenv("PORTOLAN_PROFILE");
    if (text && strlen(text) >= sizeof prefix) {
        preload_say("PORTOLAN_PROFILE is ignored: it has more than %zu characters", sizeof prefix - 1);
        text = NULL;
    }
    memcpy(prefix, text ? text : "portolan-", strlen(text ? text : "portolan-") + 1);
    prof.row_max = preload_number("PORTOLAN_PROFILE_CALLS", 0, INT64_MAX, ROWS_DEFAULT);
    if (prof.row_max > (int64_t)PROF_CHUNKS_MAX * PROF_ROWS_PER_CHUNK)
        prof.row_max = (int64_t)PROF_CHUNKS_MAX * PROF_ROWS_PER_CHUNK;
    process = getpid();
    catch_signals();
    atexit(prof_write_own);
}

/* Process 0 appends the others' text in the order of their ranks. It asks each by an empty message, and an
 * empty message ends the text. */
static void relay_others(void) {
    for (int rank = 1; rank < prof.size; rank++) {
        int size = 1;
        PMPI_Send(NULL, 0, MPI_BYTE, rank, TAG, relay);
        while (size > 0) {
            MPI_Status status;
            PMPI_Recv(sink.text, TEXT_MAX, MPI_BYTE, rank, TAG, relay, &status);
            PMPI_Get_count(&status, MPI_BYTE, &size);
            preload_rows_put(&sink.rows, sink.text, (size_t)size);
        }
    }
}

static void write_as_process_0(const table_t *table) {
    char path[PATH_ROOM];
    make_path(path, table, false);
    open_file(path);
    write_heading(table, true);
    write_lost(table->name);
    table->write();
    flush();
    relay_others();
    int cause = preload_rows_close(&sink.rows);
    if (cause)
        preload_say("cannot write %s: %s", path, strerror(cause));
}

static void write_table(const table_t *table) {
    if (prof.rank == 0) {
        write_as_process_0(table);
        return;
    }
    sink.to_process_0 = true;
    PMPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, relay, MPI_STATUS_IGNORE);
    write_lost(table->name);
    table->write();
    flush();
    PMPI_Send(NULL, 0, MPI_BYTE, 0, TAG, relay);
}

void prof_write_all(void) {
    size_t count;
    PMPI_Comm_dup(MPI_COMM_WORLD, &relay);
    find_tick();
    prof_cell_t *resolved = prof_order_resolve(&count);
    for (int i = 0; i < TABLES; i++) {
        cells = resolved;
        cell_count = count;
        write_table(&tables[i]);
    }
    PMPI_Comm_free(&relay);
    free(resolved);
    written = IS_WRITTEN;
}
