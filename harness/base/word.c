#include "harness/base/word.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Levenshtein's distance, for words below 40 letters. */
static int word_distance(const char *a, const char *b)
{
    int row[41], na = (int)strlen(a), nb = (int)strlen(b);

    if (na > 40 || nb > 40)
        return 1000;
    for (int j = 0; j <= nb; j++)
        row[j] = j;
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

const char *gp_word_nearest(const char *word, const char *const *words)
{
    const char *best = words[0];
    int least = 10000;

    for (; *words; words++) {
        int distance = word_distance(word, *words);
        if (distance < least) {
            least = distance;
            best = *words;
        }
    }
    return best;
}

int gp_word_whole(const char *word, uint64_t least, uint64_t most,
                  uint64_t *ret_value)
{
    size_t digits = strspn(word, "0123456789");
    unsigned long long value;

    if (digits == 0 || word[digits] || (digits > 1 && *word == '0'))
        return -1;
    errno = 0;
    value = strtoull(word, NULL, 10);
    if (errno || value < least || value > most)
        return -1;
    *ret_value = value;
    return 0;
}
