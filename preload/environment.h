/* Settings of the preloaded libraries from environment variables, and their messages to standard error. */
#ifndef PRELOAD_ENVIRONMENT_H
#define PRELOAD_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"

/* Prints a line "WHO: ..." to standard error in one write, so that lines of several processes do not mix. */
void preload_say(const char *format, ...) PTO_PRINTF_LIKE(1, 2);
/* Sets WHO, which is "portolan" at first; NULL: this process prints nothing. The text is borrowed. */
void preload_speak_as(const char *who);

/* Returns a variable's text; NULL: unset or empty. */
const char *preload_text(const char *name);

/* The next three return `otherwise` if the variable is unset, empty or not understood; in that case they also
 * print a message. This one returns the index of the word that the variable contains. */
int preload_word(const char *name, const char *const *word, int count, int otherwise);
/* Returns true for 1, yes, on and true, and false for 0, no, off and false. */
bool preload_is_on(const char *name, bool otherwise);
/* Returns the number that the variable contains, such as 1MiB. `least` is 0 or 1; `most` is INT64_MAX for no
 * limit. */
int64_t preload_number(const char *name, int64_t least, int64_t most, int64_t otherwise);

#endif
