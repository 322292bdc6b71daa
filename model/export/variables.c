/* Reads variables from lines NAME=VALUE, configuration files and shell scripts. A script is not run: its
 * assignments are found by their syntax, and those that may not be executed are marked as conditional: A in
 * `if true; then export A=1; fi`, where `depth` is 1, and B in `test -f x && export B=2`. `rest` is the part
 * of a line that is still to be read. In this file, a function after_X returns the text behind an X and its
 * blanks, or NULL if the text does not begin with an X. */
#include "variables.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

static const char blanks[] = " \t\r\f\v";
static const char name_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

static pto_status_t fault(const pto_variables_t *variables, int column, const char *message) {
    return pto_error_set_at(variables->err, PTO_ERR_SYNTAX, variables->path, variables->line, column, "%s",
                            message);
}

/* Rejects a text with a byte 0 in it. */
static pto_status_t check_zero(pto_variables_t *variables, const char *text, size_t size) {
    const char *zero = memchr(text, '\0', size), *end;
    if (!zero)
        return PTO_OK;
    variables->line = 1;
    for (; (end = memchr(text, '\n', (size_t)(zero - text))); text = end + 1)
        variables->line++; /* `text` becomes the line of the byte */
    return fault(variables, (int)(zero - text) + 1, "a byte 0");
}

static pto_status_t next_line(pto_variables_t *variables, char **line) {
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

/* Cut off a comment, which begins with a `;` after a blank. */
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

/* After one of these words, if the line ends there or has one of the characters `ends` there. */
static char *after_one_of(char *line, const char *const *words, size_t count, const char *ends) {
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        if (pto_text_begins(line, words[i]) && strchr(ends, line[length]))
            return line + length + strspn(line + length, blanks);
    }
    return NULL;
}

static char *after_word(char *line, const char *word) { return after_one_of(line, &word, 1, blanks); }

/* After MPICH_ENV_DISPLAY's "PE 0:", which a launcher's label may precede; the line itself if it has none. */
static char *after_rank(char *line) {
    for (char *at = strstr(line, "PE "); at; at = strstr(at + 1, "PE ")) {
        char *rank = at + strlen("PE "), *end = rank + strspn(rank, "0123456789");
        if ((at == line || strchr(blanks, at[-1])) && end > rank && *end == ':')
            return end + 1 + strspn(end + 1, blanks);
    }
    return line;
}

/* After the word with which a batch system marks its options in comments; NULL for a plain comment. */
static char *after_directive(char *line) {
    static const char *const words[] = {"#SBATCH", "#PBS", "#BSUB", "#flux:", "#FLUX:", "#PJM", "#COBALT"};
    return after_one_of(line, words, sizeof words / sizeof *words, blanks);
}

/* After the first of the texts `begin` with which a text begins. */
static const char *after_any(const char *text, const char *const *begin, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (pto_text_begins(text, begin[i]))
            return text + strlen(begin[i]);
    return NULL;
}

static bool launches(const char *command) {
    static const char *const words[] = {"srun ",    "mpirun ", "mpiexec ", "mpiexec.hydra ", "orterun ",
                                        "prterun ", "prun ",   "ibrun ",   "aprun ",         "jsrun ",
                                        "flux ",    "docker ", "podman ",  "singularity ",   "apptainer "};
    return after_any(command, words, sizeof words / sizeof *words) != NULL;
}

/* Returns the COMMAND of a line "NAME=VALUE NAME=VALUE COMMAND". */
static const char *after_assignments(const char *line) {
    for (;;) {
        const size_t name = strspn(line, name_characters), word = strcspn(line, " \t\n");
        if (name == 0 || line[name] != '=' || !strchr(" \t", line[word]))
            return line;
        line += word + strspn(line + word, " \t");
    }
}

/* Returns the length of one of make's assignment operators `?=`, `:=`, `::=` and `:::=`; 0: none is here. */
static size_t make_operator(const char *text) {
    const size_t signs = *text == '?' ? 1 : strspn(text, ":");
    return signs > 0 && signs <= 3 && text[signs] == '=' ? signs + 1 : 0;
}

static bool is_make_assignment(const char *line) {
    const size_t name = strspn(line, name_characters), blank = strspn(line + name, " \t");
    return name > 0 && make_operator(line + name + blank) > 0;
}

bool pto_variables_is_script(const char *text) {
    static const char *const words[] = {"set -",        "$env:",        "$Env:",       "ENV ",
                                        "FROM ",        "- ",           "apiVersion:", "services:",
                                        "env:",         "environment:", "name:",       "{\"env",
                                        "\"env",        "import ",      "os.environ",  "setenv(",
                                        "BASH_FUNC_",   "set ",         "local ",      "Environment=",
                                        "#!",           "export ",      "declare -x ", "setenv ",
                                        "unset ",       "unsetenv ",    "if ",         "for ",
                                        "while ",       "case ",        "[ ",          "[[ ",
                                        "test ",        "function ",    "cd ",         "module ",
                                        "source ",      "#SBATCH",      "#PBS",        "#BSUB",
                                        "#flux:",       "typeset -x",   "declare -gx", "SINGULARITYENV_",
                                        "APPTAINERENV_"};
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n \t@");
        const char *rank = strstr(line, "PE "), *end = strchr(line, '\n');
        if (launches(after_assignments(line)) || is_make_assignment(line) ||
            after_any(line, words, sizeof words / sizeof *words))
            return true;
        if (rank && (!end || rank < end) && rank[3 + strspn(rank + 3, "0123456789")] == ':')
            return true;
    }
    return false;
}

/* Returns the next name that begins with the prefix, from `at` on, in the line that ends at `end`; NULL:
 * there is none. Uses as $NAME or ${NAME} are skipped. */
static const char *next_name(const char *line, const char *at, const char *end, const char *prefix) {
    while ((at = strstr(at, prefix)) != NULL && at < end) {
        if (at == line || (!strchr("${", at[-1]) && !strchr(name_characters, at[-1])))
            return at;
        at += strlen(prefix);
    }
    return NULL;
}

int pto_variables_find(const char *text, const char *prefix) {
    for (int number = 1; *text; number++) {
        const char *end = text + strcspn(text, "\n");
        if (text[strspn(text, blanks)] != '#' && next_name(text, text, end, prefix))
            return number;
        text = end + (*end == '\n');
    }
    return 0;
}

/* Reads a value: a word or quoted text. If it is `wanted`, one that the shell would compute is an error. */
static pto_status_t read_value(pto_variables_t *variables, const char *line, char *value, bool wanted,
                               pto_variable_t *variable) {
    const char quote = *value == '"' || *value == '\'' ? *value : '\0';
    char *begin = value + (quote != '\0'), *end = begin;
    while (*end && (quote ? *end != quote : !strchr(" \t;&|", *end) && !(variables->in_list && *end == ',')))
        end++;
    if (quote && !*end && wanted)
        return fault(variables, (int)(value - line) + 1, "a quoted value without its end");
    variables->in_list = variables->in_list && *end == ',';
    variables->rest = *end ? end + 1 : NULL;
    variables->ends_command = *end == ';';
    *end = '\0';
    if (wanted && quote != '\'' && strpbrk(begin, "$`\\"))
        return fault(variables, (int)(begin - line) + 1,
                     "the shell computes this value; write it out, or check what `env` prints");
    variable->value = begin;
    variable->column = (int)(begin - line) + 1;
    return PTO_OK;
}

/* Returns the NAME that follows an option of a launcher that sets a variable; NULL: no such option is at
 * `at`. `is_listed`: the launcher's options take NAME=VALUE,NAME=VALUE. */
static char *after_setting(pto_variables_t *variables, char *at, bool is_listed) {
    static const struct {
        const char *name;
        enum { NAMED /* NAME VALUE or NAME=VALUE */, ASSIGNED /* NAME=VALUE */, LISTED /* ...,... */ } kind;
    } options[] = {{"-x ", NAMED},        {"--env ", NAMED},    {"-env ", NAMED},
                   {"-genv ", NAMED},     {"--genv ", NAMED},   {"-e ", ASSIGNED}, /* also of srun: a file */
                   {"-E ", ASSIGNED},     {"--env=", ASSIGNED}, {"--export=", LISTED},
                   {"--export ", LISTED}, {"-v ", LISTED}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!pto_text_begins(at, options[i].name))
            continue;
        char *name = at + strlen(options[i].name);
        name += strspn(name, blanks);
        while (options[i].kind == LISTED && name[strcspn(name, ",= \t")] == ',') /* skip ALL and bare names */
            name += strcspn(name, ",") + 1;
        const size_t length = strspn(name, name_characters);
        if (options[i].kind != NAMED && (length == 0 || name[length] != '='))
            return NULL;
        variables->in_list = options[i].kind == LISTED || is_listed;
        return name;
    }
    return NULL;
}

/* Returns the NAME after the line's next option that sets a variable; NULL if there is none. */
static char *after_option(pto_variables_t *variables, char *line) {
    const bool is_listed = strstr(line, "singularity ") || strstr(line, "apptainer ");
    for (char *at = line; *at; at += strcspn(at, blanks), at += strspn(at, blanks)) {
        char *found = after_setting(variables, at, is_listed);
        if (found)
            return found;
    }
    return NULL;
}

/* Read the next name after `unset` as a variable whose value is NULL. Returns false if there is none. */
static bool read_unset(pto_variables_t *variables, char *line, pto_variable_t *variable) {
    static const char *const words[] = {"unset", "unsetenv"}, *const option[] = {"-v"};
    char *name = variables->in_unset ? line : after_one_of(line, words, 2, blanks);
    if (!name)
        return false;
    char *after = after_one_of(name, option, 1, blanks);
    name = after ? after : name;
    char *end = name + strspn(name, name_characters);
    if (end == name)
        return false;
    variables->in_unset = *end && strchr(blanks, *end);
    variables->rest = *end ? end + 1 : NULL;
    *end = '\0';
    variable->name = name;
    variable->line = variables->line;
    return true;
}

/* After the prefix that makes a container runtime set the rest as a variable inside; else the name itself. */
static char *after_container(char *name) {
    static const char *const prefixes[] = {"SINGULARITYENV_", "APPTAINERENV_"};
    const char *after = after_any(name, prefixes, sizeof prefixes / sizeof *prefixes);
    return after ? name + (after - name) : name;
}

/* Reads the first assignment of a line. If there is none, the variable has no name. The forms are NAME=VALUE,
 * make's NAME := VALUE, and `setenv NAME VALUE` or `-x NAME VALUE`, which are `by_blank`. `behind` is the
 * text behind the name and its blanks: the operator or, if `by_blank`, the value. */
static pto_status_t read_assignment(pto_variables_t *variables, char *line, pto_variable_t *variable) {
    static const char *const words[] = {"export", "--", "declare -x", "declare -gx", "typeset -x", "env"};
    char *at = after_rank(line), *after;
    if (launches(at))
        variables->launch_line = variables->line;
    if (read_unset(variables, at, variable))
        return PTO_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((after = after_word(at, words[i])))
            at = after;
    bool by_blank = (after = after_word(at, "setenv")) != NULL;
    at = by_blank ? after : at;
    size_t length = strspn(at, name_characters); /* of the name */
    char *behind = at + length + strspn(at + length, blanks);
    const size_t make_length = length > 0 ? make_operator(behind) : 0;
    if (!by_blank && make_length == 0 && (length == 0 || *behind != '=')) {
        if (!(at = after_option(variables, at)))
            return PTO_OK;
        length = strspn(at, name_characters);
        by_blank = at[length] != '=';
        behind = at + length + strspn(at + length, blanks);
    }
    if (length == 0 || (by_blank && (behind == at + length || !*behind || *behind == '-'))) {
        variables->rest = *behind ? behind : NULL; /* a bare name: the environment has its value */
        return PTO_OK;
    }
    char *value = by_blank ? behind : make_length > 0 ? behind + make_length : behind + 1;
    if (make_length > 0) /* `?=` yields to the environment; make keeps a variable without `export` */
        variables->in_condition = variables->in_condition || *behind == '?' || at == line;
    if (!by_blank && (make_length > 0 || behind > at + length)) /* NAME = VALUE, as of MPICH_ENV_DISPLAY */
        value += strspn(value, blanks);
    variable->name = after_container(at);
    variable->line = variables->line;
    const bool wanted = pto_text_begins(variable->name, variables->prefix);
    pto_status_t status = read_value(variables, line, value, wanted, variable);
    at[length] = '\0';
    return status;
}

static char *after_keyword(char *line, const char *const *words, size_t count) {
    return after_one_of(line, words, count, " \t;(");
}

static char *after_semicolon(char *line) {
    line += strcspn(line, ";");
    return line + (*line == ';');
}

/* After the parenthesis that closes the one with which a text begins; NULL if there is none. */
static char *after_parenthesis(char *text) {
    int depth = 0;
    for (char *at = text; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0)
            return at + 1 + strspn(at + 1, blanks);
    }
    return NULL;
}

/* After the head of a conditional or loop, which begins with `keyword` and continues at `head`. It adds 1 to
 * the depth, except csh's `if (...) setenv X Y`, which has no end; csh's `else if (...) then` (`is_divided`),
 * whose `if` has added it; and the labels `case` of csh's `switch`. */
static char *after_head(pto_variables_t *variables, char *keyword, char *head, bool is_divided) {
    const bool is_csh_if = *keyword == 'i' && *head == '(' && head[1] != '(';
    char *command = is_csh_if ? after_parenthesis(head) : NULL, *in = strstr(head, " in");
    if (command && strcmp(command, "then") == 0) {
        variables->depth += !is_divided;
        return command;
    }
    if (command && *command && !strchr(";&|", *command)) {
        variables->in_condition = true;
        return command;
    }
    if (strncmp(keyword, "case", 4) == 0) {
        variables->depth += in != NULL;
        return in ? in + strlen(" in") : head + strlen(head);
    }
    variables->depth++;
    return after_semicolon(head);
}

/* After a function's name or a brace. Commands in the braces of a function, or after `&&`, may not run. */
static char *after_brace(pto_variables_t *variables, char *line) {
    static const char *const function[] = {"function"}, *const opening[] = {"{"}, *const closing[] = {"}"};
    char *name = after_keyword(line, function, 1), *after = name ? name : line;
    after += strspn(after, name_characters);
    after += strspn(after, blanks);
    if (name || (after > line && strncmp(after, "()", 2) == 0)) {
        variables->in_head = true;
        return after + 2 * (strncmp(after, "()", 2) == 0);
    }
    if ((after = after_keyword(line, opening, 1))) {
        const bool may_not_run = variables->in_head || variables->in_condition;
        variables->depth += may_not_run;
        variables->braces = variables->braces << 1 | may_not_run;
        variables->in_head = false;
        variables->in_condition = false;
    } else if ((after = after_keyword(line, closing, 1))) {
        variables->depth -= variables->depth > 0 && variables->braces & 1;
        variables->braces >>= 1;
    }
    return after;
}

/* Returns the command after the keywords that open, divide and close conditionals and loops. */
static char *after_keywords(pto_variables_t *variables, char *line) {
    static const char *const opening[] = {"if",   "for",    "while",   "until",
                                          "case", "select", "foreach", "switch"};
    static const char *const closing[] = {"fi", "done", "esac", "end", "endif", "endsw"};
    static const char *const dividing[] = {"then", "else", "do"}, *const again[] = {"elif"};
    bool is_divided = false;
    for (char *at = line, *after;; at = after + strspn(after, blanks)) {
        const size_t pattern = strcspn(at + (*at == '('), "()=") + (*at == '('); /* length of A|B in A|B) */
        if ((after = after_keyword(at, opening, sizeof opening / sizeof *opening))) {
            after = after_head(variables, at, after, is_divided);
        } else if ((after = after_keyword(at, closing, sizeof closing / sizeof *closing))) {
            variables->depth -= variables->depth > 0;
            after = after_semicolon(after);
        } else if ((after = after_keyword(at, again, 1))) {
            after = after_semicolon(after);
        } else if (variables->depth > 0 && pattern > 0 && at[pattern] == ')') { /* of `case` */
            after = at + pattern + 1;
        } else if ((after = after_keyword(at, dividing, sizeof dividing / sizeof *dividing))) {
            is_divided = true;
        } else if (*at == '(' && at[1] != '(') { /* of a subshell */
            after = at + 1;
        } else if (!(after = after_brace(variables, at))) {
            return at;
        }
    }
}

/* After a command's `;`, `&&` or `||`; NULL: no command follows. One after `&&` or `||` may not run. */
static char *after_command(pto_variables_t *variables, char *line) {
    char quote = '\0';
    for (char *at = line; *at; at++) {
        if (quote || *at == '"' || *at == '\'')
            quote = !quote ? *at : quote == *at ? '\0' : quote;
        else if (*at == '#' && (at == line || strchr(blanks, at[-1])))
            return NULL;
        else if (*at == ';' || ((*at == '&' || *at == '|') && at[1] == *at)) {
            variables->in_condition = *at != ';';
            return at + (*at == ';' ? 1 : 2);
        }
    }
    return NULL;
}

/* Stores the word that ends a here-document, if one begins. Its lines count as conditional. */
static void begin_here_document(pto_variables_t *variables, const char *line) {
    const char *word = strstr(line, "<<");
    word = word ? word + 2 + (word[2] == '-') : "";
    word += strspn(word, " '\"\\");
    const size_t length = strspn(word, name_characters);
    if (length == 0 || length >= sizeof variables->here_end || isdigit((unsigned char)*word))
        return;
    memcpy(variables->here_end, word, length);
    variables->here_end[length] = '\0';
    variables->depth++;
}

/* Reads the next line of a script, without blanks around it. A `\`, `&` or `|` at its end continues it. */
static pto_status_t next_script_line(pto_variables_t *variables, char **line) {
    pto_status_t status = next_line(variables, line);
    if (status != PTO_OK)
        return status;
    trim_end(*line);
    *line += strspn(*line, blanks);
    *line += **line == '@'; /* of a recipe in a makefile */
    const size_t length = strlen(*line);
    variables->in_condition = variables->in_condition && variables->continues;
    variables->continues = length > 0 && strchr("\\&|", (*line)[length - 1]);
    if (*variables->here_end && strcmp(*line, variables->here_end) == 0) {
        variables->here_end[0] = '\0';
        variables->depth -= variables->depth > 0;
    } else if (!*variables->here_end && **line != '#')
        begin_here_document(variables, *line);
    return PTO_OK;
}

/* Read the next assignment or `unset`; the variable has no name if the text has ended. */
static pto_status_t next_assignment(pto_variables_t *variables, pto_variable_t *variable) {
    while (variables->rest || variables->next) {
        char *line = variables->rest;
        pto_status_t status = line ? PTO_OK : next_script_line(variables, &line);
        variables->in_list = variables->in_list && variables->rest;
        variables->in_unset = variables->in_unset && variables->rest;
        if (status != PTO_OK)
            return status;
        if (variables->rest) /* assignments cannot fail: in `X=1 && Y=2`, Y is set, too */
            line += strspn(line, " \t&");
        variables->in_condition = variables->in_condition && !(variables->rest && variables->ends_command);
        variables->ends_command = false;
        variables->rest = NULL;
        line = *line == '#' ? after_directive(line) : after_keywords(variables, line);
        if (line) {
            line = pto_variables_as_shell(line, variables->prefix, &variables->item);
            if (variables->unread_line == 0 && next_name(line, line, line + strlen(line), variables->prefix))
                variables->unread_line = variables->line;
            status = read_assignment(variables, line, variable);
        }
        variable->is_conditional = variables->depth > 0 || variables->in_condition;
        /* ARGS="-x NAME=VALUE" has options for a launcher: read the value as a command that may not run. */
        if (variable->value && !pto_text_begins(variable->name, variables->prefix) &&
            strstr(variable->value, variables->prefix)) {
            variables->rest = variable->value;
            variables->in_condition = true;
            variables->ends_command = false;
        }
        if (status != PTO_OK || variable->name)
            return status;
        if (line && !variables->rest)
            variables->rest = after_command(variables, line);
    }
    return PTO_OK;
}

/* Removes a variable that is unset. It is an error if a program may have had it. */
static pto_status_t remove_variable(pto_variables_t *variables, const pto_variable_t *unset,
                                    pto_variable_t *found) {
    if (unset->is_conditional || variables->launch_line >= found->line)
        return pto_error_set_at(variables->err, PTO_ERR_SYNTAX, variables->path, unset->line, 1,
                                "line %d sets this variable, %s; a script is not run: check what `env` "
                                "prints at a launch",
                                found->line,
                                unset->is_conditional ? "and a conditional takes it back"
                                                      : "for a program that is started before this line");
    *found = variables->found[--variables->found_count];
    return PTO_OK;
}

/* Store a variable that the script sets, or remove it if its value is NULL. A second value is an error. */
static pto_status_t add_variable(pto_variables_t *variables, const pto_variable_t *variable) {
    int at = 0;
    while (at < variables->found_count && strcmp(variables->found[at].name, variable->name) != 0)
        at++;
    pto_variable_t *found = &variables->found[at];
    const bool known = at < variables->found_count;
    if (!variable->value)
        return known ? remove_variable(variables, variable, found) : PTO_OK;
    if (known && strcmp(found->value, variable->value) != 0)
        return pto_error_set_at(variables->err, PTO_ERR_SYNTAX, variables->path, variable->line,
                                variable->column,
                                "'%.24s' here, '%.24s' on line %d; a script is not run%s: check what `env` "
                                "prints at a launch",
                                variable->value, found->value, found->line,
                                variable->is_conditional ? ", nor its conditionals and loops" : "");
    if (at == PTO_VARIABLES_FOUND_MAX)
        return pto_error_set_at(variables->err, PTO_ERR_TOO_LARGE, variables->path, variable->line, 1,
                                "one variable too many");
    if (variable->is_conditional && variables->conditional_line == 0)
        variables->conditional_line = variable->line;
    if (!known) {
        *found = *variable;
        variables->found_count++;
    }
    return PTO_OK;
}

/* Collects all variables of a script, and then visits those that are still set at its end. */
static pto_status_t visit_script(pto_variables_t *variables, pto_variable_visit_t *visit, void *context) {
    pto_status_t status = PTO_OK;
    while (status == PTO_OK && (variables->rest || variables->next)) {
        pto_variable_t found = {.name = NULL};
        status = next_assignment(variables, &found);
        if (status == PTO_OK && found.name && pto_text_begins(found.name, variables->prefix))
            status = add_variable(variables, &found);
    }
    if (status == PTO_OK && variables->found_count == 0 && variables->unread_line > 0) {
        variables->line = variables->unread_line;
        return fault(variables, 1,
                     "a variable's name, but no value in a form that is read: write NAME=VALUE");
    }
    for (int i = 0; i < variables->found_count && status == PTO_OK; i++)
        status = visit(&variables->found[i], context);
    return status;
}

static pto_status_t visit_line(pto_variables_t *variables, pto_variable_visit_t *visit, void *context) {
    const bool sections = variables->form == PTO_VARIABLES_SECTIONS;
    pto_variable_t variable;
    char *line;
    pto_status_t status = next_line(variables, &line);
    if (status != PTO_OK)
        return status;
    const char *first = line + strspn(line, blanks);
    if (*first == '\0' || *first == '#' || (sections && *first == ';'))
        return PTO_OK;
    if (first > line) /* in a configuration file, it would continue the previous variable */
        return fault(variables, 1, "a line must not begin with a blank");
    if (sections) {
        cut_comment(line);
        trim_end(line);
    }
    if (sections && *line == '[')
        return begin_section(variables, line);
    status = read_variable(variables, line, &variable);
    return status == PTO_OK ? visit(&variable, context) : status;
}

pto_status_t pto_variables_read(pto_variables_t *variables, char *text, size_t size,
                                pto_variable_visit_t *visit, void *context) {
    pto_status_t status = check_zero(variables, text, size);
    variables->next = text;
    if (status == PTO_OK && variables->form == PTO_VARIABLES_SCRIPT)
        return visit_script(variables, visit, context);
    while (status == PTO_OK && variables->next)
        status = visit_line(variables, visit, context);
    return status;
}
