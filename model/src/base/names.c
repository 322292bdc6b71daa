/* Checking names, and finding them in lists (names.h). */
#include "base/names.h"

#include <string.h>

#include "base/suggest.h"
#include "portolan/printable.h"

enum { NAMES_MAX = 64 };

bool pto_name_is_word(const char *name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    return *name != '\0' && *name != '-' && name[strspn(name, allowed)] == '\0';
}

pto_status_t pto_name_check(const char *name, size_t bytes_max, pto_error_t *err) {
    const char *end = name; /* of the printable characters */
    while (*end != '\0' && pto_printable(end) > 0)
        end += pto_printable(end);
    if (*name == '\0')
        return pto_error_set(err, PTO_ERR_RANGE, "an empty text is no name");
    if (*end != '\0')
        return pto_error_set(err, PTO_ERR_RANGE, "'%.60s' has a character that cannot be printed", name);
    if ((size_t)(end - name) <= bytes_max)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_TOO_LARGE, "'%.20s...' has more than %zu bytes", name, bytes_max);
}

pto_status_t pto_name_find(const char *name, const char *what, pto_name_at_t name_at, int *index,
                           pto_error_t *err) {
    const char *names[NAMES_MAX] = {0};
    int count = 0;
    for (; name_at(count); count++) {
        if (strcmp(name, name_at(count)) == 0) {
            *index = count;
            return PTO_OK;
        }
        if (count < NAMES_MAX)
            names[count] = name_at(count);
    }
    const char *near = pto_suggest(name, names, count < NAMES_MAX ? count : NAMES_MAX);
    if (near)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown %s '%s'; did you mean '%s'?", what, name, near);
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown %s '%s'; `portolan list` shows all", what, name);
}

pto_status_t pto_name_new(const char *name, const char *what, pto_name_at_t name_at, pto_error_t *err) {
    int index;
    if (!name || !*name)
        return pto_error_set(err, PTO_ERR_RANGE, "the %s has no name", what);
    if (pto_name_find(name, what, name_at, &index, NULL) == PTO_OK)
        return pto_error_set(err, PTO_ERR_RANGE, "the name '%s' is another %s's", name, what);
    return PTO_OK;
}
