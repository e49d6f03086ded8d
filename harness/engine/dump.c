#define _GNU_SOURCE
#include "harness/engine/dump.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the files say that they are little endian");

enum { CHUNK = 4096, NAME_MOST = 200 };

/* --- The folder -----------------------------------------------------------
 */

static bool is_empty(const char *folder)
{
    DIR *open_folder = opendir(folder);
    const struct dirent *entry;
    bool empty = open_folder != NULL;

    while (empty && (entry = readdir(open_folder)))
        empty =
            strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (open_folder)
        closedir(open_folder);
    return empty;
}

int gp_dump_open(struct gp_dump *dump, const char *folder, int64_t most,
                 struct gp_err *err)
{
    *dump = (struct gp_dump){.folder = folder, .most = most};
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return gp_err_set(err, GP_ERR_USAGE,
                          "--dump %s: the folder cannot be made (%s): choose "
                          "another",
                          folder, strerror(errno));
    if (!is_empty(folder))
        return gp_err_set(err, GP_ERR_USAGE,
                          "--dump %s: this is not an empty folder: choose "
                          "another, or remove what is in it",
                          folder);
    return 0;
}

/* A folder of its own for a run; its descriptor, or -1. */
static int open_run(const struct gp_dump *dump, const char *id,
                    struct gp_err *err)
{
    char name[NAME_MOST + 40];
    struct gp_buf path = {0};
    int fd = -1;

    if (strlen(id) <= NAME_MOST)
        snprintf(name, sizeof name, "%s", id);
    else
        snprintf(name, sizeof name, "%.*s~%" PRId64, NAME_MOST, id,
                 dump->written);
    for (char *at = name; *at; at++)
        if (*at == '/')
            *at = '~';
    gp_buf_printf(&path, "%s/%s", dump->folder, name);
    if (mkdir(gp_buf_text(&path), 0777) == 0)
        fd = open(gp_buf_text(&path),
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        gp_err_set(err, GP_ERR_SYSTEM, "%s: cannot be made (%s)",
                   gp_buf_text(&path), strerror(errno));
    gp_buf_free(&path);
    return fd;
}

/* --- One file -------------------------------------------------------------
 */

/* A file in the folder of a run, which no file or link stands in for. */
static FILE *create(int folder, const char *name)
{
    int fd = openat(folder, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");

    if (fd >= 0 && !file)
        close(fd);
    return file;
}

static int end(FILE *file, bool bad, const char *name, struct gp_err *err)
{
    bad = !file || bad;
    if (file && fclose(file) != 0)
        bad = true;
    return bad ? gp_err_set(err, GP_ERR_SYSTEM,
                            "%s of a dump: cannot be written (%s): free some "
                            "space",
                            name, strerror(errno))
               : 0;
}

/* A matrix and how to write it. */
struct matrix {
    const char *name;
    const void *data; /* packed; doubles if `type` is NULL */
    const struct gp_type *type;
    int64_t rows, cols, batch;
};

static const char *descriptor(const struct matrix *matrix)
{
    if (!matrix->type || matrix->type->bytes == 8)
        return "<f8";
    return matrix->type->bytes == 2 && matrix->type->precision == 11 ? "<f2"
                                                                     : "<f4";
}

/* The magic, the version, the length of what follows, and a dictionary filled
 * up with spaces so that the data begin at a multiple of 64. */
static bool write_header(FILE *file, const struct matrix *matrix)
{
    char text[256], batch[40] = "";
    unsigned char begin[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    int used;
    size_t length;

    if (matrix->batch > 1)
        snprintf(batch, sizeof batch, ", %" PRId64, matrix->batch);
    used = snprintf(text, sizeof text,
                    "{'descr': '%s', 'fortran_order': True, 'shape': (%" PRId64
                    ", %" PRId64 "%s), }",
                    descriptor(matrix), matrix->rows, matrix->cols, batch);
    length = (sizeof begin + (size_t)used + 1 + 63) / 64 * 64 - sizeof begin;
    memset(text + used, ' ', length - (size_t)used);
    text[length - 1] = '\n';
    begin[8] = (unsigned char)(length & 0xff);
    begin[9] = (unsigned char)(length >> 8);
    return fwrite(begin, 1, sizeof begin, file) == sizeof begin &&
           fwrite(text, 1, length, file) == length;
}

static bool write_data(FILE *file, const struct matrix *matrix)
{
    int64_t count = matrix->rows * matrix->cols * matrix->batch;
    size_t bytes = matrix->type ? matrix->type->bytes : sizeof(double);
    const unsigned char *data = matrix->data;

    if (bytes != 2 || matrix->type->precision == 11)
        return fwrite(data, bytes, (size_t)count, file) == (size_t)count;
    for (int64_t at = 0; at < count; at += CHUNK) {
        float wide[CHUNK];
        int64_t n = count - at < CHUNK ? count - at : CHUNK;
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits = (uint32_t)gp_type_bits(matrix->type, data, at + i)
                            << 16;
            memcpy(&wide[i], &bits, sizeof bits);
        }
        if (fwrite(wide, sizeof *wide, (size_t)n, file) != (size_t)n)
            return false;
    }
    return true;
}

static int write_matrix(int folder, const struct matrix *matrix,
                        struct gp_err *err)
{
    FILE *file = create(folder, matrix->name);

    return end(
        file, !file || !write_header(file, matrix) || !write_data(file, matrix),
        matrix->name, err);
}

static int write_note(int folder, const struct gp_result *result,
                      struct gp_err *err)
{
    const struct gp_gemm *gemm = &result->run->problem->gemm;
    FILE *file = create(folder, "run.txt");
    bool bad = !file;

    if (file)
        bad = fprintf(file,
                      "%s\ngemmproof run --only '%s'\n"
                      "D = alpha op(A) op(B) + beta C, alpha = %a, beta = %a, "
                      "op(A) = A%s, op(B) = B%s; %s in, %s out%s\n"
                      "D.npy is distinct output %" PRId64
                      ", reference.npy the result in FP64\n%s%s",
                      result->run->id, result->run->id, gemm->alpha, gemm->beta,
                      gemm->trans_a ? "^T" : "", gemm->trans_b ? "^T" : "",
                      gemm->in->name, gemm->out->name,
                      gemm->in->precision == 8 || gemm->out->precision == 8
                          ? " (bf16 is written exactly, as <f4)"
                          : "",
                      result->explained,
                      result->explanation ? result->explanation->cause : "",
                      result->explanation ? "\n" : "") < 0;
    return end(file, bad, "run.txt", err);
}

/* --- One run --------------------------------------------------------------
 */

static int write_operands(int folder, const struct gp_reference *reference,
                          struct gp_err *err)
{
    const struct gp_gemm *gemm = &reference->gemm;
    const void *data[] = {reference->a, reference->b, reference->c};
    static const char *const names[] = {"A.npy", "B.npy", "C.npy"};
    struct matrix exact = {"reference.npy", reference->ref, NULL,
                           gemm->m,         gemm->n,        gemm->batch};

    for (int which = GP_A; which <= GP_C; which++) {
        enum gp_operand operand = (enum gp_operand)which;
        struct matrix matrix = {.name = names[which],
                                .data = data[which],
                                .type = gp_gemm_type(gemm, operand),
                                .rows = gp_gemm_rows(gemm, operand),
                                .cols = gp_gemm_cols(gemm, operand),
                                .batch = gemm->batch};
        if (data[which] && write_matrix(folder, &matrix, err) != 0)
            return -1;
    }
    return write_matrix(folder, &exact, err);
}

static int write_outputs(int folder, const struct gp_result *result,
                         const unsigned char *outputs, size_t output_bytes,
                         struct gp_err *err)
{
    const struct gp_gemm *gemm = &result->run->problem->gemm;

    for (int64_t v = 0; v < result->reply.outputs; v++) {
        char name[40] = "D.npy";
        struct matrix matrix = {name,      outputs + (size_t)v * output_bytes,
                                gemm->out, gemm->m,
                                gemm->n,   gemm->batch};
        if (v != result->explained)
            snprintf(name, sizeof name, "D.%" PRId64 ".npy", v);
        if (write_matrix(folder, &matrix, err) != 0)
            return -1;
    }
    return 0;
}

void gp_dump_run(struct gp_dump *dump, const struct gp_result *result,
                 const struct gp_reference *reference,
                 const unsigned char *outputs, size_t output_bytes)
{
    struct gp_err err = {0};
    int folder;
    bool bad;

    if (dump->written >= dump->most) {
        dump->left_out++;
        return;
    }
    folder = open_run(dump, result->run->id, &err);
    bad = folder < 0 || write_note(folder, result, &err) != 0 ||
          write_operands(folder, reference, &err) != 0 ||
          write_outputs(folder, result, outputs, output_bytes, &err) != 0;
    if (folder >= 0)
        close(folder);
    dump->written++;
    if (bad && dump->failed++ == 0)
        dump->err = err;
}
