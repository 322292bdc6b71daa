/* Settings from environment variables. Those that must be equal on all processes are hashed into a digest,
 * which the processes of a communicator compare. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "command_line/find_machine.h"
#include "command_line/machine_folders.h"
#include "environment.h"
#include "portolan/api.h"
#include "portolan/strategy.h"
#include "tap.h"

enum { PLANS_DEFAULT = 256, PLANS_MAX = 1 << 20 };
static const int64_t memory_default_bytes = (int64_t)512 << 20;

static tap_settings_t settings;

/* Returns the process's rank according to torchrun, Open MPI, MPICH or Slurm; -1: unknown. */
static int rank_of(void) {
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (preload_text(names[i]))
            return atoi(preload_text(names[i]));
    return -1;
}

static pto_status_t open_machine(pto_error_t *err) {
    const char *own = preload_text("PORTOLAN_NCCL_MACHINE"),
               *name = own ? own : preload_text("PORTOLAN_MACHINE");
    char *path = NULL;
    if (!name)
        return pto_error_set(err, PTO_ERR_NOT_FOUND,
                             "PORTOLAN_MACHINE names no machine file, so all collectives are left to NCCL");
    pto_find_by_name(); /* what the file inherits and names */
    pto_status_t status = pto_find_machine(name, NULL, &path, err);
    if (status == PTO_OK)
        status = pto_machine_open(path, &settings.machine, err);
    free(path);
    if (status == PTO_OK && pto_machine_runs(settings.machine) == PTO_RUNS_WAITED)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the costs of machine %s are those of runs that are waited for, and NCCL's are "
                             "enqueued, so all collectives are left to NCCL",
                             pto_machine_name(settings.machine));
    return status;
}

static pto_status_t find_strategy(pto_error_t *err) {
    const char *name = preload_text("PORTOLAN_STRATEGY");
    const pto_strategy_t *found = NULL;
    pto_status_t status = name ? pto_strategy_find(name, &found, err) : PTO_OK;
    settings.strategy = found ? found->name : NULL;
    return status;
}

static uint64_t digest(void) {
    char machine[PTO_MACHINE_DIGEST_MAX] = "";
    const char *text[] = {pto_version(), settings.device->name, settings.strategy ? settings.strategy : "",
                          pto_machine_digest(settings.machine, machine)};
    uint64_t all = pto_hash_add(pto_hash_add(PTO_HASH_START, (uint64_t)settings.memory_bytes),
                                (uint64_t)settings.plans_max);
    all = pto_hash_add(pto_hash_add(all, settings.takes), (uint64_t)settings.messages_max_bytes);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        all = pto_hash_bytes(all, text[i], strlen(text[i]) + 1);
    return all;
}

/* Returns bits of pto_collective_t from a comma-separated list of names. */
static unsigned takes_of(const char *list) {
    unsigned takes = 0;
    for (const char *name = list, *next; *name; name = next) {
        const size_t length = strcspn(name, ",");
        unsigned known = length == 3 && strncmp(name, "all", length) == 0 ? ~0u : 0;
        for (int i = 0; i < PTO_COLLECTIVE_COUNT; i++)
            if (strlen(pto_collective_name((pto_collective_t)i)) == length &&
                strncmp(pto_collective_name((pto_collective_t)i), name, length) == 0)
                known = 1u << i;
        if (known == 0 && length > 0)
            preload_say("PORTOLAN_TAKE: '%.*s' is not a collective, such as allreduce", (int)length, name);
        takes |= known;
        next = name + length + (name[length] == ',');
    }
    return takes;
}

/* If there are rules for a tuner plugin, and no plugin is named, name the one in this library's folder. */
static void name_tuner(void) {
    char folder[PTO_FOLDER_MAX], path[PTO_FOLDER_MAX + 64];
    if (!preload_text("NCCL_TUNER_CONFIG_FILE") || !pto_program_folder(folder))
        return;
    snprintf(path, sizeof path, "%s/libportolan-nccl-tuner.so", folder);
    if (access(path, R_OK) == 0)
        setenv("NCCL_TUNER_PLUGIN", path, 0);
}

static void read_environment(void) {
    const char *device = preload_text("PORTOLAN_DEVICE"), *take = preload_text("PORTOLAN_TAKE");
    const char *debug = preload_text("NCCL_DEBUG");
    pto_error_t err = {0};
    settings.rank = rank_of();
    if (!preload_is_on("PORTOLAN_DROPIN", true))
        return;
    name_tuner();
    settings.explains = preload_is_on("PORTOLAN_EXPLAIN", false);
    settings.takes = takes_of(take ? take : "all");
    settings.informs = debug && (strcmp(debug, "INFO") == 0 || strcmp(debug, "TRACE") == 0);
    settings.memory_bytes = preload_number("PORTOLAN_MEMORY", 1, INT64_MAX, memory_default_bytes);
    settings.plans_max = (int)preload_number("PORTOLAN_PLANS", 1, PLANS_MAX, PLANS_DEFAULT);
    settings.messages_max_bytes = preload_number("PORTOLAN_MESSAGES", 0, INT64_MAX, 0);
    pto_status_t status = open_machine(&err);
    if (status == PTO_OK)
        status = find_strategy(&err);
    if (status == PTO_OK)
        status = pto_device_find(device ? device : "cuda", &settings.device, &err);
    if (status == PTO_OK)
        settings.digest = digest();
    else if (settings.rank <= 0)
        preload_say("%s", err.message);
    settings.on = status == PTO_OK;
}

const tap_settings_t *tap_settings(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return &settings;
}
