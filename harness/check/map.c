#include "harness/check/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/arena.h"

enum {
    CELL = 8,
    TILE_MOST = 256,
    PERIOD_MOST = 256,
    LINES_MOST = 1 << 20 /* searched for a period */
};

static int64_t extent(const struct gp_gemm *gemm, int axis)
{
    return axis == 0 ? gemm->m : axis == 1 ? gemm->n : gemm->batch;
}

static int64_t cells_along(int64_t length)
{
    return (length + CELL - 1) / CELL;
}

static void *zeroed(int64_t count, size_t bytes)
{
    void *data = calloc((size_t)count, bytes);

    if (!data)
        gp_arena_out_of_memory((size_t)count * bytes);
    return data;
}

void gp_map_open(struct gp_map *map, const struct gp_gemm *gemm)
{
    *map = (struct gp_map){.gemm = gemm};
    for (int axis = 0; axis < 3; axis++) {
        map->line[axis] = zeroed(extent(gemm, axis), sizeof **map->line);
        map->first[axis] = INT64_MAX;
        map->last[axis] = -1;
    }
    map->cells =
        zeroed(cells_along(gemm->m) * cells_along(gemm->n) * gemm->batch, 1);
}

void gp_map_close(struct gp_map *map)
{
    for (int axis = 0; axis < 3; axis++)
        free(map->line[axis]);
    free(map->cells);
    *map = (struct gp_map){0};
}

void gp_map_mark(struct gp_map *map, int64_t index)
{
    const struct gp_gemm *gemm = map->gemm;
    int64_t each = gemm->m * gemm->n;
    int64_t at[3] = {index % each % gemm->m, index % each / gemm->m,
                     index / each};

    for (int axis = 0; axis < 3; axis++) {
        map->line[axis][at[axis]]++;
        if (at[axis] < map->first[axis])
            map->first[axis] = at[axis];
        if (at[axis] > map->last[axis])
            map->last[axis] = at[axis];
    }
    map->cells[(at[2] * cells_along(gemm->n) + at[1] / CELL) *
                   cells_along(gemm->m) +
               at[0] / CELL]++;
    map->count++;
}

/* --- Periods --------------------------------------------------------------
 */

/* Autocorrelation of a histogram at one lag: 1 where it repeats. */
static double correlation(const int64_t *line, int64_t length, int64_t lag,
                          double mean, double variance)
{
    double sum = 0;

    for (int64_t i = 0; i + lag < length; i++)
        sum += ((double)line[i] - mean) * ((double)line[i + lag] - mean);
    return sum / (double)(length - lag) / variance;
}

/* The smallest lag at which a histogram repeats after it did not; 0 if there
 * is none. */
static int64_t period_of(const int64_t *line, int64_t length)
{
    double mean = 0, variance = 0;
    bool apart = false;

    if (length < 6 || length > LINES_MOST)
        return 0;
    for (int64_t i = 0; i < length; i++)
        mean += (double)line[i] / (double)length;
    for (int64_t i = 0; i < length; i++)
        variance += ((double)line[i] - mean) * ((double)line[i] - mean) /
                    (double)length;
    if (variance <= 0)
        return 0;
    for (int64_t lag = 1; lag <= PERIOD_MOST && lag <= length / 3; lag++) {
        double r = correlation(line, length, lag, mean, variance);
        if (apart && lag > 1 && r > 0.8)
            return lag;
        apart = apart || r < 0.5;
    }
    return 0;
}

/* --- Lines: which rows, which columns, which batches ----------------------
 */

struct lines {
    const char *one, *many;
    int64_t length, hit, first, last, period;
    int64_t from, to; /* of every period, where the hits are one stretch */
    bool regular;     /* all, one stretch, or one stretch of every period */
    char words[100];
};

/* Are the hits one stretch of every period? */
static bool stretch_of_period(const int64_t *line, struct lines *lines)
{
    bool residue[PERIOD_MOST] = {false};

    lines->from = lines->to = -1;
    for (int64_t i = 0; i < lines->length; i++)
        if (line[i])
            residue[i % lines->period] = true;
    for (int64_t i = 0; i < lines->period; i++) {
        if (!residue[i])
            continue;
        if (lines->from < 0)
            lines->from = i;
        else if (lines->to != i - 1)
            return false;
        lines->to = i;
    }
    for (int64_t i = 0; i < lines->length; i++)
        if (residue[i % lines->period] && !line[i])
            return false;
    return true;
}

static const char *ordinal(int64_t number)
{
    int64_t tens = number / 10 % 10, ones = number % 10;

    return tens == 1   ? "th"
           : ones == 1 ? "st"
           : ones == 2 ? "nd"
           : ones == 3 ? "rd"
                       : "th";
}

static void say_lines(struct lines *lines)
{
    size_t room = sizeof lines->words;
    long long first = (long long)lines->first, last = (long long)lines->last;

    if (lines->hit == lines->length)
        snprintf(lines->words, room, "all %s", lines->many);
    else if (lines->hit == 1)
        snprintf(lines->words, room, "%s %lld", lines->one, first);
    else if (lines->hit == lines->last - lines->first + 1)
        snprintf(lines->words, room, "%s %lld .. %lld", lines->many, first,
                 last);
    else if (lines->regular && lines->from == lines->to)
        snprintf(lines->words, room, "every %lld%s %s, from %s %lld on",
                 (long long)lines->period, ordinal(lines->period), lines->one,
                 lines->one, first);
    else if (lines->regular)
        snprintf(lines->words, room, "%s %lld .. %lld of every %lld",
                 lines->many, (long long)lines->from, (long long)lines->to,
                 (long long)lines->period);
    else
        snprintf(lines->words, room, "%lld of %lld %s between %lld and %lld%s",
                 (long long)lines->hit, (long long)lines->length, lines->many,
                 first, last, lines->period ? ", with a period" : "");
}

static struct lines read_lines(const struct gp_map *map, int axis)
{
    static const char *const one[] = {"row", "column", "batch"};
    static const char *const many[] = {"rows", "columns", "batches"};
    struct lines lines = {.one = one[axis],
                          .many = many[axis],
                          .length = extent(map->gemm, axis),
                          .first = map->first[axis],
                          .last = map->last[axis]};

    for (int64_t i = 0; i < lines.length; i++)
        lines.hit += map->line[axis][i] > 0;
    lines.regular = lines.hit == lines.last - lines.first + 1;
    if (!lines.regular || axis < 2)
        lines.period = period_of(map->line[axis], lines.length);
    if (!lines.regular && lines.period)
        lines.regular = stretch_of_period(map->line[axis], &lines);
    say_lines(&lines);
    return lines;
}

/* --- Tiles ----------------------------------------------------------------
 */

/* Do the marks fill whole tiles of this size, or nine tenths of them, and
 * leave the others empty? */
static bool fills_tiles(const struct gp_map *map, int64_t tile,
                        int64_t *ret_tiles)
{
    int64_t m = map->gemm->m, n = map->gemm->n, step = tile / CELL;
    int64_t down = cells_along(m), across = cells_along(n);
    int64_t tiles = map->gemm->batch * ((across + step - 1) / step) *
                    ((down + step - 1) / step);

    *ret_tiles = 0;
    for (int64_t at = 0; at < tiles; at++) {
        int64_t ti = at % ((down + step - 1) / step);
        int64_t rest = at / ((down + step - 1) / step);
        int64_t tj = rest % ((across + step - 1) / step);
        int64_t batch = rest / ((across + step - 1) / step), marks = 0;
        int64_t rows = m - ti * tile < tile ? m - ti * tile : tile;
        int64_t cols = n - tj * tile < tile ? n - tj * tile : tile;

        for (int64_t j = tj * step; j < (tj + 1) * step && j < across; j++)
            for (int64_t i = ti * step; i < (ti + 1) * step && i < down; i++)
                marks += map->cells[(batch * across + j) * down + i];
        if (marks && 10 * marks < 9 * rows * cols)
            return false;
        *ret_tiles += marks > 0;
    }
    return *ret_tiles < tiles;
}

static int64_t tile_of(const struct gp_map *map, int64_t *ret_tiles)
{
    for (int64_t tile = TILE_MOST; tile >= CELL; tile /= 2)
        if ((tile < map->gemm->m || tile < map->gemm->n) &&
            fills_tiles(map, tile, ret_tiles))
            return tile;
    return 0;
}

/* The size of the last, partial tile that begins with these lines and is all
 * of them; 0 if they are something else. */
static int64_t edge_of(const struct lines *lines)
{
    for (int64_t tile = TILE_MOST; tile >= CELL; tile /= 2)
        if (lines->length % tile && lines->length > tile &&
            lines->last == lines->length - 1 &&
            lines->first == lines->length - lines->length % tile)
            return tile;
    return 0;
}

/* --- All of it ------------------------------------------------------------
 */

static void say_pattern(const struct gp_map *map, const struct lines *lines,
                        int64_t tiles, struct gp_pattern *pattern)
{
    size_t room = sizeof pattern->words;
    char batches[110] = "", edge[80] = "";
    int64_t product = lines[0].hit * lines[1].hit * lines[2].hit;
    int64_t tile = edge_of(&lines[0]) ? edge_of(&lines[0]) : edge_of(&lines[1]);

    pattern->edge = tile > 0;
    if (map->gemm->batch > 1)
        snprintf(batches, sizeof batches, " of %s", lines[2].words);
    if (tile)
        snprintf(edge, sizeof edge, ": the last, partial tile of %lld",
                 (long long)tile);
    else if (pattern->tile && tiles == 1)
        snprintf(edge, sizeof edge, ": one tile of %lld x %lld",
                 (long long)pattern->tile, (long long)pattern->tile);
    if (map->count == pattern->of)
        snprintf(pattern->words, room, "all elements");
    else if (map->count == 1)
        snprintf(pattern->words, room, "one element, D(%lld, %lld)%s",
                 (long long)map->first[0], (long long)map->first[1], batches);
    else if (map->count == product)
        snprintf(pattern->words, room, "%s, %s%s%s", lines[0].words,
                 lines[1].words, batches, edge);
    else if (pattern->tile && tiles > 1)
        snprintf(pattern->words, room,
                 "%lld whole tiles of %lld x %lld, in %s, %s%s",
                 (long long)tiles, (long long)pattern->tile,
                 (long long)pattern->tile, lines[0].words, lines[1].words,
                 batches);
    else
        snprintf(pattern->words, room, "%.3g %% of the elements in %s, %s%s%s",
                 100 * (double)map->count / (double)product, lines[0].words,
                 lines[1].words, batches, edge);
}

void gp_map_read(const struct gp_map *map, struct gp_pattern *ret_pattern)
{
    const struct gp_gemm *gemm = map->gemm;
    struct gp_pattern pattern = {.count = map->count,
                                 .of = gp_gemm_count(gemm, GP_C)};
    struct lines lines[3];
    int64_t box = 1, tiles = 0;

    if (map->count == 0) {
        snprintf(pattern.words, sizeof pattern.words, "no element");
        *ret_pattern = pattern;
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        pattern.first[axis] = map->first[axis];
        pattern.last[axis] = map->last[axis];
        box *= map->last[axis] - map->first[axis] + 1;
        lines[axis] = read_lines(map, axis);
    }
    pattern.fill = (double)map->count / (double)box;
    for (int64_t i = 0; i < gemm->m; i++)
        pattern.whole_rows += map->line[0][i] == gemm->n * gemm->batch;
    for (int64_t j = 0; j < gemm->n; j++)
        pattern.whole_columns += map->line[1][j] == gemm->m * gemm->batch;
    pattern.period[0] = lines[0].period;
    pattern.period[1] = lines[1].period;
    if (map->count < pattern.of)
        pattern.tile = tile_of(map, &tiles);
    say_pattern(map, lines, tiles, &pattern);
    *ret_pattern = pattern;
}
