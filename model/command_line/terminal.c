/* Output to a terminal: its width, emphasis, and text wrapped to the width. */
#include "terminal.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "portolan/printable.h"
#include "portolan/units.h"

enum { DEFAULT_WIDTH = 80, LEAST_WIDTH = 40 };

static int terminal_columns(FILE *stream) {
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return DEFAULT_WIDTH;
}

int pto_terminal_width(FILE *stream) {
    const char *columns = getenv("COLUMNS");
    pto_error_t ignored = {0};
    int64_t width;
    if (!columns || pto_int64_parse(columns, &width, &ignored) != PTO_OK || width <= 0 || width > 1 << 20)
        width = terminal_columns(stream);
    return width < LEAST_WIDTH ? LEAST_WIDTH : (int)width;
}

static bool has_emphasis(void) {
    const char *no_color = getenv("NO_COLOR");
    return isatty(fileno(stdout)) == 1 && !(no_color && *no_color);
}

const char *pto_terminal_bold(void) { return has_emphasis() ? "\033[1m" : ""; }

const char *pto_terminal_plain(void) { return has_emphasis() ? "\033[0m" : ""; }

static void print_escaped(FILE *stream, const char *text, size_t length) {
    char escaped[PTO_ESCAPED_MAX];
    for (const char *end = text + length; text < end;) {
        text += pto_escape(text, escaped);
        fputs(escaped, stream);
    }
}

void pto_print_escaped(const char *text) { print_escaped(stdout, text, strlen(text)); }

/* Print words in lines of `width` columns, the first from column `used` on, others after `others`. */
static void print_words(FILE *stream, const char *text, size_t used, const char *others, size_t width) {
    bool has_word = false;
    for (size_t length; *(text += strspn(text, " ")) != '\0'; text += length) {
        length = strcspn(text, " ");
        if (has_word && used + 1 + length > width) {
            fprintf(stream, "\n%s", others);
            used = strlen(others);
            has_word = false;
        }
        fputs(has_word ? " " : "", stream);
        print_escaped(stream, text, length);
        used += has_word + length;
        has_word = true;
    }
    fputc('\n', stream);
}

void pto_print_wrapped(FILE *stream, const char *text, int indent, int width) {
    char blanks[PTO_INDENT_MAX + 1];
    snprintf(blanks, sizeof blanks, "%*s", indent, "");
    print_words(stream, text, (size_t)indent, blanks, (size_t)width);
}

static void print_formatted(FILE *stream, const char *first, const char *others, const char *format,
                            va_list given) {
    va_list again;
    va_copy(again, given);
    int length = vsnprintf(NULL, 0, format, given);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text) {
        vsnprintf(text, (size_t)length + 1, format, again);
        fputs(first, stream);
        print_words(stream, text, strlen(first), others, (size_t)pto_terminal_width(stream));
    } else {
        fprintf(stream, "%sout of memory\n", first);
    }
    va_end(again);
    free(text);
}

void pto_print_note(FILE *stream, const char *format, ...) {
    va_list given;
    va_start(given, format);
    print_formatted(stream, "# ", "#   ", format, given);
    va_end(given);
}

void pto_print_text(FILE *stream, const char *format, ...) {
    va_list given;
    va_start(given, format);
    print_formatted(stream, "", "    ", format, given);
    va_end(given);
}

int pto_wider(int width, const char *text) {
    const int length = (int)strlen(text);
    return length > width ? length : width;
}

void pto_print_label(int width, const char *text) {
    int length = (int)strlen(text);
    bool fits = length <= width;
    if (fits)
        pto_print_escaped(text);
    else
        pto_print_text(stdout, "%s", text);
    printf("%*s", fits ? width - length : width, "");
}

void pto_print_head(FILE *stream, const char *name, const char *format, ...) {
    enum { NAME_WIDTH = 10 };
    static const char others[] = "#            ";
    char first[sizeof others];
    va_list given;
    snprintf(first, sizeof first, "# %-*.*s ", NAME_WIDTH, NAME_WIDTH, name);
    va_start(given, format);
    print_formatted(stream, first, others, format, given);
    va_end(given);
}
