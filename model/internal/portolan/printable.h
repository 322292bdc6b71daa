/* Text from outside (names in files, paths, versions of libraries, environment variables), made safe to
 * print: on a terminal, as part of a line, and in JSON, SVG and YAML. */
#ifndef PORTOLAN_PRINTABLE_H
#define PORTOLAN_PRINTABLE_H

#include <stddef.h>

#include "portolan/api.h"

PTO_C_BEGIN

enum { PTO_ESCAPED_MAX = 8 };

/* The size in bytes of the character at `text` if it is printable, else 0. Printable is well-formed UTF-8
 * except control characters (C0, DEL, C1), line separators, marks that change the direction of text, the
 * byte-order mark, U+FFFE and U+FFFF. */
size_t pto_printable(const char *text);

/* The printable form of the character at `text`, which must not be the terminating zero: the character
 * itself, or \uXXXX, its escape in JSON and in YAML's double quotes. A byte that is not part of a well-formed
 * character is escaped as the character of that code. Returns how many bytes of `text` it takes. */
size_t pto_escape(const char *text, char escaped[PTO_ESCAPED_MAX]);

/* The printable form of a text, truncated to the characters that fit into `size`. Returns `escaped`. */
const char *pto_escape_text(const char *text, char *escaped, size_t size);

PTO_C_END

#endif
