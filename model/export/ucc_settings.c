/* The parser of the values of UCC's variables that set scores, called from ucc_rules.c. Their grammar is:
 *
 *     value     = setting *( "#" setting )
 *     setting   = qualifier *( ":" qualifier ), each kind at most once, and a score or an algorithm
 *     qualifier = names of collectives | names of memories | sizes | teams | score | algorithm
 *     sizes     = size "-" size *( "," size "-" size ), of digits and b, k, m, g, t, kb ..., or inf
 *     teams     = "[" team *( "," team ) "]", of ranks, ranks "-" ranks or ranks "-inf"
 *     score     = digits | "inf"
 *     algorithm = "@" name or number
 *
 * UCC skips empty parts. It ignores a setting with neither score nor algorithm, empty ranges, and all but the
 * last of ranges that overlap; these are errors here. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/checked.h"
#include "base/grow.h"
#include "ucc_rules.h"

enum { SETTINGS_MAX = 4096, RANGES_MAX = 8192 };

static const char digits[] = "0123456789";

static const char *const collectives[] = {"allgather",      "allgatherv",      "allreduce", "alltoall",
                                          "alltoallv",      "barrier",         "bcast",     "fanin",
                                          "fanout",         "gather",          "gatherv",   "reduce",
                                          "reduce_scatter", "reduce_scatterv", "scatter",   "scatterv"};
static const char *const memories[] = {"host", "cuda", "cuda_managed", "rocm", "rocm_managed"};

enum { COLLECTIVE_COUNT = sizeof collectives / sizeof *collectives };

/* The algorithms of allgatherv, the only collective for which layer NCCL has a choice. */
static const char *const nccl_algorithms[] = {"p2p", "bcopy", "bcast", "0", "1", "2"};

static int index_of(const char *const *words, int count, const char *word) {
    for (int i = 0; i < count; i++)
        if (strcasecmp(words[i], word) == 0)
            return i;
    return -1;
}

int pto_ucc_collective(const char *name) { return index_of(collectives, COLLECTIVE_COUNT, name); }

typedef struct {
    const pto_variable_t *variable;
    const char *path;
    pto_ucc_rules_t *rules;
    pto_ucc_setting_t *setting; /* the current one */
    pto_error_t *err;
} reader_t;

static int column_of(const reader_t *reader, const char *at) {
    return reader->variable->column + (int)(at - reader->variable->value);
}

/* An error about the part of the value that begins at `at`. */
static pto_status_t fault(const reader_t *reader, pto_status_t status, const char *at, const char *message) {
    return pto_error_set_at(reader->err, status, reader->path, reader->variable->line, column_of(reader, at),
                            "'%.40s' %s", at, message);
}

/* An error about the setting that begins at `at`. Its text is not printed: next_part has cut it up. */
static pto_status_t setting_fault(const reader_t *reader, const char *at, const char *message) {
    return pto_error_set_at(reader->err, PTO_ERR_SYNTAX, reader->path, reader->variable->line,
                            column_of(reader, at), "%s", message);
}

/* Returns the next part of `*rest` that is not empty, terminated by a NUL, and moves `*rest` behind it; NULL
 * if there is none. */
static char *next_part(char **rest, const char *delimiter) {
    char *part = *rest + strspn(*rest, delimiter);
    if (!*part)
        return NULL;
    char *end = part + strcspn(part, delimiter);
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return part;
}

static pto_status_t read_digits(const reader_t *reader, const char *text, size_t length, int64_t max,
                                int64_t *number) {
    *number = 0;
    for (size_t i = 0; i < length; i++)
        if (!pto_multiply(*number, 10, number) || !pto_add(*number, text[i] - '0', number) || *number > max)
            return fault(reader, PTO_ERR_RANGE, text, "is too large");
    return PTO_OK;
}

/* Returns the bytes of a unit of UCX, whose parser UCC uses; 0: it has no such unit. */
static int64_t unit_bytes(const char *unit) {
    static const char *const units[] = {"", "b", "k", "kb", "m", "mb", "g", "gb", "t", "tb"};
    int at = index_of(units, sizeof units / sizeof *units, unit);
    return at < 0 ? 0 : (int64_t)1 << 10 * (at / 2);
}

static pto_status_t read_size(const reader_t *reader, const char *text, int64_t *bytes) {
    *bytes = INT64_MAX;
    if (strcasecmp(text, "inf") == 0)
        return PTO_OK;
    size_t length = strspn(text, digits);
    int64_t factor = unit_bytes(text + length);
    if (length == 0 || factor == 0)
        return fault(reader, PTO_ERR_SYNTAX, text, "is not a size such as 4096, 4k or inf");
    pto_status_t status = read_digits(reader, text, length, INT64_MAX, bytes);
    if (status == PTO_OK && (!pto_multiply(*bytes, factor, bytes) || *bytes == INT64_MAX))
        status = fault(reader, PTO_ERR_RANGE, text, "is too large");
    return status;
}

static pto_status_t read_ranks(const reader_t *reader, const char *text, bool may_be_infinite,
                               int64_t *ranks) {
    *ranks = INT64_MAX;
    if (may_be_infinite && strcasecmp(text, "inf") == 0)
        return PTO_OK;
    size_t length = strspn(text, digits);
    if (length == 0 || text[length])
        return fault(reader, PTO_ERR_SYNTAX, text, "is not a number of ranks");
    return read_digits(reader, text, length, INT32_MAX, ranks);
}

static pto_status_t add_range(const reader_t *reader, const char *at, pto_export_range_t range) {
    pto_ucc_rules_t *rules = reader->rules;
    if (rules->range_count == RANGES_MAX)
        return fault(reader, PTO_ERR_TOO_LARGE, at, "is one range too many");
    if (!PTO_EXTEND(rules->range, rules->range_count))
        return pto_error_set(reader->err, PTO_ERR_MEMORY, "out of memory for UCC's settings");
    rules->range[rules->range_count++] = range;
    return PTO_OK;
}

/* Reads ranges A-B of sizes, or of teams' numbers of ranks. For teams, a number A alone is a range, too. */
static pto_status_t read_ranges(const reader_t *reader, char *list, bool of_teams, pto_ucc_ranges_t *ranges) {
    pto_status_t status = PTO_OK;
    ranges->begin = reader->rules->range_count;
    for (char *part; status == PTO_OK && (part = next_part(&list, ","));) {
        pto_export_range_t range = {0};
        const char *begin = part;
        char *first = next_part(&part, "-"), *last = first ? next_part(&part, "-") : NULL;
        const bool is_complete = last || (of_teams && first);
        if (!is_complete || *part)
            return fault(reader, PTO_ERR_SYNTAX, begin,
                         of_teams ? "is not a size of teams or a range of them"
                                  : "is not a range of sizes A-B");
        status = of_teams ? read_ranks(reader, first, false, &range.first)
                          : read_size(reader, first, &range.first);
        if (status == PTO_OK)
            status = of_teams ? read_ranks(reader, last ? last : first, last != NULL, &range.last)
                              : read_size(reader, last, &range.last);
        if (status == PTO_OK && (range.first > range.last || (!of_teams && range.first == range.last)))
            status = fault(reader, PTO_ERR_RANGE, first,
                           of_teams ? "begins a range of teams that ends below it"
                                    : "begins a range that does not end above it");
        if (status == PTO_OK)
            status = add_range(reader, first, range);
    }
    ranges->end = reader->rules->range_count;
    return status;
}

static pto_status_t read_teams(const reader_t *reader, char *list) {
    pto_ucc_ranges_t *teams = &reader->setting->teams;
    const size_t length = strlen(list);
    if (list[length - 1] != ']')
        return fault(reader, PTO_ERR_SYNTAX, list, "is not a list of team sizes in brackets");
    list[length - 1] = '\0';
    pto_status_t status = read_ranges(reader, list + 1, true, teams);
    return status == PTO_OK && teams->begin == teams->end
               ? fault(reader, PTO_ERR_SYNTAX, list, "names no size of teams")
               : status;
}

static pto_status_t read_words(const reader_t *reader, char *list) {
    unsigned found_collectives = 0, found_memories = 0;
    char *begin = list;
    for (char *word; (word = next_part(&list, ","));) {
        int collective = pto_ucc_collective(word);
        int memory = strcasecmp(word, "CudaManaged") == 0   ? PTO_UCC_MEMORY_CUDA_MANAGED
                     : strcasecmp(word, "RocmManaged") == 0 ? PTO_UCC_MEMORY_ROCM_MANAGED
                                                            : index_of(memories, PTO_UCC_MEMORY_COUNT, word);
        if (collective < 0 && memory < 0)
            return fault(reader, PTO_ERR_SYNTAX, word, "is not something that UCC knows");
        unsigned *found = memory >= 0 ? &found_memories : &found_collectives;
        *found |= 1u << (memory >= 0 ? memory : collective);
    }
    if (!found_collectives == !found_memories)
        return fault(reader, PTO_ERR_SYNTAX, begin,
                     found_collectives ? "mixes collectives and memories" : "names nothing");
    unsigned *known = found_memories ? &reader->setting->memories : &reader->setting->collectives;
    if (*known)
        return fault(reader, PTO_ERR_SYNTAX, begin, "is a second list of the same kind");
    *known = found_collectives | found_memories;
    return PTO_OK;
}

/* The name must be printable, as it is printed later. */
static pto_status_t read_algorithm(const reader_t *reader, const char *text) {
    size_t length = strlen(text + 1);
    for (const char *at = text + 1; *at; at++)
        if (*at <= ' ' || *at > '~')
            return fault(reader, PTO_ERR_SYNTAX, text, "is not @ and the name or number of an algorithm");
    if (length == 0 || length >= PTO_UCC_ALGORITHM_MAX)
        return fault(reader, PTO_ERR_SYNTAX, text, "is not @ and the name or number of an algorithm");
    memcpy(reader->setting->algorithm, text + 1, length + 1);
    return PTO_OK;
}

static pto_status_t read_score(const reader_t *reader, const char *text) {
    reader->setting->score = PTO_UCC_SCORE_INFINITE;
    if (strcasecmp(text, "inf") == 0)
        return PTO_OK;
    return read_digits(reader, text, strlen(text), PTO_UCC_SCORE_INFINITE, &reader->setting->score);
}

/* Reads a qualifier, whose kind its form tells. A list with an `end` other than 0 has been read already. */
static pto_status_t read_qualifier(const reader_t *reader, char *text) {
    pto_ucc_setting_t *setting = reader->setting;
    static const char *const again = "is a second qualifier of its kind";
    if (*text == '@')
        return *setting->algorithm ? fault(reader, PTO_ERR_SYNTAX, text, again)
                                   : read_algorithm(reader, text);
    if (*text == '[')
        return setting->teams.end ? fault(reader, PTO_ERR_SYNTAX, text, again) : read_teams(reader, text);
    if (strcasecmp(text, "inf") == 0 || strspn(text, digits) == strlen(text))
        return setting->score >= 0 ? fault(reader, PTO_ERR_SYNTAX, text, again) : read_score(reader, text);
    if (strchr(text, '-'))
        return setting->bytes.end ? fault(reader, PTO_ERR_SYNTAX, text, again)
                                  : read_ranges(reader, text, false, &setting->bytes);
    return read_words(reader, text);
}

/* UCC rejects a whole variable if a layer lacks one of its algorithms; only NCCL's are checked here. */
static pto_status_t check_algorithm(const reader_t *reader, const char *at) {
    const pto_ucc_setting_t *setting = reader->setting;
    enum { NCCL_ALGORITHMS = sizeof nccl_algorithms / sizeof *nccl_algorithms };
    if (!*setting->algorithm)
        return PTO_OK;
    if (setting->owner >= PTO_UCC_LAYER_COUNT)
        return setting_fault(reader, at, "components take no algorithm");
    if (setting->owner != PTO_UCC_NCCL)
        return PTO_OK;
    if (setting->collectives != 1u << pto_ucc_collective("allgatherv"))
        return setting_fault(reader, at,
                             "layer NCCL takes an algorithm for allgatherv only: UCC ignores the variable");
    for (int i = 0; i < NCCL_ALGORITHMS; i++)
        if (strcmp(nccl_algorithms[i], setting->algorithm) == 0)
            return PTO_OK;
    return setting_fault(reader, at,
                         "layer NCCL has the algorithms p2p, bcopy and bcast: UCC ignores the variable");
}

static pto_status_t read_setting(const reader_t *reader, char *text) {
    pto_ucc_setting_t *setting = reader->setting;
    const char *begin = text;
    pto_status_t status = PTO_OK;
    for (char *part; status == PTO_OK && (part = next_part(&text, ":"));)
        status = read_qualifier(reader, part);
    if (status != PTO_OK)
        return status;
    if (setting->score < 0 && !*setting->algorithm)
        return setting_fault(reader, begin, "a setting has no score and no algorithm: UCC ignores it");
    if (!setting->collectives)
        setting->collectives = (1u << COLLECTIVE_COUNT) - 1;
    if (!setting->memories)
        setting->memories = (1u << PTO_UCC_MEMORY_COUNT) - 1;
    setting->line = reader->variable->line;
    setting->column = column_of(reader, begin);
    return check_algorithm(reader, begin);
}

/* Returns whether a range of list `a` overlaps with one of `b` or, if they are the same list, whether two of
 * its ranges overlap. If `may_share_end`, ranges with just an end in common do not. */
static bool ranges_overlap(const pto_ucc_rules_t *rules, pto_ucc_ranges_t a, pto_ucc_ranges_t b,
                           bool may_share_end) {
    const bool is_one_list = a.begin == b.begin;
    for (int i = a.begin; i < a.end; i++)
        for (int k = is_one_list ? i + 1 : b.begin; k < b.end; k++)
            if (rules->range[i].first <= rules->range[k].last - may_share_end &&
                rules->range[k].first <= rules->range[i].last - may_share_end)
                return true;
    return false;
}

/* The same for lists that may be empty, which means all values. Only ranges of sizes may share an end. */
static bool have_common(const pto_ucc_rules_t *rules, pto_ucc_ranges_t a, pto_ucc_ranges_t b, bool of_sizes) {
    return a.begin == a.end || b.begin == b.end || ranges_overlap(rules, a, b, of_sizes);
}

static bool overlap(const pto_ucc_rules_t *rules, const pto_ucc_setting_t *a, const pto_ucc_setting_t *b) {
    if (a == b)
        return ranges_overlap(rules, a->bytes, a->bytes, true);
    return (a->collectives & b->collectives) && (a->memories & b->memories) &&
           have_common(rules, a->bytes, b->bytes, true) && have_common(rules, a->teams, b->teams, false);
}

/* Checks the settings from index `begin` on, which are those of one variable. */
static pto_status_t check_overlaps(const reader_t *reader, int begin) {
    const pto_ucc_rules_t *rules = reader->rules;
    for (int i = begin; i < rules->setting_count; i++)
        for (int k = begin; k <= i; k++)
            if (overlap(rules, &rules->setting[i], &rules->setting[k]))
                return pto_error_set_at(
                    reader->err, PTO_ERR_RANGE, reader->path, rules->setting[i].line,
                    rules->setting[i].column,
                    "the sizes overlap with those at column %d: UCC drops one of them, or all",
                    rules->setting[k].column);
    return PTO_OK;
}

pto_status_t pto_ucc_settings_add(const pto_variable_t *variable, const char *path, pto_ucc_owner_t owner,
                                  int section, pto_ucc_rules_t *rules, pto_error_t *err) {
    reader_t reader = {.variable = variable, .path = path, .rules = rules, .err = err};
    int begin = rules->setting_count;
    char *rest = variable->value;
    pto_status_t status = PTO_OK;
    for (char *text; status == PTO_OK && (text = next_part(&rest, "#"));) {
        if (rules->setting_count == SETTINGS_MAX)
            return fault(&reader, PTO_ERR_TOO_LARGE, text, "is one setting too many");
        if (!PTO_EXTEND(rules->setting, rules->setting_count))
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for UCC's settings");
        reader.setting = &rules->setting[rules->setting_count++];
        *reader.setting = (pto_ucc_setting_t){.owner = owner, .section = section, .score = -1};
        status = read_setting(&reader, text);
    }
    return status == PTO_OK ? check_overlaps(&reader, begin) : status;
}
