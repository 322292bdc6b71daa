/* The tables of `portolan score`: for people and for programs. */
#include "score_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_line/terminal.h"
#include "score_columns.h"
#include "table.h"

typedef struct {
    const pto_score_t *score;
    const pto_collectives_t *collectives;
    const pto_machine_t *machine;
    const score_print_t *how;
    int64_t row_count;
    pto_error_t *err;
} printer_t;

/* --- around the table ---------------------------------------------------------------------------------- */

static void print_nodes(const pto_node_counts_t *nodes) {
    if (nodes->count == 0)
        return;
    printf("# nodes      %s", nodes->except ? "all but the training set's " : "");
    for (int i = 0; i < nodes->count; i++)
        printf("%s%lld", i ? ", " : "", (long long)nodes->value[i]);
    putchar('\n');
}

static void print_measured(const pto_collectives_t *collectives) {
    const char *machine = pto_collectives_provenance(collectives, "machine");
    char files[512] = "";
    for (int i = 0; i < collectives->file_count; i++) {
        size_t used = strlen(files);
        snprintf(files + used, sizeof files - used, "%s%s", i ? ", " : "",
                 pto_file_name(collectives->path[i]));
    }
    pto_print_head(stdout, "measured", "%s (%s)",
                   machine ? machine : "on a machine that the files don't name", files);
}

static void print_header(const printer_t *printer) {
    const pto_score_options_t *options = &printer->score->options;
    puts("# portolan score: what is predicted beside what was measured");
    pto_print_machine(stdout, printer->machine);
    pto_print_changes(stdout, printer->machine);
    print_measured(printer->collectives);
    char least[PTO_BYTES_TEXT_MAX];
    printf("# times      the %s over runs; %s and up\n",
           options->statistic == PTO_STATISTIC_MIN ? "minimum" : "median",
           pto_size_text(options->min_bytes, least));
    printf("# clear      cells in which the second takes at least %g%% longer than the best\n",
           100 * options->clear_margin);
    if (printer->how->leave_one_out)
        pto_print_note(stdout, "each number of nodes is predicted by what was fitted to the others");
    if (printer->how->in_sample)
        pto_print_note(stdout,
                       "in sample: terms were fitted to these cells, so that errors are those of a fit, "
                       "not of predictions");
    if (!pto_machine_error_source(printer->machine))
        printf("# intervals  of parameters alone; the machine file has no model_error\n");
    print_nodes(&printer->score->options.nodes);
    for (int i = 0; i < printer->score->note_count; i++) {
        const pto_score_note_t *note = &printer->score->note[i];
        pto_print_note(stdout, "left out: %lld row%s of %s", (long long)note->count,
                       note->count > 1 ? "s" : "", note->text);
    }
}

/* How many of a strategy's measured cells in a group have no prediction, and the reason for the first. */
static void print_unpredicted(const printer_t *printer, const pto_score_filter_t *filter,
                              const pto_strategy_t *strategy) {
    int64_t measured = 0, missing = 0;
    const pto_score_cell_t *first = NULL;
    const char *reason = NULL;
    for (int64_t i = 0; i < printer->score->cell_count; i++) {
        const pto_score_cell_t *cell = &printer->score->cell[i];
        if (cell->collective != filter->collective || cell->implementation != filter->implementation)
            continue;
        for (int c = 0; c < cell->candidate_count; c++) {
            if (cell->candidate[c].strategy != strategy)
                continue;
            measured++;
            if (cell->prediction[c].applicable)
                continue;
            if (missing++ == 0) {
                first = cell;
                reason = cell->prediction[c].reason;
            }
        }
    }
    char name[64], bytes[PTO_BYTES_TEXT_MAX];
    if (missing > 0)
        pto_print_note(stdout,
                       "not predicted: %s in %lld of %lld cells of %s, first on %lld nodes with %s; %s",
                       strategy->name, (long long)missing, (long long)measured,
                       score_filter_text(filter, name, sizeof name), (long long)first->nodes,
                       pto_size_text(first->bytes, bytes), reason);
}

static void print_unpriced(const pto_score_t *score) {
    const char **key = calloc((size_t)score->unpriced_count + 1, sizeof *key);
    for (int i = 0; key && i < score->unpriced_count; i++)
        key[i] = score->unpriced[i];
    if (key)
        pto_print_list(stdout, "not in the machine file, so not priced: ", key, score->unpriced_count, "");
    free(key);
}

/* One heading for groups of cells and for cells (--cells), which leave the other's columns empty. */
static const char csv_heading[] =
    "collective,implementation,nodes,picker,strategy,cells,right,clear_cells,clear_right,near_ties,regret_"
    "mean,"
    "regret_95,regret_max,pairs,error_median,error_90,intervals,held,close_ties,right_no_ties,gpus_per_node,"
    "owners_per_gpu,procs_per_gpu,bytes,algorithm,measured_s,predicted_s,best,picked,near_tie,regret,"
    "distance,"
    "from_space,to_space,both_ways,grid,chunks,staged_in,staged_out,model,what_if\n";

static void print_csv_row(const score_row_t *row, const pto_machine_t *machine) {
    const pto_score_summary_t *summary = &row->summary;
    const pto_score_filter_t *filter = &row->filter;
    bool all = filter->collective == PTO_COLLECTIVE_COUNT;
    printf("%s,%s,", all ? "all" : pto_collective_name(filter->collective),
           all ? "all" : pto_implementation_name(filter->implementation));
    if (filter->nodes > 0)
        printf("%lld", (long long)filter->nodes);
    printf(",%s,%s,%lld,%.9g,%lld,%.9g,%lld,%.9g,%.9g,%.9g,%lld,", pto_picker_name(row->picker),
           row->strategy ? row->strategy->name : "", (long long)summary->cells, summary->right,
           (long long)summary->clear_cells, summary->clear_right, (long long)summary->near_ties,
           summary->regret_mean, summary->regret_95, summary->regret_max, (long long)summary->pairs);
    if (summary->pairs > 0)
        printf("%.9g,%.9g", summary->error_median, summary->error_90);
    else
        putchar(',');
    printf(",%lld,%lld,%lld,%lld,", (long long)summary->intervals, (long long)summary->held,
           (long long)summary->close_ties, (long long)summary->right_no_ties);
    printf(",,,,,,,,,,,,,,,,,,,");
    pto_print_csv_changes(stdout, machine);
    putchar('\n');
}

static void print_json_row(const score_row_t *row, bool first) {
    const pto_score_summary_t *summary = &row->summary;
    const pto_score_filter_t *filter = &row->filter;
    printf("%s\n  {", first ? "" : ",");
    if (filter->collective != PTO_COLLECTIVE_COUNT)
        printf("\"collective\": \"%s\", \"implementation\": \"%s\", ",
               pto_collective_name(filter->collective), pto_implementation_name(filter->implementation));
    if (filter->nodes > 0)
        printf("\"nodes\": %lld, ", (long long)filter->nodes);
    printf("\"picker\": \"%s\", ", pto_picker_name(row->picker));
    if (row->strategy)
        printf("\"strategy\": \"%s\", ", row->strategy->name);
    printf("\"cells\": %lld, \"right\": %.9g, \"clear_cells\": %lld, \"clear_right\": %.9g, ",
           (long long)summary->cells, summary->right, (long long)summary->clear_cells, summary->clear_right);
    printf("\"near_ties\": %lld, \"regret_mean\": %.9g, \"regret_95\": %.9g, \"regret_max\": %.9g, "
           "\"pairs\": %lld",
           (long long)summary->near_ties, summary->regret_mean, summary->regret_95, summary->regret_max,
           (long long)summary->pairs);
    if (summary->pairs > 0)
        printf(", \"error_median\": %.9g, \"error_90\": %.9g", summary->error_median, summary->error_90);
    if (row->picker == PTO_PICKER_MODEL)
        printf(", \"intervals\": %lld, \"held\": %lld, \"close_ties\": %lld, \"right_no_ties\": %lld",
               (long long)summary->intervals, (long long)summary->held, (long long)summary->close_ties,
               (long long)summary->right_no_ties);
    putchar('}');
}

/* --- all rows ------------------------------------------------------------------------------------------ */

static pto_status_t print_row(printer_t *printer, const pto_score_filter_t *filter, pto_picker_t picker,
                              const pto_strategy_t *strategy) {
    score_row_t row = {*filter, picker, strategy, {0}};
    pto_status_t status =
        pto_score_summarise(printer->score, filter, picker, strategy, &row.summary, printer->err);
    bool empty = row.summary.cells == 0 && row.summary.pairs == 0;
    if (status != PTO_OK || (empty && picker != PTO_PICKER_MODEL))
        return status;
    if (printer->how->format == PTO_FORMAT_TABLE)
        score_print_row(printer->how, &row, printer->row_count == 0);
    else if (printer->how->format == PTO_FORMAT_CSV)
        print_csv_row(&row, printer->machine);
    else
        print_json_row(&row, printer->row_count == 0);
    printer->row_count++;
    return PTO_OK;
}

static pto_status_t print_pickers(printer_t *printer, const pto_score_filter_t *filter) {
    pto_status_t status = print_row(printer, filter, PTO_PICKER_MODEL, NULL);
    if (status == PTO_OK)
        status = print_row(printer, filter, PTO_PICKER_FLOOR, NULL);
    for (int b = 0; b < PTO_BASELINE_COUNT && status == PTO_OK && printer->how->baselines; b++)
        status = print_row(printer, filter, (pto_picker_t)(PTO_BASELINE_FIRST + b), NULL);
    for (int i = 0; i < pto_strategy_count() && status == PTO_OK; i++)
        status = print_row(printer, filter, PTO_PICKER_ALWAYS, pto_strategy_at(i));
    return status;
}

static bool in_group(const pto_score_filter_t *filter, const pto_score_cell_t *cell) {
    return (filter->collective == PTO_COLLECTIVE_COUNT || cell->collective == filter->collective) &&
           (filter->implementation == PTO_IMPLEMENTATION_COUNT ||
            cell->implementation == filter->implementation);
}

/* The group's lowest node count above `above`; 0 if there is none. */
static int64_t next_nodes(const printer_t *printer, const pto_score_filter_t *filter, int64_t above) {
    int64_t next = 0;
    for (int64_t i = 0; i < printer->score->cell_count; i++) {
        const pto_score_cell_t *cell = &printer->score->cell[i];
        if (in_group(filter, cell) && cell->nodes > above && (next == 0 || cell->nodes < next))
            next = cell->nodes;
    }
    return next;
}

static pto_status_t print_group(printer_t *printer, pto_score_filter_t filter) {
    pto_status_t status = print_pickers(printer, &filter);
    pto_score_filter_t part = filter;
    while (printer->how->by_nodes && status == PTO_OK &&
           (part.nodes = next_nodes(printer, &filter, part.nodes)) > 0)
        status = print_pickers(printer, &part);
    return status;
}

/* Advance to the next pair of collective and implementation; false after the last. Cells are sorted by them.
 */
static bool next_group(const pto_score_t *score, pto_score_filter_t *filter) {
    for (int64_t i = 0; i < score->cell_count; i++) {
        const pto_score_cell_t *cell = &score->cell[i];
        bool after =
            filter->collective == PTO_COLLECTIVE_COUNT || cell->collective > filter->collective ||
            (cell->collective == filter->collective && cell->implementation > filter->implementation);
        if (after) {
            *filter = (pto_score_filter_t){cell->collective, cell->implementation, 0};
            return true;
        }
    }
    return false;
}

static const pto_score_filter_t everything = {PTO_COLLECTIVE_COUNT, PTO_IMPLEMENTATION_COUNT, 0};

static pto_status_t print_groups(printer_t *printer) {
    pto_score_filter_t filter = everything;
    pto_status_t status = PTO_OK;
    while (status == PTO_OK && next_group(printer->score, &filter))
        status = print_group(printer, filter);
    return status == PTO_OK ? print_group(printer, everything) : status;
}

static void print_footer(const printer_t *printer) {
    pto_score_filter_t filter = everything;
    while (next_group(printer->score, &filter))
        for (int i = 0; i < pto_strategy_count(); i++)
            print_unpredicted(printer, &filter, pto_strategy_at(i));
    print_unpriced(printer->score);
}

/* --- cells --------------------------------------------------------------------------------------------- */

static const char *space_name(bool host) { return pto_space_name(host ? PTO_SPACE_CPU : PTO_SPACE_GPU); }

/* What tells cells of a pair or a halo apart, and what their candidates chose: empty for what they do not
 * have. */
static void print_csv_choices(const pto_score_cell_t *cell, int index) {
    const pto_score_candidate_t *candidate = &cell->candidate[index];
    const pto_prediction_t *prediction = &cell->prediction[index];
    char grid[PTO_HALO_TEXT_MAX];
    if (cell->collective == PTO_COLLECTIVE_PAIR)
        printf(",%s,%s,%s,%s,", pto_level_name(cell->distance), space_name(cell->ends.from_host),
               space_name(cell->ends.to_host), cell->ends.both_ways ? "yes" : "no");
    else
        printf(",,,,,");
    if (cell->collective == PTO_COLLECTIVE_HALO)
        fputs(pto_halo_text(&cell->halo, grid), stdout);
    putchar(',');
    if (candidate->chunks > 0)
        printf("%lld", (long long)candidate->chunks);
    putchar(',');
    if (candidate->strategy->stages && prediction->applicable)
        printf("%lld,%lld,", (long long)prediction->staged_members.in,
               (long long)prediction->staged_members.out);
    else
        printf(",,");
}

static void print_csv_cells(const printer_t *printer) {
    for (int64_t i = 0; i < printer->score->cell_count; i++) {
        const pto_score_cell_t *cell = &printer->score->cell[i];
        for (int c = 0; c < cell->candidate_count; c++) {
            const pto_prediction_t *prediction = &cell->prediction[c];
            printf("%s,%s,%lld,,%s,,,,,,,,,,,,,,,,%lld,%lld,%lld,%lld,",
                   pto_collective_name(cell->collective), pto_implementation_name(cell->implementation),
                   (long long)cell->nodes, cell->candidate[c].strategy->name, (long long)cell->gpus_per_node,
                   (long long)cell->owners_per_gpu, (long long)cell->procs_per_gpu, (long long)cell->bytes);
            if (prediction->applicable)
                printf("%s,%.9g,%.9g", prediction->algorithm->name, cell->candidate[c].measured_s,
                       prediction->price.seconds);
            else
                printf(",%.9g,", cell->candidate[c].measured_s);
            printf(",%d,%d,%d,%.9g", c == cell->best, c == cell->picked, c == cell->picked && cell->near_tie,
                   pto_score_regret(cell, c));
            print_csv_choices(cell, c);
            pto_print_csv_changes(stdout, printer->machine);
            putchar('\n');
        }
    }
}

static void print_json_candidate(const pto_score_cell_t *cell, int index) {
    const pto_prediction_t *prediction = &cell->prediction[index];
    printf("%s{\"strategy\": \"%s\", \"measured_s\": %.9g, ", index ? ", " : "",
           cell->candidate[index].strategy->name, cell->candidate[index].measured_s);
    if (cell->candidate[index].chunks > 0)
        printf("\"chunks\": %lld, ", (long long)cell->candidate[index].chunks);
    if (prediction->applicable) {
        printf("\"algorithm\": \"%s\", \"predicted_s\": %.9g", prediction->algorithm->name,
               prediction->price.seconds);
        if (cell->candidate[index].strategy->stages)
            printf(", \"staged_in\": %lld, \"staged_out\": %lld", (long long)prediction->staged_members.in,
                   (long long)prediction->staged_members.out);
        putchar('}');
        return;
    }
    printf("\"reason\": ");
    pto_print_json_string(stdout, prediction->reason);
    putchar('}');
}

static void print_json_cells(const printer_t *printer) {
    for (int64_t i = 0; i < printer->score->cell_count; i++) {
        const pto_score_cell_t *cell = &printer->score->cell[i];
        char grid[PTO_HALO_TEXT_MAX];
        printf("%s\n  {\"collective\": \"%s\", \"implementation\": \"%s\", \"nodes\": %lld, ", i ? "," : "",
               pto_collective_name(cell->collective), pto_implementation_name(cell->implementation),
               (long long)cell->nodes);
        printf(
            "\"gpus_per_node\": %lld, \"owners_per_gpu\": %lld, \"procs_per_gpu\": %lld, \"bytes\": %lld, ",
            (long long)cell->gpus_per_node, (long long)cell->owners_per_gpu, (long long)cell->procs_per_gpu,
            (long long)cell->bytes);
        if (cell->collective == PTO_COLLECTIVE_PAIR)
            printf("\"distance\": \"%s\", \"spaces\": [\"%s\", \"%s\"], \"both_ways\": %s, ",
                   pto_level_name(cell->distance), space_name(cell->ends.from_host),
                   space_name(cell->ends.to_host), cell->ends.both_ways ? "true" : "false");
        if (cell->collective == PTO_COLLECTIVE_HALO)
            printf("\"grid\": \"%s\", ", pto_halo_text(&cell->halo, grid));
        printf("\"best\": \"%s\", ", cell->candidate[cell->best].strategy->name);
        if (cell->picked >= 0)
            printf("\"picked\": \"%s\", \"regret\": %.9g, \"near_tie\": %s, ",
                   cell->candidate[cell->picked].strategy->name, cell->regret,
                   cell->near_tie ? "true" : "false");
        printf("\"strategies\": [");
        for (int c = 0; c < cell->candidate_count; c++)
            print_json_candidate(cell, c);
        printf("]}");
    }
}

/* --- the three formats --------------------------------------------------------------------------------- */

static pto_status_t print_table(printer_t *printer) {
    print_header(printer);
    pto_status_t status = PTO_OK;
    if (printer->how->cells) {
        score_print_cells(printer->score, printer->how);
    } else {
        score_print_heading(printer->how);
        status = print_groups(printer);
    }
    if (status == PTO_OK)
        print_footer(printer);
    return status;
}

static pto_status_t print_csv(printer_t *printer) {
    fputs(csv_heading, stdout);
    if (!printer->how->cells)
        return print_groups(printer);
    print_csv_cells(printer);
    return PTO_OK;
}

static pto_status_t print_json(printer_t *printer) {
    const pto_score_t *score = printer->score;
    pto_status_t status = PTO_OK;
    pto_print_json_start(stdout, printer->machine);
    printf(", \"statistic\": \"%s\", \"min_bytes\": %lld, \"left_out\": [",
           pto_statistic_name(score->options.statistic), (long long)score->options.min_bytes);
    for (int i = 0; i < score->note_count; i++) {
        printf("%s\n  {\"count\": %lld, \"what\": ", i ? "," : "", (long long)score->note[i].count);
        pto_print_json_string(stdout, score->note[i].text);
        putchar('}');
    }
    printf("], \"not_priced\": [");
    for (int i = 0; i < score->unpriced_count; i++)
        printf("%s\"%s\"", i ? ", " : "", score->unpriced[i]);
    printf("], \"%s\": [", printer->how->cells ? "cells" : "scores");
    if (printer->how->cells)
        print_json_cells(printer);
    else
        status = print_groups(printer);
    printf("\n]}\n");
    return status;
}

pto_status_t score_print(const pto_score_t *score, const pto_collectives_t *collectives,
                         const pto_machine_t *machine, const score_print_t *how, pto_error_t *err) {
    printer_t printer = {score, collectives, machine, how, 0, err};
    if (how->format == PTO_FORMAT_CSV)
        return print_csv(&printer);
    return how->format == PTO_FORMAT_JSON ? print_json(&printer) : print_table(&printer);
}
