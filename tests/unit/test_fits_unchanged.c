/* Fits stay as they are: everything that is fitted to random sets of samples and of collectives, compared
 * with tests/fixtures/fits.txt. Numbers may differ in the last bits, which depend on compiler and libraries.
 *
 * A change that intends to change fits rewrites the file and says so in its commit:
 *     build/tests/test_fits_unchanged --print > tests/fixtures/fits.txt */
#include <inttypes.h>

#include "base/hash.h"
#include "made_collectives.h"
#include "portolan/machine.h"
#include "random_samples.h"
#include "test.h"

static const char fixture_path[] = "tests/fixtures/fits.txt";

/* --- fits of samples ------------------------------------------------------------------------------------ */

static void print_param(FILE *out, const char *name, const pto_param_t *param) {
    if (!pto_param_known(param))
        return;
    fprintf(out, " %s %.10g", name, param->value);
    if (param->has_interval)
        fprintf(out, " %.10g %.10g", param->low, param->high);
}

/* What is as small is rounding. */
static double residual_of(double value) { return value < 1e-12 ? 0 : value; }

static void print_entry(FILE *out, const pto_fit_entry_t *entry) {
    fprintf(out, "%s : %d", entry->name, entry->kind);
    print_param(out, "a", &entry->alpha_s);
    print_param(out, "b", &entry->beta_s_per_byte);
    if (entry->from_bytes > 0)
        fprintf(out, " from %" PRId64, entry->from_bytes);
    if (entry->below_bytes != INT64_MAX)
        fprintf(out, " below %" PRId64, entry->below_bytes);
    if (entry->sample_count > 0)
        fprintf(out, " n %" PRId64 " r %.10g", entry->sample_count, residual_of(entry->residual));
    fprintf(out, "%s%s\n", entry->note[0] != '\0' ? " " : "", entry->note);
}

/* With a mark that it is no number. */
static void print_digest(FILE *out, const char *text) {
    fprintf(out, "#%016" PRIx64 "\n", pto_hash_bytes(PTO_HASH_START, text, strlen(text)));
}

/* What follows the messages, which samples' entries show and collectives do not change; or a digest. */
static void print_machine(FILE *out, const pto_machine_t *machine, bool whole) {
    char *text = NULL;
    assert_int_equal(pto_machine_format(machine, NULL, &text, NULL), PTO_OK);
    const char *later = strstr(text, "\ninjection:");
    if (whole && later != NULL)
        fputs(later, out);
    else
        print_digest(out, text);
    free(text);
}

static pto_fit_options_t draw_options(uint64_t seed) {
    static const char *const breaks[] = {"cpu.off_node=256,16384", "gpu=none", "4096", "cpu.off_node=512"};
    drawn_t drawn = {.state = ~seed};
    pto_fit_options_t options = {.minima = draw_chance(&drawn, 0.25)};
    draw_chance(&drawn, 0.9); /* of no use, but the recorded options below were drawn after it */
    options.inherits = draw_chance(&drawn, 0.9) ? "other.yaml" : NULL;
    if (draw_chance(&drawn, 0.2))
        assert_int_equal(pto_fit_breaks_parse(breaks[draw_index(&drawn, 4)], &options, NULL), PTO_OK);
    if (draw_chance(&drawn, 0.2))
        options.node.cores = 64;
    if (draw_chance(&drawn, 0.1))
        options.node.no_gpus = true;
    return options;
}

/* Of the first sample's kind: how many sizes there are, and the first of them. */
static void print_medians(FILE *out, const pto_samples_t *samples) {
    enum { SHOWN_SIZES = 2 };
    int64_t bytes[SHOWN_SIZES];
    double seconds[SHOWN_SIZES];
    if (samples->count == 0)
        return;
    const pto_sample_t *like = &samples->sample[0];
    size_t sizes = pto_fit_medians(samples, (pto_benchmark_t)like->benchmark, (pto_sample_space_t)like->where,
                                   (pto_sample_level_t)like->place, like->procs, SHOWN_SIZES, bytes, seconds);
    fprintf(out, "medians %zu", sizes);
    for (size_t i = 0; i < sizes && i < SHOWN_SIZES; i++)
        fprintf(out, " %" PRId64 " %.10g", bytes[i], seconds[i]);
    fprintf(out, "\n");
}

static void fit_drawn(FILE *out, uint64_t seed, int group, double others) {
    pto_samples_t samples = draw_samples(seed, group, others);
    pto_fit_options_t options = draw_options(seed);
    pto_fit_t fit;
    pto_error_t err = {0};
    fprintf(out, "= %" PRIu64 " %zu samples minima %d inherits %d\n", seed, samples.count, options.minima,
            options.inherits != NULL);
    print_medians(out, &samples);
    pto_status_t status = pto_fit_samples(&samples, "made-up", "a test", &options, &fit, &err);
    if (status == PTO_OK) {
        for (int i = 0; i < fit.entry_count; i++)
            print_entry(out, &fit.entry[i]);
        print_machine(out, fit.machine, false);
        pto_fit_fini(&fit);
    } else {
        fprintf(out, "%s %s\n", pto_status_text(status), err.message);
    }
    pto_samples_fini(&samples);
}

enum { SETS_OF_GROUP = 14, MIXED_SETS = 6 };

static void fit_samples(FILE *out) {
    for (int group = 0; group < DRAW_GROUPS; group++)
        for (int i = 0; i < SETS_OF_GROUP; i++)
            fit_drawn(out, (uint64_t)(100 * group + i + 1), group, 0);
    for (int i = 0; i < MIXED_SETS; i++)
        fit_drawn(out, (uint64_t)(10000 + i), 0, 0.5);
}

/* --- fits of collectives -------------------------------------------------------------------------------- */

static bool is_of_library(const pto_algorithm_t *algorithm, pto_collective_t collective) {
    return !algorithm->direct && !algorithm->nccl && !algorithm->only_named &&
           (algorithm->collectives & 1u << collective) != 0;
}

static const char *draw_algorithm(drawn_t *drawn, pto_collective_t collective) {
    int at;
    do
        at = draw_index(drawn, pto_algorithm_count());
    while (!is_of_library(pto_algorithm_at(at), collective));
    return pto_algorithm_at(at)->name;
}

/* Rows of one to three algorithms. */
static void draw_table(drawn_t *drawn, pto_collective_t collective, FILE *cpu, FILE *gpu) {
    bool staged = draw_chance(drawn, 0.6);
    int64_t below = INT64_C(256) << 2 * draw_index(drawn, 3);
    for (int more = draw_index(drawn, 3); more > 0; more--) {
        const char *name = draw_algorithm(drawn, collective);
        fprintf(cpu, "{below_bytes: %" PRId64 ", algorithm: %s}, ", below, name);
        if (staged)
            fprintf(gpu, "{below_bytes: %" PRId64 ", algorithm: %s, staged: true}, ", below, name);
        below <<= 4;
    }
    const char *last = draw_algorithm(drawn, collective);
    fprintf(cpu, "{algorithm: %s}", last);
    fprintf(gpu, "{algorithm: %s%s}", staged ? last : draw_algorithm(drawn, collective),
            staged ? ", staged: true" : "");
}

/* What the fit is to find: numbers, and a table for each collective. */
static void draw_truth(drawn_t *drawn, const pto_collective_t *collective, int count, char *text,
                       size_t text_size) {
    FILE *out = fmemopen(text, text_size, "w");
    assert_non_null(out);
    fprintf(out, "  h2h: {on_socket: {alpha_s: 0, beta_s_per_byte: %.3g}}\n", draw_cost(drawn, 3e-10));
    double alpha_s = draw_cost(drawn, 3e-5);
    fprintf(out, "  pageable:\n");
    for (int kind = 0; kind < 2; kind++)
        fprintf(out, "    %s: {alpha_s: %.3g, beta_s_per_byte: 2e-11}\n", kind == 0 ? "h2d" : "d2h", alpha_s);
    fprintf(out, "reduce: {cpu: [{alpha_s: 0, beta_s_per_byte: %.3g}]}\n", draw_cost(drawn, 5e-10));
    fprintf(out, "network: {contention: %.3g}\nlibrary:\n", draw_cost(drawn, 0.7));
    for (int c = 0; c < count; c++) {
        char table[2][1024];
        FILE *cpu = fmemopen(table[0], sizeof table[0], "w"), *gpu = fmemopen(table[1], sizeof table[1], "w");
        assert_true(cpu != NULL && gpu != NULL);
        draw_table(drawn, collective[c], cpu, gpu);
        fclose(cpu);
        fclose(gpu);
        fprintf(out, "  %s:\n    cpu: [%s]\n    gpu: [%s]\n", pto_collective_name(collective[c]), table[0],
                table[1]);
    }
    fclose(out);
}

/* Some of a machine's times, with noise and in any order, some of them by hand. */
static void disturb(drawn_t *drawn, pto_collectives_t *collectives) {
    static const double noise[] = {0.001, 0.02, 0.1, 0.4};
    double own = noise[draw_index(drawn, 4)], kept_share = draw_chance(drawn, 0.5) ? 1 : 0.7;
    bool by_hand = draw_chance(drawn, 0.3);
    size_t kept = 0;
    for (size_t i = 0; i < collectives->count; i++) {
        pto_collective_row_t row = collectives->row[i];
        row.seconds *= 1 + own * shake(&drawn->state);
        if (by_hand && draw_chance(drawn, 0.3))
            row.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
        if (draw_chance(drawn, kept_share))
            collectives->row[kept++] = row;
    }
    collectives->count = kept;
    for (size_t i = kept; i > 1; i--) {
        size_t other = (size_t)draw_index(drawn, (int)i);
        pto_collective_row_t row = collectives->row[i - 1];
        collectives->row[i - 1] = collectives->row[other];
        collectives->row[other] = row;
    }
}

static const char measured[] = "  h2h: {on_socket: {alpha_s: 0, beta_s_per_byte: 4e-10, samples: 9}}\n"
                               "reduce: {cpu: [{alpha_s: 0, beta_s_per_byte: 6e-10, samples: 9}]}\n"
                               "network: {contention: 0.8, contention_95: [0.8, 0.8]}\n";

/* A fit, its error, and what a machine without terms takes of both. */
static void print_fit(FILE *out, const pto_fit_collectives_t *fit, const pto_collectives_t *collectives,
                      const pto_node_counts_t *nodes, bool refit) {
    pto_machine_t *other = parse("", "");
    pto_status_t status = pto_fit_model_error(fit->machine, collectives, nodes, refit, NULL, NULL);
    fprintf(out, "badness %.10g, %s\n", fit->badness, pto_status_text(status));
    for (int i = 0; i < fit->parameter_count; i++)
        fprintf(out, "%s %.10g %.10g\n", fit->parameter[i].name, fit->parameter[i].value,
                isnan(fit->parameter[i].gain) ? -1 : fit->parameter[i].gain);
    print_machine(out, fit->machine, true);
    assert_int_equal(pto_fit_borrow_terms(other, fit->machine, NULL), PTO_OK);
    assert_int_equal(pto_fit_borrow_error(other, fit->machine, NULL), PTO_OK);
    print_machine(out, other, false);
}

static void fit_made(FILE *out, uint64_t seed) {
    static const pto_collective_t all[] = {PTO_COLLECTIVE_ALLTOALL, PTO_COLLECTIVE_ALLTOALLV,
                                           PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_ALLGATHER,
                                           PTO_COLLECTIVE_BROADCAST};
    static const int nodes[] = {2, 4, 8};
    drawn_t drawn = {.state = seed};
    pto_collective_t collective[2] = {all[seed % 5], all[(seed + 1 + seed / 5 % 4) % 5]};
    int count = draw_chance(&drawn, 0.5) ? 1 : 2, first = draw_chance(&drawn, 0.5) ? 0 : 1;
    char text[3072];
    draw_truth(&drawn, collective, count, text, sizeof text);
    pto_machine_t *truth = parse("", text);
    const char *rate =
        draw_chance(&drawn, 0.2) ? ", s_per_message: 1e-9, s_per_message_95: [1e-9, 1e-9]" : "";
    pto_machine_t *machine = parse(rate, draw_chance(&drawn, 0.2) ? measured : "");
    pto_collectives_t collectives =
        rows_on(truth, draw_chance(&drawn, 0.5) ? 4 : 2, nodes + first, 3 - first, collective, count, NULL);
    pto_node_counts_t train = {.count = 1, .value = {8}, .except = true};
    bool some = draw_chance(&drawn, 0.4), refit = draw_chance(&drawn, 0.5);
    disturb(&drawn, &collectives);
    pto_fit_collectives_t fit;
    pto_error_t err;
    fprintf(out, "= collectives %" PRIu64 " %zu rows\n", seed, collectives.count);
    pto_status_t status = pto_fit_collectives(machine, &collectives, some ? &train : NULL, NULL, &fit, &err);
    if (status == PTO_OK) {
        print_fit(out, &fit, &collectives, some ? &train : NULL, refit);
        pto_machine_destroy(fit.machine);
    } else {
        fprintf(out, "%s %s\n", pto_status_text(status), err.message);
    }
}

enum { COLLECTIVE_SETS = 24 };

static void fit_collectives(FILE *out) {
    for (uint64_t seed = 1; seed <= COLLECTIVE_SETS; seed++)
        fit_made(out, seed);
}

/* --- both, against the file ----------------------------------------------------------------------------- */

static void write_fits(FILE *out) {
    fit_samples(out);
    fit_collectives(out);
}

static bool ends_number(char c) { return c == '\0' || strchr(" \n,]}", c) != NULL; }

/* Equal texts with equal numbers, up to rounding. */
static bool are_same(const char *a, const char *b) {
    bool begins = true;
    while (*a != '\0' && *b != '\0') {
        char *past_a, *past_b;
        double x = begins ? strtod(a, &past_a) : 0, y = begins ? strtod(b, &past_b) : 0;
        if (begins && past_a > a && past_b > b && ends_number(*past_a) && ends_number(*past_b)) {
            if (x != y && !(fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y))))
                return false;
            a = past_a;
            b = past_b;
        } else if (*a != *b) {
            return false;
        } else {
            begins = strchr(" [", *a) != NULL;
            a++;
            b++;
        }
    }
    return *a == *b;
}

enum { LINE_MAX_CHARS = 1024, SHOWN_MAX = 20 };

static bool next_line(FILE *stream, char line[LINE_MAX_CHARS]) {
    line[0] = '\0';
    return fgets(line, LINE_MAX_CHARS, stream) != NULL;
}

TEST(fits_are_what_they_were) {
    FILE *now = tmpfile(), *before = fopen(fixture_path, "r");
    char expected[LINE_MAX_CHARS], got[LINE_MAX_CHARS], set[LINE_MAX_CHARS] = "";
    int changed = 0;
    assert_non_null(now);
    assert_non_null(before);
    write_fits(now);
    rewind(now);
    bool more = true;
    while (more && changed < SHOWN_MAX) {
        bool any_expected = next_line(before, expected), any_got = next_line(now, got);
        more = any_expected || any_got;
        if (expected[0] == '=')
            memcpy(set, expected, sizeof set);
        if (!are_same(expected, got)) {
            print_error("%sbefore: %snow:    %s", set, expected, got);
            changed++;
        }
    }
    fclose(before);
    fclose(now);
    assert_int_equal(changed, 0);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--print") == 0) {
        write_fits(stdout);
        return 0;
    }
    return run_all_tests(NULL, NULL);
}
