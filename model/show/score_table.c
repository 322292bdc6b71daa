/* Prints the result of `portolan score` as a table (whose rows are in score_columns.c), csv and JSON. A row
 * tells how well one picker (the model, or a baseline such as "always three_step") chose in a group of cells:
 * those of a collective and implementation, or all. */
#include "score_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "command_line/terminal.h"
#include "portolan/recording.h"
#include "record.h"
#include "table.h"

typedef struct {
    const pto_score_t *score;
    const pto_collectives_t *collectives; /* the measurements */
    const pto_machine_t *machine;
    const score_print_t *how;
    int64_t row_count; /* of rows that have been printed */
    pto_error_t *err;
} printer_t;

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
    pto_line_t line = {.text = files, .size = sizeof files};
    for (int i = 0; i < collectives->file_count; i++)
        pto_line_add(&line, "%s%s", i ? ", " : "", pto_file_name(collectives->path[i]));
    pto_print_head(stdout, "measured", "%s (%s)",
                   machine ? machine : "on a machine that the files don't name", files);
}

static void print_header(const printer_t *printer) {
    const pto_score_options_t *options = &printer->score->options;
    puts("# portolan score: what is predicted beside what was measured");
    pto_print_machine(printer->machine);
    pto_print_changes(stdout, printer->machine);
    print_measured(printer->collectives);
    printf("# times      the %s over runs; %s and up\n",
           options->statistic == PTO_STATISTIC_MIN ? "minimum" : "median", PTO_SIZE_TEXT(options->min_bytes));
    printf("# clear      cells in which the second takes at least %g%% longer than the best\n",
           100 * options->clear_margin);
    if (printer->how->leave_one_out)
        pto_print_note(stdout, "each number of nodes is predicted by what was fitted to the others");
    if (printer->how->in_sample)
        pto_print_note(stdout, "in sample: terms were fitted to these cells, so that errors are those of a "
                               "fit, not of predictions");
    if (!pto_machine_error_source(printer->machine))
        printf("# intervals  of parameters alone; the machine file has no model_error\n");
    const char *remark;
    for (int i = 0; (remark = pto_recording_remark(printer->collectives, &i)) != NULL;)
        pto_print_note(stdout, "%s", remark);
    print_nodes(&printer->score->options.nodes);
    for (int i = 0; i < printer->score->note_count; i++) {
        const pto_score_note_t *note = &printer->score->note[i];
        pto_print_note(stdout, "left out: %lld row%s of %s", (long long)note->count,
                       note->count > 1 ? "s" : "", note->text);
    }
}

/* Prints how many of a strategy's measured cells in a group have no prediction, and the first reason. */
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
        pto_print_note(stdout,
                       "not predicted: %s in %lld of %lld cells of %s, first on %lld nodes with %s; %s",
                       strategy->name, (long long)missing, (long long)measured,
                       score_filter_text(filter, name, sizeof name), (long long)first->nodes,
                       PTO_SIZE_TEXT(first->bytes), reason);
}

static void print_unpriced(const pto_score_t *score) {
    pto_text_t list = {0};
    for (int i = 0; i < score->unpriced_count; i++)
        pto_list_add(&list, "not in the machine file, so not priced: ", score->unpriced[i]);
    pto_print_list(&list);
}

/* Groups of cells and single cells (--cells) have the same heading, and leave each other's columns empty. */
static const char csv_heading[] =
    "collective,implementation,nodes,picker,strategy,cells,right,clear_cells,clear_right,near_ties,regret_"
    "mean,regret_95,regret_max,pairs,error_median,error_90,intervals,held,close_ties,right_no_ties,gpus_per_"
    "node,owners_per_gpu,procs_per_gpu,bytes,algorithm,measured_s,predicted_s,best,picked,near_tie,regret,"
    "distance,from_space,to_space,both_ways,grid,chunks,staged_in,staged_out,model,what_if\n";

static void print_record(const score_row_t *row, pto_format_t format) {
    const pto_score_summary_t *summary = &row->summary;
    const pto_score_filter_t *filter = &row->filter;
    const bool one = filter->collective != PTO_COLLECTIVE_COUNT, of_model = row->picker == PTO_PICKER_MODEL;
    PTO_RECORD(
        stdout, format,
        pto_field_json_if(
            one, pto_field_text("collective", one ? pto_collective_name(filter->collective) : "all")),
        pto_field_json_if(one, pto_field_text("implementation",
                                              one ? pto_implementation_name(filter->implementation) : "all")),
        pto_field_if(filter->nodes > 0, pto_field_count("nodes", filter->nodes)),
        pto_field_text("picker", pto_picker_name(row->picker)),
        pto_field_if(row->strategy, pto_field_text("strategy", row->strategy ? row->strategy->name : NULL)),
        pto_field_count("cells", summary->cells), pto_field_number("right", summary->right),
        pto_field_count("clear_cells", summary->clear_cells),
        pto_field_number("clear_right", summary->clear_right),
        pto_field_count("near_ties", summary->near_ties),
        pto_field_number("regret_mean", summary->regret_mean),
        pto_field_number("regret_95", summary->regret_95),
        pto_field_number("regret_max", summary->regret_max), pto_field_count("pairs", summary->pairs),
        pto_field_if(summary->pairs > 0, pto_field_number("error_median", summary->error_median)),
        pto_field_if(summary->pairs > 0, pto_field_number("error_90", summary->error_90)),
        pto_field_json_if(of_model, pto_field_count("intervals", summary->intervals)),
        pto_field_json_if(of_model, pto_field_count("held", summary->held)),
        pto_field_json_if(of_model, pto_field_count("close_ties", summary->close_ties)),
        pto_field_json_if(of_model, pto_field_count("right_no_ties", summary->right_no_ties)));
}

/* Prints a picker's row. In an empty group only the model has one. `strategy`: of PTO_PICKER_ALWAYS, or NULL.
 * */
static pto_status_t print_row(printer_t *printer, const pto_score_filter_t *filter, pto_picker_t picker,
                              const pto_strategy_t *strategy) {
    score_row_t row = {*filter, picker, strategy, {0}};
    pto_status_t status =
        pto_score_summarise(printer->score, filter, picker, strategy, &row.summary, printer->err);
    bool empty = row.summary.cells == 0 && row.summary.pairs == 0;
    if (status != PTO_OK || (empty && picker != PTO_PICKER_MODEL))
        return status;
    if (printer->how->format == PTO_FORMAT_TABLE) {
        score_print_row(printer->how, &row, printer->row_count == 0);
    } else if (printer->how->format == PTO_FORMAT_CSV) {
        print_record(&row, PTO_FORMAT_CSV);
        printf(",,,,,,,,,,,,,,,,,,,");
        pto_print_csv_changes(printer->machine);
        putchar('\n');
    } else {
        printf("%s\n  {", printer->row_count == 0 ? "" : ",");
        print_record(&row, PTO_FORMAT_JSON);
        putchar('}');
    }
    printer->row_count++;
    return PTO_OK;
}

/* Prints the rows of all pickers in a group. */
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

/* Returns the group's lowest node count above `above`; 0 if there is none. */
static int64_t next_nodes(const printer_t *printer, const pto_score_filter_t *filter, int64_t above) {
    int64_t next = 0;
    for (int64_t i = 0; i < printer->score->cell_count; i++) {
        const pto_score_cell_t *cell = &printer->score->cell[i];
        if (in_group(filter, cell) && cell->nodes > above && (next == 0 || cell->nodes < next))
            next = cell->nodes;
    }
    return next;
}

/* Prints the rows of a group and, with --by-nodes, those of its cells on each number of nodes. */
static pto_status_t print_group(printer_t *printer, pto_score_filter_t filter) {
    pto_status_t status = print_pickers(printer, &filter);
    pto_score_filter_t on_nodes = filter;
    while (printer->how->by_nodes && status == PTO_OK) {
        on_nodes.nodes = next_nodes(printer, &filter, on_nodes.nodes);
        if (on_nodes.nodes == 0)
            break;
        status = print_pickers(printer, &on_nodes);
    }
    return status;
}

/* Advances to the next collective and implementation, by which cells are sorted; false after the last. */
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

/* Prints the fields that identify a cell. In CSV, the columns of groups are empty. */
static void print_cell(const pto_score_cell_t *cell, const char *strategy, pto_format_t format) {
    PTO_RECORD(stdout, format, pto_field_text("collective", pto_collective_name(cell->collective)),
               pto_field_text("implementation", pto_implementation_name(cell->implementation)),
               pto_field_count("nodes", cell->nodes), pto_field_in_csv(pto_field_text("picker", "")),
               pto_field_in_csv(pto_field_text("strategy", strategy)));
    fputs(format == PTO_FORMAT_CSV ? ",,,,,,,,,,,,,,," : ", ", stdout);
    PTO_RECORD(stdout, format, pto_field_count("gpus_per_node", cell->gpus_per_node),
               pto_field_count("owners_per_gpu", cell->owners_per_gpu),
               pto_field_count("procs_per_gpu", cell->procs_per_gpu), pto_field_count("bytes", cell->bytes));
}

static void print_csv_cell(const pto_score_cell_t *cell, int index) {
    const pto_score_candidate_t *candidate = &cell->candidate[index];
    const pto_prediction_t *prediction = &cell->prediction[index];
    const bool applies = prediction->applicable, is_pair = cell->collective == PTO_COLLECTIVE_PAIR;
    const bool is_halo = cell->collective == PTO_COLLECTIVE_HALO;
    char grid[PTO_HALO_TEXT_MAX];
    const bool picked = index == cell->picked, stages = candidate->strategy->stages && applies;
    print_cell(cell, candidate->strategy->name, PTO_FORMAT_CSV);
    PTO_RECORD(stdout, PTO_FORMAT_CSV,
               pto_field_text("algorithm", applies ? prediction->algorithm->name : NULL),
               pto_field_number("measured_s", candidate->measured_s),
               pto_field_if(applies, pto_field_number("predicted_s", prediction->price.seconds)),
               pto_field_truth("best", index == cell->best), pto_field_truth("picked", picked),
               pto_field_truth("near_tie", picked && cell->near_tie),
               pto_field_number("regret", pto_score_regret(cell, index)),
               pto_field_text("distance", is_pair ? pto_level_name(cell->distance) : NULL),
               pto_field_text("from_space", is_pair ? score_space_name(cell->ends.from_host) : NULL),
               pto_field_text("to_space", is_pair ? score_space_name(cell->ends.to_host) : NULL),
               pto_field_text("both_ways", !is_pair               ? NULL
                                           : cell->ends.both_ways ? "yes"
                                                                  : "no"),
               pto_field_text("grid", is_halo ? pto_halo_text(&cell->halo, grid) : NULL),
               pto_field_if(candidate->chunks > 0, pto_field_count("chunks", candidate->chunks)),
               pto_field_if(stages, pto_field_count("staged_in", prediction->staged_members.in)),
               pto_field_if(stages, pto_field_count("staged_out", prediction->staged_members.out)));
}

static void print_csv_cells(const printer_t *printer) {
    for (int64_t i = 0; i < printer->score->cell_count; i++)
        for (int c = 0; c < printer->score->cell[i].candidate_count; c++) {
            print_csv_cell(&printer->score->cell[i], c);
            pto_print_csv_changes(printer->machine);
            putchar('\n');
        }
}

static void print_json_candidate(const pto_score_cell_t *cell, int index) {
    const pto_score_candidate_t *candidate = &cell->candidate[index];
    const pto_prediction_t *prediction = &cell->prediction[index];
    const bool applies = prediction->applicable, stages = candidate->strategy->stages && applies;
    PTO_OBJECT(
        stdout, index ? ", " : "", pto_field_text("strategy", candidate->strategy->name),
        pto_field_number("measured_s", candidate->measured_s),
        pto_field_if(candidate->chunks > 0, pto_field_count("chunks", candidate->chunks)),
        pto_field_if(applies, pto_field_text("algorithm", applies ? prediction->algorithm->name : NULL)),
        pto_field_if(applies, pto_field_number("predicted_s", prediction->price.seconds)),
        pto_field_if(stages, pto_field_count("staged_in", prediction->staged_members.in)),
        pto_field_if(stages, pto_field_count("staged_out", prediction->staged_members.out)),
        pto_field_if(!applies, pto_field_text("reason", prediction->reason)));
}

static void print_json_cell(const pto_score_cell_t *cell) {
    const bool is_pair = cell->collective == PTO_COLLECTIVE_PAIR, is_picked = cell->picked >= 0;
    const bool is_halo = cell->collective == PTO_COLLECTIVE_HALO;
    const char *spaces[] = {score_space_name(cell->ends.from_host), score_space_name(cell->ends.to_host)};
    char grid[PTO_HALO_TEXT_MAX];
    print_cell(cell, NULL, PTO_FORMAT_JSON);
    PTO_MORE(stdout, pto_field_if(is_pair, pto_field_text("distance", pto_level_name(cell->distance))),
             pto_field_if(is_pair, pto_field_names("spaces", spaces, 2)),
             pto_field_if(is_pair, pto_field_truth("both_ways", cell->ends.both_ways)),
             pto_field_if(is_halo, pto_field_text("grid", is_halo ? pto_halo_text(&cell->halo, grid) : NULL)),
             pto_field_text("best", cell->candidate[cell->best].strategy->name),
             pto_field_if(
                 is_picked,
                 pto_field_text("picked", is_picked ? cell->candidate[cell->picked].strategy->name : NULL)),
             pto_field_if(is_picked, pto_field_number("regret", cell->regret)),
             pto_field_if(is_picked, pto_field_truth("near_tie", cell->near_tie)));
    fputs(", \"strategies\": [", stdout);
    for (int c = 0; c < cell->candidate_count; c++)
        print_json_candidate(cell, c);
    fputs("]}", stdout);
}

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
    pto_print_json_start(printer->machine);
    PTO_MORE(stdout, pto_field_text("statistic", pto_statistic_name(score->options.statistic)),
             pto_field_count("min_bytes", score->options.min_bytes));
    printf(", \"left_out\": [");
    for (int i = 0; i < score->note_count; i++)
        PTO_OBJECT(stdout, i ? ",\n  " : "\n  ", pto_field_count("count", score->note[i].count),
                   pto_field_text("what", score->note[i].text));
    printf("], \"not_priced\": [");
    for (int i = 0; i < score->unpriced_count; i++)
        printf("%s\"%s\"", i ? ", " : "", score->unpriced[i]);
    printf("], \"%s\": [", printer->how->cells ? "cells" : "scores");
    for (int64_t i = 0; printer->how->cells && i < score->cell_count; i++) {
        fputs(i ? ",\n  {" : "\n  {", stdout);
        print_json_cell(&score->cell[i]);
    }
    if (!printer->how->cells)
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
