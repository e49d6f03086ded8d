/*
 * Where the marked elements of an output stand: bounding box, whole rows,
 * columns and tiles, periods. docs/checks.md, "Explaining a failure".
 *
 * gp_map_open, gp_map_mark for each element in ascending order or not,
 * gp_map_read, gp_map_close.
 */
#ifndef GP_CHECK_MAP_H
#define GP_CHECK_MAP_H

#include "reference/gemm.h"

struct gp_map {
    const struct gp_gemm *gemm; /* borrowed */
    int64_t count;
    int64_t first[3], last[3]; /* i, j, batch */
    int64_t *line[3];          /* marks of each row, column, batch */
    unsigned char *cells;      /* marks of each cell of 8 x 8 */
};

/* What was found; words are finished. */
struct gp_pattern {
    int64_t count, of;         /* marked elements of so many */
    int64_t first[3], last[3]; /* the bounding box: i, j, batch */
    double fill;               /* marks / elements of the box */
    int64_t whole_rows, whole_columns;
    int64_t period[2]; /* of rows, of columns; 0: none */
    int64_t tile;      /* marks fill whole tiles of this size; 0: no */
    bool edge;         /* only the last, partial tile of rows or columns */
    char words[480];
};

void gp_map_open(struct gp_map *map, const struct gp_gemm *gemm);
void gp_map_mark(struct gp_map *map, int64_t index);
void gp_map_read(const struct gp_map *map, struct gp_pattern *ret_pattern);
void gp_map_close(struct gp_map *map);

#endif
