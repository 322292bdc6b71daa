#include "made_costs.h"
#include "test.h"

/* --- noise and slow spells ------------------------------------------------------------------------------ */

static double noise;
static uint64_t noise_state, spell_state; /* apart, so that spells leave the noise as it is */

static double uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* The current spell, or the next one. */
static double spell_gap_s, spell_from_s, spell_to_s;
static const double spell_times = 50.0, spell_least_s = 0.02, spell_most_s = 0.06;

static void next_spell(double after_s) {
    spell_from_s = after_s - spell_gap_s * log(1.0 - uniform(&spell_state));
    spell_to_s = spell_from_s + spell_least_s + (spell_most_s - spell_least_s) * uniform(&spell_state);
}

void made_begin(int seed, double its_noise) {
    noise = its_noise;
    noise_state = (uint64_t)seed;
    spell_state = noise_state + 1;
    spell_gap_s = 0.0;
}

void made_spells(double gap_s) {
    spell_gap_s = gap_s;
    next_spell(made_clock_s());
}

void made_spell(double after_s, double lasting_s) {
    spell_gap_s = 1e9;
    spell_from_s = made_clock_s() + after_s;
    spell_to_s = spell_from_s + lasting_s;
}

/* The clock goes on by what so many seconds of work take. */
static void work(double seconds) {
    while (spell_gap_s > 0.0 && made_clock_s() + seconds > spell_from_s) {
        double before_s = fmax(spell_from_s - made_clock_s(), 0.0);
        double within_s = fmin(seconds - before_s, (spell_to_s - made_clock_s() - before_s) / spell_times);
        made_clock_pass(before_s + within_s * spell_times);
        seconds -= before_s + within_s;
        if (seconds <= 0.0)
            return;
        next_spell(spell_to_s);
    }
    made_clock_pass(seconds);
}

/* About normal; one sample of fifty is three times too slow. */
static double shaken(double seconds) {
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform(&noise_state);
    double times = noise > 0 && uniform(&noise_state) < 0.02 ? 3 : 1;
    return seconds * times * fmax(1 + noise * sum, 0.2);
}

/* --- the machine --------------------------------------------------------------------------------------- */

static const double meeting_s = 1e-5;

/* From `from_bytes` on. */
typedef struct {
    double alpha_s, beta_s_per_byte;
    int64_t from_bytes;
} piece_t;

typedef struct {
    const char *benchmark, *space, *level;
    int procs;
    int64_t min_bytes, max_bytes; /* 0: no sizes */
    const piece_t *piece;         /* the last has no alpha_s */
} made_t;

/* Limits lie between powers of two. */
static const piece_t off_node[] = {
    {1.4e-6, 4e-10, 0}, {1.9e-6, 3.5e-10, 700}, {7e-6, 8e-11, 12000}, {0, 0, 0}};
static const piece_t of_four[] = {
    {1.6e-6, 4e-10, 0}, {2.4e-6, 4e-10, 700}, {8e-6, 1.6e-10, 12000}, {0, 0, 0}};
static const piece_t of_eight[] = {
    {1.8e-6, 4e-10, 0}, {2.4e-6, 4e-10, 700}, {8e-6, 3.2e-10, 12000}, {0, 0, 0}};
static const piece_t on_socket[] = {{4e-7, 6e-11, 0}, {2.5e-6, 3.5e-11, 5000}, {0, 0, 0}};
static const piece_t shared[] = {{5.6e-4, 0, 0}, {1.8e-5, 8e-11, 20000}, {0, 0, 0}};
static const piece_t reduction[] = {
    {6e-8, 6.1e-12, 0}, {2e-7, 1.9e-11, 40000}, {1e-6, 6.3e-11, 3000000}, {0, 0, 0}};
static const piece_t of_elements[] = {{1e-5, 0, 0}, {3e-5, 1e-11, 20}, {0, 0, 0}};
#define LINE(alpha_s, beta_s_per_byte) ((const piece_t[]){{alpha_s, beta_s_per_byte, 0}, {0, 0, 0}})

static const made_t made[] = {
    {"ping_pong", "cpu", "off_node", 1, 1, 1 << 26, off_node},
    {"ping_pong", "cpu", "on_socket", 1, 1, 1 << 26, on_socket},
    {"ping_pong", "gpu", "on_socket", 1, 1, 1 << 26, LINE(1.1e-5, 2.6e-12)},
    {"injection", "cpu", "off_node", 1, 1, 1 << 24, off_node},
    {"injection", "cpu", "off_node", 4, 1, 1 << 24, of_four},
    {"injection", "cpu", "off_node", 8, 1, 1 << 24, of_eight},
    {"memcpy_h2d", "-", "on_socket", 1, 1, 1 << 26, LINE(7.7e-6, 1.95e-11)},
    {"memcpy_d2h", "-", "on_socket", 1, 1, 1 << 26, LINE(8.3e-6, 1.84e-11)},
    {"memcpy_shared_h2d", "-", "on_socket", 1, 1, 1 << 26, LINE(7.7e-6, 1.95e-11)},
    {"memcpy_shared_h2d", "-", "on_socket", 4, 1, 1 << 26, shared},
    {"memcpy_peer", "-", "on_socket", 1, 1, 1 << 26, LINE(7.3e-6, 2.64e-12)},
    {"reduce", "cpu", "-", 1, 8, 1 << 26, reduction},
    {"signal_flag", "cpu", "on_socket", 1, 0, 0, LINE(1.8e-7, 0)},
    /* not of the machine */
    {"exchange", "cpu", "off_node", 1, 1, 1 << 26, LINE(1e-4, 1e-6)},
    {"memcpy_shared_d2h", "-", "on_socket", 2, 8, 1 << 20, of_elements},
};
_Static_assert(sizeof made / sizeof *made == MADE_OF_ELEMENTS + 1, "all cases are counted");

static double true_s(const made_t *what, int64_t bytes) {
    const piece_t *piece = what->piece;
    while (piece[1].alpha_s > 0 && bytes >= piece[1].from_bytes)
        piece++;
    return piece->alpha_s + piece->beta_s_per_byte * (double)bytes;
}

double made_true_s(int index, int64_t bytes) { return true_s(&made[index], bytes); }

/* --- the benchmark ------------------------------------------------------------------------------------- */

static int64_t asked[4096];
static int asked_count;

static double trial(const work_t *current, int64_t bytes, int iterations) {
    if (asked_count < (int)(sizeof asked / sizeof *asked))
        asked[asked_count++] = bytes;
    double began_s = made_clock_s();
    work(iterations * shaken(true_s(&made[current->bench_case->detail[0]], bytes)));
    double seconds = made_clock_s() - began_s;
    work(meeting_s);
    return seconds;
}

const benchmark_t made_benchmark = {.name = "made", .trial = trial};

void made_add_case(case_list_t *list, int index) {
    const made_t *what = &made[index];
    case_t *added = case_add(list, what->benchmark, 1);
    added->space = what->space;
    added->level = what->level;
    added->procs = what->procs;
    added->messages = 1;
    added->sized = what->max_bytes > 0;
    if (added->sized) {
        added->min_bytes = what->min_bytes;
        added->max_bytes = what->max_bytes;
    }
    added->detail[0] = index;
    added->member[0] = 0;
}

const job_t *made_job(void) {
    static process_t process;
    static job_t job;
    job = (job_t){.world = MPI_COMM_WORLD, .size = 1, .process = &process, .node_count = 1};
    return &job;
}

pto_calibrate_options_t made_options(bool exhaustive) {
    return (pto_calibrate_options_t){.from_bytes = 1,
                                     .to_bytes = 1 << 26,
                                     .factor = 2,
                                     .budget_s = 1000,
                                     .repeats = 50,
                                     .exhaustive = exhaustive};
}

double made_measure(const pto_calibrate_options_t *options, int first, int past, const char *path,
                    int *left_out) {
    case_list_t list = {0};
    samples_t *samples = samples_create(path, true);
    assert_non_null(samples);
    for (int i = first; i < past; i++)
        made_add_case(&list, i);
    samples_begin(samples);
    asked_count = 0;
    double began_s = made_clock_s();
    *left_out = engine_run(made_job(), options, &made_benchmark, &list, samples);
    assert_true(samples_close(samples, *left_out));
    case_list_fini(&list);
    return made_clock_s() - began_s;
}

int made_asked(const int64_t **bytes) {
    *bytes = asked;
    return asked_count;
}

int made_index(const char *benchmark, const char *level, int procs) {
    for (int i = 0; i < MADE_MACHINE_COUNT; i++)
        if (strcmp(made[i].benchmark, benchmark) == 0 && strcmp(made[i].level, level) == 0 &&
            made[i].procs == procs)
            return i;
    fail_msg("no case %s", benchmark);
    return -1;
}
