/* Widths, emphasis and wrapped notes. */
#include "terminal.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "portolan/units.h"

enum { STANDARD_WIDTH = 80, LEAST_WIDTH = 40 };

static int terminal_columns(FILE *stream) {
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return STANDARD_WIDTH;
}

int pto_terminal_width(FILE *stream) {
    const char *columns = getenv("COLUMNS");
    pto_error_t ignored = {0};
    int64_t width;
    if (!columns || pto_int64_parse(columns, &width, &ignored) != PTO_OK || width <= 0 || width > 1 << 20)
        width = terminal_columns(stream);
    return width < LEAST_WIDTH ? LEAST_WIDTH : (int)width;
}

static bool has_emphasis(FILE *stream) {
    const char *refused = getenv("NO_COLOR");
    return isatty(fileno(stream)) == 1 && !(refused && *refused);
}

const char *pto_terminal_bold(FILE *stream) { return has_emphasis(stream) ? "\033[1m" : ""; }

const char *pto_terminal_plain(FILE *stream) { return has_emphasis(stream) ? "\033[0m" : ""; }

static void print_wrapped(FILE *stream, const char *text) {
    size_t width = (size_t)pto_terminal_width(stream), used = 1;
    fputc('#', stream);
    for (size_t length; *(text += strspn(text, " ")) != '\0'; text += length) {
        length = strcspn(text, " ");
        if (used > 4 && used + 1 + length > width) {
            fputs("\n#  ", stream);
            used = 3;
        }
        fprintf(stream, " %.*s", (int)length, text);
        used += 1 + length;
    }
    fputc('\n', stream);
}

void pto_print_note(FILE *stream, const char *format, ...) {
    va_list given, again;
    va_start(given, format);
    va_copy(again, given);
    int length = vsnprintf(NULL, 0, format, given);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text) {
        vsnprintf(text, (size_t)length + 1, format, again);
        print_wrapped(stream, text);
    } else {
        fputs("# ", stream);
        vfprintf(stream, format, again);
        fputc('\n', stream);
    }
    va_end(again);
    va_end(given);
    free(text);
}
