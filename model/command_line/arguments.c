/* Command lines described by tables of options: parsing, storing the values, errors and --help. */
#include "arguments.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "find_machine.h"
#include "portolan/printable.h"
#include "portolan/units.h"
#include "terminal.h"

enum { HELP_COLUMN = 32, HELP_MOST = 100, NAMES_MAX = 128 };

static const pto_option_t help_option = {.name = "help", .help = "this text"};

const pto_option_t pto_no_options[] = {{.name = NULL}};

const pto_option_t *pto_syntax_option(const pto_syntax_t *syntax, int i) {
    for (const pto_option_set_t *set = syntax->set; set->option; set++)
        for (const pto_option_t *option = set->option; option->name; option++)
            if (i-- == 0)
                return option;
    return NULL;
}

/* --- errors -------------------------------------------------------------------------------------------- */

/* "PROGRAM: TEXT; `PROGRAM --help` explains", or without the hint if the text ends with a suggestion. */
static void format_usage_error(const pto_syntax_t *syntax, const char *text, char *line, size_t line_size) {
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '?')
        snprintf(line, line_size, "%s: %s", syntax->program, text);
    else
        snprintf(line, line_size, "%s: %s; `%s --help` explains", syntax->program, text, syntax->program);
}

enum { LINE_MAX_BYTES = PTO_ERROR_MESSAGE_MAX + 128 };

int pto_usage_error(const pto_syntax_t *syntax, const char *format, ...) {
    char text[PTO_ERROR_MESSAGE_MAX], escaped[PTO_ERROR_MESSAGE_MAX], line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    format_usage_error(syntax, pto_escape_text(text, escaped, sizeof escaped), line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return PTO_EXIT_USAGE;
}

PTO_PRINTF_LIKE(3, 4)
static int refuse(const pto_syntax_t *syntax, pto_error_t *err, const char *format, ...) {
    char text[PTO_ERROR_MESSAGE_MAX], line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    format_usage_error(syntax, text, line, sizeof line);
    pto_error_set(err, PTO_ERR_RANGE, "%s", line);
    return PTO_EXIT_USAGE;
}

static int unknown_option(const pto_syntax_t *syntax, const char *name, pto_error_t *err) {
    const char *known[NAMES_MAX] = {help_option.name};
    const pto_option_t *option = pto_syntax_option(syntax, 0);
    int count = 1;
    for (; option && count < NAMES_MAX; option = pto_syntax_option(syntax, count - 1))
        known[count++] = option->name;
    const char *near = pto_suggest(name, known, count);
    return near ? refuse(syntax, err, "unknown option '--%s'; did you mean '--%s'?", name, near)
                : refuse(syntax, err, "unknown option '--%s'", name);
}

/* --- values --------------------------------------------------------------------------------------------- */

pto_status_t pto_number_parse(const char *text, double least, double most, double *number, pto_error_t *err) {
    double parsed = 0;
    if (pto_double_parse(text, &parsed, NULL) != PTO_OK || parsed < least || parsed > most)
        return pto_error_set(err, PTO_ERR_RANGE, "'%s' is not a number between %.15g and %.15g", text, least,
                             most);
    *number = parsed;
    return PTO_OK;
}

static pto_status_t parse_int(const char *text, int most, int *count, pto_error_t *err) {
    int64_t parsed = 0;
    if (pto_int64_parse(text, &parsed, NULL) != PTO_OK || parsed < 1 || parsed > most)
        return pto_error_set(err, PTO_ERR_RANGE, "'%s' is not a whole number between 1 and %d", text, most);
    *count = (int)parsed;
    return PTO_OK;
}

pto_status_t pto_count_parse(const char *text, int64_t *count, pto_error_t *err) {
    pto_status_t status = pto_int64_parse(text, count, err);
    if (status == PTO_OK && *count < 1)
        return pto_error_set(err, PTO_ERR_RANGE, "must be 1 or more, not %s", text);
    return status;
}

static pto_status_t parse_natural(const char *text, const char *what, int64_t *number, pto_error_t *err) {
    pto_status_t status = pto_int64_parse(text, number, err);
    if (status == PTO_OK && *number < 0)
        return pto_error_set(err, PTO_ERR_RANGE, "%s %s is negative", what, text);
    return status;
}

int pto_range_split(const char *text, char part[3][PTO_RANGE_PART_MAX]) {
    int count = 0;
    for (; text && count < 3; count++) {
        size_t length = strcspn(text, ":");
        if (length >= PTO_RANGE_PART_MAX)
            return 0;
        memcpy(part[count], text, length);
        part[count][length] = '\0';
        text = text[length] == ':' ? text + length + 1 : NULL;
    }
    return text ? 0 : count;
}

/* The error for a small number without a unit suggests a larger unit: 80 for GPU memory means 80GiB. */
static pto_status_t parse_bytes(const char *text, double least, int64_t *bytes, pto_error_t *err) {
    enum { GIB_MOST = 4096 };
    char least_text[PTO_BYTES_TEXT_MAX];
    int64_t parsed = 0;
    pto_status_t status = pto_bytes_parse(text, &parsed, err);
    if (status == PTO_OK && (double)parsed < least) {
        pto_bytes_text((int64_t)least, least_text);
        if (parsed > 0 && text[strspn(text, "0123456789")] == '\0')
            return pto_error_set(err, PTO_ERR_RANGE, "%s bytes is less than %s; did you mean %s%s?", text,
                                 least_text, text, parsed < GIB_MOST ? "GiB" : "MiB");
        return pto_error_set(err, PTO_ERR_RANGE, "'%s' is less than %s", text, least_text);
    }
    if (status == PTO_OK)
        *bytes = parsed;
    return status;
}

pto_status_t pto_word_unknown(const char *text, const char *what, const char *(*word_at)(int i),
                              pto_error_t *err) {
    char known[256] = "";
    pto_line_t line = {.text = known, .size = sizeof known};
    for (int i = 0; word_at(i); i++)
        pto_line_add(&line, "%s%s", i ? ", " : "", word_at(i));
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown %s '%s'; known: %s", what, text, known);
}

pto_status_t pto_word_parse(const char *text, const char *what, const char *(*word_at)(int i), int *found,
                            pto_error_t *err) {
    enum { LISTED_MAX = 6 };
    const char *word[NAMES_MAX] = {NULL};
    int count = 0;
    for (; count < NAMES_MAX && word_at(count); count++) {
        word[count] = word_at(count);
        if (strcmp(text, word[count]) == 0) {
            *found = count;
            return PTO_OK;
        }
    }
    const char *near = count > LISTED_MAX ? pto_suggest(text, word, count) : NULL;
    if (near)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown %s '%s'; did you mean '%s'?", what, text, near);
    return pto_word_unknown(text, what, word_at, err);
}

/* --- help ---------------------------------------------------------------------------------------------- */

static int help_width(void) {
    int width = pto_terminal_width(stdout);
    return width < HELP_MOST ? width : HELP_MOST;
}

static void print_option(const pto_option_t *option) {
    char text[512];
    int column = printf("  --%s%s%s", option->name, option->argument ? " " : "",
                        option->argument ? option->argument : "");
    if (column + 2 > HELP_COLUMN) { /* the help begins in a new line */
        putchar('\n');
        column = 0;
    }
    printf("%*s", HELP_COLUMN - column, "");
    if (option->standard)
        snprintf(text, sizeof text, "%s (default %s)", option->help, option->standard);
    else
        snprintf(text, sizeof text, "%s", option->help);
    pto_print_wrapped(stdout, text, HELP_COLUMN, help_width());
}

/* Whether a line of a usage text is an example: such lines are indented, and not joined to paragraphs. */
static bool is_example(const char *line) { return *line == ' '; }

/* Returns the index of a blank after `from`, up to `until`, where a line can be broken; 0 if there is none.
 * It is the last one before an option, else the last one, and never in quotes. */
static int break_at(const char *line, int from, int until) {
    int place = 0, option = 0;
    bool quoted = line[from] == '\'';
    for (int i = from + 1; i <= until && line[i] != '\n'; i++) {
        quoted ^= line[i] == '\'';
        if (line[i] == ' ' && line[i - 1] != ' ' && !quoted) {
            place = i;
            option = strncmp(line + i, " --", 3) == 0 ? i : option;
        }
    }
    return option > 0 ? option : place;
}

/* Returns the index where a line's second column begins: after two or more blanks, else 4 after the first
 * column. */
static int second_column(const char *line, int length) {
    int first = (int)strspn(line, " ");
    for (int i = first + 1; i + 2 < length; i++)
        if (line[i] == ' ' && line[i + 1] == ' ' && line[i + 2] != ' ')
            return i + 2;
    return first + 4;
}

/* Print a line of an example, broken if too long; commands get a backslash, so that they can be copied. */
static void print_example(const char *line, int length) {
    const int width = help_width(), first = (int)strspn(line, " ");
    const bool is_command =
        strncmp(line + first, "portolan", 8) == 0 || strncmp(line + first, "mpirun", 6) == 0;
    const int indent = is_command ? first + 4 : second_column(line, length);
    int column = 0, from = 0; /* where the rest of the line is printed, and where it begins */
    while (column + length - from > width) {
        const int most = from + width - column - 2; /* leaves room for the backslash */
        const int place = break_at(line, from > 0 ? from : indent, most);
        if (place == 0)
            break;
        printf("%*s%.*s%s\n", column, "", place - from, line + from, is_command ? " \\" : "");
        from = place + 1;
        column = indent;
    }
    printf("%*s%.*s\n", column, "", length - from, line + from);
}

/* Print the usage text: lines up to an empty line or an example are joined to a paragraph, which is wrapped.
 */
static void print_usage(const char *usage) {
    while (*usage) {
        char text[2048] = "";
        pto_line_t paragraph = {.text = text, .size = sizeof text};
        const char *line = usage;
        for (; *line && *line != '\n' && !is_example(line); line += *line == '\n') {
            size_t length = strcspn(line, "\n");
            pto_line_add(&paragraph, "%s%.*s", paragraph.used > 0 ? " " : "", (int)length, line);
            line += length;
        }
        if (line > usage)
            pto_print_wrapped(stdout, text, 0, help_width());
        for (; *line && (*line == '\n' || is_example(line)); line += *line == '\n') {
            size_t length = strcspn(line, "\n");
            print_example(line, (int)length);
            line += length;
        }
        usage = line;
    }
}

/* --help itself is listed last under the first heading. */
void pto_print_help(const pto_syntax_t *syntax) {
    bool has_help = false;
    print_usage(syntax->usage);
    for (const pto_option_set_t *set = syntax->set; set->option; set++) {
        if (set->heading)
            printf("\n%s:\n", set->heading);
        for (const pto_option_t *option = set->option; option->name; option++)
            print_option(option);
        bool heading_ends = !set[1].option || set[1].heading;
        if (heading_ends && !has_help)
            print_option(&help_option);
        has_help = has_help || heading_ends;
    }
}

/* --- parsing ------------------------------------------------------------------------------------------- */

/* Returns the option with this name, or the only one whose name begins with it. */
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

/* The option's name in --NAME or --NAME=VALUE; -o is short for --out. */
static void name_of(const char *word, char name[64]) {
    const char *text = word[1] == '-' ? word + 2 : "out", *equals = strchr(text, '=');
    snprintf(name, 64, "%.*s", equals ? (int)(equals - text) : (int)strlen(text), text);
}

/* Parse the option at argv[*index]; if its value is the next word, `*index` moves to that. */
static int parse_option(pto_arguments_t *arguments, int argc, char **argv, int *index, pto_error_t *err) {
    const pto_syntax_t *syntax = arguments->syntax;
    char name[64];
    const char *equals = strchr(argv[*index], '=');
    name_of(argv[*index], name);
    const pto_option_t *option = find(syntax, name);
    if (!option)
        return unknown_option(syntax, name, err);
    if (option == &help_option)
        return PTO_EXIT_OK;
    if (!option->argument && equals)
        return refuse(syntax, err, "--%s takes no value", option->name);
    if (option->argument && !equals && *index + 1 == argc)
        return refuse(syntax, err, "--%s needs a value (%s)", option->name, option->argument);
    const char *value = NULL;
    if (option->argument)
        value = equals ? equals + 1 : argv[++*index];
    if (value && !*value) /* as from an unset variable of a script */
        return refuse(syntax, err, "--%s needs a value (%s), and this one is empty", option->name,
                      option->argument);
    arguments->given[arguments->given_count++] = (pto_given_t){option, value};
    return -1;
}

/* Whether an operand is written like an option: `list --machines` for `list machines`. */
static bool is_dashed_operand(const pto_syntax_t *syntax, const char *text) {
    for (int i = 0; syntax->operand_at && syntax->operand_at(i); i++)
        if (strncmp(text, "--", 2) == 0 && strcmp(text + 2, syntax->operand_at(i)) == 0)
            return true;
    return false;
}

/* Replace the name of a scenario or workload by the path of its file. Returns -1, or the exit code. */
static int find_scenario(pto_arguments_t *arguments, pto_error_t *err) {
    pto_error_t fault = {0};
    if (!arguments->syntax->by_name || arguments->operand_count == 0)
        return -1;
    if (pto_find_scenario(arguments->operand[0], &arguments->found, &fault) != PTO_OK) {
        pto_error_set(err, fault.status, "%s: %s", arguments->syntax->program, fault.message);
        return PTO_EXIT_ERROR;
    }
    if (arguments->found)
        arguments->operand[0] = arguments->found;
    return -1;
}

int pto_arguments_read(const pto_syntax_t *syntax, int argc, char **argv, pto_arguments_t *arguments,
                       pto_error_t *err) {
    *arguments = (pto_arguments_t){.syntax = syntax,
                                   .given = calloc((size_t)argc + 1, sizeof *arguments->given),
                                   .operand = calloc((size_t)argc + 1, sizeof *arguments->operand)};
    int code = -1;
    bool options_end = false;
    if (!arguments->given || !arguments->operand) {
        pto_error_set(err, PTO_ERR_MEMORY, "%s: out of memory", syntax->program);
        code = PTO_EXIT_ERROR;
    }
    for (int i = 1; i < argc && code < 0; i++)
        if (options_end || argv[i][0] != '-' || argv[i][1] == '\0') {
            arguments->operand[arguments->operand_count++] = argv[i];
            options_end |= syntax->runs_command;
        } else if (strcmp(argv[i], "--") == 0)
            options_end = true;
        else if (strcmp(argv[i], "-h") == 0)
            code = PTO_EXIT_OK;
        else if (is_dashed_operand(syntax, argv[i]))
            arguments->operand[arguments->operand_count++] = argv[i] + 2;
        else if (argv[i][1] != '-' && (strcmp(argv[i], "-o") != 0 || !find(syntax, "out")))
            code = refuse(syntax, err, "unknown option '%s'", argv[i]);
        else
            code = parse_option(arguments, argc, argv, &i, err);
    if (code < 0)
        code = find_scenario(arguments, err);
    if (code >= 0)
        pto_arguments_fini(arguments);
    return code;
}

int pto_arguments_parse(const pto_syntax_t *syntax, int argc, char **argv, pto_arguments_t *arguments) {
    pto_error_t err = {0};
    int code = pto_arguments_read(syntax, argc, argv, arguments, &err);
    if (code == PTO_EXIT_OK)
        pto_print_help(syntax);
    else if (code > 0)
        fprintf(stderr, "%s\n", err.message);
    return code;
}

const char *pto_arguments_text(const pto_arguments_t *arguments, const char *name) {
    const char *text = NULL;
    const pto_option_t *option;
    for (int i = 0; (option = pto_syntax_option(arguments->syntax, i)); i++)
        if (strcmp(option->name, name) == 0)
            text = option->standard;
    for (int i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].option->name, name) == 0)
            text = arguments->given[i].text;
    return text;
}

void pto_arguments_fini(pto_arguments_t *arguments) {
    free(arguments->given);
    free(arguments->operand);
    free(arguments->found);
    *arguments = (pto_arguments_t){0};
}

static pto_status_t add_text(const char *text, pto_texts_t *texts, pto_error_t *err) {
    if (texts->count == PTO_TEXTS_MAX)
        return pto_error_set(err, PTO_ERR_RANGE, "at most %d times", PTO_TEXTS_MAX);
    texts->item[texts->count++] = text;
    return PTO_OK;
}

/* Read an option's text, and store the value in the command's own struct. */
static pto_status_t store(const pto_option_t *option, const char *text, void *target, pto_error_t *err) {
    void *slot = (char *)target + option->at;
    const char *what = option->what ? option->what : option->name;
    int index;
    switch (option->form) {
    case PTO_VALUE_NONE:
        return PTO_OK;
    case PTO_VALUE_FLAG:
        *(bool *)slot = true;
        return PTO_OK;
    case PTO_VALUE_TEXT:
        *(const char **)slot = text;
        return PTO_OK;
    case PTO_VALUE_TEXTS:
        return add_text(text, slot, err);
    case PTO_VALUE_NAME:
        *(const char **)slot = text;
        return pto_word_parse(text, what, option->word_at, &index, err);
    case PTO_VALUE_WORD:
        return pto_word_parse(text, what, option->word_at, slot, err);
    case PTO_VALUE_INT:
        return parse_int(text, (int)option->most, slot, err);
    case PTO_VALUE_COUNT:
        return pto_count_parse(text, slot, err);
    case PTO_VALUE_NATURAL:
        return parse_natural(text, what, slot, err);
    case PTO_VALUE_BYTES:
        return parse_bytes(text, option->least, slot, err);
    case PTO_VALUE_NUMBER:
        return pto_number_parse(text, option->least, option->most, slot, err);
    case PTO_VALUE_OWN:
        break;
    }
    return option->apply(slot, text, err);
}

/* Store a value. The error begins with the option's name, unless it is one of a file with a line. */
static pto_status_t apply(const pto_option_t *option, const char *text, void *target, pto_error_t *err) {
    pto_error_t cause = {0};
    pto_status_t status = store(option, text, target, &cause);
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
