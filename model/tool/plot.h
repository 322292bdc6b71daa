/* Drawing with gnuplot: from a script on its input, into an SVG or a PNG. */
#ifndef PTO_PLOT_H
#define PTO_PLOT_H

#include <stdio.h>

#include "portolan/status.h"

/* Writes the script's own part; terminal and output are set before it. */
typedef void (*pto_plot_write_t)(FILE *script, const void *context);

typedef struct {
    int width_px;
    int height_px;
    pto_plot_write_t write;
    const void *context;
} pto_plot_t;

/* Draw into `path`, which must end in .svg or .png. Nothing is left there where drawing fails, unless it was
 * there before. Errors: PTO_ERR_TYPE (another ending), PTO_ERR_IO (no gnuplot, which the message says how to
 * get, or a file that cannot be written). */
pto_status_t pto_plot_draw(const pto_plot_t *plot, const char *path, pto_error_t *err);

/* Whether `path` names a drawing. Errors: PTO_ERR_TYPE. */
pto_status_t pto_plot_check_name(const char *path, pto_error_t *err);

/* The whole script that pto_plot_draw hands to gnuplot. Errors: PTO_ERR_TYPE. */
pto_status_t pto_plot_script(const pto_plot_t *plot, const char *path, FILE *script, pto_error_t *err);

/* A text in gnuplot's quotes. */
void pto_plot_quote(FILE *script, const char *text);

#endif
