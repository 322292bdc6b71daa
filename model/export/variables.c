/* Reading lines NAME=VALUE. */
#include "variables.h"

#include <string.h>

static const char blanks[] = " \t\r\f\v";
static const char name_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

static pto_status_t fault(const pto_variables_t *variables, int column, const char *message) {
    return pto_error_set_at(variables->err, PTO_ERR_SYNTAX, variables->path, variables->line, column, "%s",
                            message);
}

pto_status_t pto_variables_begin(pto_variables_t *variables, char *text, size_t size) {
    variables->next = text;
    variables->line = 0;
    variables->rest = NULL;
    variables->section = NULL;
    const char *zero = memchr(text, '\0', size);
    if (!zero)
        return PTO_OK;
    int line = 1;
    const char *line_begin = text;
    for (const char *at = text; at < zero; at++)
        if (*at == '\n') {
            line++;
            line_begin = at + 1;
        }
    variables->line = line;
    return fault(variables, (int)(zero - line_begin) + 1, "a byte 0");
}

static pto_status_t take_line(pto_variables_t *variables, char **line) {
    *line = variables->next;
    size_t length = strcspn(*line, "\n");
    char *end = *line + length;
    variables->next = *end && end[1] ? end + 1 : NULL;
    variables->line++;
    *end = '\0';
    if (variables->line_bytes_max > 0 && length > variables->line_bytes_max)
        return pto_error_set_at(variables->err, PTO_ERR_TOO_LARGE, variables->path, variables->line, 1,
                                "a line of more than %zu bytes", variables->line_bytes_max);
    return PTO_OK;
}

static void trim_end(char *text) {
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]))
        text[--length] = '\0';
}

/* A `;` behind a blank begins a comment. */
static void cut_comment(char *text) {
    for (char *at = text; (at = strchr(at, ';')); at++)
        if (at > text && strchr(blanks, at[-1])) {
            *at = '\0';
            return;
        }
}

static pto_status_t begin_section(pto_variables_t *variables, char *line) {
    char *end = strchr(line, ']');
    if (!end || end == line + 1 || end[1])
        return fault(variables, 1, "a section is a line [NAME]");
    *end = '\0';
    variables->section = line + 1;
    variables->section_line = variables->line;
    return PTO_OK;
}

static pto_status_t read_variable(const pto_variables_t *variables, char *line, pto_variable_t *variable) {
    bool sections = variables->form == PTO_VARIABLES_SECTIONS;
    char *equals = strchr(line, '=');
    if (!equals || equals == line)
        return fault(variables, 1, "a line NAME=VALUE is needed here");
    *equals = '\0';
    char *value = equals + 1;
    if (sections) {
        trim_end(line);
        value += strspn(value, blanks);
    }
    size_t name_length = strspn(line, name_characters);
    if (line[name_length])
        return fault(variables, (int)name_length + 1,
                     "a name of letters, digits and _ is needed before the =");
    *variable = (pto_variable_t){.name = line,
                                 .value = value,
                                 .section = variables->section,
                                 .section_line = variables->section_line,
                                 .line = variables->line,
                                 .column = (int)(value - line) + 1};
    return PTO_OK;
}

/* --- scripts -------------------------------------------------------------------------------------------- */

/* Past a word and the blanks behind it; NULL: the line does not begin with it. */
static char *after_word(char *line, const char *word) {
    size_t length = strlen(word);
    if (strncmp(line, word, length) != 0 || !line[length] || !strchr(blanks, line[length]))
        return NULL;
    return line + length + strspn(line + length, blanks);
}

/* Past "PE 0:" and its like. */
static char *after_rank(char *line) {
    char *at = after_word(line, "PE");
    size_t digits = at ? strspn(at, "0123456789") : 0;
    return digits > 0 && at[digits] == ':' ? at + digits + 1 + strspn(at + digits + 1, blanks) : line;
}

bool pto_variables_is_script(const char *text) {
    static const char *const words[] = {"export ", "declare -x ", "setenv ", "PE ",
                                        "srun ",   "mpirun ",     "mpiexec "};
    if (strncmp(text, "#!", 2) == 0)
        return true;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n \t");
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(line, words[i], strlen(words[i])) == 0)
                return true;
    }
    return false;
}

/* The value of an assignment: a word, or a quoted text. What the shell would compute is refused. */
static pto_status_t read_value(pto_variables_t *variables, const char *line, char *value,
                               pto_variable_t *variable) {
    const char quote = *value == '"' || *value == '\'' ? *value : '\0';
    char *begin = value + (quote != '\0'), *end = begin;
    while (*end && (quote ? *end != quote : !strchr(" \t;&|", *end) && !(variables->in_list && *end == ',')))
        end++;
    if (quote && !*end)
        return fault(variables, (int)(value - line) + 1, "a quoted value without its end");
    variables->in_list = variables->in_list && *end == ',';
    variables->rest = *end ? end + 1 : NULL;
    *end = '\0';
    if (quote != '\'' && strpbrk(begin, "$`\\"))
        return fault(variables, (int)(begin - line) + 1,
                     "the shell computes this value; write it out, or check what `env` prints");
    variable->value = begin;
    variable->column = (int)(begin - line) + 1;
    return PTO_OK;
}

/* Past the next option of a launcher that sets a variable, "-x NAME=VALUE", "-genv NAME VALUE" or
 * "--export=ALL,NAME=VALUE,..."; NULL: the line has none. */
static char *after_option(pto_variables_t *variables, char *line) {
    static const char *const options[] = {"-x", "--env", "-env", "-genv", "--genv"};
    static const char list[] = "--export=";
    for (char *at = line; *at; at += strcspn(at, blanks), at += strspn(at, blanks)) {
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            if (after_word(at, options[i]))
                return after_word(at, options[i]);
        if (strncmp(at, list, strlen(list)) != 0)
            continue;
        at += strlen(list);
        while (at[strcspn(at, ",= \t")] == ',') /* ALL, or a name alone */
            at += strcspn(at, ",") + 1;
        variables->in_list = true;
        return at;
    }
    return NULL;
}

/* The first assignment of a line; no name: there is none. */
static pto_status_t read_assignment(pto_variables_t *variables, char *line, pto_variable_t *variable) {
    static const char *const words[] = {"export", "declare -x", "env"};
    char *at = after_rank(line), *after;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        at = (after = after_word(at, words[i])) ? after : at;
    bool setenv = after_word(at, "setenv") != NULL;
    at = setenv ? after_word(at, "setenv") : at;
    size_t name = strspn(at, name_characters);
    if (!setenv && (name == 0 || at[name + strspn(at + name, blanks)] != '=')) {
        at = after_option(variables, at);
        if (!at)
            return PTO_OK;
        name = strspn(at, name_characters);
        setenv = at[name] != '=';
    }
    char *equals = at + name + strspn(at + name, blanks);
    if (name == 0 || (setenv && (equals == at + name || !*equals || *equals == '-'))) {
        variables->rest = *equals ? equals : NULL; /* behind a name alone, whose value is the environment's */
        return PTO_OK;
    }
    char *value = setenv ? equals : equals + 1;
    if (!setenv && equals > at + name) /* as MPICH_ENV_DISPLAY prints it */
        value += strspn(value, blanks);
    pto_status_t status = read_value(variables, line, value, variable);
    at[name] = '\0';
    variable->name = at;
    variable->line = variables->line;
    return status;
}

static pto_status_t next_assignment(pto_variables_t *variables, pto_variable_t *variable) {
    while (variables->rest || variables->next) {
        char *line = variables->rest;
        pto_status_t status = line ? PTO_OK : take_line(variables, &line);
        variables->in_list = variables->in_list && variables->rest;
        variables->rest = NULL;
        if (status != PTO_OK)
            return status;
        trim_end(line);
        line += strspn(line, blanks);
        if (*line != '#')
            status = read_assignment(variables, line, variable);
        if (status != PTO_OK || variable->name)
            return status;
    }
    return PTO_OK;
}

/* A configuration file takes a line that begins with a blank for more of the variable before. */
pto_status_t pto_variables_next(pto_variables_t *variables, pto_variable_t *variable) {
    bool sections = variables->form == PTO_VARIABLES_SECTIONS;
    *variable = (pto_variable_t){.name = NULL};
    if (variables->form == PTO_VARIABLES_SCRIPT)
        return next_assignment(variables, variable);
    while (variables->next) {
        char *line;
        pto_status_t status = take_line(variables, &line);
        if (status != PTO_OK)
            return status;
        const char *first = line + strspn(line, blanks);
        if (*first == '\0' || *first == '#' || (sections && *first == ';'))
            continue;
        if (first > line)
            return fault(variables, 1, "a line must not begin with a blank");
        if (sections) {
            cut_comment(line);
            trim_end(line);
        }
        if (!sections || *line != '[')
            return read_variable(variables, line, variable);
        status = begin_section(variables, line);
        if (status != PTO_OK)
            return status;
    }
    return PTO_OK;
}
