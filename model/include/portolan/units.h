/* Numbers as people write and read them: strict parsing, shared by files and command-line flags, and short
 * printing. Inside portolan everything is in SI base units; these are the edges. */
#ifndef PORTOLAN_UNITS_H
#define PORTOLAN_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/status.h"

PTO_API_BEGIN

/* A whole decimal number, with '-' where negative: no blanks, no '+', no leading zero (it would be octal in
 * other readers), no hexadecimal, no fraction, no exponent. The whole text must be the number.
 * Errors: PTO_ERR_TYPE, PTO_ERR_RANGE beyond an int64_t. */
pto_status_t pto_int64_parse(const char *text, int64_t *value, pto_error_t *err);

/* A finite decimal number such as 2, -0.5, .5 or 1.38e-6, whatever the locale. Hexadecimal is refused.
 * Errors: PTO_ERR_TYPE; PTO_ERR_RANGE for NaN, infinities, and what a double would turn into infinity or,
 * not being 0, into 0. */
pto_status_t pto_double_parse(const char *text, double *value, pto_error_t *err);

/* A number of bytes of 0 and up: digits, then perhaps one blank and a binary suffix, K or KiB, M or MiB, G,
 * T, P, E likewise (64KiB, 1 MiB, 2G). KB and its like mean 1000 to some and 1024 to others, so are refused.
 * Errors: PTO_ERR_TYPE; PTO_ERR_RANGE where negative or beyond an int64_t. */
pto_status_t pto_bytes_parse(const char *text, int64_t *bytes, pto_error_t *err);

enum { PTO_BYTES_TEXT_MAX = 32, PTO_SECONDS_TEXT_MAX = 32 };

/* "64 KiB" with the largest suffix that is exact, else the digits alone. pto_bytes_parse reads it back. */
void pto_bytes_format(int64_t bytes, char *text, size_t text_size);

/* Three significant digits and s, ms, us or ns: "12.3 us". */
void pto_seconds_format(double seconds, char *text, size_t text_size);

PTO_API_END

#endif
