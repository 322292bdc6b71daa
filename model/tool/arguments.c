/* Command lines driven by tables: parsing and --help. */
#include "arguments.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"

enum { HELP_COLUMN = 32, HELP_WIDTH = 100, NAMES_MAX = 128 };

static const pto_option_t help_option = {.name = "help", .help = "this text"};

const pto_option_t pto_no_options[] = {{.name = NULL}};

const pto_option_t *pto_syntax_option(const pto_syntax_t *syntax, int at) {
    for (const pto_option_set_t *set = syntax->set; set->option; set++)
        for (const pto_option_t *option = set->option; option->name; option++)
            if (at-- == 0)
                return option;
    return NULL;
}

/* --- errors -------------------------------------------------------------------------------------------- */

int pto_usage_error(const pto_syntax_t *syntax, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "%s: ", syntax->program);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "; `%s --help` explains\n", syntax->program);
    return PTO_EXIT_USAGE;
}

static int unknown_option(const pto_syntax_t *syntax, const char *name) {
    const char *known[NAMES_MAX] = {help_option.name};
    int count = 1;
    for (const pto_option_t *option; count < NAMES_MAX && (option = pto_syntax_option(syntax, count - 1));)
        known[count++] = option->name;
    const char *near = pto_suggest(name, known, count);
    if (!near)
        return pto_usage_error(syntax, "unknown option '--%s'", name);
    fprintf(stderr, "%s: unknown option '--%s'; did you mean '--%s'?\n", syntax->program, name, near);
    return PTO_EXIT_USAGE;
}

pto_status_t pto_word_parse(const char *text, const char *what, const char *(*word_at)(int i), int *found,
                            pto_error_t *err) {
    char known[256] = "";
    for (int i = 0; word_at(i); i++) {
        if (strcmp(text, word_at(i)) == 0) {
            *found = i;
            return PTO_OK;
        }
        strncat(known, i ? ", " : "", sizeof known - strlen(known) - 1);
        strncat(known, word_at(i), sizeof known - strlen(known) - 1);
    }
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown %s '%s'; known: %s", what, text, known);
}

/* --- help ---------------------------------------------------------------------------------------------- */

void pto_print_wrapped(FILE *stream, const char *text, int indent, int width) {
    int column = indent;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > width) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
        }
        column += fprintf(stream, "%s%.*s", column > indent ? " " : "", length, text);
        text += length;
        text += *text == ' ';
    }
    fputc('\n', stream);
}

static void print_option(FILE *stream, const pto_option_t *option) {
    char text[512];
    int column = fprintf(stream, "  --%s%s%s", option->name, option->argument ? " " : "",
                         option->argument ? option->argument : "");
    if (column + 2 > HELP_COLUMN)
        column = fprintf(stream, "\n") - 1;
    fprintf(stream, "%*s", HELP_COLUMN - column, "");
    if (option->standard)
        snprintf(text, sizeof text, "%s (default %s)", option->help, option->standard);
    else
        snprintf(text, sizeof text, "%s", option->help);
    pto_print_wrapped(stream, text, HELP_COLUMN, HELP_WIDTH);
}

void pto_print_help(const pto_syntax_t *syntax, FILE *stream) {
    bool has_help = false;
    fputs(syntax->usage, stream);
    for (const pto_option_set_t *set = syntax->set; set->option; set++) {
        if (set->heading)
            fprintf(stream, "\n%s:\n", set->heading);
        for (const pto_option_t *option = set->option; option->name; option++)
            print_option(stream, option);
        bool heading_ends = !set[1].option || set[1].heading;
        if (heading_ends && !has_help)
            print_option(stream, &help_option);
        has_help = has_help || heading_ends;
    }
}

/* --- parsing ------------------------------------------------------------------------------------------- */

/* The option with this name, or the only one whose name begins with it. */
static const pto_option_t *find(const pto_syntax_t *syntax, const char *name) {
    const pto_option_t *found = strncmp(help_option.name, name, strlen(name)) == 0 ? &help_option : NULL;
    int count = found != NULL;
    const pto_option_t *option;
    for (int i = 0; (option = pto_syntax_option(syntax, i)); i++) {
        if (strcmp(option->name, name) == 0)
            return option;
        if (strncmp(option->name, name, strlen(name)) == 0) {
            found = option;
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

/* Parse one option. `*index` is the index of its word, and moves to its last word. */
static int take_option(pto_arguments_t *arguments, int argc, char **argv, int *index) {
    const pto_syntax_t *syntax = arguments->syntax;
    char name[64];
    const char *text = argv[*index] + 2;
    const char *equals = strchr(text, '=');
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - text) : (int)strlen(text), text);
    const pto_option_t *option = find(syntax, name);
    if (!option)
        return unknown_option(syntax, name);
    if (option == &help_option) {
        pto_print_help(syntax, stdout);
        return PTO_EXIT_OK;
    }
    if (!option->argument && equals)
        return pto_usage_error(syntax, "--%s takes no value", option->name);
    if (option->argument && !equals && *index + 1 == argc)
        return pto_usage_error(syntax, "--%s needs a value (%s)", option->name, option->argument);
    const char *value = NULL;
    if (option->argument)
        value = equals ? equals + 1 : argv[++*index];
    arguments->given[arguments->given_count++] = (pto_given_t){option, value};
    return -1;
}

int pto_arguments_parse(const pto_syntax_t *syntax, int argc, char **argv, pto_arguments_t *arguments) {
    *arguments = (pto_arguments_t){.syntax = syntax,
                                   .given = calloc((size_t)argc + 1, sizeof *arguments->given),
                                   .operand = calloc((size_t)argc + 1, sizeof *arguments->operand)};
    int code = -1;
    bool options_end = false;
    if (!arguments->given || !arguments->operand)
        code = PTO_EXIT_ERROR;
    for (int i = 1; i < argc && code < 0; i++) {
        if (options_end || argv[i][0] != '-' || argv[i][1] == '\0')
            arguments->operand[arguments->operand_count++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            options_end = true;
        else if (strcmp(argv[i], "-h") == 0) {
            pto_print_help(syntax, stdout);
            code = PTO_EXIT_OK;
        } else if (argv[i][1] != '-')
            code = pto_usage_error(syntax, "unknown option '%s'", argv[i]);
        else
            code = take_option(arguments, argc, argv, &i);
    }
    if (code >= 0)
        pto_arguments_fini(arguments);
    return code;
}

void pto_arguments_fini(pto_arguments_t *arguments) {
    free(arguments->given);
    free(arguments->operand);
    *arguments = (pto_arguments_t){0};
}

static pto_status_t apply(const pto_option_t *option, const char *text, void *target, pto_error_t *err) {
    pto_error_t cause = {0};
    pto_status_t status = option->apply(target, text, &cause);
    if (status == PTO_OK)
        return PTO_OK;
    if (cause.line == 0)
        return pto_error_set(err, status, "--%s: %s", option->name, cause.message);
    if (err)
        *err = cause;
    return status;
}

pto_status_t pto_arguments_apply(const pto_arguments_t *arguments, void *target, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    const pto_option_t *option;
    for (int i = 0; status == PTO_OK && (option = pto_syntax_option(arguments->syntax, i)); i++)
        if (option->standard)
            status = apply(option, option->standard, target, err);
    for (int i = 0; i < arguments->given_count && status == PTO_OK; i++)
        status = apply(arguments->given[i].option, arguments->given[i].text, target, err);
    return status;
}
