/* Settings of the preloaded libraries from environment variables, and their messages to standard error. */
#ifndef PRELOAD_ENVIRONMENT_H
#define PRELOAD_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"

/* Print a line "WHO: ..." to standard error in one write, so that lines of several processes do not mix. */
void preload_say(const char *format, ...) PTO_PRINTF_LIKE(1, 2);
/* Set WHO, at first "portolan"; NULL: this process prints nothing. */
void preload_speak_as(const char *who);

/* Returns a variable's text; NULL: unset or empty. */
const char *preload_text(const char *name);

/* These print a message about a value that is not understood, and return `otherwise` then and if the variable
 * is unset or empty. Returns the index of the word that the variable contains. */
int preload_word(const char *name, const char *const *word, int count, int otherwise);
/* Returns true for 1, yes, on and true, and false for 0, no, off and false. */
bool preload_is_on(const char *name, bool otherwise);
/* Returns the number that the variable contains, such as 1MiB. `least`: 0 or 1; `most`: INT64_MAX: any. */
int64_t preload_number(const char *name, int64_t least, int64_t most, int64_t otherwise);

#endif
