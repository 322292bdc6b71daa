/* Output to a terminal: width, emphasis, wrapped text, and text from files made safe to print. */
#ifndef PTO_TERMINAL_H
#define PTO_TERMINAL_H

#include <stdio.h>

/* Columns of a line: the environment's COLUMNS if it is set, else the terminal's, else 80. At least 40. */
int pto_terminal_width(FILE *stream);

/* The escape sequences of emphasis; "" if the stream is no terminal or NO_COLOR is set (no-color.org). */
const char *pto_terminal_bold(void);
const char *pto_terminal_plain(void);

/* Print text from a file or the user without control characters that a terminal would obey
 * (portolan/printable.h). The functions below do the same. */
void pto_print_escaped(const char *text);

/* Print a comment: "# " and the text, wrapped to the terminal's width; further lines are indented. */
__attribute__((format(printf, 2, 3))) void pto_print_note(FILE *stream, const char *format, ...);

/* The same without "# ". */
__attribute__((format(printf, 2, 3))) void pto_print_text(FILE *stream, const char *format, ...);

enum { PTO_INDENT_MAX = 127 };
/* Print words in lines of at most `width` columns. The first line continues at column `indent`; the others
 * are indented by as much, at most PTO_INDENT_MAX. */
void pto_print_wrapped(FILE *stream, const char *text, int indent, int width);

/* Returns the width of a column that also has to hold `text`. */
int pto_wider(int width, const char *text);

/* Print the first column of a row. A text that is too long for it is printed on lines of its own above the
 * row, because truncated texts could look the same. */
void pto_print_label(int width, const char *text);

/* Print a line above a table, "# layout     2 nodes", wrapped within its second column. */
__attribute__((format(printf, 3, 4))) void pto_print_head(FILE *stream, const char *name, const char *format,
                                                          ...);

#endif
