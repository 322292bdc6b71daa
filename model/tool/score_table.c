/* The tables of `portolan score`: for people and for programs. */
#include "score_table.h"

#include <stdio.h>
#include <string.h>

#include "table.h"

typedef struct {
    const pto_score_t *score;
    const pto_collectives_t *collectives;
    const pto_machine_t *machine;
    const score_print_t *how;
    int64_t row_count;
    pto_error_t *err;
} printer_t;

static const char *filter_name(const pto_score_filter_t *filter, char *text, size_t text_size) {
    int length = filter->collective == PTO_COLLECTIVE_COUNT
                     ? snprintf(text, text_size, "all")
                     : snprintf(text, text_size, "%s %s", pto_collective_name(filter->collective),
                                pto_implementation_name(filter->implementation));
    if (filter->nodes > 0)
        snprintf(text + length, text_size - (size_t)length, ", %lld node%s", (long long)filter->nodes,
                 filter->nodes > 1 ? "s" : "");
    return text;
}

/* --- around the table ---------------------------------------------------------------------------------- */

static void print_nodes(const pto_node_counts_t *nodes) {
    if (nodes->count == 0)
        return;
    printf("# nodes      %s", nodes->except ? "all but the training set's " : "");
    for (int i = 0; i < nodes->count; i++)
        printf("%s%lld", i ? ", " : "", (long long)nodes->value[i]);
    putchar('\n');
}

static void print_header(const printer_t *printer) {
    const pto_score_options_t *options = &printer->score->options;
    const char *measured = pto_collectives_provenance(printer->collectives, "machine");
    printf("# portolan score: what is predicted beside what was measured\n# machine    %s (%s)\n",
           pto_machine_name(printer->machine), pto_machine_path(printer->machine));
    pto_print_changes(stdout, printer->machine);
    printf("# measured   %s (", measured ? measured : "on a machine that the files don't name");
    for (int i = 0; i < printer->collectives->file_count; i++)
        printf("%s%s", i ? ", " : "", pto_file_name(printer->collectives->path[i]));
    char least[PTO_BYTES_TEXT_MAX];
    printf(")\n# times      the %s over runs; %s and up\n",
           options->statistic == PTO_STATISTIC_MIN ? "minimum" : "median",
           pto_size_text(options->min_bytes, least));
    printf("# clear      cells in which the second takes at least %g%% longer than the best\n",
           100 * options->clear_margin);
    if (printer->how->leave_one_out)
        printf(
            "# left out   one by one, each number of nodes is predicted by what was fitted to the others\n");
    if (printer->how->in_sample)
        printf(
            "# in sample  terms were fitted to these cells: errors are those of a fit, not of predictions\n");
    if (!pto_machine_error_source(printer->machine))
        printf("# intervals  of parameters alone; the machine file has no model_error\n");
    print_nodes(&printer->score->options.nodes);
    for (int i = 0; i < printer->score->note_count; i++) {
        const pto_score_note_t *note = &printer->score->note[i];
        printf("# left out   %lld row%s of %s\n", (long long)note->count, note->count > 1 ? "s" : "",
               note->text);
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
    char name[64];
    if (missing > 0)
        printf("# not predicted: %s in %lld of %lld cells of %s, first on %lld nodes with %lld bytes; %s\n",
               strategy->name, (long long)missing, (long long)measured,
               filter_name(filter, name, sizeof name), (long long)first->nodes, (long long)first->bytes,
               reason);
}

static void print_unpriced(const pto_score_t *score) {
    if (score->unpriced_count == 0)
        return;
    printf("# not in the machine file, so not priced:");
    for (int i = 0; i < score->unpriced_count; i++)
        printf("%s %s", i ? "," : "", score->unpriced[i]);
    putchar('\n');
}

/* --- one row ------------------------------------------------------------------------------------------- */

typedef struct {
    pto_score_filter_t filter;
    pto_picker_t picker;
    const pto_strategy_t *strategy;
    pto_score_summary_t summary;
} row_t;

/* part / whole as a percentage; a dash if `whole` is 0. A `part` that is a ratio already has a `whole` of 1.
 */
static void print_share(int width, double part, int64_t whole) {
    if (whole > 0)
        printf(" %*.1f%%", width - 1, 100 * part / (double)whole);
    else
        printf(" %*s", width, "-");
}

static void print_table_row(const row_t *row) {
    const pto_score_summary_t *summary = &row->summary;
    char name[64], picker[48];
    snprintf(picker, sizeof picker, "%s%s%s", pto_picker_name(row->picker), row->strategy ? " " : "",
             row->strategy ? row->strategy->name : "");
    printf("%-30s %-21s %6lld",
           row->picker == PTO_PICKER_MODEL ? filter_name(&row->filter, name, sizeof name) : "", picker,
           (long long)summary->cells);
    print_share(7, summary->right, summary->cells);
    printf(" %6lld", (long long)summary->clear_cells);
    print_share(7, summary->clear_right, summary->clear_cells);
    print_share(8, (double)summary->near_ties, row->picker == PTO_PICKER_MODEL ? summary->cells : 0);
    print_share(9, summary->regret_mean, summary->cells > 0);
    print_share(9, summary->regret_95, summary->cells > 0);
    print_share(9, summary->regret_max, summary->cells > 0);
    print_share(9, summary->error_median, summary->pairs > 0);
    print_share(9, summary->error_90, summary->pairs > 0);
    print_share(7, (double)summary->held, row->picker == PTO_PICKER_MODEL ? summary->intervals : 0);
    putchar('\n');
}

static void print_csv_row(const row_t *row) {
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
    printf(",%lld,%lld,%lld,%lld\n", (long long)summary->intervals, (long long)summary->held,
           (long long)summary->close_ties, (long long)summary->right_no_ties);
}

static void print_json_row(const row_t *row, bool first) {
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
    row_t row = {*filter, picker, strategy, {0}};
    pto_status_t status =
        pto_score_summarise(printer->score, filter, picker, strategy, &row.summary, printer->err);
    bool empty = row.summary.cells == 0 && row.summary.pairs == 0;
    if (status != PTO_OK || (empty && picker != PTO_PICKER_MODEL))
        return status;
    if (printer->how->format == PTO_FORMAT_TABLE)
        print_table_row(&row);
    else if (printer->how->format == PTO_FORMAT_CSV)
        print_csv_row(&row);
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

/* The decision: "alltoall library", "pair on_socket gpu,cpu". */
static const char *cell_name(const pto_score_cell_t *cell, char *text, size_t text_size) {
    const pto_score_filter_t filter = {cell->collective, cell->implementation, 0};
    if (cell->collective != PTO_COLLECTIVE_PAIR)
        return filter_name(&filter, text, text_size);
    snprintf(text, text_size, "pair %s %s,%s%s", pto_level_name(cell->distance),
             space_name(cell->ends.from_host), space_name(cell->ends.to_host),
             cell->ends.both_ways ? " both ways" : "");
    return text;
}

static void print_table_candidate(const pto_score_cell_t *cell, int index) {
    const pto_score_candidate_t *candidate = &cell->candidate[index];
    const pto_prediction_t *prediction = &cell->prediction[index];
    char algorithm[64] = "-", choice[PTO_CHOICE_TEXT_MAX];
    if (prediction->applicable)
        snprintf(algorithm, sizeof algorithm, "%s%s", prediction->algorithm->name,
                 pto_choice_text(candidate->strategy, candidate->chunks, prediction->staged_members, choice));
    printf(" %-14s %-19s %12.2f", candidate->strategy->name, algorithm, candidate->measured_s * 1e6);
    if (prediction->applicable)
        printf(" %12.2f %+8.1f%%", prediction->price.seconds * 1e6,
               100 * (prediction->price.seconds / candidate->measured_s - 1));
    else
        printf(" %12s %9s", "-", "-");
    printf("%s%s", index == cell->best ? "  best" : "", index == cell->picked ? "  picked" : "");
    if (index == cell->picked)
        printf(", regret %.1f%%%s", 100 * cell->regret, cell->near_tie ? ", near-tie" : "");
    putchar('\n');
}

static void print_table_cells(const printer_t *printer) {
    printf("# %-20s %6s %5s %6s %10s %-14s %-19s %12s %12s %9s\n", "Collective", "Nodes", "GPUs", "Procs",
           "Bytes", "Strategy", "Algorithm", "Measured", "Predicted", "Error");
    for (int64_t i = 0; i < printer->score->cell_count; i++) {
        const pto_score_cell_t *cell = &printer->score->cell[i];
        char name[64], bytes[PTO_BYTES_TEXT_MAX];
        for (int c = 0; c < cell->candidate_count; c++) {
            if (c == 0)
                printf("%-22s %6lld %5lld %6lld %10s", cell_name(cell, name, sizeof name),
                       (long long)cell->nodes, (long long)cell->gpus_per_node, (long long)cell->procs_per_gpu,
                       pto_size_text(cell->bytes, bytes));
            else
                printf("%53s", "");
            print_table_candidate(cell, c);
        }
    }
}

/* Empty for what a cell or a candidate does not have. */
/* What tells cells of a pair apart, and what their candidates chose. */
static void print_csv_choices(const pto_score_cell_t *cell, int index) {
    const pto_score_candidate_t *candidate = &cell->candidate[index];
    const pto_prediction_t *prediction = &cell->prediction[index];
    if (cell->collective == PTO_COLLECTIVE_PAIR)
        printf(",%s,%s,%s,%s,", pto_level_name(cell->distance), space_name(cell->ends.from_host),
               space_name(cell->ends.to_host), cell->ends.both_ways ? "yes" : "no");
    else
        printf(",,,,,");
    if (candidate->chunks > 0)
        printf("%lld", (long long)candidate->chunks);
    putchar(',');
    if (candidate->strategy->stages && prediction->applicable)
        printf("%lld,%lld\n", (long long)prediction->staged_members.in,
               (long long)prediction->staged_members.out);
    else
        puts(",");
}

static void print_csv_cells(const printer_t *printer) {
    printf(
        "collective,implementation,nodes,gpus_per_node,owners_per_gpu,procs_per_gpu,bytes,strategy,"
        "algorithm,measured_s,predicted_s,best,picked,near_tie,regret,distance,from_space,to_space,both_ways,"
        "chunks,staged_in,staged_out\n");
    for (int64_t i = 0; i < printer->score->cell_count; i++) {
        const pto_score_cell_t *cell = &printer->score->cell[i];
        for (int c = 0; c < cell->candidate_count; c++) {
            const pto_prediction_t *prediction = &cell->prediction[c];
            printf("%s,%s,%lld,%lld,%lld,%lld,%lld,%s,", pto_collective_name(cell->collective),
                   pto_implementation_name(cell->implementation), (long long)cell->nodes,
                   (long long)cell->gpus_per_node, (long long)cell->owners_per_gpu,
                   (long long)cell->procs_per_gpu, (long long)cell->bytes, cell->candidate[c].strategy->name);
            if (prediction->applicable)
                printf("%s,%.9g,%.9g", prediction->algorithm->name, cell->candidate[c].measured_s,
                       prediction->price.seconds);
            else
                printf(",%.9g,", cell->candidate[c].measured_s);
            printf(",%d,%d,%d,%.9g", c == cell->best, c == cell->picked, c == cell->picked && cell->near_tie,
                   pto_score_regret(cell, c));
            print_csv_choices(cell, c);
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
        print_table_cells(printer);
    } else {
        printf("# %-82s %29s %19s\n", "", "regret:", "error:");
        printf("# %-28s %-21s %6s %7s %6s %7s %8s %9s %9s %9s %9s %9s %7s\n", "Collective", "Picked by",
               "Cells", "Right", "Clear", "Right", "Near-ties", "mean", "95th", "max", "median", "90th",
               "Held");
        status = print_groups(printer);
    }
    if (status == PTO_OK)
        print_footer(printer);
    return status;
}

static pto_status_t print_csv(printer_t *printer) {
    if (printer->how->cells) {
        print_csv_cells(printer);
        return PTO_OK;
    }
    printf("collective,implementation,nodes,picker,strategy,cells,right,clear_cells,clear_right,near_ties,"
           "regret_mean,regret_95,regret_max,pairs,error_median,error_90,intervals,held,close_ties,"
           "right_no_ties\n");
    return print_groups(printer);
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
