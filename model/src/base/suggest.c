/* Spelling suggestions by the restricted Damerau-Levenshtein distance (Damerau 1964). */
#include "base/suggest.h"

#include <limits.h>
#include <string.h>

enum { LENGTH_MAX = 63, PREFIX_MIN = 3 };

static int smallest(int a, int b, int c) {
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Returns the number of edits that turn `a` into `b`: insert, delete or replace a character, or swap two
 * adjacent ones. Names of more than 63 characters are at the maximum distance. */
static int edit_distance(const char *a, const char *b) {
    size_t rows = strlen(a), columns = strlen(b);
    if (rows > LENGTH_MAX || columns > LENGTH_MAX)
        return INT_MAX;
    int distance[LENGTH_MAX + 1][LENGTH_MAX + 1];
    for (size_t j = 0; j <= columns; j++)
        distance[0][j] = (int)j;
    for (size_t i = 1; i <= rows; i++) {
        distance[i][0] = (int)i;
        for (size_t j = 1; j <= columns; j++) {
            int replaced = distance[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            int least = smallest(distance[i - 1][j] + 1, distance[i][j - 1] + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                least = smallest(least, distance[i - 2][j - 2] + 1, least);
            distance[i][j] = least;
        }
    }
    return distance[rows][columns];
}

const char *pto_suggest(const char *text, const char *const *names, int count) {
    size_t length = strlen(text);
    int limit = 1 + (int)(length > LENGTH_MAX ? LENGTH_MAX : length) / 4;
    const char *nearest = NULL;
    for (int i = 0; i < count; i++) {
        if (!names[i])
            continue;
        int distance = edit_distance(text, names[i]);
        if (length >= PREFIX_MIN && strncmp(text, names[i], length) == 0)
            distance = smallest(distance, 1, 1); /* a prefix of the name */
        if (distance <= limit) {
            nearest = names[i];
            limit = distance - 1; /* later names must be nearer */
        }
    }
    return nearest;
}
