/* Any text as a number, with a unit or without: what is accepted is finite, and bytes read back as they were
 * printed. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "portolan/units.h"

static void check_bytes(const char *text) {
    int64_t bytes = -1, again = -1;
    if (pto_bytes_parse(text, &bytes, NULL) != PTO_OK)
        return;
    char printed[PTO_BYTES_TEXT_MAX];
    pto_bytes_text(bytes, printed);
    if (bytes < 0 || pto_bytes_parse(printed, &again, NULL) != PTO_OK || again != bytes)
        abort();
}

static void check_double(const char *text) {
    double value = 0;
    if (pto_double_parse(text, &value, NULL) != PTO_OK)
        return;
    char printed[PTO_SECONDS_TEXT_MAX];
    pto_seconds_text(value, printed);
    if (!isfinite(value) || printed[0] == '\0')
        abort();
}

static void check_quantity(const char *text, pto_unit_t unit) {
    double value = 0;
    pto_error_t err = {.status = PTO_OK};
    if (pto_quantity_parse(text, unit, &value, &err) == PTO_OK ? !isfinite(value) : err.message[0] == '\0')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    int64_t whole = 0;
    pto_error_t err = {.status = PTO_OK};
    if (pto_int64_parse(text, &whole, &err) != PTO_OK && err.message[0] == '\0')
        abort();
    check_bytes(text);
    check_double(text);
    for (pto_unit_t unit = 0; unit < PTO_UNIT_COUNT; unit++)
        check_quantity(text, unit);
    free(text);
    return 0;
}
