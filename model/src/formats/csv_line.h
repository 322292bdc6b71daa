/* Reads one line of CSV (RFC 4180), field by field. Unlike the RFC, it drops blanks around fields. */
#ifndef PTO_CSV_LINE_H
#define PTO_CSV_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* A part of the text that is being read. */
typedef struct {
    const char *text;
    size_t size;
} pto_text_span_t;

enum { PTO_CSV_UNQUOTED_MAX = 256 };

/* The caller initialises `next` to the first character of a line and `end` past its last one, without the
 * line ending, and the rest to 0. */
typedef struct {
    const char *next; /* the next field; NULL past the last one */
    const char *end;
    const char *place; /* the first character of the field that was taken last, or of the fault */
    const char *fault; /* a description of the line's fault; NULL: none */
    char unquoted[PTO_CSV_UNQUOTED_MAX]; /* a field that had doubled quotes */
} pto_csv_line_t;

/* Takes the next field, without its quotes and without blanks around its text, even within the quotes: no
 * column has values that begin or end with blanks, and programs pad numbers before they quote them. A comma
 * at the end of the line is followed by an empty field. False after the last field and on a fault. The span
 * is valid until the next call. */
bool pto_csv_line_next(pto_csv_line_t *line, pto_text_span_t *field);
/* Takes the next line of a text from `*next` on, without its line feed. False at the end. */
bool pto_span_next_line(const char **next, const char *end, pto_text_span_t *line);
/* Returns whether a line holds more than blanks and a comment. */
bool pto_span_has_fields(pto_text_span_t line);
/* Returns the span without blanks at its ends: spaces, tabs, and the CR of a line that ends in CR LF. */
pto_text_span_t pto_span_trim(pto_text_span_t span);

#endif
