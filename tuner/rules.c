/* Parsing and looking up the rules of the tuner plugin. A rule is a line
 * COLLECTIVE,MIN_BYTES,MAX_BYTES,ALGORITHM,PROTOCOL,CHANNELS,NODES,RANKS[,PIPE_OPS[,REGISTERED]]; these are
 * the columns of NCCL's example plugin, which replaces unknown words by defaults, whereas here any faulty
 * line is an error. `#` begins a comment, except that `#keep ALGORITHM[,ALGORITHM]` lists the algorithms of
 * tuner_rules_t.kept. */
#include "rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 256, FIELDS_LEAST = 8, FIELDS_MOST = 10, CHANNELS_MAX = 64 };
enum { TREE, RING, COLLNET_DIRECT, COLLNET_CHAIN, NVLS, NVLS_TREE, PAT };

/* Words of the rules, in the order of NCCL's enums. */
static const char *const functions[] = {"broadcast",     "reduce",    "allgather",
                                        "reducescatter", "allreduce", NULL};
static const char *const algorithms_known[] = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat", NULL};
static const char *const protocols_known[] = {"ll", "ll128", "simple", NULL};

/* By function: bits of the algorithms that NCCL implements. */
static const unsigned possible[NCCL_FUNCTIONS] = {
    1u << RING, 1u << RING, 1u << RING | 1u << COLLNET_DIRECT | 1u << NVLS | 1u << PAT,
    1u << RING | 1u << COLLNET_DIRECT | 1u << NVLS | 1u << PAT,
    1u << TREE | 1u << RING | 1u << COLLNET_DIRECT | 1u << COLLNET_CHAIN | 1u << NVLS | 1u << NVLS_TREE};

typedef struct {
    char *field[FIELDS_MOST];
    int count;
} fields_t;

/* Set the fault's message. Returns false. */
static bool fail(tuner_fault_t *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(tuner_fault_t *fault, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->message, sizeof fault->message, format, arguments);
    va_end(arguments);
    return false;
}

/* The text without blanks around it, which is changed in place. */
static char *trimmed(char *text) {
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Split a line at its commas, in place. */
static bool split(char *text, fields_t *fields, tuner_fault_t *fault) {
    fields->count = 0;
    for (char *next = text; next;) {
        char *comma = strchr(next, ',');
        if (comma)
            *comma++ = '\0';
        if (fields->count == FIELDS_MOST)
            return fail(fault, "more than %d columns", FIELDS_MOST);
        fields->field[fields->count++] = trimmed(next);
        next = comma;
    }
    return true;
}

/* `*found`: the index of the text among the known words. */
static bool read_word(const char *text, const char *const known[], const char *what, int *found,
                      tuner_fault_t *fault) {
    for (*found = 0; known[*found]; ++*found)
        if (strcmp(known[*found], text) == 0)
            return true;
    return fail(fault, "unknown %s '%.40s'", what, text);
}

/* A number in decimal digits; `any` allows -1, too. */
static bool read_number(const char *text, bool any, int64_t least, int64_t most, const char *what,
                        int64_t *number, tuner_fault_t *fault) {
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    bool digits = text[0] && strspn(text, "0123456789") == strlen(text);
    if (any && strcmp(text, "-1") == 0)
        return true;
    if (digits && errno == 0 && *number >= least && *number <= most)
        return true;
    return fail(fault, "%s: '%.40s' is not a number between %lld and %lld%s", what, text, (long long)least,
                (long long)most, any ? ", or -1" : "");
}

/* Read the columns of numbers: the sizes, the channels and the conditions. */
static bool read_conditions(const fields_t *fields, tuner_rule_t *rule, tuner_fault_t *fault) {
    int64_t first, last, channels;
    rule->pipe_operations = rule->registered = -1;
    if (!read_number(fields->field[1], false, 0, INT64_MAX, "the least size", &first, fault) ||
        !read_number(fields->field[2], false, 0, INT64_MAX, "the largest size", &last, fault) ||
        !read_number(fields->field[5], true, 0, CHANNELS_MAX, "channels", &channels, fault) ||
        !read_number(fields->field[6], true, 1, INT32_MAX, "nodes", &rule->nodes, fault) ||
        !read_number(fields->field[7], true, 1, INT32_MAX, "ranks", &rule->ranks, fault))
        return false;
    if (fields->count > 8 && !read_number(fields->field[8], true, 0, INT32_MAX, "pipelined operations",
                                          &rule->pipe_operations, fault))
        return false;
    if (fields->count > 9 &&
        !read_number(fields->field[9], true, 0, 1, "registered buffers", &rule->registered, fault))
        return false;
    if (first > last)
        return fail(fault, "the least size is above the largest");
    rule->first_bytes = (uint64_t)first;
    rule->last_bytes = (uint64_t)last;
    rule->channels = channels < 0 ? 0 : (int)channels;
    return true;
}

static bool read_rule(char *line, tuner_rule_t *rule, tuner_fault_t *fault) {
    fields_t fields;
    if (!split(line, &fields, fault))
        return false;
    if (fields.count < FIELDS_LEAST)
        return fail(fault, "%d columns, at least %d are needed", fields.count, FIELDS_LEAST);
    if (!read_word(fields.field[0], functions, "collective", &rule->function, fault) ||
        !read_word(fields.field[3], algorithms_known, "algorithm", &rule->algorithm, fault) ||
        !read_word(fields.field[4], protocols_known, "protocol", &rule->protocol, fault) ||
        !read_conditions(&fields, rule, fault))
        return false;
    if (!(possible[rule->function] >> rule->algorithm & 1))
        return fail(fault, "NCCL has no %s by %s", functions[rule->function],
                    algorithms_known[rule->algorithm]);
    if (rule->algorithm == NVLS && strcmp(protocols_known[rule->protocol], "simple") != 0)
        return fail(fault, "NCCL runs nvls with protocol simple only");
    return true;
}

static bool read_kept(char *list, tuner_rules_t *rules, tuner_fault_t *fault) {
    fields_t fields;
    int found;
    if (!split(list, &fields, fault))
        return false;
    for (int i = 0; i < fields.count; i++) {
        if (!read_word(fields.field[i], algorithms_known, "algorithm", &found, fault))
            return false;
        rules->kept |= 1u << found;
    }
    return true;
}

static bool read_line(char *line, tuner_rules_t *rules, tuner_fault_t *fault) {
    static const char keep[] = "#keep ";
    if (strncmp(line, keep, strlen(keep)) == 0)
        return read_kept(line + strlen(keep), rules, fault);
    line[strcspn(line, "#")] = '\0';
    line = trimmed(line);
    if (!*line)
        return true;
    if (rules->count == TUNER_RULES_MAX)
        return fail(fault, "more than %d rules", TUNER_RULES_MAX);
    return read_rule(line, &rules->rule[rules->count++], fault);
}

bool tuner_rules_read(const char *text, size_t size, tuner_rules_t *rules, tuner_fault_t *fault) {
    char line[LINE_BYTES_MAX];
    const char *end = text + size;
    *rules = (tuner_rules_t){.rule = calloc(TUNER_RULES_MAX, sizeof *rules->rule)};
    *fault = (tuner_fault_t){.line = 0};
    bool right = rules->rule ? true : fail(fault, "out of memory");
    while (right && text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        fault->line++;
        if (length >= sizeof line || memchr(text, '\0', length)) {
            right = fail(fault, "a line of more than %d bytes, or with a byte 0", LINE_BYTES_MAX - 1);
            break;
        }
        memcpy(line, text, length);
        line[length] = '\0';
        right = read_line(line, rules, fault);
        text += length + 1;
    }
    if (!right)
        tuner_rules_fini(rules);
    return right;
}

void tuner_rules_fini(tuner_rules_t *rules) {
    free(rules->rule);
    *rules = (tuner_rules_t){.count = 0};
}

static bool holds(const tuner_rule_t *rule, const tuner_call_t *call) {
    return rule->function == call->function && rule->first_bytes <= call->bytes &&
           call->bytes <= rule->last_bytes && (rule->nodes < 0 || rule->nodes == call->nodes) &&
           (rule->ranks < 0 || rule->ranks == call->ranks) &&
           (rule->pipe_operations < 0 || rule->pipe_operations == call->pipe_operations) &&
           (rule->registered < 0 || rule->registered == (call->registered != 0));
}

/* Returns the algorithm that NCCL would choose, the cheapest; -1: it can run none. */
static int cheapest_algorithm(const float *costs, int algorithms, int protocols) {
    int found = -1;
    for (int i = 0; i < algorithms * protocols; i++)
        if (costs[i] >= 0 && (found < 0 || costs[i] < costs[found]))
            found = i;
    return found < 0 ? -1 : found / protocols;
}

const tuner_rule_t *tuner_rules_find(const tuner_rules_t *rules, const tuner_call_t *call, const float *costs,
                                     int algorithms, int protocols) {
    int own = cheapest_algorithm(costs, algorithms, protocols);
    if (own < 0 || (own < NCCL_ALGORITHMS && rules->kept >> own & 1))
        return NULL;
    for (int i = 0; i < rules->count; i++) {
        const tuner_rule_t *rule = &rules->rule[i];
        if (holds(rule, call) && rule->algorithm < algorithms && rule->protocol < protocols &&
            costs[rule->algorithm * protocols + rule->protocol] >= 0)
            return rule;
    }
    return NULL;
}
