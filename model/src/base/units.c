/* Strict parsing and short formatting of numbers with units (units.h). */
#include "portolan/units.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/checked.h"

enum { QUOTE_MAX = 40 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const char *skip_digits(const char *text) {
    while (is_digit(*text))
        text++;
    return text;
}

static bool is_hexadecimal(const char *text) {
    text += *text == '-' || *text == '+';
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

/* Spellings of NaN and infinities in YAML and C. */
static bool is_not_finite(const char *text) {
    static const char *const spelling[] = {"nan", "inf", "infinity"};
    text += *text == '-' || *text == '+';
    text += *text == '.';
    for (size_t i = 0; i < sizeof spelling / sizeof *spelling; i++)
        if (strcasecmp(text, spelling[i]) == 0)
            return true;
    return false;
}

static pto_status_t refuse_number(const char *text, const char *wanted, pto_error_t *err) {
    if (*text == '\0')
        return pto_error_set(err, PTO_ERR_TYPE, "expected %s, but the value is empty", wanted);
    if (is_not_finite(text))
        return pto_error_set(err, PTO_ERR_RANGE, "'%s' is not finite: expected %s", text, wanted);
    if (is_hexadecimal(text))
        return pto_error_set(err, PTO_ERR_TYPE, "'%.*s' is hexadecimal: expected %s in decimal digits",
                             QUOTE_MAX, text, wanted);
    return pto_error_set(err, PTO_ERR_TYPE, "'%.*s' is not %s", QUOTE_MAX, text, wanted);
}

/* Parse the digits at `*text` as a non-negative value; moves `*text` past them. */
static pto_status_t parse_digits(const char **text, int64_t *value, pto_error_t *err) {
    const char *start = *text;
    int64_t sum = 0;
    for (; is_digit(**text); (*text)++)
        if (!pto_multiply(sum, 10, &sum) || !pto_add(sum, **text - '0', &sum))
            return pto_error_set(err, PTO_ERR_RANGE, "'%.*s' is too large: at most 9223372036854775807",
                                 QUOTE_MAX, start);
    if (*start == '0' && *text > start + 1)
        return pto_error_set(err, PTO_ERR_TYPE, "'%.*s' has a leading zero", QUOTE_MAX, start);
    *value = sum;
    return PTO_OK;
}

pto_status_t pto_int64_parse(const char *text, int64_t *value, pto_error_t *err) {
    const char *digits = text + (*text == '-');
    const char *end = skip_digits(digits);
    if (end == digits || *end != '\0')
        return refuse_number(text, "a whole number", err);
    if (strcmp(text, "-9223372036854775808") == 0) {
        *value = INT64_MIN;
        return PTO_OK;
    }
    int64_t magnitude = 0;
    pto_status_t status = parse_digits(&digits, &magnitude, err);
    if (status == PTO_OK)
        *value = *text == '-' ? -magnitude : magnitude;
    return status;
}

/* Skips digits with at most one decimal point and an optional exponent; NULL if the text has no digits. */
static const char *skip_decimal(const char *text) {
    text += *text == '-';
    const char *end = skip_digits(text);
    ptrdiff_t digit_count = end - text;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digit_count += end - fraction;
    }
    if (digit_count == 0)
        return NULL;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = end + 1;
        exponent += *exponent == '-' || *exponent == '+';
        const char *past = skip_digits(exponent);
        end = past == exponent ? end : past;
    }
    return end;
}

/* strtod follows the locale's decimal point; a program that embeds the library may have set one. */
static double to_double(const char *text) {
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
    double value = strtod(text, NULL);
    if (c_locale) {
        uselocale(before);
        freelocale(c_locale);
    }
    return value;
}

static bool has_nonzero_mantissa(const char *text) {
    for (; *text != '\0' && *text != 'e' && *text != 'E'; text++)
        if (*text >= '1' && *text <= '9')
            return true;
    return false;
}

pto_status_t pto_double_parse(const char *text, double *value, pto_error_t *err) {
    const char *end = skip_decimal(text);
    if (!end || *end != '\0')
        return refuse_number(text, "a number", err);
    double parsed = to_double(text);
    if (isinf(parsed))
        return pto_error_set(err, PTO_ERR_RANGE, "'%.*s' is too large for a number", QUOTE_MAX, text);
    if (parsed == 0 && has_nonzero_mantissa(text))
        return pto_error_set(err, PTO_ERR_RANGE, "'%.*s' is too small to be distinguished from 0", QUOTE_MAX,
                             text);
    *value = parsed;
    return PTO_OK;
}

static const char suffix_letters[] = "KMGTPE";

/* The factor of a suffix: "64K", "64k" and "64KiB" are powers of two, as in OSU's benchmarks and nccl-tests;
 * "80GB" is one of ten, as in datasheets. 0: unknown. */
static int64_t suffix_factor(const char *suffix) {
    if (*suffix == '\0' || strcmp(suffix, "B") == 0)
        return 1;
    const char *letter = strchr(suffix_letters, toupper((unsigned char)*suffix));
    if (!letter)
        return 0;
    const int power = (int)(letter - suffix_letters) + 1;
    if (suffix[1] == '\0' || strcmp(suffix + 1, "iB") == 0)
        return (int64_t)1 << 10 * power;
    const bool is_decimal_prefix = *suffix == *letter || *suffix == 'k'; /* not the m of "mB" */
    if (strcmp(suffix + 1, "B") != 0 || !is_decimal_prefix)
        return 0;
    int64_t factor = 1;
    for (int i = 0; i < power; i++)
        factor *= 1000;
    return factor;
}

pto_status_t pto_bytes_parse(const char *text, int64_t *bytes, pto_error_t *err) {
    if (*text == '-' && is_digit(text[1]))
        return pto_error_set(err, PTO_ERR_RANGE, "'%.*s' is negative: expected 0 bytes or more", QUOTE_MAX,
                             text);
    const char *end = skip_digits(text);
    const char *suffix = end + (*end == ' ' && end[1] != '\0');
    const int64_t factor = suffix_factor(suffix);
    if (end == text || factor == 0)
        return refuse_number(text, "a number of bytes, such as 65536 or 64KiB", err);
    int64_t count = 0;
    const char *digits = text;
    pto_status_t status = parse_digits(&digits, &count, err);
    if (status != PTO_OK)
        return status;
    if (!pto_multiply(count, factor, &count))
        return pto_error_set(err, PTO_ERR_RANGE, "'%.*s' is too large: at most 9223372036854775807 bytes",
                             QUOTE_MAX, text);
    *bytes = count;
    return PTO_OK;
}

/* A prefix of a unit, such as k or Mi, and its factor; NULL letters end a list. */
typedef struct {
    const char *letters;
    double factor;
} prefix_t;

static const prefix_t small_prefixes[] = {{"", 1},     {"m", 1e-3},  {"u", 1e-6}, {"\xc2\xb5", 1e-6},
                                          {"n", 1e-9}, {"p", 1e-12}, {NULL, 0}};
static const prefix_t large_prefixes[] = {{"", 1},        {"k", 1e3},     {"K", 1e3},     {"M", 1e6},
                                          {"G", 1e9},     {"T", 1e12},    {"Ki", 0x1p10}, {"Mi", 0x1p20},
                                          {"Gi", 0x1p30}, {"Ti", 0x1p40}, {NULL, 0}};
/* Bits have no small prefixes, and "400gbps" is as common as "400Gbps". */
static const prefix_t bit_prefixes[] = {
    {"", 1},     {"k", 1e3},  {"K", 1e3},     {"m", 1e6},     {"M", 1e6},     {"g", 1e9},     {"G", 1e9},
    {"t", 1e12}, {"T", 1e12}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {NULL, 0}};
static const prefix_t watt_prefixes[] = {{"", 1}, {"m", 1e-3}, {"k", 1e3}, {NULL, 0}};

/* One way to write a unit: one of the prefixes, then these letters. */
typedef struct {
    const char *letters;
    const prefix_t *prefix;
    bool is_rate;   /* bytes or bits per second: the reciprocal of s/B */
    double divisor; /* 8 for bits, else 1 */
} spelling_t;

static const spelling_t time_spellings[] = {{"s", small_prefixes, false, 1}, {NULL, NULL, false, 0}};
static const spelling_t per_byte_spellings[] = {
    {"s/B", small_prefixes, false, 1}, {"B/s", large_prefixes, true, 1},
    {"Bps", large_prefixes, true, 1},  {"bit/s", bit_prefixes, true, 8},
    {"bits/s", bit_prefixes, true, 8}, {"b/s", bit_prefixes, true, 8},
    {"bps", bit_prefixes, true, 8},    {NULL, NULL, false, 0}};
static const spelling_t watt_spellings[] = {{"W", watt_prefixes, false, 1}, {NULL, NULL, false, 0}};

/* Returns the factor of a unit's text, and sets whether it is a rate; 0: it is not one of the spellings. */
static double unit_factor(const char *text, const spelling_t *spelling, bool *is_rate) {
    for (; spelling->letters; spelling++)
        for (const prefix_t *prefix = spelling->prefix; prefix->letters; prefix++) {
            size_t length = strlen(prefix->letters);
            if (strncmp(text, prefix->letters, length) == 0 &&
                strcmp(text + length, spelling->letters) == 0) {
                *is_rate = spelling->is_rate;
                return prefix->factor / spelling->divisor;
            }
        }
    return 0;
}

/* Parses a number that ends at `end`, followed by a unit. */
static pto_status_t parse_with_unit(const char *text, const char *end, const spelling_t *spelling,
                                    const char *wanted, double *value, pto_error_t *err) {
    char number[64];
    bool is_rate = false;
    double factor = unit_factor(end + (*end == ' '), spelling, &is_rate), plain = 0;
    size_t length = (size_t)(end - text);
    if (!(factor > 0) || length >= sizeof number)
        return refuse_number(text, wanted, err);
    memcpy(number, text, length);
    number[length] = '\0';
    pto_status_t status = pto_double_parse(number, &plain, err);
    if (status == PTO_OK && is_rate && !(plain > 0))
        status = pto_error_set(err, PTO_ERR_RANGE, "'%.*s': a rate must be above 0", QUOTE_MAX, text);
    if (status != PTO_OK)
        return status;
    const double converted = is_rate ? 1 / (plain * factor) : plain * factor;
    if (!isfinite(converted) || (converted == 0 && plain != 0)) {
        const bool is_zero = converted == 0;                /* otherwise it is infinite */
        const bool is_large = is_rate ? is_zero : !is_zero; /* a rate that is too large has reciprocal 0 */
        return pto_error_set(err, PTO_ERR_RANGE, "'%.*s' is too %s", QUOTE_MAX, text,
                             is_large ? "large" : "small");
    }
    *value = converted;
    return PTO_OK;
}

pto_status_t pto_quantity_parse(const char *text, pto_unit_t unit, double *value, pto_error_t *err) {
    static const struct {
        const spelling_t *spelling;
        const char *wanted;
    } known[PTO_UNIT_COUNT] = {
        [PTO_UNIT_S] = {time_spellings, "a time, such as 5e-6 or 5 us"},
        [PTO_UNIT_S_PER_BYTE] = {per_byte_spellings, "seconds per byte, such as 2e-11, 20 ps/B or 50 GB/s"},
        [PTO_UNIT_W] = {watt_spellings, "a power, such as 400 or 400 W"}};
    const char *end = skip_decimal(text);
    if (unit == PTO_UNIT_BYTES) {
        int64_t bytes = 0;
        pto_status_t status = pto_bytes_parse(text, &bytes, err);
        if (status == PTO_OK)
            *value = (double)bytes;
        return status;
    }
    if (!known[unit].spelling || (end && *end == '\0'))
        return pto_double_parse(text, value, err);
    if (!end)
        return refuse_number(text, known[unit].wanted, err);
    return parse_with_unit(text, end, known[unit].spelling, known[unit].wanted, value, err);
}

double pto_nic_s_per_byte(const char *text) {
    static const struct {
        const char *name;
        double gbit_per_s;
    } generations[] = {{"FDR", 56},  {"EDR", 100},    {"HDR", 200}, {"HDR100", 100},
                       {"NDR", 400}, {"NDR200", 200}, {"XDR", 800}};
    static const char *const spellings[] = {"G", "GE", "GbE", "Gb", "Gbit"}; /* GB are bytes */
    const char *unit = skip_digits(text);
    const double number = unit > text ? to_double(text) : 0;
    unit += *unit == ' ';
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++)
        if (strcasecmp(text, generations[i].name) == 0)
            return 8e-9 / generations[i].gbit_per_s;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (number > 0 && strcmp(unit, spellings[i]) == 0)
            return 8e-9 / number;
    return 0;
}

const char *pto_bytes_text(int64_t bytes, char text[PTO_BYTES_TEXT_MAX]) {
    int power = 0;
    while (bytes != 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        power++;
    }
    if (power == 0)
        snprintf(text, PTO_BYTES_TEXT_MAX, "%lld", (long long)bytes);
    else
        snprintf(text, PTO_BYTES_TEXT_MAX, "%lld %ciB", (long long)bytes, suffix_letters[power - 1]);
    return text;
}

/* Prints d.dd (the digits of `scientific`) times 10^shift, with shift from -3 to 2, and its unit. */
static void print_digits(const char *scientific, int shift, const char *prefix, char unit, char *text,
                         size_t text_size) {
    char digits[4] = {scientific[0], scientific[2], scientific[3], '\0'};
    if (shift < 0)
        snprintf(text, text_size, "0.%.*s%s %s%c", -shift - 1, "00", digits, prefix, unit);
    else if (shift == 2)
        snprintf(text, text_size, "%s %s%c", digits, prefix, unit);
    else
        snprintf(text, text_size, "%.*s.%s %s%c", shift + 1, digits, digits + shift + 1, prefix, unit);
}

/* Values with more digits before the point have an exponent. */
enum { PLAIN_DIGITS_MAX = 6 };

static void format_si(double value, char unit, char *text, size_t text_size) {
    static const char *const prefix[] = {"", "m", "u", "n"};
    if (value == 0) {
        snprintf(text, text_size, "0 %c", unit);
        return;
    }
    if (value < 0 && text_size > 1) {
        *text = '-';
        format_si(-value, unit, text + 1, text_size - 1);
        return;
    }
    /* Round only once: the prefix is chosen by the rounded value, so that 0.9996 ms becomes "1.00 ms". */
    char scientific[PTO_SECONDS_TEXT_MAX];
    snprintf(scientific, sizeof scientific, "%.2e", value);
    int exponent = 0;
    const char *mark = strchr(scientific, 'e');
    if (mark)
        exponent = (int)strtol(mark + 1, NULL, 10);
    if (mark && exponent > 2 && exponent < PLAIN_DIGITS_MAX) {
        snprintf(text, text_size, "%.0f %c", strtod(scientific, NULL), unit); /* three digits, then zeros */
        return;
    }
    if (!mark || exponent > 2 || exponent < -12) {
        snprintf(text, text_size, "%.3g %c", value, unit);
        return;
    }
    int index = exponent >= 0 ? 0 : (2 - exponent) / 3;
    index = index > 3 ? 3 : index;
    print_digits(scientific, exponent + 3 * index, prefix[index], unit, text, text_size);
}

const char *pto_seconds_text(double seconds, char text[PTO_SECONDS_TEXT_MAX]) {
    format_si(seconds, 's', text, PTO_SECONDS_TEXT_MAX);
    return text;
}

const char *pto_joules_text(double joules, char text[PTO_SECONDS_TEXT_MAX]) {
    format_si(joules, 'J', text, PTO_SECONDS_TEXT_MAX);
    return text;
}
