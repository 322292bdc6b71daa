/* A fit to samples from start to end (pto_fit_samples): fits each part of the machine that the samples cover,
 * in turn. docs/fitting.md describes each fit; parts.h lists them. */
#include "portolan/fit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "parts.h"
#include "select.h"

/* Returns the number before a word, as in "2 sockets, 6 GPUs"; -1 if there is none. */
static int64_t count_before(const char *text, const char *word) {
    for (const char *at = text; *at != '\0'; at++) {
        size_t matched = 0;
        while (word[matched] != '\0' && tolower((unsigned char)at[matched]) == word[matched])
            matched++;
        if (word[matched] != '\0')
            continue;
        const char *digit = at;
        while (digit > text && digit[-1] == ' ')
            digit--;
        const char *past = digit;
        while (digit > text && digit[-1] >= '0' && digit[-1] <= '9')
            digit--;
        if (digit < past && past - digit < 9)
            return strtoll(digit, NULL, 10);
    }
    return -1;
}

static void set_node(fit_work_t *work) {
    const char *said = pto_samples_provenance(work->samples, "node");
    const char *text = said != NULL ? said : "";
    pto_machine_t *machine = work->fit->machine;
    const pto_fit_options_t *options = work->options;
    machine->node.sockets = options->node.sockets > 0 ? options->node.sockets : count_before(text, "socket");
    machine->node.gpus =
        options->node.gpus > 0 || options->node.no_gpus ? options->node.gpus : count_before(text, "gpu");
    machine->node.cores = options->node.cores > 0 ? options->node.cores : count_before(text, "core");
    const char *missing = NULL;
    if (machine->node.sockets < 1)
        missing = "sockets";
    else if (machine->node.gpus < 0)
        missing = "gpus";
    else if (machine->node.cores < 1)
        missing = "cores";
    if (missing != NULL)
        fit_fail(work, pto_error_set(
                           work->err, PTO_ERR_NOT_FOUND,
                           "the samples' node= line does not say how many %s a node has; give --node %s=N%s",
                           missing, missing, machine->node.gpus < 0 ? " (gpus=0 if it has none)" : ""));
}

static void fit_all_messages(fit_work_t *work) {
    for (pto_space_t space = 0; space < PTO_SPACE_COUNT; space++) {
        for (int level = 0; level < PTO_LEVEL_COUNT; level++)
            fit_messages(work, space, (pto_level_t)level);
        for (int level = 0; level < PTO_LEVEL_COUNT; level++)
            fit_mixed_messages(work, space, (pto_level_t)level);
        fit_injection(work, space);
        fit_message_rate(work, space);
        fit_gaps(work, space);
        fit_latency(work, space);
        fit_both_ways(work, space);
    }
}

static void fit_all_reductions(fit_work_t *work) {
    for (pto_space_t space = 0; space < PTO_SPACE_COUNT; space++) {
        fit_reduce(work, space);
        fit_extra_input(work, space);
    }
}

static void note_unknown(fit_work_t *work) {
    size_t count = 0;
    for (size_t i = 0; i < work->samples->count; i++)
        count += work->samples->sample[i].benchmark == PTO_BENCHMARK_OTHER;
    if (count > 0)
        fit_note(work, "other benchmarks", count, "nothing is fitted from them");
}

/* The order matters: some parts use what earlier ones have fitted. */
static void fit_all(fit_work_t *work) {
    static void (*const parts[])(fit_work_t *) = {
        set_node,           fit_skip_slow_jobs, fit_all_messages, fit_copies,         fit_shared_copies,
        fit_all_reductions, fit_remote,         fit_times,        fit_host_memory,    fit_staged_messages,
        fit_setup,          fit_runs,           fit_nccl,         fit_nccl_structure, note_unknown};
    for (size_t i = 0; work->status == PTO_OK && i < sizeof parts / sizeof *parts; i++) {
        parts[i](work);
        fit_free_all(work);
    }
}

/* Without message costs nothing can be predicted, and a machine file is not valid. */
static bool fitted_messages(const pto_fit_t *fit) {
    bool any = false;
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        for (int level = 0; level < PTO_LEVEL_COUNT; level++)
            any = any || fit->machine->messages[space][level].count > 0;
    return any;
}

/* Returns the entry that says why a message's cost was left out; NULL if there are no samples of messages. */
static const pto_fit_entry_t *absent_message(const pto_fit_t *fit) {
    for (int i = 0; i < fit->entry_count; i++)
        if (fit->entry[i].kind == PTO_FIT_ABSENT && (strncmp(fit->entry[i].name, "messages.", 9) == 0 ||
                                                     strncmp(fit->entry[i].name, "ping_pong.", 10) == 0))
            return &fit->entry[i];
    return NULL;
}

static pto_status_t without_messages(const pto_fit_t *fit, pto_error_t *err) {
    const pto_fit_entry_t *absent = absent_message(fit);
    if (absent != NULL)
        return pto_error_set(err, PTO_ERR_NOT_FOUND,
                             "%s: %s, and without the cost of a message nothing can be predicted "
                             "(--breaks sets other protocol limits)",
                             absent->name, absent->note);
    return pto_error_set(err, PTO_ERR_NOT_FOUND,
                         "messages: no samples of ping_pong to fit the cost of a message from, without which "
                         "nothing can be predicted");
}

/* Returns the name of the GPUs in the samples; NULL: there are none, or host memory stands for them. */
static const char *gpu_of(const pto_samples_t *samples) {
    const char *gpu = pto_samples_provenance(samples, "gpu");
    bool is_gpu = gpu && strcmp(gpu, "none") != 0 && strncmp(gpu, "host memory", strlen("host memory")) != 0;
    return is_gpu ? gpu : NULL;
}

static bool name_machine(pto_machine_t *machine, const pto_samples_t *samples, const char *name,
                         const char *source, const char *inherits) {
    machine->basis = PTO_BASIS_MEASURED;
    return pto_text_copy_any(name, &machine->name) && pto_text_copy_any(gpu_of(samples), &machine->gpu) &&
           pto_text_copy_any(source, &machine->source) && pto_text_copy_any(inherits, &machine->inherits);
}

pto_status_t pto_fit_samples(const pto_samples_t *samples, const char *name, const char *source,
                             const pto_fit_options_t *options, pto_fit_t *fit, pto_error_t *err) {
    pto_fit_t made = {.machine = calloc(1, sizeof *made.machine)};
    fit_work_t work;
    pto_status_t status = fit_work_init(samples, options, &made, &work, err);
    if (!made.machine || !name_machine(made.machine, samples, name, source, options->inherits))
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a fit");
    if (status == PTO_OK) {
        fit_all(&work);
        status = work.status;
    }
    if (status == PTO_OK && !options->inherits && !fitted_messages(&made))
        status = without_messages(&made, err);
    fit_work_fini(&work);
    if (status != PTO_OK) {
        pto_fit_fini(&made);
        return status;
    }
    *fit = made;
    return PTO_OK;
}

void pto_fit_fini(pto_fit_t *fit) {
    pto_machine_destroy(fit->machine);
    free(fit->entry);
    *fit = (pto_fit_t){0};
}
