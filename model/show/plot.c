/* Runs gnuplot on a script for all --plot options, and has the colours of drawings. gnuplot writes to a pipe,
 * and this program writes the file: gnuplot itself exits with 0 when the disk is full. */
#include "plot.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "command_line/options.h"
#include "portolan/printable.h"

enum { NOT_FOUND = 127 }; /* the shell's exit code without gnuplot */

/* Colours that the colour-blind can distinguish (Okabe and Ito 2008). */
static const char *const palette[PTO_PLOT_COLOURS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                      "#E69F00", "#56B4E9", "#000000", "#999999"};

const char *pto_plot_colour(int i) { return palette[i % PTO_PLOT_COLOURS]; }

/* By the strategy's index in the registry. The strategies that are drawn most (cuda_aware, three_step,
 * dup_devptr, gas_allgather, gas_tree, nccl) have colours of Okabe and Ito. Each other colour is as far as
 * possible from all before it, also for the colour-blind, and neither too light on white nor too dark on
 * black. */
static const char *const strategy_colours[] = {
    "#0072B2", "#D55E00", "#4B78FF", "#CC79A7", "#693CC3", "#F0005A", "#C300A5", "#1ED22D", "#8700E1",
    "#A52D5A", "#C31EE1", "#A5B44B", "#9687C3", "#87785A", "#694B96", "#C39669", "#966987", "#C3B469",
    "#4B693C", "#009E73", "#6900FF", "#56B4E9", "#5AA5FF", "#C30000", "#694BFF", "#B40F2D", "#C3783C",
    "#87C396", "#E69F00", "#3CC3D2", "#96B4A5", "#A569D2", "#A51E78", "#8A8A8A",
};
enum { STRATEGY_COLOURS = sizeof strategy_colours / sizeof *strategy_colours };

const char *pto_strategy_colour(const pto_strategy_t *strategy) {
    int i = 0;
    while (i < pto_strategy_count() && pto_strategy_at(i) != strategy)
        i++;
    return strategy_colours[i % STRATEGY_COLOURS];
}

/* Black or white, whichever has more contrast by WCAG's relative luminance, with a gamma of 2.2. By WCAG, the
 * two contrasts are equal where (L + 0.05) / 0.05 = 1.05 / (L + 0.05), which is L = 0.18. */
const char *pto_strategy_ink(const pto_strategy_t *strategy) {
    static const double weight[] = {0.0722, 0.7152, 0.2126}; /* of blue, green, red */
    unsigned long rgb = strtoul(pto_strategy_colour(strategy) + 1, NULL, 16);
    double luminance = 0;
    for (int i = 0; i < 3; i++) {
        luminance += weight[i] * pow((double)(rgb & 0xff) / 255, 2.2);
        rgb >>= 8;
    }
    return luminance > 0.18 ? "black" : "white";
}

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

/* gnuplot's terminal for a file name; NULL if its ending is unknown. */
static const char *terminal_of(const char *path) {
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strcmp(dot, ".svg") == 0)
        return "svg";
    return dot != NULL && strcmp(dot, ".png") == 0 ? "pngcairo" : NULL;
}

static pto_status_t check_name(const char *path, pto_error_t *err) {
    if (terminal_of(path) != NULL)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_TYPE, "'%s' does not name a drawing: it must end in .svg or .png",
                         path);
}

int pto_check_plot(const pto_syntax_t *syntax, const char *path) {
    pto_error_t err = {0};
    if (!path || check_name(path, &err) == PTO_OK)
        return -1;
    return pto_usage_error(syntax, "--plot: %s", err.message);
}

pto_status_t pto_plot_script(const pto_plot_t *plot, const char *path, FILE *script, pto_error_t *err) {
    pto_status_t status = check_name(path, err);
    if (status != PTO_OK)
        return status;
    fprintf(script, "set terminal %s size %d,%d background rgb 'white' noenhanced\n", terminal_of(path),
            plot->width_px, plot->height_px);
    plot->write(script, plot->context);
    fputs("set output\n", script);
    return PTO_OK;
}

/* Runs gnuplot with the script as its input, and copies its output to `drawing`. `path` is for errors. */
static pto_status_t run_gnuplot(FILE *script, const char *path, FILE *drawing, pto_error_t *err) {
    char command[128], part[1 << 12];
    snprintf(command, sizeof command, "command -v gnuplot >/dev/null || exit %d; exec gnuplot </dev/fd/%d",
             NOT_FOUND, fileno(script));
    FILE *output = popen(command, "r");
    if (output == NULL)
        return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot start a shell");
    int write_errno = 0;
    for (size_t size; !write_errno && (size = fread(part, 1, sizeof part, output)) > 0;)
        write_errno = fwrite(part, 1, size, drawing) < size ? errno : 0;
    int result = pclose(output);
    if (write_errno)
        return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "cannot write: %s", strerror(write_errno));
    if (result == 0)
        return PTO_OK;
    if (WIFEXITED(result) && WEXITSTATUS(result) == NOT_FOUND)
        return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1,
                                "cannot draw it without gnuplot (Debian package gnuplot-nox)");
    return pto_error_set_at(err, PTO_ERR_IO, path, 1, 1, "gnuplot could not draw it");
}

/* A plot, and the file that it is drawn into. */
typedef struct {
    const pto_plot_t *plot;
    const char *path;
} drawn_t;

/* pto_write_file's callback, whose context is a drawn_t: writes the file's contents to `drawing`. */
static pto_status_t draw(void *context, FILE *drawing, pto_error_t *err) {
    const drawn_t *drawn = context;
    FILE *script = tmpfile();
    pto_status_t status = PTO_OK;
    if (script != NULL)
        status = pto_plot_script(drawn->plot, drawn->path, script, err);
    if (script == NULL || fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)
        status = pto_error_set_at(err, PTO_ERR_IO, drawn->path, 1, 1, "cannot write gnuplot's script: %s",
                                  strerror(errno));
    if (status == PTO_OK)
        status = run_gnuplot(script, drawn->path, drawing, err);
    if (script != NULL && fclose(script) != 0 && status == PTO_OK)
        status = pto_error_set_at(err, PTO_ERR_IO, drawn->path, 1, 1, "cannot write: %s", strerror(errno));
    return status;
}

pto_status_t pto_plot_draw(const pto_plot_t *plot, const char *path, pto_error_t *err) {
    pto_status_t status = check_name(path, err);
    return status == PTO_OK ? pto_write_file(path, true, draw, &(drawn_t){plot, path}, err) : status;
}
