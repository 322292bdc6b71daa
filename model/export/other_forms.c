/* Turns a line that sets an environment variable in another language than sh into the shell's NAME=VALUE, for
 * the reader in variables.c: fish, PowerShell, container files, YAML (Compose, Kubernetes), JSON, and calls
 * such as Lmod's setenv("NAME", "VALUE") or Python's os.environ["NAME"] = "VALUE". Each from_X function
 * rewrites the line in place and returns the NAME in it, or NULL if the line is not of its language. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "variables.h"

static const char blanks[] = " \t";

static size_t name_length(const char *text) {
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length;
}

static char *skip_blanks(char *text) { return text + strspn(text, blanks); }

/* Moves a name to just before its value, with a = between them: of "ENV A   1", it makes "ENV A A=1" and
 * returns "A=1". At least one character must be between name and value. */
static char *join(char *name, size_t length, char *value) {
    char *line = value - 1 - length;
    memmove(line, name, length);
    value[-1] = '=';
    return line;
}

/* Blanks out the `,`, `)` and `}` that follow an unquoted value in a list or a call. */
static void cut_end(char *value) {
    char *end = value + strcspn(value, blanks);
    while (*value != '"' && *value != '\'' && end > value && strchr(",})", end[-1]))
        *--end = ' ';
}

/* fish's `set -x NAME VALUE`; more options may be given. */
static char *from_fish(char *line) {
    char *at = line + strlen("set");
    bool is_exported = false;
    if (!pto_text_begins(line, "set") || !*at || !strchr(blanks, *at))
        return NULL;
    for (at = skip_blanks(at); *at == '-'; at = skip_blanks(at)) {
        const size_t length = strspn(at, "-abcdefghijklmnopqrstuvwxyzUL");
        if (!at[length] || !strchr(blanks, at[length]))
            return NULL;
        is_exported =
            is_exported || pto_text_begins(at, "--export") || (at[1] != '-' && memchr(at, 'x', length));
        at += length;
    }
    const size_t length = name_length(at);
    char *value = skip_blanks(at + length);
    return is_exported && length > 0 && value > at + length && *value && *value != ';'
               ? join(at, length, value)
               : NULL;
}

/* A container file's `ENV NAME=VALUE` and `ENV NAME VALUE`, PowerShell's `$env:NAME = VALUE`. */
static char *from_word(char *line) {
    char *at = NULL;
    if (pto_text_begins(line, "ENV ") || pto_text_begins(line, "ENV\t"))
        at = skip_blanks(line + 4);
    else if (strncasecmp(line, "$env:", 5) == 0)
        at = line + 5;
    const size_t length = at ? name_length(at) : 0;
    char *value = at ? skip_blanks(at + length) : NULL;
    if (length == 0 || !*value || (value == at + length && *value != '='))
        return NULL;
    if (*value == '=')
        value = skip_blanks(value + 1);
    return *value ? join(at, length, value) : NULL;
}

/* `NAME: VALUE`; `- NAME=VALUE`; or Kubernetes's `name: NAME` and `value: VALUE`, on one line or on two:
 *     - {name: NAME, value: VALUE}
 *     - name: NAME
 *       value: VALUE
 * `pending` is the NAME of a `name:` on the previous line, or NULL. `*item` is set to that of this line, if
 * its value is still to come. */
static char *from_yaml(char *line, const char *prefix, char *pending, char **item) {
    char *at = line + strspn(line, "-{ \t");
    if ((*at == '"' || *at == '\'') && pto_text_begins(at + 1, prefix) &&
        at[1 + name_length(at + 1)] == '=') { /* "NAME=VALUE" in quotes */
        char *end = strchr(at + 1, *at);
        if (end)
            *end = ' ';
        return at + 1;
    }
    size_t length = name_length(at);
    if (at[length] != ':')
        return at > line && pto_text_begins(at, prefix) && at[length] == '=' ? at : NULL;
    if (length == strlen("name") && pto_text_begins(at, "name")) {
        pending = skip_blanks(at + length + 1);
        pending += *pending == '"' || *pending == '\'';
        at = strstr(pending, "value:");
        *item = at ? NULL : pending;
        if (!at)
            return NULL;
        length = strlen("value");
    }
    const bool is_value = length == strlen("value") && pto_text_begins(at, "value");
    char *name = pending && is_value ? pending : at, *value = skip_blanks(at + length + 1);
    if (!*value || value == at + length + 1 || !pto_text_begins(name, prefix))
        return NULL;
    cut_end(value);
    return join(name, name_length(name), value);
}

/* Returns whether a word ends just before `at`. */
static bool follows(const char *line, const char *at, const char *word) {
    const size_t length = strlen(word);
    return (size_t)(at - line) >= length && strncmp(at - length, word, length) == 0;
}

/* "NAME": "VALUE", and other forms in which a value follows a name in quotes. Python's get("NAME", "VALUE")
 * and getenv are left out: their value is only a default. */
static char *from_quoted(char *line, const char *prefix) {
    for (char *at = strpbrk(line, "\"'"); at; at = strpbrk(at + 1, "\"'")) {
        const size_t length = name_length(at + 1);
        char *end = at + 1 + length;
        char *value = *end == *at ? end + 1 + strspn(end + 1, "] \t,:=") : end;
        if (value <= end + 1 /* no quote ends the name, or nothing is between it and the value */ ||
            !*value || !pto_text_begins(at + 1, prefix) || follows(line, at, "get(") ||
            follows(line, at, "getenv("))
            continue;
        cut_end(value);
        return join(at + 1, length, value);
    }
    return NULL;
}

/* systemd's `Environment="NAME=VALUE" "NAME=VALUE"`: blanks replace quotes. NULL if a value has blanks. */
static char *from_systemd(char *line) {
    if (!pto_text_begins(line, "Environment="))
        return NULL;
    line += strlen("Environment=");
    for (char *at = line; *at; at++) {
        const char ends[] = {*at, ' ', '\t', '\0'};
        const size_t length = *at == '"' || *at == '\'' ? strcspn(at + 1, ends) : 0;
        if (length > 0 && at[1 + length] != *at)
            return NULL;
        if (length > 0) {
            at[1 + length] = ' ';
            *at = ' ';
            at += length;
        }
    }
    return skip_blanks(line);
}

char *pto_variables_as_shell(char *line, const char *prefix, char **item) {
    char *made = from_fish(line), *pending = *item;
    *item = NULL;
    if (!made)
        made = from_systemd(line);
    if (!made)
        made = from_word(line);
    if (!made)
        made = from_yaml(line, prefix, pending, item);
    if (!made)
        made = from_quoted(line, prefix);
    return made ? made : line;
}
