/* Plays portolan-calibrate's plans with recorded samples, on a clock of the test's own, and prints the
 * seconds that measuring would have taken:
 *
 *   test_replay SAMPLES.csv OUT.csv [exhaustive]
 *
 * OUT.csv has the samples that the plan would have taken. Between recorded sizes it takes those of the
 * smaller one, and writes them not. Where it wants more samples than were recorded, they come again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../calibrate/benchmark.h"
#include "../../calibrate/engine.h"
#include "fatal.h"
#include "made_clock.h"

enum { SIZES_MAX = 64, FIELD_MAX = 128, LINE_LENGTH_MAX = 4096 };
enum { BENCHMARK, SPACE, LEVEL, PAIR, PROCS, MESSAGES, BYTES, RUN, SECONDS, FIELD_COUNT };

/* What the processes of a repetition need to meet. */
static const double meeting_s = 1e-5;

typedef struct {
    int64_t bytes;
    int count, next;
    double *seconds;
} size_record_t;

typedef struct {
    int size_count;
    size_record_t size[SIZES_MAX];
} record_t;

static record_t *records; /* of the cases, in their order */
static case_list_t list;

typedef char fields_t[FIELD_COUNT][FIELD_MAX];

static bool is_of(const case_t *what, fields_t field) {
    return strcmp(what->benchmark, field[BENCHMARK]) == 0 && strcmp(what->space, field[SPACE]) == 0 &&
           strcmp(what->level, field[LEVEL]) == 0 && strcmp(what->pair, field[PAIR]) == 0 &&
           what->procs == atoi(field[PROCS]) && what->messages == atoi(field[MESSAGES]) &&
           what->sized == (atoll(field[BYTES]) > 0);
}

static const char *kept(const char *text) {
    char *copy = must_allocate(strlen(text) + 1, 1);
    memcpy(copy, text, strlen(text));
    return copy;
}

static int add_case(fields_t field) {
    int index = list.case_count;
    case_t *added = case_add(&list, field[BENCHMARK], 1);
    added->space = kept(field[SPACE]);
    added->level = kept(field[LEVEL]);
    snprintf(added->pair, sizeof added->pair, "%.40s", field[PAIR]);
    added->procs = atoi(field[PROCS]);
    added->messages = atoi(field[MESSAGES]);
    added->sized = atoll(field[BYTES]) > 0;
    added->every_size = strncmp(field[BENCHMARK], "nccl", 4) == 0; /* as bench_nccl.c */
    added->min_bytes = atoll(field[BYTES]);
    added->member[0] = 0;
    added->detail[0] = index;
    records = realloc(records, (size_t)list.case_count * sizeof *records);
    if (records == NULL)
        die("out of memory");
    memset(&records[index], 0, sizeof *records);
    return index;
}

/* Rows of a case follow each other, its sizes in their order. */
static void add_row(fields_t field) {
    int index = list.case_count - 1;
    while (index >= 0 && !is_of(&list.cases[index], field))
        index--;
    index = index >= 0 ? index : add_case(field);
    record_t *record = &records[index];
    size_record_t *last = &record->size[record->size_count > 0 ? record->size_count - 1 : 0];
    int64_t bytes = atoll(field[BYTES]);
    if (record->size_count == 0 || last->bytes != bytes) {
        if (record->size_count == SIZES_MAX)
            die("too many sizes");
        last = &record->size[record->size_count++];
        last->bytes = bytes;
    }
    last->seconds = realloc(last->seconds, (size_t)(last->count + 1) * sizeof *last->seconds);
    if (last->seconds == NULL)
        die("out of memory");
    last->seconds[last->count++] = atof(field[SECONDS]);
    list.cases[index].max_bytes = bytes;
}

/* The time of a part of the members is no case of its own. */
static bool is_part(const char *benchmark) {
    return strncmp(benchmark, "memcpy_mixed", 12) == 0 &&
           (strstr(benchmark, "_ipc") != NULL || strstr(benchmark, "_staged") != NULL);
}

static void read_row(char *line) {
    fields_t field;
    int count = 0;
    for (char *at = strtok(line, ",\n"); at != NULL && count < FIELD_COUNT; at = strtok(NULL, ",\n"))
        snprintf(field[count++], FIELD_MAX, "%s", at);
    if (count == FIELD_COUNT && strcmp(field[BENCHMARK], "benchmark") != 0 && !is_part(field[BENCHMARK]))
        add_row(field);
}

static void read_records(const char *path, samples_t *samples) {
    char line[LINE_LENGTH_MAX];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        die("cannot read %s", path);
        return; /* never: for the checkers, which do not know die */
    }
    while (fgets(line, sizeof line, file) != NULL) {
        char *value = line[0] == '#' ? strchr(line, '=') : NULL;
        if (value != NULL && strncmp(line, "# complete", 10) != 0) {
            *value = '\0';
            samples_provenance(samples, line + 2, "%s", value + 1);
        } else if (line[0] != '#') {
            read_row(line);
        }
    }
    fclose(file);
}

static double trial(const work_t *work, int64_t bytes, int iterations) {
    record_t *record = &records[work->bench_case->detail[0]];
    size_record_t *size = record->size;
    while (size + 1 < record->size + record->size_count && size[1].bytes <= bytes)
        size++;
    double seconds = iterations * size->seconds[size->next];
    size->next = (size->next + 1) % size->count;
    made_clock_pass(seconds + meeting_s);
    return seconds;
}

/* The ladder that was recorded. */
static int64_t least_factor(void) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < list.case_count; i++)
        for (int k = 1; k < records[i].size_count; k++) {
            int64_t factor = records[i].size[k].bytes / records[i].size[k - 1].bytes;
            least = factor < least ? factor : least;
        }
    return least < INT64_MAX ? least : 2;
}

int main(int argc, char **argv) {
    static process_t process;
    const benchmark_t benchmark = {.name = "replay", .trial = trial};
    pto_calibrate_options_t options = {.from_bytes = 1, .to_bytes = 1 << 30, .budget_s = 1e6, .repeats = 20};
    MPI_Init(&argc, &argv);
    if (argc < 3)
        die("usage: test_replay SAMPLES.csv OUT.csv [exhaustive]");
    options.exhaustive = argc > 3;
    job_t job = {.world = MPI_COMM_WORLD, .size = 1, .process = &process, .node_count = 1};
    samples_t *samples = samples_create(argv[2], true);
    if (samples == NULL)
        die("no samples");
    read_records(argv[1], samples);
    options.factor = least_factor();
    samples_begin(samples);
    int left_out = engine_run(&job, &options, &benchmark, &list, samples);
    bool written = samples_close(samples, left_out);
    printf("%.4f\n", made_clock_s());
    MPI_Finalize();
    return left_out == 0 && written ? 0 : 1;
}
