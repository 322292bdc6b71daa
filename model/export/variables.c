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

/* A configuration file takes a line that begins with a blank for more of the variable before. */
pto_status_t pto_variables_next(pto_variables_t *variables, pto_variable_t *variable) {
    bool sections = variables->form == PTO_VARIABLES_SECTIONS;
    *variable = (pto_variable_t){.name = NULL};
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
