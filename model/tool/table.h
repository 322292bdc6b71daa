/* How predictions are printed: for people, and for programs. */
#ifndef PTO_TABLE_H
#define PTO_TABLE_H

#include <stdio.h>

#include "portolan/pick.h"

/* The comment lines above a table: what was asked, on which machine and layout. */
void pto_print_header(FILE *stream, const char *command, const pto_predictions_t *predictions);

/* The comment lines below: strategies that don't apply, and what could not be priced. */
void pto_print_footer(FILE *stream, const pto_predictions_t *predictions);

/* A string in JSON's quotes. */
void pto_print_json_string(FILE *stream, const char *text);

#endif
