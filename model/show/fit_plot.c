/* Draws samples and the fitted model for `portolan fit --plot`, one panel for each kind of sample. The model
 * is drawn at every size of the samples, so that steps at protocol limits are visible. */
#include "drawings.h"

#include <stdio.h>
#include <stdlib.h>

#include "machine/machine_internal.h" /* the fitted tables, which are drawn */

enum { SIZES_MAX = 4096, SERIES_MAX = 12, PANELS = 5, TITLE_MAX = 48 };

/* The samples that one series of points shows, and the fitted costs of its line. */
typedef struct {
    char title[TITLE_MAX];
    pto_benchmark_t benchmark;
    pto_sample_space_t space;
    pto_sample_level_t level;
    int32_t procs;                /* active processes per node */
    const pto_cost_table_t *cost; /* of messages; NULL for copies */
    const pto_postal_t *postal;   /* of copies */
    double injection_s_per_byte;  /* 0: no limit */
} series_t;

typedef struct {
    const char *title;
    int count;
    series_t series[SERIES_MAX];
} panel_t;

typedef struct {
    const pto_samples_t *samples;
    const pto_machine_t *machine; /* as fitted */
    panel_t panel[PANELS];        /* at the end, only those with samples */
    int panel_count;
    /* The medians of the series that is being drawn: */
    int64_t bytes[SIZES_MAX];
    double seconds[SIZES_MAX];
} drawing_t;

/* Finds the medians of a series; returns their number. */
static size_t find_medians(drawing_t *drawing, const series_t *series) {
    const size_t count = pto_fit_medians(drawing->samples, series->benchmark, series->space, series->level,
                                         series->procs, SIZES_MAX, drawing->bytes, drawing->seconds);
    return count < SIZES_MAX ? count : SIZES_MAX;
}

/* Adds a series that has samples. */
static void add_series(drawing_t *drawing, panel_t *panel, const series_t *series) {
    if (find_medians(drawing, series) > 0 && panel->count < SERIES_MAX)
        panel->series[panel->count++] = *series;
}

static void add_messages(drawing_t *drawing, panel_t *panel, pto_space_t space) {
    static const pto_sample_level_t sample_levels[PTO_LEVEL_COUNT] = {PTO_AT_ON_GPU, PTO_AT_ON_SOCKET,
                                                                      PTO_AT_ON_NODE, PTO_AT_OFF_NODE};
    for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
        series_t series = {.benchmark = PTO_BENCHMARK_PING_PONG,
                           .space = space == PTO_SPACE_GPU ? PTO_IN_GPU : PTO_IN_CPU,
                           .level = sample_levels[level],
                           .procs = 1,
                           .cost = &drawing->machine->messages[space][level]};
        snprintf(series.title, sizeof series.title, "%s", pto_level_name((pto_level_t)level));
        add_series(drawing, panel, &series);
    }
}

static void add_injection(drawing_t *drawing, panel_t *panel, pto_space_t space) {
    static const int32_t procs[] = {1, 2, 4, 6, 8, 16, 20, 40};
    for (size_t i = 0; i < sizeof procs / sizeof *procs; i++) {
        series_t series = {.benchmark = PTO_BENCHMARK_INJECTION,
                           .space = space == PTO_SPACE_GPU ? PTO_IN_GPU : PTO_IN_CPU,
                           .level = PTO_AT_OFF_NODE,
                           .procs = procs[i],
                           .cost = &drawing->machine->messages[space][PTO_LEVEL_OFF_NODE],
                           .injection_s_per_byte = drawing->machine->injection_s_per_byte[space].value};
        snprintf(series.title, sizeof series.title, "%d processes", (int)procs[i]);
        add_series(drawing, panel, &series);
    }
}

static void add_copies(drawing_t *drawing, panel_t *panel) {
    static const pto_benchmark_t benchmarks[PTO_COPY_COUNT] = {
        [PTO_COPY_H2D] = PTO_BENCHMARK_MEMCPY_H2D,
        [PTO_COPY_D2H] = PTO_BENCHMARK_MEMCPY_D2H,
        [PTO_COPY_D2D] = PTO_BENCHMARK_MEMCPY_D2D,
        [PTO_COPY_H2H] = PTO_BENCHMARK_MEMCPY_H2H,
    };
    for (int kind = 0; kind < PTO_COPY_COUNT; kind++) {
        for (int reach = 0; reach < PTO_REACH_COUNT; reach++) {
            series_t series = {.benchmark = benchmarks[kind],
                               .space = PTO_IN_COUNT, /* any */
                               .level = reach == PTO_REACH_ON_SOCKET ? PTO_AT_ON_SOCKET : PTO_AT_OFF_SOCKET,
                               .postal = &drawing->machine->copies[kind][reach]};
            snprintf(series.title, sizeof series.title, "%s %s", pto_copy_kind_name((pto_copy_kind_t)kind),
                     pto_reach_name((pto_reach_t)reach));
            add_series(drawing, panel, &series);
        }
    }
}

/* Creates all panels, and then keeps those that have samples. */
static void create_panels(drawing_t *drawing) {
    static const char *const titles[PANELS] = {"messages, cpu", "messages, gpu", "injection, cpu",
                                               "injection, gpu", "copies"};
    panel_t *panel = drawing->panel;
    for (int i = 0; i < PANELS; i++)
        panel[i].title = titles[i];
    add_messages(drawing, &panel[0], PTO_SPACE_CPU);
    add_messages(drawing, &panel[1], PTO_SPACE_GPU);
    add_injection(drawing, &panel[2], PTO_SPACE_CPU);
    add_injection(drawing, &panel[3], PTO_SPACE_GPU);
    add_copies(drawing, &panel[4]);
    for (int i = 0; i < PANELS; i++)
        if (panel[i].count > 0)
            panel[drawing->panel_count++] = panel[i];
}

/* The time by the fitted max-rate model; 0 if it has no parameters for it. */
static double fitted_seconds(const series_t *series, int64_t bytes) {
    const pto_postal_t *postal = series->cost != NULL ? pto_cost_at(series->cost, bytes) : series->postal;
    if (postal == NULL || !pto_postal_known(postal))
        return 0;
    double per_byte = postal->beta_s_per_byte.value;
    double limited = series->procs * series->injection_s_per_byte;
    return postal->alpha_s.value + (limited > per_byte ? limited : per_byte) * (double)bytes;
}

/* Writes the data of a panel: rows of bytes, measured seconds and fitted seconds. */
static void write_data(FILE *script, drawing_t *drawing, int index) {
    const panel_t *panel = &drawing->panel[index];
    for (int s = 0; s < panel->count; s++) {
        const size_t count = find_medians(drawing, &panel->series[s]);
        fprintf(script, "$data_%d_%d << EOD\n", index, s);
        for (size_t i = 0; i < count; i++) {
            double fitted = fitted_seconds(&panel->series[s], drawing->bytes[i]);
            fprintf(script, "%lld %.6g ", (long long)drawing->bytes[i], drawing->seconds[i]);
            fprintf(script, fitted > 0 ? "%.6g\n" : "NaN\n", fitted);
        }
        fputs("EOD\n", script);
    }
}

static void write_panel(FILE *script, const panel_t *panel, int index) {
    fprintf(script, "set title '%s'\nplot ", panel->title);
    for (int s = 0; s < panel->count; s++)
        fprintf(script,
                "%s$data_%d_%d using 1:2 with points pt 7 ps 0.4 lc %d notitle, $data_%d_%d using 1:3 with "
                "lines lc %d title '%s'",
                s > 0 ? ", " : "", index, s, s + 1, index, s, s + 1, panel->series[s].title);
    fputs("\n", script);
}

static void write_script(FILE *script, const void *context) {
    drawing_t *drawing = (drawing_t *)context; /* not const: its medians are overwritten for each series */
    int count = drawing->panel_count;
    fputs("set logscale x 2\nset logscale y 10\nset format y '%.0s %cs'\n"
          "set xtics rotate by -45 ('1 B' 1, '8 B' 8, '64 B' 64, '512 B' 512, '4 KiB' 4096, '32 KiB' 32768, "
          "'256 KiB' 262144, '2 MiB' 2097152, '16 MiB' 16777216, '128 MiB' 134217728)\n"
          "set key left top\nset xlabel 'bytes'\nset ylabel 'time'\n",
          script);
    for (int i = 0; i < count; i++)
        write_data(script, drawing, i);
    fprintf(script, "set multiplot layout %d,%d\n", (count + 1) / 2, count > 1 ? 2 : 1);
    for (int i = 0; i < count; i++)
        write_panel(script, &drawing->panel[i], i);
    fputs("unset multiplot\n", script);
}

pto_status_t pto_fit_plot(const pto_samples_t *samples, const pto_fit_t *fit, const char *path,
                          pto_error_t *err) {
    drawing_t *drawing = calloc(1, sizeof *drawing);
    if (drawing == NULL)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a plot");
    drawing->samples = samples;
    drawing->machine = fit->machine;
    create_panels(drawing);
    const int count = drawing->panel_count;
    const pto_plot_t plot = {count > 1 ? 1200 : 600, 450 * ((count + 1) / 2), write_script, drawing};
    pto_status_t status = count > 0
                              ? pto_plot_draw(&plot, path, err)
                              : pto_error_set(err, PTO_ERR_NOT_FOUND, "no samples that a plot could show");
    free(drawing);
    return status;
}
