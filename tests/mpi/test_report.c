/* What portolan-validate's table and file say of cells that are made up, under random options: as many fields
 * as there are columns, each with the value that its column names; energies of the counters that can be read;
 * the numbers of staged members that runs chose; and who was picked and won. */
#include "../../validate/pattern.h"
#include "../../validate/validate.h"
#include "../chance.h"
#include "../unit/plan_request.h"
#include "test.h"

enum { SEEDS = 400, FIELDS_MAX = 32, SAMPLES = 3 };

static bool chance(void) { return draw(2) == 1; }

/* --- what is made up ------------------------------------------------------------------------------------ */

static pto_options_t options;
static settings_t settings;
static pto_request_t request;
static double samples[SAMPLES];
static char *argv[] = {"portolan-validate", "--made", "up"};

static void make_settings(uint64_t seed) {
    static const meter_source_t sources[ENERGY_COUNT] = {{.name = "first", .what = "GPUs"},
                                                         {.name = "second", .what = "CPUs"}};
    chance_state = seed * 977;
    options.scenario = (pto_scenario_t){.collective = PTO_COLLECTIVE_ALLREDUCE,
                                        .layout = {.nodes = 2, .gpus_per_node = 3, .procs_per_gpu = 4},
                                        .staged_members = {PTO_STAGED_TUNED, PTO_STAGED_TUNED}};
    options.scenario.layout.owners_per_gpu = 1 + draw(2);
    if (chance()) {
        options.scenario.collective = PTO_COLLECTIVE_PAIR;
        options.scenario.distance = chance() ? PTO_LEVEL_ON_NODE : PTO_LEVEL_OFF_NODE;
        options.scenario.ends =
            (pto_pair_ends_t){.from_host = chance(), .to_host = chance(), .both_ways = chance()};
    }
    if (chance())
        options.scenario.staged_members = (pto_staged_t){PTO_STAGED_ALL, PTO_STAGED_ALL};
    settings = (settings_t){.chunked = chance(), .exec = {.own_algorithms = chance()}};
    assert_int_equal(pto_device_find("host", &settings.device, NULL), PTO_OK);
    settings.exec.wait = chance() ? PTO_WAIT_SLEEP : PTO_WAIT_YIELD;
    settings.options.repeats = SAMPLES;
    settings.options.energy = chance();
    settings.options.each_algorithm = chance();
    settings.options.queued = 2 * draw(2);
    settings.options.enqueue = chance();
    settings.options.graph = 5 * draw(2);
    settings.job.window_s = settings.options.energy ? 0.25 : 0;
    for (int i = 0; i < ENERGY_COUNT && settings.options.energy; i++)
        settings.job.source[i] = (energy_source_t){
            .source = &sources[i], .counter_count = draw(3), .step_s = 0.002, .reason = "made up"};
    settings.options.shared.bandwidth = (pto_bandwidth_t)draw(PTO_BANDWIDTH_COUNT);
    request = request_for(PTO_COLLECTIVE_ALLREDUCE, "three_step", "recursive_doubling", 2, 3, 4, 1024);
    request.layout = options.scenario.layout;
    request.collective = options.scenario.collective;
}

static cell_t make_cell(const char *strategy) {
    cell_t cell = {.algorithm = request.algorithm,
                   .chunks = 7 * draw(2),
                   .staged_members = {2, 1},
                   .predicted_s = 1e-6 * (1 + draw(50)),
                   .setup_s = 0.125,
                   .has_predicted_setup = chance(),
                   .predicted_setup_s = 0.25,
                   .enqueue_s = 3e-6,
                   .sample_s = samples,
                   .sample_count = SAMPLES,
                   .least_s = 1e-6,
                   .median_s = 1e-6 * (1 + draw(50)),
                   .low_s = 2e-6,
                   .high_s = 4e-6,
                   .joules = {0.5, 0.0625},
                   .energy_run_s = 0.5,
                   .has_predicted_joules = chance(),
                   .predicted_joules = 0.75};
    assert_int_equal(pto_strategy_find(strategy, &cell.strategy, NULL), PTO_OK);
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = 1e-3 * (i + 1);
    return cell;
}

static double joules_of(const cell_t *cell) {
    double sum = 0;
    for (int i = 0; i < ENERGY_COUNT; i++)
        sum += settings.job.source[i].counter_count > 0 ? cell->joules[i] : 0;
    return sum;
}

static bool is_enqueued(void) { return settings.options.enqueue || settings.options.graph > 0; }

/* --- what is written ------------------------------------------------------------------------------------ */

static char *text;
static size_t length;

static FILE *begin(void) {
    free(text);
    text = NULL;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    return file;
}

static void write_file(const cell_t *cell) {
    FILE *file = begin();
    csv_header(file, &options, &settings, 3, argv);
    csv_cell(file, &options, &settings, &request, cell);
    assert_int_equal(fclose(file), 0);
}

static void write_table(const cell_t *cells, int count) {
    FILE *file = begin();
    report_header(file, &options, &settings);
    report_point(file, &settings, &request, cells, count);
    assert_int_equal(fclose(file), 0);
}

/* Whether there is a line that begins so; what follows on it. */
static bool line_of(const char *begins, char *rest, size_t size) {
    for (char *at = text; at != NULL && *at != '\0';
         at = strchr(at, '\n') != NULL ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, begins, strlen(begins)) == 0) {
            at += strlen(begins);
            snprintf(rest, size, "%.*s", (int)strcspn(at, "\n"), at);
            return true;
        }
    rest[0] = '\0';
    return false;
}

static void must_say(bool wanted, const char *line) {
    char rest[256];
    bool found = line_of(line, rest, sizeof rest);
    if (found != wanted || rest[0] != '\0')
        fail_msg("'%s' is %s:\n%s", line, wanted ? "missing" : "there", text);
}

/* Splits at commas, empty fields included. */
static int split(char *line, char *field[FIELDS_MAX]) {
    int count = 0;
    for (char *at = line; at != NULL; at = strchr(at, ',')) {
        if (count > 0)
            *at++ = '\0';
        assert_true(count < FIELDS_MAX);
        field[count++] = at;
    }
    return count;
}

static char line[512], heading[512];
static char *field[FIELDS_MAX], *column[FIELDS_MAX];
static int columns;

/* NULL: there is no such column. */
static const char *value_of(const char *name) {
    for (int i = 0; i < columns; i++)
        if (strcmp(column[i], name) == 0)
            return field[i];
    return NULL;
}

/* Text NULL: there is no such column. */
static void must_be(const char *name, const char *wanted) {
    const char *found = value_of(name);
    if ((found == NULL) != (wanted == NULL) || (found != NULL && strcmp(found, wanted) != 0))
        fail_msg("%s is %s, not %s", name, found ? found : "(no column)", wanted ? wanted : "(no column)");
}

static const char *number(double value) {
    static char number_text[32];
    snprintf(number_text, sizeof number_text, "%g", value);
    return number_text;
}

/* --- the file ------------------------------------------------------------------------------------------- */

static void check_row(const cell_t *cell, int run) {
    bool pair = options.scenario.collective == PTO_COLLECTIVE_PAIR;
    bool names = settings.exec.own_algorithms || settings.options.each_algorithm;
    bool stages = options.scenario.staged_members.in != PTO_STAGED_TUNED;
    bool has_algorithm = cell->strategy->by_hand || (settings.exec.own_algorithms && !pair);
    must_be("collective", pair ? "pair" : "allreduce");
    must_be("implementation", pair ? "isend_irecv" : "library");
    must_be("strategy", cell_name(cell));
    must_be("nodes", "2");
    must_be("gpus_per_node", "3");
    must_be("procs_per_gpu", cell->strategy->splits ? "4" : number((double)request.layout.owners_per_gpu));
    must_be("owners_per_gpu", request.layout.owners_per_gpu != 1 ? "2" : NULL);
    must_be("bytes", "1024");
    must_be("run", number(run));
    must_be("seconds", number(samples[run - 1]));
    must_be("algorithm", !names ? NULL : has_algorithm ? "recursive_doubling" : "");
    must_be("joules", !settings.options.energy ? NULL : joules_of(cell) > 0 ? number(joules_of(cell)) : "");
    must_be("distance", pair ? pto_level_name(options.scenario.distance) : NULL);
    must_be("from_space", !pair ? NULL : options.scenario.ends.from_host ? "cpu" : "gpu");
    must_be("to_space", !pair ? NULL : options.scenario.ends.to_host ? "cpu" : "gpu");
    must_be("both_ways", !pair ? NULL : options.scenario.ends.both_ways ? "yes" : "no");
    must_be("chunks", !settings.chunked ? NULL : cell->chunks > 0 ? "7" : "");
    bool told = cell->strategy->stages && !cell->strategy->fixed;
    must_be("staged_in", !stages ? NULL : told ? "2" : "");
    must_be("staged_out", !stages ? NULL : told ? "1" : "");
}

TEST(rows_have_what_their_columns_name) {
    static const char *const strategies[] = {"three_step", "mix", "own_algorithm", "dup_devptr", "nccl"};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make_settings(seed);
        cell_t cell = make_cell(strategies[seed % 5]);
        cell.windows = seed % 5 == 4 && chance();
        write_file(&cell);
        assert_true(line_of("collective,", heading, sizeof heading));
        memmove(heading + strlen("collective,"), heading, strlen(heading) + 1);
        memcpy(heading, "collective,", strlen("collective,"));
        columns = split(heading, column);
        const char *at = strstr(text, "\ncollective,") + 1;
        for (int run = 1; run <= SAMPLES; run++) {
            do
                at = strchr(at, '\n') + 1;
            while (*at == '#');
            snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
            assert_int_equal(split(line, field), columns);
            check_row(&cell, run);
        }
        assert_string_equal(strchr(at, '\n'), "\n"); /* no other rows */
        cell.sample_count = 0;
        write_file(&cell);
        assert_null(strstr(text, "# setup_s=")); /* none of a cell that was not timed */
    }
}

TEST(a_file_tells_how_it_was_measured) {
    char wanted[128];
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make_settings(seed);
        cell_t cell = make_cell("three_step");
        write_file(&cell);
        must_say(true, "# machine=h200-x4");
        must_say(true, "# device=host");
        must_say(true, "# processes=1");
        must_say(true, "# op=sum");
        must_say(true, "# command=portolan-validate --made up");
        must_say(settings.exec.wait == PTO_WAIT_SLEEP, "# wait=sleep");
        must_say(settings.options.queued > 0, "# queued=2");
        snprintf(wanted, sizeof wanted, "# graph=%d", settings.options.graph);
        must_say(is_enqueued(), wanted);
        must_say(settings.options.energy, "# energy_window_s=0.25");
        bool gpus = settings.job.source[ENERGY_GPUS].counter_count > 0,
             cpus = settings.job.source[ENERGY_CPUS].counter_count > 0;
        snprintf(wanted, sizeof wanted, "# energy=%s%s%s", gpus ? "first" : "", gpus && cpus ? "+" : "",
                 cpus ? "second" : "");
        must_say(settings.options.energy, wanted);
        must_say(true, "# setup_s=three_step,1024,0.125");
        must_say(is_enqueued(), "# call_s=three_step,1024,3e-06");
    }
}

TEST(a_file_names_its_pattern) {
    make_settings(1);
    cell_t cell = make_cell("three_step");
    for (int pattern = PTO_PATTERN_COLLECTIVE; pattern < PTO_PATTERN_COUNT; pattern++) {
        settings.options.pattern = pattern;
        write_file(&cell);
        must_say(pattern == PTO_PATTERN_GLOBAL_SUM, "# pattern=global_sum");
        must_say(pattern == PTO_PATTERN_STENCIL2D, "# pattern=stencil2d");
    }
}

/* --- the table ------------------------------------------------------------------------------------------ */

/* The words of a cell's line from the median on; each is in its place where the line is as long as the
 * heading. */
static void check_line(const cell_t *cell) {
    char rest[512], wanted[512];
    assert_true(line_of("# Bytes ", heading, sizeof heading));
    assert_true(line_of("1024 ", rest, sizeof rest));
    assert_int_equal(strlen(rest) + strlen("1024 "), strlen(heading) + strlen("# Bytes "));
    size_t used =
        (size_t)snprintf(wanted, sizeof wanted, "1.00 %.2f [ 2.00, 4.00] %.2f %.3f 125000.00 %s",
                         cell->median_s * 1e6, cell->predicted_s * 1e6, cell->predicted_s / cell->median_s,
                         cell->has_predicted_setup ? "250000.00" : "-");
    const pto_bandwidth_t bandwidth = settings.options.shared.bandwidth;
    const double owners = 6 * (double)options.scenario.layout.owners_per_gpu;
    const double of_bus = request.collective == PTO_COLLECTIVE_PAIR ? 1 : 2 * (owners - 1) / owners;
    if (bandwidth == PTO_BANDWIDTH_ALGORITHM || bandwidth == PTO_BANDWIDTH_BOTH)
        used += (size_t)snprintf(wanted + used, sizeof wanted - used, " %.2f", 1024e-9 / cell->median_s);
    if (bandwidth == PTO_BANDWIDTH_BUS || bandwidth == PTO_BANDWIDTH_BOTH)
        used +=
            (size_t)snprintf(wanted + used, sizeof wanted - used, " %.2f", of_bus * 1024e-9 / cell->median_s);
    if (settings.options.energy) {
        for (int i = 0; i < ENERGY_COUNT; i++)
            used +=
                (size_t)(settings.job.source[i].counter_count > 0
                             ? snprintf(wanted + used, sizeof wanted - used, " %.3f", 1e3 * cell->joules[i])
                             : snprintf(wanted + used, sizeof wanted - used, " -"));
        used += (size_t)snprintf(wanted + used, sizeof wanted - used, " %.1f %s", joules_of(cell) / 0.5,
                                 cell->has_predicted_joules ? "750.000" : "-");
    }
    if (is_enqueued())
        snprintf(wanted + used, sizeof wanted - used, " 3.00");
    char *have = strtok(strstr(rest, " 1.00 "), " "), *other, *save = NULL;
    for (other = strtok_r(wanted, " ", &save); other != NULL; other = strtok_r(NULL, " ", &save)) {
        assert_non_null(have);
        assert_string_equal(have, other);
        have = strtok(NULL, " ");
    }
    assert_null(have);
}

TEST(a_line_has_what_its_heading_names) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make_settings(seed);
        cell_t cell = make_cell("three_step");
        write_table(&cell, 1);
        check_line(&cell);
        bool queued = strstr(text, "\n# queued: each measured time is that of 2 runs") != NULL;
        assert_int_equal(queued, settings.options.queued > 0);
        assert_int_equal(strstr(text, "\n# graph: ") != NULL, settings.options.graph > 0);
        assert_int_equal(strstr(text, "\n# enqueue: ") != NULL,
                         settings.options.enqueue && settings.options.graph == 0);
        assert_int_equal(strstr(text, "\n# wait: ") != NULL, settings.exec.wait == PTO_WAIT_SLEEP);
        for (int i = 0; i < ENERGY_COUNT; i++) {
            const energy_source_t *source = &settings.job.source[i];
            char wanted[128];
            if (source->counter_count > 0)
                snprintf(wanted, sizeof wanted,
                         "# energy: %s by %s, %d counters with steps of 2 ms, for at least 0.25 s",
                         source->source->what, source->source->name, source->counter_count);
            else
                snprintf(wanted, sizeof wanted, "# energy: %s not measured: made up",
                         i == 0 ? "GPUs" : "CPUs");
            must_say(settings.options.energy, wanted);
        }
    }
}

TEST(checks_alone_are_told_as_right) {
    make_settings(1);
    settings.options.check_only = true;
    cell_t cell = make_cell("three_step");
    write_table(&cell, 1);
    assert_non_null(strstr(text, " right\n"));
    assert_null(strstr(text, "Median"));
    assert_null(strstr(text, "picked"));
}

/* As `portolan score` has it: the least prediction is picked, the least median won. What does not apply and
 * NCCL's windows, which have no price, are none of these. */
TEST(the_pick_is_of_all_that_were_priced_and_timed) {
    static const char *const strategies[] = {"three_step", "dup_devptr", "cuda_aware", "nccl"};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make_settings(seed);
        cell_t *cells = calloc(4, sizeof *cells);
        assert_non_null(cells);
        int picked = -1, best = -1;
        for (int i = 0; i < 4; i++) {
            cells[i] = make_cell(strategies[i]);
            cells[i].median_s = 1e-6 * (1 + draw(10) + 0.01 * i); /* no two are equal */
            cells[i].predicted_s = 1e-6 * (1 + draw(10) + 0.01 * i);
            cells[i].windows = i == 3;
            if (draw(3) == 0)
                snprintf(cells[i].reason, sizeof cells[i].reason, "reason %d", i);
            if (cells[i].windows || cells[i].reason[0] != '\0')
                continue;
            picked = picked < 0 || cells[i].predicted_s < cells[picked].predicted_s ? i : picked;
            best = best < 0 || cells[i].median_s < cells[best].median_s ? i : best;
        }
        write_table(cells, 4);
        const char *told = strstr(text, " picked ");
        assert_int_equal(told != NULL, picked >= 0);
        char wanted[160];
        if (told != NULL) {
            snprintf(wanted, sizeof wanted, " picked %s, won %s, regret %.1f%%\n", strategies[picked],
                     strategies[best], 100 * (cells[picked].median_s / cells[best].median_s - 1));
            if (strcmp(told, wanted) != 0)
                fail_msg("'%s', not '%s'", told, wanted);
        }
        for (int i = 0; i < 4; i++) {
            snprintf(wanted, sizeof wanted, "reason %d\n", i);
            assert_int_equal(strstr(text, wanted) != NULL, cells[i].reason[0] != '\0');
        }
        free(cells);
    }
}

/* The median, the least and the most of the runs' numbers, by counting. */
TEST(staged_members_are_those_of_the_runs) {
    enum { MEMBERS = 7 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        make_settings(seed);
        cell_t cell = make_cell("mix");
        char wanted[160];
        size_t used = 0;
        cell.chosen_count = 1 + draw(2);
        for (int k = 0; k < cell.chosen_count; k++) {
            int list[MEMBERS * 9 + 9] = {0}, count = 0;
            cell.chosen[k].members = MEMBERS;
            for (int i = 0; i <= MEMBERS; i++) {
                cell.chosen[k].runs[i] = draw(3) == 0 ? draw(8) : 0;
                if (i == MEMBERS / 2 && count == 0)
                    cell.chosen[k].runs[i] = 1;
                for (int run = 0; run < cell.chosen[k].runs[i]; run++)
                    list[count++] = i;
            }
            used +=
                (size_t)snprintf(wanted + used, sizeof wanted - used, "%s%s %d (%d to %d)", k > 0 ? ", " : "",
                                 k > 0 ? "out" : "in", list[(count - 1) / 2], list[0], list[count - 1]);
        }
        snprintf(wanted + used, sizeof wanted - used, " of %d", MEMBERS);
        write_table(&cell, 1);
        assert_non_null(strstr(text, wanted));
        write_file(&cell);
        assert_non_null(strstr(text, wanted));
        assert_non_null(strstr(text, "\n# staged=mix,1024: "));
    }
}

static int load_machine(void **state) {
    static char machine[1 << 20];
    FILE *file = fopen("scenarios/machines/h200-x4.yaml", "r");
    assert_non_null(file);
    size_t size = fread(machine, 1, sizeof machine, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(
        pto_machine_create(machine, size, "scenarios/machines/h200-x4.yaml", &options.machine, NULL), PTO_OK);
    return 0;
}

static int drop_machine(void **state) {
    free(text);
    pto_machine_destroy(options.machine);
    return 0;
}

int main(int argc, char **argv_of_main) {
    MPI_Init(&argc, &argv_of_main);
    int failed = run_all_tests(load_machine, drop_machine);
    MPI_Finalize();
    return failed;
}
