/* Looking up names in a registry. */
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
    const char *at = name;
    for (size_t size; *at != '\0' && (size = pto_printable(at)) > 0;)
        at += size;
    if (*name == '\0')
        return pto_error_set(err, PTO_ERR_RANGE, "an empty text is no name");
    if (*at != '\0')
        return pto_error_set(err, PTO_ERR_RANGE, "'%.60s' has a character that cannot be printed", name);
    return (size_t)(at - name) <= bytes_max
               ? PTO_OK
               : pto_error_set(err, PTO_ERR_TOO_LARGE, "'%.20s...' has more than %zu bytes", name, bytes_max);
}

int pto_name_find(const char *name, int count, pto_name_at_t name_at) {
    for (int i = 0; i < count; i++)
        if (strcmp(name, name_at(i)) == 0)
            return i;
    return -1;
}

pto_status_t pto_name_unknown(pto_error_t *err, const char *what, const char *name, int count,
                              pto_name_at_t name_at) {
    const char *names[NAMES_MAX] = {0};
    int listed = count < NAMES_MAX ? count : NAMES_MAX;
    for (int i = 0; i < listed; i++)
        names[i] = name_at(i);
    const char *near = pto_suggest(name, names, listed);
    if (near)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown %s '%s'; did you mean '%s'?", what, name, near);
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown %s '%s'; `portolan list` shows all", what, name);
}

pto_status_t pto_name_new(pto_error_t *err, const char *what, const char *name, int count,
                          pto_name_at_t name_at) {
    if (!name || !*name)
        return pto_error_set(err, PTO_ERR_RANGE, "the %s has no name", what);
    if (pto_name_find(name, count, name_at) >= 0)
        return pto_error_set(err, PTO_ERR_RANGE, "the name '%s' is another %s's", name, what);
    return PTO_OK;
}
