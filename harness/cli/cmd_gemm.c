#include <string.h>

#include "harness/base/word.h"
#include "harness/cli/cli.h"

static int size_word(const char *word, const char *name, int64_t most,
                     int64_t *ret_size, struct gp_err *err)
{
    uint64_t value;

    if (gp_word_whole(word, 1, (uint64_t)most, &value) != 0)
        return gp_err_set(err, GP_ERR_USAGE,
                          "%s is '%.40s': it should be a whole number from 1 "
                          "to %lld in plain digits",
                          name, word, (long long)most);
    *ret_size = (int64_t)value;
    return 0;
}

/* One case from the words M N K [TYPE]: both families, and every mode or
 * every workspace if that was asked. */
static int make_case(struct gp_session *session, struct gp_err *err)
{
    struct gp_arena *arena = &session->suite.arena;
    struct gp_case *made;
    size_t modes = 0;

    if (session->rest.count < 3 || session->rest.count > 4)
        return gp_err_set(err, GP_ERR_USAGE,
                          "gemm takes M N K and perhaps a type, such as "
                          "gemmproof gemm 128 128 4096 f16:f32");
    session->suite.name = "gemm";
    made = gp_grow((void **)&session->suite.cases, 0,
                   &session->suite.cases_room, sizeof *made);
    session->suite.cases_count = 1;
    gp_case_defaults(arena, made);
    made->name = "gemm";
    made->file = "command line";
    made->sizes = gp_arena_alloc(arena, sizeof *made->sizes);
    made->sizes_count = 1;
    if (size_word(session->rest.words[0], "M", INT32_MAX, &made->sizes->m,
                  err) ||
        size_word(session->rest.words[1], "N", INT32_MAX, &made->sizes->n,
                  err) ||
        size_word(session->rest.words[2], "K", 1 << 23, &made->sizes->k, err) ||
        (session->rest.count == 4 &&
         gp_type_pair_parse(session->rest.words[3], made->types, err)))
        return -1;
    made->families = gp_arena_array(arena, 2, sizeof *made->families);
    made->families[0] = gp_family_find("dense");
    made->families[1] = gp_family_find("exact");
    made->families_count = 2;
    if (session->modes.count == 0)
        return 0;
    made->modes = gp_arena_array(arena, 64, sizeof *made->modes);
    if (session->modes.count == 1 &&
        strcmp(session->modes.words[0], "all") == 0) {
        for (const struct gp_mode *mode = gp_modes; mode->name; mode++)
            made->modes[modes++] = mode;
        gp_opt_list_free(&session->modes);
    }
    for (size_t i = 0; i < session->modes.count && modes < 64; i++)
        if (gp_mode_parse(session->modes.words[i], arena, &made->modes[modes++],
                          err) != 0)
            return -1;
    made->modes_count = modes;
    return 0;
}

static int plan(struct gp_session *session, struct gp_err *err)
{
    if (make_case(session, err) != 0)
        return -1;
    return gp_session_expand(session, err);
}

static int carry_out(struct gp_session *session, const struct gp_cli *cli)
{
    return gp_session_run(session, cli, NULL);
}

int gp_cmd_gemm(const struct gp_cli *cli, int argc, char **argv)
{
    return gp_session_command(cli, "gemm", argc, argv, plan, carry_out);
}
