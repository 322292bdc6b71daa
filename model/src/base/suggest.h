/* The known name nearest to an unknown one. */
#ifndef PORTOLAN_SUGGEST_H
#define PORTOLAN_SUGGEST_H

/* Number of edits that turn `a` into `b`: insert, delete or replace a character, swap two neighbours (the
 * restricted Damerau-Levenshtein distance). Names of more than 63 characters are at the maximum distance. */
int pto_edit_distance(const char *a, const char *b);

/* The nearest of `names` (NULLs are skipped), the first of equals; NULL if none is near enough. A prefix of a
 * name counts as near. */
const char *pto_suggest(const char *text, const char *const *names, int count);

#endif
