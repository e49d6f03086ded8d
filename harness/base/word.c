#include "harness/base/word.h"

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
