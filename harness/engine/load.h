/*
 * The loader of case files: YAML (by libyaml) to the cases of a suite.
 *
 * Case files are data from anywhere: nothing in them is executed, includes
 * stay inside the folder of the file that names them, and a file of 4 MiB can
 * hold the loader neither long nor in much memory (at most 4,000,000 values
 * and 10,000 cases a suite). A word that is not known is an error, never a
 * default. docs/cases.md is the contract; the tables of keys below are what
 * it, `gemmproof list keys` and the loader have in common.
 *
 * Every error is GP_ERR_USAGE and one line: "path:line:column: sentence",
 * counted from 1, or "path: sentence" where the file as a whole is at fault.
 * What it quotes of the file is cut at 40 characters and has no control
 * characters.
 */
#ifndef GP_ENGINE_LOAD_H
#define GP_ENGINE_LOAD_H

#include "harness/model.h"

struct gp_known;
struct gp_known_entry;
struct gp_load; /* one file being read; below */
struct yaml_document_s;
struct yaml_node_s;

/* A key of a map. `read` takes its value; the keys that are given are read in
 * the order of the table. */
struct gp_load_key {
    const char *name; /* first, as in every table of words */
    const char *help;
    bool required;
    int (*read)(struct gp_load *load, const struct gp_load_key *key,
                struct yaml_node_s *node, struct gp_err *err);
    /* An axis: how one value is read, and where in struct gp_case its array
     * and count are. */
    int (*one)(struct gp_load *load, struct yaml_node_s *node, void *to,
               struct gp_err *err);
    size_t items_at, count_at, item_bytes;
};

/* The keys at the top of a file, and of a case; ended by a NULL name. */
extern const struct gp_load_key gp_load_top_keys[];
extern const struct gp_load_key gp_load_case_keys[];

/* Append the cases of a file to the suite, those of its includes first; an
 * empty suite takes its name and about from this file. On failure the suite
 * has the cases it had before. Frees everything but what the suite owns. */
int gp_load_file(const char *path, struct gp_suite *suite,
                 struct gp_err *err) GP_MUST_CHECK;

/* The same for `len` bytes of text, borrowed; `name` stands for the path in
 * errors. Such a text has no folder and cannot include. */
int gp_load_text(const char *text, size_t len, const char *name,
                 struct gp_suite *suite, struct gp_err *err) GP_MUST_CHECK;

/* The list of known faults in a file, or in `len` bytes of text (known.h).
 * `checks` are the names that a fault can be of, ended by NULL; they must
 * outlive the list, which is the caller's to free by gp_known_free. */
int gp_load_known(const char *path, const char *const *checks,
                  struct gp_known *ret_known, struct gp_err *err) GP_MUST_CHECK;
int gp_load_known_text(const char *text, size_t len, const char *name,
                       const char *const *checks, struct gp_known *ret_known,
                       struct gp_err *err) GP_MUST_CHECK;

/* --- Between the load*.c only ------------------------------------------- */

enum { GP_LOAD_BYTES_MOST = 4 * 1024 * 1024 };

/* The characters of names. */
#define GP_LOAD_NAME "abcdefghijklmnopqrstuvwxyz0123456789-"

struct gp_load_range {
    int64_t from, to, times, plus; /* one of times and plus is 0 */
};

struct gp_load_seeds {
    uint64_t from, to;
};

struct gp_load {
    const char *what;      /* "a case file" */
    const char *name;      /* as errors show it */
    const char *path;      /* resolved; NULL for a text */
    struct gp_load *above; /* the file that includes this one, or NULL */
    bool names_suite;      /* the suite had no name before this file */
    const char *text;
    size_t len;
    struct yaml_document_s *document;
    struct gp_suite *suite;
    size_t *values;              /* so far, of all files */
    struct gp_case *into;        /* the case being read */
    struct gp_load_range *range; /* the range being read */
    struct gp_load_seeds *seeds; /* the same of seeds */
    /* A list of known faults instead of a suite, and the one being read. */
    struct gp_known *known;
    struct gp_known_entry *entry;
    const char *const *checks;
};

/* Text of a file made fit to be shown. */
struct gp_load_shown {
    char text[176];
};
struct gp_load_shown gp_load_show(const char *text, size_t len);
/* The same of a path, cut at 300, in the arena. */
const char *gp_load_show_path(struct gp_arena *arena, const char *path);
struct gp_load_shown gp_load_show_node(const struct yaml_node_s *node);

/* All bytes of load->path, a regular file, at most one more than a file may
 * have. Anything else could block or never end. */
int gp_load_bytes(const struct gp_load *load, struct gp_buf *buf,
                  struct gp_err *err) GP_MUST_CHECK;

/* Parse load->text; the document is the caller's to delete on success. No
 * tags, one document, no cycles, no deeper than 32 levels. */
int gp_load_document(struct gp_load *load, struct yaml_document_s *ret_document,
                     struct gp_err *err) GP_MUST_CHECK;

/* Record "path:line:column: " of the node and a sentence; returns -1. */
int gp_load_fail(const struct gp_load *load, const struct yaml_node_s *node,
                 struct gp_err *err, const char *fmt, ...) GP_PRINTF(4, 5);

/* "a list", "a map" or "a single value". */
const char *gp_load_kind(const struct yaml_node_s *node);

/* Place of a word in a table of structs of `stride` bytes that begin with a
 * name, ended by a NULL name; -1 and the nearest word if it is not there. */
int gp_load_find(const void *table, size_t stride, const char *word,
                 const char **ret_nearest);

/* Read a map by its table of keys; `what` names it in errors ("a case"). */
int gp_load_map(struct gp_load *load, struct yaml_node_s *node,
                const struct gp_load_key *keys, const char *what,
                struct gp_err *err) GP_MUST_CHECK;

/* A scalar that is not left out. */
int gp_load_scalar(const struct gp_load *load, const struct yaml_node_s *node,
                   const char *what, struct gp_err *err) GP_MUST_CHECK;

/* A word as it stands in the document: 1 to 40 printable ASCII characters,
 * no blanks. A name: [a-z0-9-]+. */
int gp_load_word(const struct gp_load *load, const struct yaml_node_s *node,
                 const char *what, const char **ret_word,
                 struct gp_err *err) GP_MUST_CHECK;
int gp_load_name(const struct gp_load *load, const struct yaml_node_s *node,
                 const char *what, const char **ret_word,
                 struct gp_err *err) GP_MUST_CHECK;

/* A whole number from `least` to `most` in plain decimal digits. */
int gp_load_whole(const struct gp_load *load, const struct yaml_node_s *node,
                  const char *what, int64_t least, int64_t most,
                  int64_t *ret_value, struct gp_err *err) GP_MUST_CHECK;
int gp_load_uint(const struct gp_load *load, const struct yaml_node_s *node,
                 const char *what, uint64_t least, uint64_t most,
                 uint64_t *ret_value, struct gp_err *err) GP_MUST_CHECK;

/* A finite number, in decimal or hexadecimal. */
int gp_load_real(const struct gp_load *load, const struct yaml_node_s *node,
                 const char *what, double *ret_value,
                 struct gp_err *err) GP_MUST_CHECK;

/* The items of a list. */
size_t gp_load_count(const struct yaml_node_s *node);
struct yaml_node_s *gp_load_item(const struct gp_load *load,
                                 const struct yaml_node_s *node, size_t i);

/* Count values that a suite is about to hold; an error if they are too
 * many. */
int gp_load_add(struct gp_load *load, const struct yaml_node_s *node,
                size_t count, struct gp_err *err) GP_MUST_CHECK;

/* Read the value of `sizes`. */
int gp_load_sizes(struct gp_load *load, const struct gp_load_key *key,
                  struct yaml_node_s *node, struct gp_err *err) GP_MUST_CHECK;

/* Read the value of `seeds`. */
int gp_load_seeds(struct gp_load *load, const struct gp_load_key *key,
                  struct yaml_node_s *node, struct gp_err *err) GP_MUST_CHECK;

/* A free text without control characters except, with `lines`, line
 * breaks. */
int gp_load_prose(const struct gp_load *load, const struct yaml_node_s *node,
                  const char *what, bool lines, const char **ret_text,
                  struct gp_err *err) GP_MUST_CHECK;

/* The free text of 'about'. */
int gp_load_about(const struct gp_load *load, const struct yaml_node_s *node,
                  const char **ret_text, struct gp_err *err) GP_MUST_CHECK;

#endif
