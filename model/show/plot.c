/* Runs gnuplot. What it draws comes through a pipe: by itself, it ends with 0 where the disk is full. */
#include "plot.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "portolan/output.h"
#include "portolan/printable.h"

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
    char escaped[PTO_ESCAPED_MAX];
    fputc('\'', script);
    while (*text != '\0') {
        fputs(*text == '\'' ? "'" : "", script);
        text += pto_escape(text, escaped);
        fputs(escaped, script);
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

pto_status_t pto_plot_script(const pto_plot_t *plot, const char *path, FILE *script, pto_error_t *err) {
    pto_status_t status = pto_plot_check_name(path, err);
    if (status != PTO_OK)
        return status;
    fprintf(script, "set terminal %s size %d,%d background rgb 'white' noenhanced\n", terminal_of(path),
            plot->width_px, plot->height_px);
    plot->write(script, plot->context);
    fputs("set output\n", script);
    return PTO_OK;
}

static pto_status_t run_gnuplot(FILE *script, const char *path, FILE *drawing, pto_error_t *err) {
    char command[128], part[1 << 12];
    snprintf(command, sizeof command, "command -v gnuplot >/dev/null || exit %d; exec gnuplot <&%d",
             NOT_FOUND, fileno(script));
    FILE *drawn = popen(command, "r");
    if (drawn == NULL)
        return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot start a shell");
    int cause = 0;
    for (size_t size; !cause && (size = fread(part, 1, sizeof part, drawn)) > 0;)
        cause = fwrite(part, 1, size, drawing) < size ? errno : 0;
    int result = pclose(drawn);
    if (cause)
        return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot write: %s", strerror(cause));
    if (result == 0)
        return PTO_OK;
    if (WIFEXITED(result) && WEXITSTATUS(result) == NOT_FOUND)
        return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1,
                                "cannot draw it without gnuplot (Debian package gnuplot-nox)");
    return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "gnuplot could not draw it");
}

static pto_status_t draw(const pto_plot_t *plot, const char *path, FILE *drawing, pto_error_t *err) {
    FILE *script = tmpfile();
    pto_status_t status = PTO_OK;
    if (script != NULL)
        status = pto_plot_script(plot, path, script, err);
    if (script == NULL || fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)
        status = pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot write gnuplot's script: %s",
                                  strerror(errno));
    if (status == PTO_OK)
        status = run_gnuplot(script, path, drawing, err);
    if (script != NULL && fclose(script) != 0 && status == PTO_OK)
        status = pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot write: %s", strerror(errno));
    return status;
}

pto_status_t pto_plot_draw(const pto_plot_t *plot, const char *path, pto_error_t *err) {
    pto_status_t status = pto_plot_check_name(path, err);
    if (status != PTO_OK)
        return status;
    pto_output_t *output = NULL;
    status = pto_output_open(path, true, &output, err);
    if (status != PTO_OK)
        return status;
    status = draw(plot, path, pto_output_stream(output), err);
    pto_status_t closed = pto_output_close(output, status == PTO_OK, status == PTO_OK ? err : NULL);
    return status == PTO_OK ? closed : status;
}
