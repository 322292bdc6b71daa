/* Splits a line of CSV into fields (csv_line.h). A quoted field must end on its line. */
#include "formats/csv_line.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at))
        at++;
    return at;
}

pto_text_span_t pto_span_trim(pto_text_span_t span) {
    const char *end = span.text + span.size, *start = skip_blanks(span.text, end);
    while (end > start && is_blank(end[-1]))
        end--;
    return (pto_text_span_t){start, (size_t)(end - start)};
}

bool pto_span_next_line(const char **next, const char *end, pto_text_span_t *line) {
    if (*next >= end)
        return false;
    const char *stop = memchr(*next, '\n', (size_t)(end - *next));
    *line = (pto_text_span_t){*next, (size_t)((stop ? stop : end) - *next)};
    *next = stop ? stop + 1 : end;
    return true;
}

bool pto_span_has_fields(pto_text_span_t line) {
    line = pto_span_trim(line);
    return line.size > 0 && line.text[0] != '#';
}

/* Stores a fault at a place. Returns false. */
static bool fail(pto_csv_line_t *line, const char *place, const char *fault) {
    line->place = place;
    line->fault = fault;
    return false;
}

/* Returns the quote that closes the field whose text starts at `at`; NULL: it is not closed. Adds to
 * `*doubled` the number of doubled quotes in the text. */
static const char *closing_quote(const char *at, const char *end, size_t *doubled) {
    for (; (at = memchr(at, '"', (size_t)(end - at))); at += 2) {
        if (at + 1 == end || at[1] != '"')
            return at;
        ++*doubled;
    }
    return NULL;
}

/* Copies a quoted field's text to line->unquoted, with one quote for each doubled one; returns the copy. */
static pto_text_span_t without_doubled_quotes(pto_csv_line_t *line, pto_text_span_t field) {
    size_t size = 0;
    for (size_t i = 0; i < field.size; i += field.text[i] == '"' ? 2 : 1)
        line->unquoted[size++] = field.text[i];
    return (pto_text_span_t){line->unquoted, size};
}

/* Takes the field whose opening quote is at `start`. Returns false on a fault. */
static bool take_quoted(pto_csv_line_t *line, const char *start, pto_text_span_t *field) {
    size_t doubled = 0;
    const char *close = closing_quote(start + 1, line->end, &doubled);
    if (!close)
        return fail(line, start, "this quote is not closed on its line");
    const char *next = skip_blanks(close + 1, line->end);
    if (next < line->end && *next != ',')
        return fail(line, next, "text after a closing quote; within quotes, a quote is written twice");
    *field = (pto_text_span_t){start + 1, (size_t)(close - start) - 1};
    if (doubled > 0 && field->size - doubled > sizeof line->unquoted)
        return fail(line, start, "this quoted field is too long");
    if (doubled > 0)
        *field = without_doubled_quotes(line, *field);
    *field = pto_span_trim(*field);
    line->next = next < line->end ? next + 1 : NULL;
    return true;
}

bool pto_csv_line_next(pto_csv_line_t *line, pto_text_span_t *field) {
    if (!line->next || line->fault)
        return false;
    const char *start = skip_blanks(line->next, line->end);
    line->place = start;
    if (start < line->end && *start == '"')
        return take_quoted(line, start, field);
    const char *comma = memchr(start, ',', (size_t)(line->end - start));
    *field = pto_span_trim((pto_text_span_t){start, (size_t)((comma ? comma : line->end) - start)});
    const char *quote = memchr(field->text, '"', field->size);
    if (quote)
        return fail(line, quote, "a quote in a field that does not begin with one");
    line->next = comma ? comma + 1 : NULL;
    return true;
}
