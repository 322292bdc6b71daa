/* Options by hand: getopt_long is no part of POSIX, and there are few. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "portolan/units.h"

static const double budget_default_s = 60.0;
enum { REPEATS_DEFAULT = 50, REPEATS_MAX = 1000000 };
static const int64_t most_bytes = INT64_C(1) << 30;

static bool fail(char *error, const char *what, const char *text, const char *why) {
    snprintf(error, OPTIONS_ERROR_MAX, "%s '%.80s': %s", what, text, why);
    return false;
}

static bool parse_bytes(const char *text, options_t *options, char *error) {
    char from[PTO_BYTES_TEXT_MAX];
    const char *colon = strchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof from) {
        return fail(error, "--bytes", text, "FROM:TO is needed, such as 1:64MiB");
    }
    memcpy(from, text, (size_t)(colon - text));
    from[colon - text] = '\0';
    pto_error_t err;
    if (pto_bytes_parse(from, &options->from_bytes, &err) != PTO_OK ||
        pto_bytes_parse(colon + 1, &options->to_bytes, &err) != PTO_OK) {
        return fail(error, "--bytes", text, err.message);
    }
    if (options->from_bytes < 1 || options->to_bytes < options->from_bytes ||
        options->to_bytes > most_bytes) {
        return fail(error, "--bytes", text, "sizes of 1 byte to 1 GiB are needed, the smaller first");
    }
    return true;
}

static bool parse_budget(const char *text, options_t *options, char *error) {
    pto_error_t err;
    if (pto_double_parse(text, &options->budget_s, &err) != PTO_OK) {
        return fail(error, "--budget", text, err.message);
    }
    return options->budget_s > 0.0 || fail(error, "--budget", text, "a positive number of seconds is needed");
}

static bool parse_timeout(const char *text, options_t *options, char *error) {
    pto_error_t err;
    if (pto_double_parse(text, &options->timeout_s, &err) != PTO_OK) {
        return fail(error, "--timeout", text, err.message);
    }
    return (options->timeout_s >= 0.1 && options->timeout_s <= 1e6) ||
           fail(error, "--timeout", text, "0.1 to 1000000 seconds are needed");
}

static bool parse_repeats(const char *text, options_t *options, char *error) {
    int64_t repeats = 0;
    pto_error_t err;
    if (pto_int64_parse(text, &repeats, &err) != PTO_OK) {
        return fail(error, "--repeats", text, err.message);
    }
    if (repeats < 1 || repeats > REPEATS_MAX) {
        return fail(error, "--repeats", text, "a number of 1 to 1000000 is needed");
    }
    options->repeats = (int)repeats;
    return true;
}

/* Whether `names`, with commas between them, hold `name`. */
static bool among(const char *names, const char *name) {
    size_t length = strlen(name);
    for (const char *at = names; at != NULL; at = strchr(at, ','), at = at != NULL ? at + 1 : NULL) {
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool is_known(const char *name, size_t length) {
    for (int i = 0; i < benchmark_count; i++) {
        const char *known[] = {benchmark_registry[i]->name, benchmark_registry[i]->group};
        for (int j = 0; j < 2; j++) {
            if (strlen(known[j]) == length && memcmp(known[j], name, length) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool parse_only(const char *text, options_t *options, char *error) {
    for (const char *at = text; at != NULL;) {
        const char *comma = strchr(at, ',');
        size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);
        if (!is_known(at, length)) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), at);
            return fail(error, "--only: no benchmark", name, "--list shows them all");
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    options->only = text;
    return true;
}

bool options_want(const options_t *options, const benchmark_t *benchmark) {
    return options->only == NULL || among(options->only, benchmark->name) ||
           among(options->only, benchmark->group);
}

static bool parse_switch(const char *text, options_t *options) {
    const struct {
        const char *name;
        bool *set;
    } switches[] = {
        {"--help", &options->help},         {"-h", &options->help},
        {"--version", &options->version},   {"--list", &options->list},
        {"--progress", &options->progress}, {"--force", &options->force},
    };
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(text, switches[i].name) == 0) {
            *switches[i].set = true;
            return true;
        }
    }
    return false;
}

static bool parse_valued(const char *name, const char *value, options_t *options, char *error) {
    if (strcmp(name, "--bytes") == 0) {
        return parse_bytes(value, options, error);
    }
    if (strcmp(name, "--budget") == 0) {
        return parse_budget(value, options, error);
    }
    if (strcmp(name, "--timeout") == 0) {
        return parse_timeout(value, options, error);
    }
    if (strcmp(name, "--repeats") == 0) {
        return parse_repeats(value, options, error);
    }
    if (strcmp(name, "--only") == 0) {
        return parse_only(value, options, error);
    }
    if (strcmp(name, "--out") == 0) {
        options->out = value;
    } else {
        options->machine = value;
    }
    return true;
}

static bool takes_value(const char *name) {
    const char *const valued[] = {"--bytes", "--budget", "--repeats", "--timeout",
                                  "--only",  "--out",    "--machine"};
    for (size_t i = 0; i < sizeof valued / sizeof valued[0]; i++) {
        if (strcmp(name, valued[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool options_parse(int argc, char **argv, options_t *options, char error[OPTIONS_ERROR_MAX]) {
    memset(options, 0, sizeof *options);
    options->out = "-";
    options->from_bytes = 1;
    options->to_bytes = INT64_C(64) << 20;
    options->budget_s = budget_default_s;
    options->repeats = REPEATS_DEFAULT;
    options->timeout_s = GUARD_TIMEOUT_DEFAULT_S;
    for (int i = 1; i < argc; i++) {
        if (parse_switch(argv[i], options)) {
            continue;
        }
        if (!takes_value(argv[i])) {
            return fail(error, "unknown argument", argv[i], "--help shows what there is");
        }
        if (i + 1 == argc) {
            return fail(error, "option", argv[i], "its value is missing");
        }
        if (!parse_valued(argv[i], argv[i + 1], options, error)) {
            return false;
        }
        i++;
    }
    return true;
}

void options_print_help(void) {
    puts("Usage: mpirun ... portolan-calibrate [OPTION]...\n"
         "Measure what moving bytes costs on this machine; `portolan fit` makes a machine file of the "
         "samples.\n"
         "\n"
         "  --out FILE        write the samples there (default: standard output)\n"
         "  --force           replace that file where it exists, when all is measured\n"
         "  --only NAME,...   run these benchmarks, or all of these groups, only\n"
         "  --bytes FROM:TO   sizes, by powers of two (default 1:64MiB)\n"
         "  --budget SECONDS  for each benchmark (default 60)\n"
         "  --repeats COUNT   at most so many samples of each point (default 50)\n"
         "  --timeout SECONDS end the job where a process makes no progress for so long (default 20)\n"
         "  --machine NAME    what to call the machine in the file (default: its processor and GPU)\n"
         "  --progress        draw the progress bar even where standard error is no terminal\n"
         "  --list            list the benchmarks\n"
         "  --version, --help");
}

void options_print_list(void) {
    for (int i = 0; i < benchmark_count; i++) {
        const benchmark_t *benchmark = benchmark_registry[i];
        printf("%-14s %-14s %s\n%-14s %-14s writes %s\n", benchmark->name, benchmark->group,
               benchmark->summary, "", "", benchmark->rows);
    }
}
