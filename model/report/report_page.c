/* Writes the page of a report: the source tree's files report/, built into the program, and the data. */
#include "report.h"

#include <stdint.h>

/* Puts a file's bytes between pto_report_NAME and pto_report_NAME_end. */
#define EMBED(name, path)                                                                                    \
    __asm__(".section .rodata\n"                                                                             \
            "pto_report_" #name ":\n"                                                                        \
            ".incbin \"" path "\"\n"                                                                         \
            "pto_report_" #name "_end:\n"                                                                    \
            ".byte 0\n"                                                                                      \
            ".previous\n");                                                                                  \
    extern const char pto_report_##name[];                                                                   \
    extern const char pto_report_##name##_end[]

EMBED(head, "report/head.html");
EMBED(body, "report/body.html");
EMBED(style, "report/page.css");
EMBED(script, "report/page.js");
EMBED(formula, "report/formula.js");
EMBED(total, "report/total.js");
EMBED(marks, "report/marks.js");
EMBED(uplot_license, "report/vendor/uplot/LICENSE");
EMBED(uplot_style, "report/vendor/uplot/uPlot.min.css");
EMBED(uplot, "report/vendor/uplot/uPlot.iife.min.js");

#define WRITE(stream, name)                                                                                  \
    fwrite(pto_report_##name, 1,                                                                             \
           (size_t)((uintptr_t)pto_report_##name##_end - (uintptr_t)pto_report_##name), stream)

/* Escapes '<', which JSON only has within strings, where the escape means the same. */
static void write_json(FILE *stream, const char *json) {
    for (; *json; json++)
        if (*json == '<')
            fputs("\\u003c", stream);
        else
            fputc(*json, stream);
}

void pto_report_page(FILE *stream, const char *json) {
    WRITE(stream, head);
    fputs("<style>\n", stream);
    WRITE(stream, uplot_style);
    fputs("\n", stream);
    WRITE(stream, style);
    fputs("</style>\n</head>\n", stream);
    WRITE(stream, body);
    fputs("<script type=\"application/json\" id=\"data\">\n", stream);
    write_json(stream, json);
    fputs("\n</script>\n<!-- uPlot\n", stream);
    WRITE(stream, uplot_license);
    fputs("-->\n<script>\n", stream);
    WRITE(stream, uplot);
    fputs("\n</script>\n<script>\n", stream);
    WRITE(stream, formula);
    WRITE(stream, total);
    WRITE(stream, marks);
    WRITE(stream, script);
    fputs("</script>\n</body>\n</html>\n", stream);
}
