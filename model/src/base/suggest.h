/* Spelling suggestions: the known name nearest to an unknown one. */
#ifndef PTO_SUGGEST_H
#define PTO_SUGGEST_H

/* The nearest of `names` (NULLs are skipped), the first of equals; NULL: none is near. A prefix is near. */
const char *pto_suggest(const char *text, const char *const *names, int count);

#endif
