/* Printing predictions as tables, CSV and JSON: the functions that all commands share. A cell is the
 * prediction of one strategy at one point of the sweep; its index is point * strategy_count + strategy.
 * Comment lines begin with "# ". */
#ifndef PTO_TABLE_H
#define PTO_TABLE_H

#include <stdio.h>

#include "base/text.h"
#include "caveats.h"
#include "command_line/options.h"
#include "portolan/pick.h"
#include "portolan/units.h"

/* Prints the comment lines above a table: scenario, machine and its changes, layout and size. */
void pto_print_header(const char *command, const pto_predictions_t *predictions);
/* Prints the first two of these lines. */
void pto_print_title(const char *command, const pto_predictions_t *predictions);
/* Prints the last two, without the quantities that vary in the table: bits 1 << pto_sweep_kind_t. */
void pto_print_question(const pto_predictions_t *predictions, unsigned varies);
/* Prints a comment line with the machine's name and file, or two lines if one is too long. */
void pto_print_machine(const pto_machine_t *machine);
/* Prints the comment line with the numbers of nodes, GPUs and processes. */
void pto_print_layout(const pto_layout_t *layout);

enum { PTO_LAYOUT_TEXT_MAX = 128 };

/* Returns "6 GPUs a node, 1 process a GPU", or "64 processes a node, data in host memory", in `text`. */
const char *pto_node_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]);

/* Returns this text after "1 node, " or "2 nodes, ". */
const char *pto_nodes_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]);

/* Returns "2 nodes x 6 GPUs = 12 GPUs, 1 process a GPU", or "2 nodes x 64 processes = 128, data in host
 * memory". */
const char *pto_layout_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]);

/* Walks the changes of pto_machine_what_if, one per line: sets `*length` to that of the first line and
 * returns the start of the next one, "" after the last line; NULL if `notes` is NULL or "". */
const char *pto_next_note(const char *notes, int *length);
/* Prints comment lines with the model and the what-ifs in use; nothing if the machine is unchanged. */
void pto_print_changes(FILE *stream, const pto_machine_t *machine);
/* Prints the change by the i-th --what-if, counted from 0. False: there is none, and nothing is printed. */
bool pto_print_change(FILE *stream, const pto_machine_t *machine, int i);

/* Prints the start of a JSON object: its brace, portolan's version, the machine and its changes.
 * docs/portolan.schema.json describes all objects. */
void pto_print_json_start(const pto_machine_t *machine);

/* Prints the next members: the collective, the layout (without the nodes if these are swept), and the
 * parameters that plans use and the machine lacks. */
void pto_print_json_question(const pto_predictions_t *predictions);

/* Prints the layout as members of a JSON object. */
void pto_print_json_layout(const pto_layout_t *layout, bool with_nodes);

/* Prints a whole JSON object with an array `name` of all cells. `print` adds the fields of a cell that
 * applies to those that every command has: the point, the strategy, the algorithm and the seconds. */
void pto_print_json_cells(const char *name, const pto_predictions_t *predictions,
                          void (*print)(int64_t cell, const void *context), const void *context);

/* Prints the JSON members of a cell: its strategy with its algorithm and seconds, or with the reason why it
 * does not apply. */
void pto_print_json_strategy(const pto_predictions_t *predictions, int64_t cell);
/* Prints the members that follow these: the strategy's chunks and staged members, the interval and the
 * caveats. */
void pto_print_json_price(const pto_predictions_t *predictions, int64_t cell);

/* Prints the heading of a table of cells: a command's own `columns` between those that all commands have. It
 * is the same for all options and strategies. */
void pto_print_csv_heading(const char *columns);
/* Prints the first CSV columns of a cell: the point, the strategy and the algorithm, each with a comma. */
void pto_print_csv_cell(const pto_predictions_t *predictions, int64_t cell);
/* Prints the columns of a point alone: bytes, nodes and messages. */
void pto_print_csv_point(const pto_predictions_t *predictions, int64_t point);

/* Prints the last CSV columns of a cell and the end of the line: what is not priced, what the price is
 * extrapolated from, the model and the what-ifs. */
void pto_print_csv_end(const pto_predictions_t *predictions, int64_t cell);
/* Prints the columns of the model and the what-ifs alone, with a comma between them. */
void pto_print_csv_changes(const pto_machine_t *machine);
/* Returns "64 B" or "8 KiB", in `text`. */
const char *pto_size_text(int64_t bytes, char text[PTO_BYTES_TEXT_MAX]);

/* Return a size, or a point of the sweep, in three digits, "5.37 KiB": for values between the sweep's points.
 * */
const char *pto_size_short(int64_t bytes, char text[PTO_BYTES_TEXT_MAX]);
const char *pto_point_short(const pto_predictions_t *predictions, int64_t value,
                            char text[PTO_BYTES_TEXT_MAX]);

/* Returns "dup_devptr (linear, 8 chunks) * ?": a strategy; if `details`, its algorithm and chunks; and the
 * marks of caveats.h. */
enum { PTO_ROUTE_TEXT_MAX = 160 };
const char *pto_route_text(const pto_strategy_t *strategy, const pto_prediction_t *prediction, bool details,
                           const char *marks, char text[PTO_ROUTE_TEXT_MAX]);

/* Returns "12.3..14.5 us" for "12.3 us" and "14.5 us"; both keep their units if these differ. */
enum { PTO_INTERVAL_TEXT_MAX = 2 * PTO_SECONDS_TEXT_MAX };
const char *pto_interval_text(const char *low, const char *high, char text[PTO_INTERVAL_TEXT_MAX]);

/* Returns a point of the sweep: a size with its unit, or a number of nodes or messages. */
const char *pto_point_text(const pto_predictions_t *predictions, int64_t value,
                           char text[PTO_BYTES_TEXT_MAX]);

/* Returns a point of the sweep with its unit: "8 KiB", "32 nodes". */
const char *pto_point_title(const pto_predictions_t *predictions, int64_t value,
                            char text[PTO_BYTES_TEXT_MAX]);

/* These return the texts in a compound literal, which lasts until the end of the block. */
#define PTO_NODE_TEXT(layout) pto_node_text(layout, (char[PTO_LAYOUT_TEXT_MAX]){""})
#define PTO_NODES_TEXT(layout) pto_nodes_text(layout, (char[PTO_LAYOUT_TEXT_MAX]){""})
#define PTO_SIZE_TEXT(bytes) pto_size_text(bytes, (char[PTO_BYTES_TEXT_MAX]){""})
#define PTO_SIZE_SHORT(bytes) pto_size_short(bytes, (char[PTO_BYTES_TEXT_MAX]){""})
#define PTO_POINT_TEXT(predictions, value) pto_point_text(predictions, value, (char[PTO_BYTES_TEXT_MAX]){""})
#define PTO_POINT_TITLE(predictions, value)                                                                  \
    pto_point_title(predictions, value, (char[PTO_BYTES_TEXT_MAX]){""})
#define PTO_POINT_SHORT(predictions, value)                                                                  \
    pto_point_short(predictions, value, (char[PTO_BYTES_TEXT_MAX]){""})

/* Adds a name to a list: after the text `before` if it is the first one, else after a comma. */
void pto_list_add(pto_text_t *list, const char *before, const char *name);
#define PTO_MORE_COLUMNS "more columns by --all, --strategy or a wider terminal: "
/* Prints a list as a note, unless it is empty, and frees it. */
void pto_print_list(pto_text_t *list);
/* Returns whether tables show a strategy: the user has named it, or it applies somewhere. */
bool pto_has_column(const pto_predictions_t *predictions, int strategy);
/* Prints the comment lines below a table: strategies that do not apply, and unpriced parameters. */
void pto_print_footer(const pto_predictions_t *predictions);
/* Returns -1 if a table can have --bandwidth's bandwidths, else the exit code after printing why not. */
int pto_check_bandwidth(const pto_syntax_t *syntax, const pto_options_t *options);

/* Prints the whole table: the header; a row per point with the cost by each strategy (with --energy its
 * energy, with --bandwidth its bandwidth) and the cheapest strategy; with --ci, a row of intervals after
 * each; and the footer. If the terminal is too narrow, the most expensive strategies are left out, unless the
 * scenario names them or --all is given. */
void pto_print_table(const char *command, const pto_predictions_t *predictions, const pto_options_t *options);

/* Checks that the machine file has powers, which energies need. Errors: PTO_ERR_NOT_APPLICABLE. */
pto_status_t pto_need_powers(const pto_machine_t *machine, pto_error_t *err);

/* Prints a comment line if energies are those of the GPUs alone. */
void pto_print_energy_note(const pto_predictions_t *predictions);

/* Heading of a table's first column. */
const char *pto_sweep_heading(pto_sweep_kind_t sweep);

/* Returns a path's last part. */
const char *pto_file_name(const char *path);

/* A CSV field, quoted if necessary. */
void pto_print_csv_text(FILE *stream, const char *text);

/* A string with JSON's quotes; NULL: null. */
void pto_print_json_string(FILE *stream, const char *text);

#endif
