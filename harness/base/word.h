/*
 * The word that was probably meant, and words that are whole numbers.
 */
#ifndef GP_BASE_WORD_H
#define GP_BASE_WORD_H

#include <stdint.h>

/* The word of a NULL-ended, non-empty list with the least edit distance to
 * `word` (Levenshtein 1966). */
const char *gp_word_nearest(const char *word, const char *const *words);

/* A whole number from `least` to `most` in plain decimal digits: no sign, no
 * blank, no zero in front, so that a number has one spelling. -1 if it is none.
 */
int gp_word_whole(const char *word, uint64_t least, uint64_t most,
                  uint64_t *ret_value);

#endif
