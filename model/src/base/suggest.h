/* The known name nearest to one that is not known. */
#ifndef PORTOLAN_SUGGEST_H
#define PORTOLAN_SUGGEST_H

/* Edits that turn `a` into `b`: insert, delete, replace a character, swap two neighbours (the restricted
 * Damerau-Levenshtein distance). Names of more than 63 characters are as far as can be. */
int pto_edit_distance(const char *a, const char *b);

/* The nearest of `names` (NULLs are passed over), the first where several are; NULL where none is near
 * enough to have been meant. A beginning of a name counts as near. */
const char *pto_suggest(const char *text, const char *const *names, int count);

#endif
