/* Files of lines NAME=VALUE: variables of the environment, or a configuration file with sections. Lines that
 * begin with `#` are comments. */
#ifndef PTO_VARIABLES_H
#define PTO_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "portolan/api.h"

/* Other lines of a configuration file: sections, comments that begin with `;`, and blanks around names and
 * values. */
typedef enum {
    PTO_VARIABLES_ENVIRONMENT,
    PTO_VARIABLES_SECTIONS,
    /* The environment's variables as a shell script sets them (`export`, `declare -x`, `setenv`, NAME=VALUE),
     * as options of launchers and batch systems do (`srun --export`, `mpirun -x`, `mpiexec -env`, `aprun -e`,
     * `#PBS -v`), or as MPICH_ENV_DISPLAY prints them ("PE 0:   NAME = VALUE"). Other lines are passed over.
     * `unset` takes a value back. Texts behind `<<` are read as if they were conditional. The script is not
     * run: two values of a variable are an error. */
    PTO_VARIABLES_SCRIPT
} pto_variables_form_t;

/* A variable; its texts are parts of the reader's text. */
typedef struct {
    char *name;
    char *value;
    const char *section; /* NULL: none */
    int section_line;
    int line;
    int column;          /* of the value */
    bool is_conditional; /* of a script: it may not be set */
} pto_variable_t;

enum { PTO_VARIABLES_KEPT_MAX = 64 };

/* A reader of variables. It changes the text, which the caller frees after the last variable. */
typedef struct {
    const char *path;
    pto_variables_form_t form;
    const char *prefix;    /* of the names that are wanted of a script */
    size_t line_bytes_max; /* 0: any */
    char *next;            /* NULL behind the last line */
    char *rest;            /* further assignments of a script's line; NULL: none */
    bool in_list;          /* the rest is one of `--export=NAME=VALUE,...` */
    bool in_unset;         /* the rest is further names of `unset` */
    int depth;             /* of `if`, `for`, functions and the like around the line */
    bool in_condition;     /* the command follows `&&`, `||` or csh's `if (...)` */
    bool ends_command;     /* before the rest */
    bool goes_on;          /* the line goes on in the next one */
    bool in_head;          /* before the braces of a function */
    unsigned braces;       /* that are open, the last one in the lowest bit: it counts in the depth */
    char here[32];         /* the line that ends a text within the script; "": it is in none */
    int launch_line;       /* the last one that starts a program; 0: none */
    int conditional_line;  /* the first one that sets a wanted variable within `if` and the like; 0: none */
    pto_variable_t kept[PTO_VARIABLES_KEPT_MAX]; /* what a script has set */
    int kept_count;
    int given; /* of these, to the caller */
    int line;
    const char *section; /* NULL before the first one */
    int section_line;
    pto_error_t *err;
} pto_variables_t;

/* Returns whether a text is a script or a print of the environment, rather than lines NAME=VALUE alone. */
bool pto_variables_is_script(const char *text);

/* Returns the first line that sets a variable whose name begins so, or 0. */
int pto_variables_find(const char *text, const char *prefix);

/* Begin to read a text that ends in a NUL behind its `size` bytes. Errors: PTO_ERR_SYNTAX. */
pto_status_t pto_variables_begin(pto_variables_t *variables, char *text, size_t size);

/* The next variable; its name is NULL behind the last one. Errors: PTO_ERR_SYNTAX, _TOO_LARGE, with line and
 * column. */
pto_status_t pto_variables_next(pto_variables_t *variables, pto_variable_t *variable);

#endif
