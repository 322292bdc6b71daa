/* Drawing with gnuplot into an SVG or a PNG file. A command gets a pto_plot_t from drawings.h, predict_plot.h
 * or traffic_plot.h, and passes it to pto_plot_draw, which calls `write` for the script. */
#ifndef PTO_PLOT_H
#define PTO_PLOT_H

#include <stdio.h>

#include "command_line/arguments.h"
#include "portolan/strategy.h"

/* Writes the script of a drawing, after the lines that set the terminal and the output. */
typedef void (*pto_plot_write_t)(FILE *script, const void *context);

typedef struct {
    int width_px;
    int height_px;
    pto_plot_write_t write;
    const void *context;
} pto_plot_t;

/* Draws into `path`, which must end in .svg or .png. A failure leaves no new file behind. Errors:
 * PTO_ERR_TYPE (another ending), PTO_ERR_IO (the file cannot be written, or gnuplot is missing: the message
 * says how to install it). */
pto_status_t pto_plot_draw(const pto_plot_t *plot, const char *path, pto_error_t *err);

/* Returns -1 if --plot's file name has a known ending or is NULL; else prints an error and returns the exit
 * code. */
int pto_check_plot(const pto_syntax_t *syntax, const char *path);

/* Writes the whole script. With it, gnuplot draws to standard output, in the format that `path` ends in.
 * Errors: PTO_ERR_TYPE (another ending). */
pto_status_t pto_plot_script(const pto_plot_t *plot, const char *path, FILE *script, pto_error_t *err);

/* The palette's colour of index i modulo PTO_PLOT_COLOURS. */
enum { PTO_PLOT_COLOURS = 8 };
const char *pto_plot_colour(int i);

/* The colour of a strategy, the same in all drawings and pages, and the colour of text on it. Strategies that
 * programs register repeat the colours. */
const char *pto_strategy_colour(const pto_strategy_t *strategy);
const char *pto_strategy_ink(const pto_strategy_t *strategy);

/* Write a text in gnuplot's quotes. */
void pto_plot_quote(FILE *script, const char *text);

#endif
