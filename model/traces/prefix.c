/* Remove the launcher's prefix of each line: `srun --label` ("0: "), `mpirun --tag-output` ("[1,0]<stdout>:")
 * and --timestamp-output, Hydra's -prepend-rank ("[0] "), kubectl's and Docker's names, and time stamps. The
 * text before a benchmark's own first line is the sample; other lines lose what has the same form. Launchers
 * that mark what they read at once, and not whole lines, put their mark into the middle of a row as well. */
#include <ctype.h>
#include <string.h>

#include "reader.h"

/* In a form, a run of digits is DIGITS, a run of word characters with a letter is WORD, and white space is a
 * blank. Other characters stand for themselves. */
enum { DIGITS = 1, WORD = 2 };

/* WORD for a letter, DIGITS for a digit and for what joins words and numbers, 0 for any other character. */
static int part_of(char c) {
    if (c >= '0' && c <= '9')
        return DIGITS;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return WORD;
    return c == '-' || c == '_' || c == '.' || c == '@' || c == '/' || c == '+' ? DIGITS : 0;
}

/* Past a run that begins before `end`, and ends there or at the end of the text (`end` may be NULL); its
 * kind: DIGITS, WORD, ' ' or the character itself. */
static char take_run(const char **text, const char *end) {
    const char *at = *text;
    char kind = *at++;
    int part = part_of(kind);
    if (part) {
        for (int next; at != end && (next = part_of(*at)); at++)
            part |= next;
        kind = part & WORD ? WORD : DIGITS;
    } else if (kind == ' ' || kind == '\t') {
        while (at != end && (*at == ' ' || *at == '\t'))
            at++;
        kind = ' ';
    }
    *text = at;
    return kind;
}

bool pto_prefix_learn(pto_prefix_t *prefix, const char *line, size_t length) {
    const char *end = line + length;
    size_t used = 0;
    pto_prefix_t made = {.blanks = 0};
    while (end > line && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
        made.blanks++;
    }
    while (line < end && used + 1 < sizeof made.form) {
        char kind = take_run(&line, end);
        if (used > 0 || kind != ' ')
            made.form[used++] = kind;
    }
    if ((used == 0 && made.blanks == 0) || line < end)
        return false;
    *prefix = made;
    return true;
}

/* Join a row of numbers in which its own prefix stands again, as in "[0] 12[0] 34". Only prefixes that end
 * like launchers' marks are looked for: text such as "0: " may be part of a row. */
static void join_row(const char *prefix, char *row) {
    char mark[sizeof((pto_prefix_t *)0)->form];
    size_t length = (size_t)(row - prefix);
    const char *last = row;
    while (last > prefix && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == ':'))
        last--;
    if (length == 0 || length >= sizeof mark || last == prefix || (last[-1] != ']' && last[-1] != '>'))
        return;
    memcpy(mark, prefix, length);
    mark[length] = '\0';
    for (char *at = row; (at = strstr(at, mark)) != NULL;) {
        const char *begin = row + strspn(row, " \t");
        if (at != begin && !isdigit((unsigned char)*begin))
            return;
        memmove(at, at + length, strlen(at + length) + 1);
    }
}

/* Remember the text of a prefix. What follows a run of digits or a word directly may be a part of it. */
static void keep_text(pto_prefix_t *prefix, const char *line, size_t length, int blanks) {
    const char end = prefix->form[strlen(prefix->form) - 1];
    const bool is_apart = blanks > 0 || (end != DIGITS && end != WORD && end != ' ');
    prefix->last_length = 0;
    if (blanks < prefix->blanks || !is_apart || length >= sizeof prefix->last)
        return;
    memcpy(prefix->last, line, length);
    prefix->last[length] = '\0';
    prefix->last_length = length;
}

char *pto_prefix_skip(pto_prefix_t *prefix, char *line) {
    if (!prefix->form[0]) {
        for (int i = 0; i < prefix->blanks && (*line == ' ' || *line == '\t'); i++)
            line++;
        return line;
    }
    if (prefix->last_length > 0 && strncmp(line, prefix->last, prefix->last_length) == 0) {
        join_row(line, line + prefix->last_length);
        return line + prefix->last_length;
    }
    const char *at = line;
    int blanks = 0;
    while (*at == ' ' || *at == '\t')
        at++;
    for (const char *form = prefix->form; *form; form++)
        if (*at == '\0' || take_run(&at, NULL) != *form)
            return line;
    for (; blanks < prefix->blanks && (*at == ' ' || *at == '\t'); blanks++)
        at++;
    char *row = line + (at - line);
    keep_text(prefix, line, (size_t)(row - line), blanks);
    join_row(line, row);
    return row;
}
