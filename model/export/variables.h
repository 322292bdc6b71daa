/* Files of lines NAME=VALUE: variables of the environment, or a configuration file with sections. Lines that
 * begin with `#` are comments. */
#ifndef PTO_VARIABLES_H
#define PTO_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "portolan/status.h"

/* What a configuration file may also contain: sections, comments that begin with `;`, and blanks around
 * names and values. */
typedef enum { PTO_VARIABLES_ENVIRONMENT, PTO_VARIABLES_SECTIONS } pto_variables_form_t;

/* It changes the text, which its owner frees after the last variable. */
typedef struct {
    const char *path;
    pto_variables_form_t form;
    size_t line_bytes_max; /* 0: any */
    char *next;            /* NULL behind the last line */
    int line;
    const char *section; /* NULL before the first one */
    int section_line;
    pto_error_t *err;
} pto_variables_t;

/* Its texts are part of the reader's text. */
typedef struct {
    char *name;
    char *value;
    const char *section; /* NULL: none */
    int section_line;
    int line;
    int column; /* of the value */
} pto_variable_t;

/* Begin to read a text that ends in a NUL behind its `size` bytes. Errors: PTO_ERR_SYNTAX. */
pto_status_t pto_variables_begin(pto_variables_t *variables, char *text, size_t size);

/* The next variable; its name is NULL behind the last one. Errors: PTO_ERR_SYNTAX, _TOO_LARGE, with line and
 * column. */
pto_status_t pto_variables_next(pto_variables_t *variables, pto_variable_t *variable);

#endif
