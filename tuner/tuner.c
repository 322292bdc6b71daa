/* A tuner plugin for NCCL, which NCCL opens if NCCL_TUNER_PLUGIN names it. It applies the rules (rules.h) in
 * the file that NCCL_TUNER_CONFIG_FILE names, as `portolan export --for nccl` writes it: when NCCL asks for
 * the costs of a call, it sets the cost of the rule's algorithm and protocol to 0. A faulty file turns the
 * plugin off with a warning in NCCL's log, and NCCL decides by itself. */
#include <stdlib.h>

#include "base/text_file.h"
#include "portolan/printable.h"
#include "rules.h"

enum { FILE_BYTES_MAX = 1 << 20, PATH_TEXT_MAX = 512 };

/* NCCL's context for the plugin: one for each communicator, with its numbers of ranks and nodes. */
typedef struct {
    size_t ranks;
    size_t nodes;
    tuner_rules_t rules;
} tuner_t;

#define LOG(level, ...) log((level), NCCL_SUBSYSTEM_TUNING, __FILE__, __LINE__, __VA_ARGS__)

/* Read the rules of NCCL_TUNER_CONFIG_FILE. False: the reason is in NCCL's log. */
static bool read_rules(tuner_t *tuner, nccl_logger_t *log) {
    const char *path = getenv("NCCL_TUNER_CONFIG_FILE");
    char *text = NULL;
    size_t size = 0;
    tuner_fault_t fault;
    char name[PATH_TEXT_MAX], message[2 * sizeof fault.message];
    if (!path || !*path) {
        LOG(NCCL_LOG_WARN, "portolan: off, as NCCL_TUNER_CONFIG_FILE names no file");
        return false;
    }
    pto_escape_text(path, name, sizeof name);
    if (pto_text_read(path, FILE_BYTES_MAX, &text, &size, NULL) != PTO_OK) {
        LOG(NCCL_LOG_WARN,
            "portolan: off, as %s cannot be read, is not a regular file, or has more than %d bytes", name,
            FILE_BYTES_MAX);
        return false;
    }
    bool right = tuner_rules_read(text, size, &tuner->rules, &fault);
    free(text);
    if (right)
        LOG(NCCL_LOG_INFO, "portolan: %d rules from %s, %zu ranks on %zu nodes", tuner->rules.count, name,
            tuner->ranks, tuner->nodes);
    else
        LOG(NCCL_LOG_WARN, "portolan: off, as %s:%d: %s", name, fault.line,
            pto_escape_text(fault.message, message, sizeof message));
    return right;
}

/* Create the context; without rules it is NULL. No error is returned: it would fail the program's call. */
static int begin(size_t ranks, size_t nodes, nccl_logger_t *log, void **context) {
    tuner_t *tuner = calloc(1, sizeof *tuner);
    *context = NULL;
    if (!tuner)
        return NCCL_SUCCESS;
    tuner->ranks = ranks;
    tuner->nodes = nodes;
    if (read_rules(tuner, log))
        *context = tuner;
    else
        free(tuner);
    return NCCL_SUCCESS;
}

static int begin_v5(void **context, uint64_t communicator, size_t ranks, size_t nodes, nccl_logger_t *log,
                    void *nvlink_domain, void *constants) {
    (void)communicator, (void)nvlink_domain, (void)constants;
    return begin(ranks, nodes, log, context);
}

static int get_coll_info(void *context, int function, size_t bytes, int pipe_operations, float **costs,
                         int algorithms, int protocols, int registered, int *channels) {
    const tuner_t *tuner = context;
    float *cost = (float *)costs; /* a flat table, unlike its declaration (nccl_tuner.h) */
    if (!tuner)
        return NCCL_SUCCESS;
    tuner_call_t call = {.function = function,
                         .bytes = bytes,
                         .ranks = (int64_t)tuner->ranks,
                         .nodes = (int64_t)tuner->nodes,
                         .pipe_operations = pipe_operations,
                         .registered = registered};
    const tuner_rule_t *rule = tuner_rules_find(&tuner->rules, &call, cost, algorithms, protocols);
    if (!rule)
        return NCCL_SUCCESS;
    cost[rule->algorithm * protocols + rule->protocol] = 0;
    if (rule->channels > 0)
        *channels = rule->channels;
    return NCCL_SUCCESS;
}

static int end(void *context) {
    tuner_t *tuner = context;
    if (tuner)
        tuner_rules_fini(&tuner->rules);
    free(tuner);
    return NCCL_SUCCESS;
}

#define EXPORTED extern __attribute__((visibility("default")))
EXPORTED const nccl_tuner_v4_t ncclTunerPlugin_v4;
EXPORTED const nccl_tuner_v5_t ncclTunerPlugin_v5;
EXPORTED const nccl_tuner_v6_t ncclTunerPlugin_v6;

const nccl_tuner_v4_t ncclTunerPlugin_v4 = {"portolan", begin, get_coll_info, end};
const nccl_tuner_v5_t ncclTunerPlugin_v5 = {"portolan", begin_v5, get_coll_info, end};
const nccl_tuner_v6_t ncclTunerPlugin_v6 = {"portolan", begin_v5, get_coll_info, end, NULL};
