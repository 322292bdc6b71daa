/* Which characters are printable, and the escapes of the others (printable.h). */
#include "portolan/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the size of the well-formed UTF-8 character at `text`, and its code; 0 if it is malformed. */
static size_t decode(const char *text, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *byte = (const unsigned char *)text;
    size_t size = 1; /* by the leading byte; 10xxxxxx and 11111xxx cannot lead, and are refused below */
    if (byte[0] >= 0xc0)
        size = byte[0] < 0xe0 ? 2 : 3;
    if (byte[0] >= 0xf0)
        size = 4;
    *code = size == 1 ? byte[0] : byte[0] & (0x7fU >> size);
    if ((size == 1 && byte[0] >= 0x80) || byte[0] >= 0xf8)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (byte[i] & 0x3fU);
    }
    bool is_surrogate = *code >= 0xd800 && *code < 0xe000;
    return *code < least[size] || is_surrogate || *code > 0x10ffff ? 0 : size;
}

/* Codes that are not printable. There are none beyond U+FFFF, so \uXXXX suffices for all. */
static bool is_refused(uint32_t code) {
    static const struct {
        uint32_t first, last;
    } refused[] = {
        /* in order */
        {0, 0x1f},        /* C0 */
        {0x7f, 0x9f},     /* DEL and C1 */
        {0x61c, 0x61c},   /* the direction of text */
        {0x200e, 0x200f}, /* the direction of text */
        {0x2028, 0x202e}, /* separators of lines and paragraphs; the direction of text */
        {0x2066, 0x2069}, /* the direction of text */
        {0xfeff, 0xfeff}, /* byte-order mark */
        {0xfffe, 0xffff}, /* noncharacters, which XML and YAML refuse */
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused && code >= refused[i].first; i++)
        if (code <= refused[i].last)
            return true;
    return false;
}

size_t pto_printable(const char *text) {
    uint32_t code;
    size_t size = decode(text, &code);
    return size == 0 || is_refused(code) ? 0 : size;
}

size_t pto_escape(const char *text, char escaped[PTO_ESCAPED_MAX]) {
    uint32_t code;
    size_t size = decode(text, &code);
    if (size > 0 && !is_refused(code)) {
        memcpy(escaped, text, size);
        escaped[size] = '\0';
        return size;
    }
    snprintf(escaped, PTO_ESCAPED_MAX, "\\u%04x", size > 0 ? code & 0xffff : (unsigned char)*text);
    return size > 0 ? size : 1;
}

const char *pto_escape_text(const char *text, char *escaped, size_t size) {
    size_t used = 0;
    char next[PTO_ESCAPED_MAX];
    while (*text) {
        text += pto_escape(text, next);
        size_t length = strlen(next);
        if (used + length >= size)
            break;
        memcpy(escaped + used, next, length);
        used += length;
    }
    escaped[used] = '\0';
    return escaped;
}
