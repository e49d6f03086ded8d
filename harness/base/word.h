/*
 * The word that was probably meant.
 */
#ifndef GP_BASE_WORD_H
#define GP_BASE_WORD_H

/* The word of a NULL-ended, non-empty list with the least edit distance to
 * `word` (Levenshtein 1966). */
const char *gp_word_nearest(const char *word, const char *const *words);

#endif
