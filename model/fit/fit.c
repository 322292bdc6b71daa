/* A whole fit: finds out which parameters the samples determine, fits them one after another, and makes the
 * machine. docs/fitting.md describes each fit. */
#include "portolan/fit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "parts.h"
#include "select.h"

/* The number before a word, as in "2 sockets, 6 GPUs"; 0 if there is none. */
static int64_t count_before(const char *text, const char *word) {
    for (const char *at = text; *at != '\0'; at++) {
        size_t matched = 0;
        while (word[matched] != '\0' && tolower((unsigned char)at[matched]) == word[matched]) {
            matched++;
        }
        if (word[matched] != '\0') {
            continue;
        }
        const char *digit = at;
        while (digit > text && digit[-1] == ' ') {
            digit--;
        }
        const char *past = digit;
        while (digit > text && digit[-1] >= '0' && digit[-1] <= '9') {
            digit--;
        }
        if (digit < past && past - digit < 9) {
            return strtoll(digit, NULL, 10);
        }
    }
    return 0;
}

static pto_status_t set_node(fit_work_t *work) {
    const char *said = pto_samples_provenance(work->samples, "node");
    const char *text = said != NULL ? said : "";
    pto_machine_t *machine = work->fit->machine;
    const pto_fit_options_t *options = work->options;
    machine->node.sockets = options->node.sockets > 0 ? options->node.sockets : count_before(text, "socket");
    machine->node.gpus = options->node.gpus > 0 ? options->node.gpus : count_before(text, "gpu");
    machine->node.cores = options->node.cores > 0 ? options->node.cores : count_before(text, "core");
    const char *missing = machine->node.sockets < 1 ? "sockets"
                          : machine->node.gpus < 1  ? "gpus"
                          : machine->node.cores < 1 ? "cores"
                                                    : NULL;
    if (missing != NULL) {
        return pto_error_set(
            work->err, PTO_ERR_NOT_FOUND,
            "the samples' node= line does not give a node 1 or more %s; give --node %s", missing,
            strcmp(missing, "gpus") == 0    ? "gpus=N (for a machine without GPUs pass --node gpus=1)"
            : strcmp(missing, "cores") == 0 ? "cores=N"
                                            : "sockets=N");
    }
    return PTO_OK;
}

static pto_status_t fit_space(fit_work_t *work, pto_space_t space) {
    pto_status_t status = PTO_OK;
    for (int level = 0; status == PTO_OK && level < PTO_LEVEL_COUNT; level++) {
        status = fit_messages(work, space, (pto_level_t)level);
    }
    if (status == PTO_OK) {
        status = fit_injection(work, space);
    }
    if (status == PTO_OK) {
        status = fit_message_rate(work, space);
    }
    if (status == PTO_OK) {
        status = fit_gap(work, space);
    }
    return status;
}

static pto_status_t note_unknown(fit_work_t *work) {
    int64_t count = 0;
    for (size_t i = 0; i < work->samples->count; i++) {
        count += work->samples->sample[i].benchmark == PTO_BENCHMARK_OTHER;
    }
    if (count == 0) {
        return PTO_OK;
    }
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_ABSENT, "other benchmarks");
    if (entry == NULL) {
        return PTO_ERR_MEMORY;
    }
    entry->sample_count = count;
    snprintf(entry->note, sizeof entry->note, "nothing is fitted from them");
    return PTO_OK;
}

static pto_status_t fit_all(fit_work_t *work) {
    pto_status_t status = set_node(work);
    if (status == PTO_OK && !work->options->minima) {
        status = fit_skip_slow_jobs(work);
    }
    for (int space = 0; status == PTO_OK && space < PTO_SPACE_COUNT; space++) {
        status = fit_space(work, (pto_space_t)space);
    }
    if (status == PTO_OK) {
        status = fit_copies(work);
    }
    if (status == PTO_OK) {
        status = fit_shared_copies(work);
    }
    for (int space = 0; status == PTO_OK && space < PTO_SPACE_COUNT; space++) {
        status = fit_reduce(work, (pto_space_t)space);
        if (status == PTO_OK) {
            status = fit_extra_input(work, (pto_space_t)space);
        }
    }
    if (status == PTO_OK) {
        status = fit_remote(work);
    }
    if (status == PTO_OK) {
        status = fit_times(work);
    }
    if (status == PTO_OK) {
        status = fit_setup(work);
    }
    if (status == PTO_OK) {
        status = fit_nccl(work);
    }
    return status == PTO_OK ? note_unknown(work) : status;
}

/* Without message costs nothing can be predicted, and a machine file is not valid. */
static bool fitted_messages(const pto_fit_t *fit) {
    bool any = false;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
            any = any || fit->machine->messages[space][level].count > 0;
        }
    }
    return any;
}

static bool name_machine(pto_machine_t *machine, const char *name, const char *source) {
    machine->name = pto_text_copy(name);
    machine->source = source != NULL ? pto_text_copy(source) : NULL;
    return machine->name != NULL && (source == NULL || machine->source != NULL);
}

pto_status_t pto_fit_samples(const pto_samples_t *samples, const char *name, const char *source,
                             const pto_fit_options_t *options, pto_fit_t *fit, pto_error_t *err) {
    pto_fit_t made = {0};
    fit_work_t work = {.samples = samples, .options = options, .fit = &made, .err = err};
    work.skip = calloc(samples->count + 1, 1);
    made.machine = calloc(1, sizeof *made.machine);
    pto_status_t status = PTO_ERR_MEMORY;
    if (work.skip != NULL && made.machine != NULL && name_machine(made.machine, name, source)) {
        status = fit_all(&work);
    } else {
        pto_error_set(err, status, "out of memory for a fit");
    }
    if (status == PTO_OK && !fitted_messages(&made)) {
        status = pto_error_set(
            err, PTO_ERR_NOT_FOUND,
            "messages: no samples of ping_pong to fit the cost of a message from, without which nothing "
            "can be predicted (--partial does not change that)");
    }
    free(work.skip);
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
