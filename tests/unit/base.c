/* Arena, buffer, errors, words. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/arena.h"
#include "harness/base/buf.h"
#include "harness/base/word.h"
#include "tests/unit/folder.h"

/* --- Arena -------------------------------------------------------------------
 */

Test(arena, memory_is_zeroed_aligned_and_apart)
{
    struct gp_arena arena = {0};
    unsigned char *all[300];

    for (size_t i = 0; i < 300; i++) {
        size_t bytes = i % 7 == 6 ? 100000 : i;
        all[i] = gp_arena_alloc(&arena, bytes);
        cr_assert_eq((uintptr_t)all[i] % _Alignof(max_align_t), 0);
        for (size_t at = 0; at < bytes; at++)
            cr_assert(all[i][at] == 0 || at % 64, "not zeroed");
        memset(all[i], (int)(i & 0xff), bytes);
    }
    for (size_t i = 0; i < 300; i++) {
        size_t bytes = i % 7 == 6 ? 100000 : i;
        for (size_t at = 0; at < bytes; at += 13)
            if (all[i][at] != (i & 0xff))
                cr_assert_fail("%zu was written over at %zu", i, at);
    }
    gp_arena_free(&arena);
    cr_assert_null(arena.blocks);
    gp_arena_free(&arena);
}

Test(arena, strings)
{
    struct gp_arena arena = {0};
    char *long_one;

    cr_assert_str_eq(gp_arena_copy(&arena, ""), "");
    cr_assert_str_eq(gp_arena_copy(&arena, "word"), "word");
    cr_assert_str_eq(gp_arena_printf(&arena, "%d-%s", 5, "x"), "5-x");
    long_one = gp_arena_printf(&arena, "%0200000d", 7);
    cr_assert_eq(strlen(long_one), 200000);
    gp_arena_free(&arena);
}

Test(arena, growing_arrays)
{
    uint64_t *items = NULL;
    size_t room = 0;

    for (size_t count = 0; count < 1000; count++) {
        uint64_t *added = gp_grow((void **)&items, count, &room, sizeof *items);
        cr_assert_eq(*added, 0);
        cr_assert_eq(added, &items[count]);
        cr_assert_geq(room, count + 1);
        *added = count * 3;
    }
    for (size_t i = 0; i < 1000; i++)
        cr_assert_eq(items[i], i * 3);
    free(items);
}

/* --- Buffer ------------------------------------------------------------------
 */

Test(buf, appending)
{
    struct gp_buf buf = {0};

    cr_assert_str_eq(gp_buf_text(&buf), "");
    gp_buf_add(&buf, "", 0);
    cr_assert_str_eq(gp_buf_text(&buf), "");
    gp_buf_str(&buf, "one ");
    gp_buf_add(&buf, "two three", 4);
    gp_buf_printf(&buf, "%05d", 42);
    cr_assert_str_eq(gp_buf_text(&buf), "one two 00042");
    cr_assert_eq(buf.len, 13);
    for (int i = 0; i < 10000; i++)
        gp_buf_printf(&buf, "%d,", i);
    cr_assert_eq(buf.len, strlen(buf.text));
    cr_assert_str_eq(buf.text + buf.len - 5, "9999,");
    gp_buf_free(&buf);
    cr_assert_str_eq(gp_buf_text(&buf), "");
}

static void holds(const char *path, const char *expected)
{
    char text[100] = "";
    FILE *file = fopen(path, "r");

    cr_assert_not_null(file);
    if (!fgets(text, sizeof text, file))
        *text = '\0';
    fclose(file);
    cr_assert_str_eq(text, expected);
}

Test(buf, saving)
{
    struct gp_buf buf = {0};
    struct gp_err err = {0};
    struct folder folder;
    char path[400];

    folder_make(&folder);
    strcpy(path, folder_file(&folder, "saved"));
    gp_buf_str(&buf, "hello");
    cr_assert_eq(gp_buf_save(&buf, path, &err), 0, "%s", err.text);
    holds(path, "hello");
    gp_buf_str(&buf, " again");
    /* What a run that was killed left behind is in nobody's way. */
    folder_write(&folder, "saved.part", "half", 0644);
    cr_assert_eq(gp_buf_save(&buf, path, &err), 0, "%s", err.text);
    holds(path, "hello again");
    cr_assert_eq(access(folder_file(&folder, "saved.part"), F_OK), -1);
    buf.len = 0;
    gp_buf_free(&buf);
    cr_assert_eq(gp_buf_save(&buf, path, &err), 0, "%s", err.text);
    holds(path, "");
    snprintf(path, sizeof path, "%s/saved/below", folder.path);
    cr_assert_eq(gp_buf_save(&buf, path, &err), -1);
    cr_assert_eq(err.kind, GP_ERR_SYSTEM);
    cr_assert_not_null(strstr(err.text, path), "%s", err.text);
    folder_remove(&folder);
}

/* --- Errors ------------------------------------------------------------------
 */

Test(err, sentences)
{
    struct gp_err err = {0};

    cr_assert_eq(gp_err_set(&err, GP_ERR_TIMEOUT, "%d is %s", 7, "late"), -1);
    cr_assert_eq(err.kind, GP_ERR_TIMEOUT);
    cr_assert_str_eq(err.text, "7 is late");
    cr_assert_eq(gp_err_prefix(&err, "%s:%d: ", "file", 3), -1);
    cr_assert_eq(err.kind, GP_ERR_TIMEOUT);
    cr_assert_str_eq(err.text, "file:3: 7 is late");
}

Test(err, long_sentences_are_cut)
{
    struct gp_err err = {0};
    char text[3000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    gp_err_set(&err, GP_ERR_USAGE, "%s", text);
    cr_assert_eq(strlen(err.text), sizeof err.text - 1);
    gp_err_prefix(&err, "before: ");
    cr_assert_eq(strlen(err.text), sizeof err.text - 1);
    cr_assert_eq(strncmp(err.text, "before: xxx", 11), 0);
    gp_err_prefix(&err, "%s", text);
    cr_assert_eq(strlen(err.text), sizeof err.text - 1);
}

Test(err, kinds_have_names)
{
    static const struct {
        enum gp_err_kind kind;
        const char *name;
    } rows[] = {{GP_ERR_USAGE, "usage"},   {GP_ERR_BACKEND, "backend"},
                {GP_ERR_CRASH, "crash"},   {GP_ERR_TIMEOUT, "timeout"},
                {GP_ERR_SYSTEM, "system"}, {GP_ERR_UNSUPPORTED, "unsupported"}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_str_eq(gp_err_kind_name(rows[i].kind), rows[i].name);
        cr_assert_eq(gp_err_kind_of(rows[i].name), rows[i].kind);
    }
    cr_assert_eq(gp_err_kind_of("mood"), GP_ERR_BACKEND);
    cr_assert_eq(gp_err_kind_of(""), GP_ERR_BACKEND);
}

/* --- Words
 * -------------------------------------------------------------------- */

Test(word, the_nearest)
{
    static const char *const words[] = {"pedantic", "tf32",      "default",
                                        "fast-16f", "fast-16bf", NULL};
    char long_one[200];

    cr_assert_str_eq(gp_word_nearest("tf23", words), "tf32");
    cr_assert_str_eq(gp_word_nearest("TF32", words), "tf32");
    cr_assert_str_eq(gp_word_nearest("pedant", words), "pedantic");
    cr_assert_str_eq(gp_word_nearest("defualt", words), "default");
    cr_assert_str_eq(gp_word_nearest("fast16bf", words), "fast-16bf");
    cr_assert_str_eq(gp_word_nearest("tf32", words), "tf32");
    cr_assert_not_null(gp_word_nearest("", words));
    memset(long_one, 'a', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    cr_assert_not_null(gp_word_nearest(long_one, words));
}

Test(word, whole_numbers_have_one_spelling)
{
    static const char *const none[] = {
        "",   " 8", "8 ",  "08", "00",  "+8",
        "-8", "8.", "0x8", "8a", "1e3", "18446744073709551616"};
    uint64_t value = 7;

    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_assert_eq(gp_word_whole(none[i], 0, UINT64_MAX, &value), -1, "%s",
                     none[i]);
    cr_assert_eq(gp_word_whole("4", 5, 9, &value), -1);
    cr_assert_eq(gp_word_whole("10", 5, 9, &value), -1);
    cr_assert_eq(value, 7);
    cr_assert(gp_word_whole("0", 0, 0, &value) == 0 && value == 0);
    cr_assert(gp_word_whole("9", 5, 9, &value) == 0 && value == 9);
    cr_assert_eq(gp_word_whole("18446744073709551615", 0, UINT64_MAX, &value),
                 0);
    cr_assert_eq(value, UINT64_MAX);
}
