/* Text for the terminal that it goes to: its width, emphasis, and notes wrapped to the width. */
#ifndef PTO_TERMINAL_H
#define PTO_TERMINAL_H

#include <stdio.h>

/* Characters in a line: the variable COLUMNS if it is set, else the terminal's, else 80. At least 40. */
int pto_terminal_width(FILE *stream);

/* Returns the start and end of emphasis; "" where the stream is not a terminal, or NO_COLOR is set
 * (no-color.org). */
const char *pto_terminal_bold(FILE *stream);
const char *pto_terminal_plain(FILE *stream);

/* A text that may be from outside, without what a terminal would take for a command (portolan/printable.h).
 * The functions below print theirs so. */
void pto_print_escaped(FILE *stream, const char *text);

/* A comment, "# " and the text, wrapped between words to the terminal's width; its further lines are
 * indented. */
__attribute__((format(printf, 2, 3))) void pto_print_note(FILE *stream, const char *format, ...);

/* The same without "# ". */
__attribute__((format(printf, 2, 3))) void pto_print_text(FILE *stream, const char *format, ...);

enum { PTO_INDENT_MAX = 127 };
/* Print words in lines of at most `width` columns. The first line continues at column `indent`; the others
 * are indented by as much, at most PTO_INDENT_MAX. */
void pto_print_wrapped(FILE *stream, const char *text, int indent, int width);

/* Returns a column's width, if a text must fit as well. */
int pto_wider(int width, const char *text);

/* The first column of a row. A text that is too long for it has lines of its own above the row, so that texts
 * that begin alike can be told apart. */
void pto_print_label(FILE *stream, int width, const char *text);

/* A line above a table, "# layout     2 nodes", wrapped within its second column. */
__attribute__((format(printf, 3, 4))) void pto_print_head(FILE *stream, const char *name, const char *format,
                                                          ...);

#endif
