/* A reader of files that set variables: lines NAME=VALUE as `env` prints them, a configuration file with
 * sections, or a shell script. `portolan export --check` reads UCC's and Cray MPICH's variables with it.
 * Lines that begin with `#` are comments. */
#ifndef PTO_VARIABLES_H
#define PTO_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "portolan/api.h"

typedef enum {
    /* Lines NAME=VALUE alone. */
    PTO_VARIABLES_ENVIRONMENT,
    /* A configuration file, with sections [NAME], comments after `;`, and blanks around names and values. */
    PTO_VARIABLES_SECTIONS,
    /* A shell script that sets variables: by `export`, `declare -x`, `setenv` or NAME=VALUE, or by options of
     * launchers and batch systems (`srun --export`, `mpirun -x`, `mpiexec -env`, `aprun -e`, `#PBS -v`). Or
     * the output of MPICH_ENV_DISPLAY ("PE 0:   NAME = VALUE"). Other lines are skipped. The script is not
     * run: `unset` removes a variable, two values of one are an error, and here-documents (`<<`) count as
     * conditional. A script that names variables, but sets none in a form that is read, is an error, too.
     * pto_variables_as_shell translates other languages. */
    PTO_VARIABLES_SCRIPT
} pto_variables_form_t;

/* A variable; its texts are parts of the text that is read. */
typedef struct {
    char *name;
    char *value;         /* NULL: the script unsets it */
    const char *section; /* NULL: none */
    int section_line;
    int line;
    int column;          /* of the value */
    bool is_conditional; /* the script may not set it */
} pto_variable_t;

enum { PTO_VARIABLES_FOUND_MAX = 64 };

/* A reader. It changes the text, which the caller frees after the last variable. The caller sets `path`,
 * `form`, `prefix`, `line_bytes_max` and `err`, and zeroes the rest. */
typedef struct {
    const char *path;
    pto_variables_form_t form;
    const char *prefix;    /* of the names that are read from a script */
    size_t line_bytes_max; /* 0: no limit */
    char *next;            /* the next line; NULL after the last */
    int line;              /* the number of the current line, from 1 */
    const char *section;   /* the current section; NULL before the first */
    int section_line;
    pto_error_t *err;
    /* The state of a script's reader; `conditional_line` is also a result for the caller. */
    char *rest;           /* the unread part of the line; NULL: none */
    bool in_list;         /* `rest` continues a list of `--export=NAME=VALUE,...` */
    bool in_unset;        /* `rest` has further names of `unset` */
    int depth;            /* of `if`, `for`, functions and so on around the line */
    bool in_condition;    /* the command follows `&&`, `||` or csh's `if (...)` */
    bool ends_command;    /* a command ends before `rest` */
    bool continues;       /* the next line continues this one */
    bool in_head;         /* between a function's name and its brace */
    unsigned braces;      /* a bit for each open brace, the innermost lowest: whether it counts in `depth` */
    char *item;           /* the NAME of YAML's `name: NAME` in the line before; NULL: none */
    int unread_line;      /* the first line that names a variable and was not read; 0: none */
    char here_end[32];    /* the line that ends the current here-document; "": in none */
    int launch_line;      /* the last line that starts a program; 0: none */
    int conditional_line; /* the first line that sets a variable conditionally; 0: none */
    pto_variable_t found[PTO_VARIABLES_FOUND_MAX];
    int found_count;
} pto_variables_t;

/* Rewrites a line that sets a variable in another language than sh (fish, PowerShell, container files, YAML,
 * JSON, calls such as setenv("NAME", "VALUE")) as NAME=VALUE, and returns that; else returns the line itself.
 * `*item` is the `item` of pto_variables_t: on entry the one of the line before, on return that of this line.
 */
char *pto_variables_as_shell(char *line, const char *prefix, char **item);

/* Returns whether a text is a script or a print of the environment, rather than lines NAME=VALUE alone. */
bool pto_variables_is_script(const char *text);

/* Returns the number of the first line, other than comments, with a name that begins with the prefix; 0:
 * there is none. */
int pto_variables_find(const char *text, const char *prefix);

/* Takes a variable. Reading ends if it fails. */
typedef pto_status_t pto_variable_visit_t(const pto_variable_t *variable, void *context);

/* Reads a text that ends in a NUL after its `size` bytes, and passes each variable to `visit`. Errors:
 * PTO_ERR_SYNTAX, _TOO_LARGE, with the place; those of `visit`. */
pto_status_t pto_variables_read(pto_variables_t *variables, char *text, size_t size,
                                pto_variable_visit_t *visit, void *context);

#endif
