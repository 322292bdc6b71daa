/* Runs gnuplot. The script goes through a pipe, so that the drawing is the only file written. */
#include "plot.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "portolan/output.h"

enum { NOT_FOUND = 127 };

/* Colours that the colour-blind can distinguish (Okabe and Ito 2008), and the colours of text on them. */
static const struct {
    const char *colour;
    const char *ink;
} palette[PTO_PLOT_COLOURS] = {{"#0072B2", "white"}, {"#D55E00", "white"}, {"#009E73", "white"},
                               {"#CC79A7", "black"}, {"#E69F00", "black"}, {"#56B4E9", "black"},
                               {"#000000", "white"}, {"#999999", "black"}};

const char *pto_plot_colour(int i) { return palette[i % PTO_PLOT_COLOURS].colour; }
const char *pto_plot_ink(int i) { return palette[i % PTO_PLOT_COLOURS].ink; }

void pto_plot_quote(FILE *script, const char *text) {
    fputc('\'', script);
    for (; *text != '\0'; text++) {
        fputs(*text == '\'' ? "'" : "", script);
        fputc(*text == '\n' ? ' ' : *text, script);
    }
    fputc('\'', script);
}

/* gnuplot's terminal for a file name; NULL: unknown ending. */
static const char *terminal_of(const char *path) {
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strcmp(dot, ".svg") == 0)
        return "svg";
    return dot != NULL && strcmp(dot, ".png") == 0 ? "pngcairo" : NULL;
}

pto_status_t pto_plot_check_name(const char *path, pto_error_t *err) {
    if (terminal_of(path) != NULL)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_TYPE, "'%s' does not name a drawing: it must end in .svg or .png",
                         path);
}

pto_status_t pto_plot_script(const pto_plot_t *plot, const char *path, const char *place, FILE *script,
                             pto_error_t *err) {
    pto_status_t status = pto_plot_check_name(path, err);
    if (status != PTO_OK)
        return status;
    fprintf(script, "set terminal %s size %d,%d background rgb 'white' noenhanced\nset output ",
            terminal_of(path), plot->width_px, plot->height_px);
    pto_plot_quote(script, place);
    fputc('\n', script);
    plot->write(script, plot->context);
    fputs("set output\n", script);
    return PTO_OK;
}

/* If gnuplot does not run, writing to the pipe would raise SIGPIPE and end the process. Ignore it; the exit
 * code reports the failure. */
static pto_status_t run_gnuplot(const pto_plot_t *plot, const char *path, const char *place,
                                pto_error_t *err) {
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    fflush(NULL);
    FILE *script = popen("command -v gnuplot >/dev/null || exit 127; exec gnuplot >/dev/null", "w");
    int result = -1;
    pto_status_t status = PTO_OK;
    if (script != NULL) {
        status = pto_plot_script(plot, path, place, script, err);
        result = pclose(script);
    }
    signal(SIGPIPE, before == SIG_ERR ? SIG_DFL : before);
    if (status != PTO_OK || result == 0)
        return status;
    if (WIFEXITED(result) && WEXITSTATUS(result) == NOT_FOUND) {
        return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1,
                                "cannot draw it without gnuplot (Debian package gnuplot-nox)");
    }
    return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "gnuplot could not draw it");
}

pto_status_t pto_plot_draw(const pto_plot_t *plot, const char *path, pto_error_t *err) {
    pto_status_t status = pto_plot_check_name(path, err);
    if (status != PTO_OK)
        return status;
    pto_output_t *output = NULL;
    status = pto_output_open(path, true, &output, err);
    if (status != PTO_OK)
        return status;
    status = run_gnuplot(plot, path, pto_output_place(output), err);
    pto_status_t closed = pto_output_close(output, status == PTO_OK, status == PTO_OK ? err : NULL);
    return status == PTO_OK ? closed : status;
}
