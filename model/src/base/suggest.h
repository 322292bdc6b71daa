/* Spelling suggestions: the known name nearest to an unknown one. */
#ifndef PTO_SUGGEST_H
#define PTO_SUGGEST_H

/* The nearest of `names` (NULLs are skipped), the first of equals; NULL if none is near enough. A prefix of a
 * name counts as near. */
const char *pto_suggest(const char *text, const char *const *names, int count);

#endif
