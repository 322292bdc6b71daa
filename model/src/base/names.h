/* Names of enumerators and descriptors: defining, checking and finding them. Internal to libportolan. */
#ifndef PTO_NAMES_H
#define PTO_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "portolan/api.h"

/* After a table of designated initialisers: fails to compile unless every enumerator has an entry. */
#define PTO_EACH_NAMED(table, count)                                                                         \
    _Static_assert(sizeof(table) / sizeof *(table) == (count), "every enumerator has an entry")

/* Define `function`, which returns a name from a list of designated initialisers, else `otherwise`. */
#define PTO_NAME_FUNCTION(function, type, count, otherwise, ...)                                             \
    const char *function(type value) {                                                                       \
        static const char *const name[] = __VA_ARGS__;                                                       \
        PTO_EACH_NAMED(name, count);                                                                         \
        return value < (count) ? name[value] : (otherwise);                                                  \
    }                                                                                                        \
    _Static_assert((count) > 0, "there is something to name")

/* Define `function`, a pto_name_at_t of the names (by `name_of`) of the enumerators from `first` on. */
#define PTO_NAME_LIST(function, type, first, count, name_of)                                                 \
    const char *function(int index) {                                                                        \
        return index + (int)(first) < (int)(count) ? name_of((type)(index + (int)(first))) : NULL;           \
    }                                                                                                        \
    _Static_assert((first) < (count), "there is something to list")

/* Define `function`, a pto_name_at_t of these texts. */
#define PTO_WORD_LIST(function, ...)                                                                         \
    const char *function(int index) {                                                                        \
        static const char *const word[] = {__VA_ARGS__, NULL};                                               \
        return word[index];                                                                                  \
    }                                                                                                        \
    _Static_assert(sizeof((const char *const[]){__VA_ARGS__}) > 0, "there is something to list")

/* Whether a name has only letters, digits and ._+-, and does not look like an option. */
bool pto_name_is_word(const char *name);

/* Maximum sizes in bytes of names and of remarks in files. */
enum { PTO_NAME_BYTES_MAX = 200, PTO_TEXT_BYTES_MAX = 4096 };

/* Check a name in a file or an option: one line of 1 to `bytes_max` printable bytes. The message quotes it.
 * Errors: PTO_ERR_RANGE; PTO_ERR_TOO_LARGE for a longer name. */
pto_status_t pto_name_check(const char *name, size_t bytes_max, pto_error_t *err);

/* A function that returns the name at an index of a list; NULL after the last one. */
typedef const char *(*pto_name_at_t)(int index);

/* Find the index of `name` in a list. PTO_ERR_NOT_FOUND: "unknown <what> 'name'; did you mean 'x'?" or, if no
 * name is near, a reference to `portolan list`. */
pto_status_t pto_name_find(const char *name, const char *what, pto_name_at_t name_at, int *index,
                           pto_error_t *err);

/* PTO_ERR_RANGE if the name is missing or already in the list. */
pto_status_t pto_name_new(const char *name, const char *what, pto_name_at_t name_at, pto_error_t *err);

#endif
