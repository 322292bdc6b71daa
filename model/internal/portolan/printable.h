/* Text from outside (names in files, paths, versions of libraries, environment variables), made safe to
 * print: on a terminal, as part of a line, and in JSON, SVG and YAML. */
#ifndef PORTOLAN_PRINTABLE_H
#define PORTOLAN_PRINTABLE_H

#include <stddef.h>

#include "portolan/api.h"

PTO_C_BEGIN

enum { PTO_ESCAPED_MAX = 8 };

/* The size of the character at `text` in bytes if it can be printed as it is, else 0. It can if it is
 * well-formed UTF-8 and neither a control character (C0, DEL, C1), a separator of lines, a mark that changes
 * the direction of text, a byte-order mark nor a noncharacter. */
size_t pto_printable(const char *text);

/* The printable form of the character at `text`, which is not the end of the text: the character itself, or
 * \uXXXX, which is its escape in JSON and in YAML's double quotes. A byte that is part of no character is
 * escaped as the character of that code. Returns the number of bytes at `text` that it stands for. */
size_t pto_escape(const char *text, char escaped[PTO_ESCAPED_MAX]);

/* The whole text, of which as many characters are kept as `size` has room for. Returns `escaped`. */
const char *pto_escape_text(const char *text, char *escaped, size_t size);

PTO_C_END

#endif
