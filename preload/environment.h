/* What the environment asks of a library in front of others, and what that says. */
#ifndef PRELOAD_ENVIRONMENT_H
#define PRELOAD_ENVIRONMENT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"

/* Print a line to standard error, as "WHO: ...", at once: other processes write, too. */
void preload_print(const char *who, const char *format, va_list arguments);

/* Returns a variable's text; NULL: unset or empty. */
const char *preload_text(const char *name);

/* A wish that is misspelled costs the time that it was to save, so these say so. */
typedef void preload_say_t(const char *format, ...) PTO_PRINTF_LIKE(1, 2);
/* Returns which of the words a variable is. `otherwise`: it is unset, empty or unknown. */
int preload_word(const char *name, const char *const *word, int count, int otherwise, preload_say_t *say);
/* Returns whether a variable is 1, yes, on or true, not 0, no, off or false. */
bool preload_is_on(const char *name, bool otherwise, preload_say_t *say);
/* Returns a variable's number, as 64 or 1MiB. `least`: 0 or 1; `most`: INT64_MAX: any. */
int64_t preload_number(const char *name, int64_t least, int64_t most, int64_t otherwise, preload_say_t *say);

#endif
