/* The start of the drop-in, within MPI_Init: the settings from environment variables, and the agreement of
 * all processes on whether it is on. It is off, with a message, where any process lacks what it needs. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "command_line/find_machine.h"
#include "dropin.h"
#include "environment.h"
#include "mpi_team.h"
#include "next.h"
#include "portolan/api.h"
#include "spaces.h"

enum { PLANS_DEFAULT = 64, REPEATS_TO_PAY = -1, TRIALS_DEFAULT = 4, TRIALS_MAX = 1000 };
static const int64_t memory_default_bytes = (int64_t)1 << 30;

drop_settings_t drop;

enum { VERSION_MAX = 1 << 15 }; /* of any MPI library: Open MPI's constant is too small for MPICH's text */

static bool get_version(char version[VERSION_MAX]) {
    int length = 0, (*get)(char *, int *);
    preload_next("MPI_Get_library_version", &get, sizeof get);
    return get && get(version, &length) == MPI_SUCCESS;
}

/* The handles of another MPI library than the one of this build have another meaning. */
static bool is_own_mpi(void) {
    static char version[VERSION_MAX];
    if (!get_version(version))
        return false;
#ifdef OPEN_MPI
    return strstr(version, "Open MPI") != NULL;
#else
    return strstr(version, "MPICH") != NULL || strstr(version, "MVAPICH") != NULL;
#endif
}

/* If the machine file does not name its MPI library, use what is known of the running one's algorithms. */
static void use_own_library(pto_machine_t *machine) {
    static char version[VERSION_MAX];
    char name[PTO_LIBRARY_NAME_MAX], *path = NULL;
    pto_error_t unknown;
    if (get_version(version) && pto_library_of_version(version, name) &&
        pto_find_library(name, NULL, &path, &unknown) == PTO_OK)
        pto_machine_use_library(machine, name, &unknown);
    free(path);
}

/* PTO_ERR_NOT_FOUND without a message: the user has switched the drop-in off. */
static pto_status_t read_machine(pto_error_t *err) {
    const char *name = preload_text("PORTOLAN_MACHINE");
    char *path = NULL;
    if (!preload_is_on("PORTOLAN_DROPIN", true))
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "%s", "");
    if (!name)
        return pto_error_set(err, PTO_ERR_NOT_FOUND,
                             "PORTOLAN_MACHINE names no machine file, so all collectives are left to MPI "
                             "(portolan run --calibrate makes one)");
    pto_find_by_name();
    pto_status_t status = pto_find_machine(name, NULL, &path, err);
    if (status == PTO_OK)
        status = pto_machine_open(path, &drop.machine, err);
    free(path);
    if (status == PTO_OK && !pto_machine_mpi_library(drop.machine))
        use_own_library(drop.machine);
    pto_runs_t runs = status == PTO_OK ? pto_machine_runs(drop.machine) : PTO_RUNS_WAITED;
    if (runs != PTO_RUNS_WAITED)
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "the costs of machine %s are those of runs that are %s, and MPI's are waited for, "
            "so all collectives are left to MPI",
            pto_machine_name(drop.machine), pto_runs_text(runs));
    return status;
}

static pto_status_t read_strategy(pto_error_t *err) {
    const char *name = preload_text("PORTOLAN_STRATEGY");
    const pto_strategy_t *found = NULL;
    pto_status_t status = name ? pto_strategy_find(name, &found, err) : PTO_OK;
    drop.strategy = found ? found->name : NULL;
    return status;
}

/* A process without a GPU is not an error: others may have one. */
static pto_status_t find_device(bool *has_gpu, pto_error_t *err) {
    const char *name = preload_text("PORTOLAN_DEVICE");
    bool has_driver = preload_spaces_begin();
    if (name) {
        *has_gpu = true;
        return pto_device_find(name, &drop.device, err);
    }
    *has_gpu = has_driver && pto_device_find("cuda", &drop.device, NULL) == PTO_OK;
    return PTO_OK;
}

static bool has_threads(void) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    return provided == MPI_THREAD_MULTIPLE && !drop.threads_are_serial;
}

/* In a multithreaded program, processes cannot agree on calls (take.c), so only staging is left, for GPU
 * buffers. Levels of thread support may differ; one multithreaded process suffices. */
static pto_status_t allow_threads(pto_error_t *err) {
    static const char promise[] = "(PORTOLAN_THREADS=serial promises that one thread at a time calls them)";
    if (!drop.multithreaded)
        return PTO_OK;
    if (!drop.any_gpu)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the program has MPI_THREAD_MULTIPLE, so all collectives are left to MPI %s",
                             promise);
    drop.takes_host = false;
    preload_say(
        "the program has MPI_THREAD_MULTIPLE, so collectives run by copies in host memory, or are left to "
        "MPI %s",
        promise);
    return PTO_OK;
}

static void read_numbers(void) {
    drop.misprices = preload_number("PORTOLAN_MISPRICE", 0, INT_MAX, -1) == drop.rank;
    drop.emulated_gpus = (int)preload_number("PORTOLAN_EMULATED_GPUS", 1, INT_MAX, 0);
    drop.plans_max = (int)preload_number("PORTOLAN_PLANS", 1, INT_MAX, PLANS_DEFAULT);
    drop.trials = (int)preload_number("PORTOLAN_TRIALS", 0, TRIALS_MAX, TRIALS_DEFAULT);
    drop.repeats = preload_number("PORTOLAN_REPEATS", 0, INT64_MAX, REPEATS_TO_PAY);
    drop.bytes_max = preload_number("PORTOLAN_MEMORY", 1, INT64_MAX, memory_default_bytes);
}

static void read_words(void) {
    static const char *const spaces[] = {"device", "host"}, *const serial[] = {"serial"},
                             *const messages[] = {"messages"};
    int space = preload_word("PORTOLAN_ASSUME", spaces, 2, -1);
    drop.assumes_gpu = space == 0;
    drop.assumes_host = space == 1;
    drop.threads_are_serial = preload_word("PORTOLAN_THREADS", serial, 1, -1) == 0;
    drop.forces_messages = preload_word("PORTOLAN_AGREE", messages, 1, -1) == 0;
    drop.prints_summary = preload_is_on("PORTOLAN_EXPLAIN", false);
}

static pto_status_t read_settings(bool *has_gpu, pto_error_t *err) {
    pto_status_t status = read_machine(err);
    if (status == PTO_OK) {
        read_words();
        read_numbers();
    }
    if (status == PTO_OK)
        status = read_strategy(err);
    if (status == PTO_OK)
        status = find_device(has_gpu, err);
    if (status == PTO_OK)
        status = pto_device_find("host", &drop.host_device, err);
    drop.takes_host = status == PTO_OK && drop_host_begin();
    return status;
}

/* A digest of the settings that must be equal on all processes. */
static uint64_t settings_digest(void) {
    char machine[PTO_MACHINE_DIGEST_MAX] = "";
    const char *text[] = {getenv("PORTOLAN_MACHINE"), drop.strategy, getenv("PORTOLAN_DEVICE"),
                          drop.machine ? pto_machine_digest(drop.machine, machine) : NULL, pto_version()};
    const uint64_t number[] = {(uint64_t)drop.plans_max, (uint64_t)drop.bytes_max, (uint64_t)drop.repeats,
                               drop.assumes_gpu,         drop.assumes_host,        drop.forces_messages,
                               drop.takes_host,          (uint64_t)drop.trials};
    uint64_t all = PTO_HASH_START;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        all = pto_hash_add(all, number[i]);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        all = pto_hash_bytes(all, text[i] ? text[i] : "", text[i] ? strlen(text[i]) + 1 : 1);
    return all;
}

static pto_status_t find_nodes(pto_error_t *err) {
    MPI_Comm node = MPI_COMM_NULL;
    int mine = drop.rank;
    drop.node_of = calloc((size_t)drop.size, sizeof *drop.node_of);
    pto_status_t status = drop.node_of ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    status = pto_mpi_agree(MPI_COMM_WORLD, status, err);
    if (status == PTO_OK)
        status = PTO_MPI(
            MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, drop.rank, MPI_INFO_NULL, &node), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Bcast(&mine, 1, MPI_INT, 0, node), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Allgather(&mine, 1, MPI_INT, drop.node_of, 1, MPI_INT, MPI_COMM_WORLD), err);
    if (node != MPI_COMM_NULL)
        MPI_Comm_free(&node);
    return status;
}

/* Returns whether calls can at least be passed on: MPICH's handles have no room for Open MPI's pointers. */
static bool may_pass_on(void) { return sizeof(MPI_Comm) >= sizeof(void *); }

static void refuse_mpi(void) {
    if (may_pass_on())
        return;
    fputs("portolan: this libportolan-mpi.so was built for MPICH, and the program runs another MPI library\n",
          stderr);
    exit(1);
}

/* Collective. Finds out whether any process has a GPU, AMD's or Intel's runtime, or several threads. */
static pto_status_t share_gpus(bool has_gpu, pto_error_t *err) {
    const char *foreign = drop.takes_host && !drop.assumes_host ? drop_foreign_runtime() : NULL;
    int mine[3] = {has_gpu, foreign != NULL, has_threads()}, any[3] = {0};
    pto_status_t status = PTO_MPI(MPI_Allreduce(mine, any, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD), err);
    drop.any_gpu = any[0];
    drop.has_other_gpus = any[1];
    drop.multithreaded = any[2];
    if (drop.has_other_gpus && drop.prints_summary)
        preload_say("host buffers are left to MPI, as %s is loaded: memory of its GPUs looks like the host's",
                    foreign ? foreign : "a runtime of AMD's or Intel's GPUs");
    drop.takes_host &= !drop.has_other_gpus;
    return status;
}

static void say_error(const pto_error_t *err) {
    char text[PTO_ERROR_FILE_MAX + PTO_ERROR_MESSAGE_MAX];
    pto_error_format(err, text, sizeof text);
    preload_say("%s", text);
}

void drop_begin(void) {
    bool has_gpu = false;
    pto_error_t err = {0};
    if (drop.on || drop.size > 0)
        return;
    if (!is_own_mpi()) {
        refuse_mpi();
        return;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &drop.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &drop.size);
    preload_speak_as(drop.rank == 0 ? "portolan" : NULL);
    drop.began_s = pto_now_s();
    pto_status_t status = read_settings(&has_gpu, &err);
    status = pto_mpi_agree_same(MPI_COMM_WORLD, status, settings_digest(), &err);
    if (status == PTO_OK)
        status = share_gpus(has_gpu, &err);
    if (status == PTO_OK)
        status = allow_threads(&err);
    if (status == PTO_OK && !drop.any_gpu && !drop.takes_host)
        status = pto_error_set(&err, PTO_ERR_NOT_APPLICABLE,
                               "no process has a GPU, so all collectives are left to MPI "
                               "(PORTOLAN_HOST=1: host buffers are taken where that pays)");
    if (status == PTO_OK)
        status = find_nodes(&err);
    if (status != PTO_OK && *err.message)
        say_error(&err);
    drop.defers_examination =
        !drop.multithreaded && !(drop.any_gpu && !drop.assumes_host) && drop.repeats < 0 && !drop.strategy;
    if (status == PTO_OK)
        status = drop_comms_begin() ? PTO_OK : PTO_ERR_MEMORY;
    drop.on = pto_mpi_agree(MPI_COMM_WORLD, status, &err) == PTO_OK;
    if (drop.on)
        drop_report_begin();
}
