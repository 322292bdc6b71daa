/* Removes the prefix that a launcher writes before each line: `srun --label` ("0: "), `mpirun --tag-output`
 * ("[1,0]<stdout>:") and --timestamp-output, Hydra's -prepend-rank ("[0] "), kubectl's and Docker's names,
 * and time stamps. The text before a benchmark's first heading is the sample: its form is stored, and a
 * prefix of the same form is removed from later lines. Launchers that mark each piece of output instead of
 * whole lines also write the prefix in the middle of a row. */
#include <ctype.h>
#include <string.h>

#include "reader.h"

/* In a form, a run of digits is DIGITS, a run of word characters with a letter is WORD, white space is a
 * blank, and other characters are themselves. */
enum { DIGITS = 1, WORD = 2 };

/* Returns WORD for a letter, DIGITS for a digit or a character that joins words and numbers, else 0. */
static int part_of(char c) {
    if (c >= '0' && c <= '9')
        return DIGITS;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return WORD;
    return c == '-' || c == '_' || c == '.' || c == '@' || c == '/' || c == '+' ? DIGITS : 0;
}

/* Skips a run of characters, not beyond `end` unless that is NULL. Returns the run's character in a form. */
static char next_run(const char **text, const char *end) {
    const char *at = *text;
    char kind = *at++;
    int part = kind == '+' || kind == '-' ? 0 : part_of(kind); /* they join a word, but do not begin one */
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
    pto_prefix_t learnt = {.blanks = 0};
    while (end > line && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
        learnt.blanks++;
    }
    while (line < end && used + 1 < sizeof learnt.form) {
        char kind = next_run(&line, end);
        if (used > 0 || kind != ' ')
            learnt.form[used++] = kind;
    }
    if ((used == 0 && learnt.blanks == 0) || line < end)
        return false;
    *prefix = learnt;
    return true;
}

/* Removes repetitions of a line's own prefix within its row, as in "[0] 12[0] 34". Only a prefix that ends in
 * "]" or ">" is removed, as "0: " may be a part of the row. */
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

char *pto_prefix_skip(const pto_prefix_t *prefix, char *line) {
    if (!prefix->form[0]) {
        for (int i = 0; i < prefix->blanks && (*line == ' ' || *line == '\t'); i++)
            line++;
        return line;
    }
    const char *at = line;
    while (*at == ' ' || *at == '\t')
        at++;
    for (const char *form = prefix->form; *form; form++)
        if (*at == '\0' || next_run(&at, NULL) != *form)
            return line;
    for (int blanks = 0; blanks < prefix->blanks && (*at == ' ' || *at == '\t'); blanks++)
        at++;
    char *row = line + (at - line);
    join_row(line, row);
    return row;
}
