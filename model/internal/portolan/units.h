/* Conversion between human-readable numbers and the SI base units that are used everywhere inside portolan:
 * strict parsing, for files and command-line flags, and short formatting. */
#ifndef PORTOLAN_UNITS_H
#define PORTOLAN_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/machine.h"

PTO_C_BEGIN

/* Parse a decimal integer, with '-' if negative: no blanks, no '+', no leading zero (other parsers read it as
 * octal), no hexadecimal, no fraction, no exponent. The whole text must be the number.
 * Errors: PTO_ERR_TYPE; PTO_ERR_RANGE outside int64_t. */
pto_status_t pto_int64_parse(const char *text, int64_t *value, pto_error_t *err);

/* Parse a finite decimal number such as 2, -0.5, .5 or 1.38e-6, independent of the locale. Hexadecimal is
 * refused. Errors: PTO_ERR_TYPE; PTO_ERR_RANGE for NaN, infinities, overflow and underflow. */
pto_status_t pto_double_parse(const char *text, double *value, pto_error_t *err);

/* Parse a number with or without its unit, into SI: "5 us", "400 W"; for seconds per byte "21 ps/B" or, as
 * people write it, the rate: "50 GB/s", "400 Gbit/s", "400gbps" (b is a bit, B a byte), "12 GiB/s". Bytes are
 * as in pto_bytes_parse. Without a unit, the number is in SI. Counts and ratios have no unit. Errors:
 * PTO_ERR_TYPE (another unit, or an unknown one); PTO_ERR_RANGE. */
pto_status_t pto_quantity_parse(const char *text, pto_unit_t unit, double *value, pto_error_t *err);

/* Seconds per byte of a NIC by its product name: NDR, 400G, 400GbE. 0: not such a name. */
double pto_nic_s_per_byte(const char *text);

/* Parse a non-negative number of bytes: digits, an optional blank and a suffix. K or KiB, M or MiB, and
 * likewise G, T, P, E are powers of 1024; KB, MB and so on are powers of 1000. Errors: PTO_ERR_TYPE;
 * PTO_ERR_RANGE if negative or outside int64_t. */
pto_status_t pto_bytes_parse(const char *text, int64_t *bytes, pto_error_t *err);

enum { PTO_BYTES_TEXT_MAX = 32, PTO_SECONDS_TEXT_MAX = 32 };

/* "64 KiB", with the largest exact suffix, else digits. pto_bytes_parse reads it back. Returns `text`. */
const char *pto_bytes_text(int64_t bytes, char text[PTO_BYTES_TEXT_MAX]);

/* Three significant digits and s, ms, us or ns ("12.3 us", "23300 s"); J, mJ, uJ or nJ. Returns `text`. */
const char *pto_seconds_text(double seconds, char text[PTO_SECONDS_TEXT_MAX]);
const char *pto_joules_text(double joules, char text[PTO_SECONDS_TEXT_MAX]);

/* The same texts, which last until the end of the block. */
#define PTO_BYTES_TEXT(bytes) pto_bytes_text(bytes, (char[PTO_BYTES_TEXT_MAX]){""})
#define PTO_SECONDS_TEXT(seconds) pto_seconds_text(seconds, (char[PTO_SECONDS_TEXT_MAX]){""})

PTO_C_END

#endif
