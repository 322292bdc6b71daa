/* Split a line of CSV into fields. A quoted field ends on its line: none of our columns contains line
 * breaks. */
#include "formats/csv_line.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

pto_text_span_t pto_span_trim(pto_text_span_t span) {
    while (span.size > 0 && is_blank(span.text[0])) {
        span.text++;
        span.size--;
    }
    while (span.size > 0 && is_blank(span.text[span.size - 1]))
        span.size--;
    return span;
}

static bool fail(pto_csv_line_t *line, const char *place, const char *fault) {
    line->place = place;
    line->fault = fault;
    return false;
}

/* The quote that ends the field; NULL: none. `*doubled` counts the doubled quotes. */
static const char *closing_quote(const char *at, const char *end, size_t *doubled) {
    for (; (at = memchr(at, '"', (size_t)(end - at))); at += 2) {
        if (at + 1 == end || at[1] != '"')
            return at;
        ++*doubled;
    }
    return NULL;
}

static pto_text_span_t without_doubled_quotes(pto_csv_line_t *line, pto_text_span_t field) {
    size_t size = 0;
    for (size_t i = 0; i < field.size; i++) {
        line->unquoted[size++] = field.text[i];
        i += field.text[i] == '"';
    }
    return (pto_text_span_t){line->unquoted, size};
}

/* The field whose opening quote is at `start`. */
static bool take_quoted(pto_csv_line_t *line, const char *start, pto_text_span_t *field) {
    size_t doubled = 0;
    const char *close = closing_quote(start + 1, line->end, &doubled);
    if (!close)
        return fail(line, start, "this quote is not closed on its line");
    *field = (pto_text_span_t){start + 1, (size_t)(close - start) - 1};
    if (doubled > 0 && field->size - doubled >= sizeof line->unquoted)
        return fail(line, start, "this quoted field is too long");
    if (doubled > 0)
        *field = without_doubled_quotes(line, *field);
    const char *at = close + 1;
    while (at < line->end && is_blank(*at))
        at++;
    if (at < line->end && *at != ',')
        return fail(line, at, "text after a closing quote; within quotes, a quote is written twice");
    *field = pto_span_trim(*field);
    line->next = at < line->end ? at + 1 : NULL;
    return true;
}

bool pto_csv_line_next(pto_csv_line_t *line, pto_text_span_t *field) {
    const char *start = line->next;
    if (!start || line->fault)
        return false;
    while (start < line->end && is_blank(*start))
        start++;
    line->place = start;
    if (start < line->end && *start == '"')
        return take_quoted(line, start, field);
    const char *comma = memchr(start, ',', (size_t)(line->end - start));
    *field = pto_span_trim((pto_text_span_t){start, (size_t)((comma ? comma : line->end) - start)});
    line->next = comma ? comma + 1 : NULL;
    return true;
}
