/* How predictions are printed: for people, and for programs. */
#ifndef PTO_TABLE_H
#define PTO_TABLE_H

#include <stdio.h>

#include "portolan/pick.h"

/* The comment lines above a table: what was asked, on which machine and layout. */
void pto_print_header(FILE *stream, const char *command, const pto_predictions_t *predictions);

/* Comment lines that say which model and what-ifs are in force; nothing where the machine is as its file has
 * it. */
void pto_print_changes(FILE *stream, const pto_machine_t *machine);

/* The same as fields of a JSON object, each with a comma before it. */
void pto_print_changes_json(FILE *stream, const pto_machine_t *machine);

/* A comment line with the keys that plans asked for and the machine file lacks; none where it lacks none. */
void pto_print_unpriced(FILE *stream, const pto_predictions_t *predictions);

/* The comment lines below: strategies that don't apply, and what could not be priced. */
void pto_print_footer(FILE *stream, const pto_predictions_t *predictions);

/* The whole table: the header, a row a point with every strategy's microseconds (or millijoules, where these
 * are judged by) and the cheapest, the footer. */
void pto_print_table(FILE *stream, const char *command, const pto_predictions_t *predictions);

/* Errors: PTO_ERR_NOT_APPLICABLE where the machine file has no powers, so that nothing can be judged by
 * energy. */
pto_status_t pto_need_powers(const pto_machine_t *machine, pto_error_t *err);

/* A comment line, where energies are judged by, that says whose they are if not everybody's. */
void pto_print_energy_note(FILE *stream, const pto_predictions_t *predictions);

/* What the first column of a table is called. */
const char *pto_sweep_heading(pto_sweep_kind_t sweep);

/* A field of csv, in quotes where it needs them. */
void pto_print_csv_text(FILE *stream, const char *text);

/* A string in JSON's quotes. */
void pto_print_json_string(FILE *stream, const char *text);

#endif
