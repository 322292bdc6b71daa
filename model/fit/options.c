/* Parsing of a fit's options --breaks and --node. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "portolan/fit.h"

/* Copy the text before `stop`; false if it does not fit. */
static bool copy_part(const char *text, const char *stop, char *part, size_t part_size) {
    size_t size = (size_t)(stop - text);
    if (size >= part_size)
        return false;
    memcpy(part, text, size);
    part[size] = '\0';
    return true;
}

/* A positive integer that ends at `stop`. */
static bool read_number(const char *text, const char *stop, int64_t *value) {
    char *end = NULL;
    errno = 0;
    long long parsed = isdigit((unsigned char)text[0]) ? strtoll(text, &end, 10) : 0;
    if (end != stop || errno != 0 || parsed < 1)
        return false;
    *value = parsed;
    return true;
}

static pto_status_t read_limits(const char *text, pto_fit_breaks_t *breaks, pto_error_t *err) {
    *breaks = (pto_fit_breaks_t){.given = true};
    if (strcmp(text, "none") == 0)
        return PTO_OK;
    for (const char *at = text; at != NULL;) {
        const char *stop = at + strcspn(at, ",");
        int64_t bytes = 0;
        if (!read_number(at, stop, &bytes))
            return pto_error_set(err, PTO_ERR_SYNTAX,
                                 "limits '%s': expected sizes in bytes with commas between, or none", text);
        if (breaks->count == PTO_PROTOCOL_COUNT - 1)
            return pto_error_set(err, PTO_ERR_RANGE, "limits '%s': more than %d", text,
                                 PTO_PROTOCOL_COUNT - 1);
        if (breaks->count > 0 && bytes <= breaks->below_bytes[breaks->count - 1])
            return pto_error_set(err, PTO_ERR_RANGE, "limits '%s': must rise", text);
        breaks->below_bytes[breaks->count++] = bytes;
        at = *stop == ',' ? stop + 1 : NULL;
    }
    return PTO_OK;
}

static PTO_NAME_LIST(space_at, pto_space_t, 0, PTO_SPACE_COUNT, pto_space_name);
static PTO_NAME_LIST(level_at, pto_level_t, 0, PTO_LEVEL_COUNT, pto_level_name);

/* Parses `cpu` or `gpu.off_node`. The level stays as it is if none is given. */
static pto_status_t read_scope(const char *scope, int *space, int *level, pto_error_t *err) {
    char part[32];
    const char *dot = strchr(scope, '.');
    if (copy_part(scope, dot != NULL ? dot : scope + strlen(scope), part, sizeof part) &&
        pto_name_find(part, "space", space_at, space, NULL) == PTO_OK &&
        (dot == NULL || pto_name_find(dot + 1, "level", level_at, level, NULL) == PTO_OK))
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_FOUND,
                         "'%s': expected cpu or gpu, or one of them with a level, as in cpu.off_node", scope);
}

pto_status_t pto_fit_breaks_parse(const char *text, pto_fit_options_t *options, pto_error_t *err) {
    char scope[64] = "";
    const char *equals = strchr(text, '=');
    if (equals != NULL && !copy_part(text, equals, scope, sizeof scope))
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "'%s': no such space or level", text);
    int space = -1, level = -1; /* all */
    pto_fit_breaks_t breaks;
    pto_status_t status = scope[0] != '\0' ? read_scope(scope, &space, &level, err) : PTO_OK;
    if (status == PTO_OK)
        status = read_limits(equals != NULL ? equals + 1 : text, &breaks, err);
    if (status != PTO_OK)
        return status;
    for (int s = 0; s < PTO_SPACE_COUNT; s++)
        for (int l = 0; l < PTO_LEVEL_COUNT; l++)
            if ((space < 0 || s == space) && (level < 0 || l == level))
                options->breaks[s][l] = breaks;
    return PTO_OK;
}

pto_status_t pto_fit_node_parse(const char *text, pto_fit_options_t *options, pto_error_t *err) {
    const char *const names[] = {"sockets", "gpus", "cores"};
    pto_fit_options_t made = *options;
    int64_t *const fields[] = {&made.node.sockets, &made.node.gpus, &made.node.cores};
    for (const char *at = text; at != NULL;) {
        const char *stop = at + strcspn(at, ",");
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        char key[16];
        int found = -1;
        if (equals != NULL && copy_part(at, equals, key, sizeof key))
            for (int i = 0; i < 3; i++)
                found = strcmp(key, names[i]) == 0 ? i : found;
        if (found < 0)
            return pto_error_set(err, PTO_ERR_NOT_FOUND,
                                 "node '%s': expected sockets=, gpus= or cores=", text);
        bool no_gpus = strcmp(names[found], "gpus") == 0 && stop == equals + 2 && equals[1] == '0';
        if (!no_gpus && !read_number(equals + 1, stop, fields[found]))
            return pto_error_set(err, PTO_ERR_RANGE, "node '%s': %s must be a whole number of 1 or more",
                                 text, names[found]);
        if (strcmp(names[found], "gpus") == 0)
            made.node.no_gpus = no_gpus;
        if (no_gpus)
            made.node.gpus = 0;
        at = *stop == ',' ? stop + 1 : NULL;
    }
    *options = made;
    return PTO_OK;
}
