/* Reads GOAL (Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language", ICPP 2009), in LogGOPSim's
 * text form:
 *
 *   num_ranks 4
 *   rank 0 {
 *     l1: send 1024b to 1 tag 7 cpu 0 nic 0
 *     l2: recv 1024b from 1 tag 7
 *     l3: calc 5000
 *     l3 requires l2
 *     l2 irequires l1
 *   }
 *
 * Only the messages of one rank are counted, as if one followed another: dependencies and computation are
 * ignored. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

/* The words of a line, and the index of the next one. */
typedef struct {
    char *word[PTO_RECORDING_COLUMNS_MAX];
    int count;
    int at;
} words_t;

static const char *next(words_t *words) { return words->at < words->count ? words->word[words->at++] : ""; }

/* Returns whether the next word is `word`, and skips it if so. */
static bool accept(words_t *words, const char *word) {
    bool found = words->at < words->count && strcmp(words->word[words->at], word) == 0;
    words->at += found;
    return found;
}

static pto_status_t read_number(pto_recording_reader_t *reader, words_t *words, const char *what,
                                int64_t *value) {
    const char *word = next(words);
    return pto_recording_whole(word, value)
               ? PTO_OK
               : pto_recording_fail(reader, PTO_ERR_SYNTAX, "'%s' instead of %s", word, what);
}

static pto_status_t read_size(pto_recording_reader_t *reader, words_t *words, int64_t *bytes) {
    const char *word = next(words);
    char *end;
    *bytes = isdigit((unsigned char)*word) ? strtoll(word, &end, 10) : -1;
    return *bytes >= 0 && *bytes < INT64_MAX && strcmp(end, "b") == 0
               ? PTO_OK
               : pto_recording_fail(reader, PTO_ERR_SYNTAX, "'%s' instead of a size such as 1024b", word);
}

/* Skips tag, cpu and nic, in any order. */
static pto_status_t read_options(pto_recording_reader_t *reader, words_t *words) {
    pto_status_t status = PTO_OK;
    int64_t number;
    while (status == PTO_OK && (accept(words, "tag") || accept(words, "cpu") || accept(words, "nic")))
        status = read_number(reader, words, "a number", &number);
    return status;
}

static pto_status_t read_message(pto_recording_reader_t *reader, words_t *words, const char *direction) {
    int64_t bytes, peer = 0;
    pto_status_t status = read_size(reader, words, &bytes);
    if (status == PTO_OK && !accept(words, direction))
        status = pto_recording_fail(reader, PTO_ERR_SYNTAX, "'%s' instead of '%s'", next(words), direction);
    if (status == PTO_OK)
        status = read_number(reader, words, "a rank", &peer);
    if (status == PTO_OK && peer >= reader->goal_ranks)
        status = pto_recording_fail(reader, PTO_ERR_RANGE, "rank %lld of %lld", (long long)peer,
                                    (long long)reader->goal_ranks);
    if (status == PTO_OK)
        status = read_options(reader, words);
    if (status != PTO_OK || reader->goal_rank != reader->trace->rank)
        return status;
    return pto_recording_count(reader, &(pto_recorded_call_t){.collective = PTO_COLLECTIVE_PAIR,
                                                              .input_bytes = (double)bytes,
                                                              .output_bytes = -1,
                                                              .procs = 2,
                                                              .communicator = -1,
                                                              .rank = reader->goal_rank,
                                                              .peer = peer,
                                                              .route = "mpi"});
}

static pto_status_t open_rank(pto_recording_reader_t *reader, words_t *words) {
    int64_t rank = -1;
    pto_status_t status = read_number(reader, words, "a rank", &rank);
    if (status == PTO_OK && reader->goal_rank >= 0)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "rank %lld within rank %lld", (long long)rank,
                                  (long long)reader->goal_rank);
    if (status == PTO_OK && rank >= reader->goal_ranks)
        return pto_recording_fail(reader, PTO_ERR_RANGE, "rank %lld of %lld", (long long)rank,
                                  (long long)reader->goal_ranks);
    if (status == PTO_OK && !accept(words, "{"))
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "no '{' after the rank");
    reader->goal_rank = rank;
    if (reader->trace->rank < 0)
        reader->trace->rank = rank;
    return status;
}

static pto_status_t read_statement(pto_recording_reader_t *reader, words_t *words) {
    int64_t number;
    if (accept(words, "num_ranks")) {
        pto_status_t status = read_number(reader, words, "a number of ranks", &reader->goal_ranks);
        reader->job_procs = reader->goal_ranks;
        return status;
    }
    if (accept(words, "rank"))
        return open_rank(reader, words);
    if (reader->goal_rank < 0)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "'%s' outside of a rank", next(words));
    if (accept(words, "}")) {
        reader->goal_rank = -1;
        return PTO_OK;
    }
    const char *word = words->word[words->at];
    size_t length = strlen(word);
    if (length > 1 && word[length - 1] == ':')
        words->at++;
    if (accept(words, "send"))
        return read_message(reader, words, "to");
    if (accept(words, "recv"))
        return read_message(reader, words, "from");
    if (accept(words, "calc")) {
        pto_status_t status = read_number(reader, words, "nanoseconds", &number);
        return status == PTO_OK ? read_options(reader, words) : status;
    }
    word = next(words);
    if ((accept(words, "requires") || accept(words, "irequires")) && *next(words) != '\0')
        return PTO_OK;
    return pto_recording_fail(reader, PTO_ERR_SYNTAX, "'%s' is not a statement of GOAL", word);
}

pto_status_t pto_goal_line(pto_recording_reader_t *reader, char *line) {
    words_t words = {.count = 0};
    char *comment = strstr(line, "//");
    line[comment ? (size_t)(comment - line) : strcspn(line, "#")] = '\0';
    words.count = pto_recording_split(line, " \t", true, words.word);
    if (words.count == PTO_RECORDING_COLUMNS_MAX)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "more than %d words in a line",
                                  PTO_RECORDING_COLUMNS_MAX - 1);
    pto_status_t status = PTO_OK;
    while (status == PTO_OK && words.at < words.count)
        status = read_statement(reader, &words);
    return status;
}

pto_status_t pto_goal_end(pto_recording_reader_t *reader) {
    if (reader->goal_rank >= 0)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "the file ends within rank %lld",
                                  (long long)reader->goal_rank);
    if (reader->trace->rank >= reader->goal_ranks)
        return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE, "the file has ranks 0 to %lld, not %lld",
                                  (long long)reader->goal_ranks - 1, (long long)reader->trace->rank);
    return PTO_OK;
}
