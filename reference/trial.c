#include "reference/trial.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/base/shm.h"

const char *const gp_trial_group_names[GP_TRIAL_GROUPS] = {
    "products", "layouts", "scalars", "special values", "empty"};

enum { MOST = 1 << 21, PAD = 3 }; /* elements of a matrix as laid out */

/* Room for one product: as it is given, and what must come out. */
struct room {
    double *a, *b, *c, *given, *wanted; /* op(A), op(B), C packed */
    double *laid[3];
    float *single[3];
    struct gp_trial *trial;
};

static int make(struct room *room, struct gp_err *err)
{
    void **doubles[] = {(void **)&room->a,       (void **)&room->b,
                        (void **)&room->c,       (void **)&room->given,
                        (void **)&room->wanted,  (void **)&room->laid[0],
                        (void **)&room->laid[1], (void **)&room->laid[2]};

    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        if (gp_matrix_alloc(doubles[i], (size_t)MOST * 8, "the trial", err) !=
            0)
            return -1;
    for (int i = 0; i < 3; i++)
        if (gp_matrix_alloc((void **)&room->single[i], (size_t)MOST * 4,
                            "the trial", err) != 0)
            return -1;
    return 0;
}

static void drop(struct room *room)
{
    double *doubles[] = {room->a,       room->b,      room->c,
                         room->given,   room->wanted, room->laid[0],
                         room->laid[1], room->laid[2]};

    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        gp_matrix_free(doubles[i]);
    for (int i = 0; i < 3; i++)
        gp_matrix_free(room->single[i]);
}

/* --- Operands and what must come out ---------------------------------------
 */

/* Whole numbers up to q, so that |alpha| k q^2 + |beta| q stays exact with
 * factors of one or two bits: 2^50 in FP64, 2^21 in FP32. */
static void fill(double *x, int64_t count, const struct gp_trial_product *p,
                 uint64_t what)
{
    double room = p->single ? 0x1p21 : 0x1p50;
    int64_t q = (int64_t)sqrt(room / (double)(p->k > 0 ? p->k : 1));
    uint64_t key = gp_hash_mix(what + (uint64_t)p->m * 31 +
                               (uint64_t)p->n * 1009 + (uint64_t)p->k * 32771);

    q = q < 1 << 24 ? q : 1 << 24;
    for (int64_t i = 0; i < count; i++)
        x[i] = (double)((int64_t)(gp_hash_mix(key + (uint64_t)i) %
                                  (uint64_t)(2 * q + 1)) -
                        q);
}

static void poison(const struct gp_trial_product *p, struct room *room)
{
    int64_t l = p->k / 2;

    if (p->poison == GP_TRIAL_NAN_IN_C)
        for (int64_t i = 0; i < p->m * p->n; i++)
            room->c[i] = NAN;
    if (p->poison == GP_TRIAL_UNREAD) {
        room->a[p->m / 2 + l * p->m] = NAN;
        room->b[l + p->n / 2 * p->k] = INFINITY;
        room->c[p->m * p->n - 1] = -0.0;
    }
    if (p->poison == GP_TRIAL_NAN_IN_A)
        room->a[p->m / 2 + l * p->m] = NAN;
}

/* By our own sums, which are exact; netlib's rules. */
static void expect(const struct gp_trial_product *p, struct room *room)
{
    int64_t m = p->m, n = p->n, k = p->k;

    for (int64_t j = 0; j < n; j++) {
        double *to = room->wanted + j * m;
        const double *c = room->c + j * m;
        memset(to, 0, (size_t)m * sizeof *to);
        for (int64_t l = 0; l < k && p->alpha != 0; l++) {
            double y = room->b[l + j * k];
            for (int64_t i = 0; i < m; i++)
                to[i] += room->a[i + l * m] * y;
        }
        for (int64_t i = 0; i < m; i++) {
            if (p->alpha != 0 && k > 0)
                to[i] = p->alpha * to[i] + (p->beta != 0 ? p->beta * c[i] : 0);
            else
                to[i] = p->beta == 1 ? c[i] : p->beta == 0 ? 0 : p->beta * c[i];
        }
    }
}

/* --- The library's own ------------------------------------------------------
 */

/* Lay rows x cols out with ld, transposed or not; padding is 12345. */
static void lay_out(const double *from, int64_t rows, int64_t cols, bool trans,
                    int64_t ld, double *to)
{
    int64_t lines = trans ? rows : cols;

    for (int64_t i = 0; i < ld * lines; i++)
        to[i] = 12345;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            to[trans ? j + i * ld : i + j * ld] = from[i + j * rows];
}

static blasint ld_of(int64_t rows, int64_t cols, bool trans, int64_t pad)
{
    int64_t tight = trans ? cols : rows;

    return (blasint)((tight > 0 ? tight : 1) + pad);
}

static void call(const struct gp_trial_product *p, struct room *room)
{
    blasint m = (blasint)p->m, n = (blasint)p->n, k = (blasint)p->k;
    blasint lda = ld_of(m, k, p->trans_a, p->pad);
    blasint ldb = ld_of(k, n, p->trans_b, p->pad);
    blasint ldc = ld_of(m, n, false, p->pad);
    const int64_t counts[] = {(int64_t)lda * (p->trans_a ? m : k),
                              (int64_t)ldb * (p->trans_b ? k : n),
                              (int64_t)ldc * n};
    CBLAS_TRANSPOSE op_a = p->trans_a ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE op_b = p->trans_b ? CblasTrans : CblasNoTrans;

    lay_out(room->a, m, k, p->trans_a, lda, room->laid[0]);
    lay_out(room->b, k, n, p->trans_b, ldb, room->laid[1]);
    lay_out(room->c, m, n, false, ldc, room->laid[2]);
    if (!p->single) {
        cblas_dgemm(CblasColMajor, op_a, op_b, m, n, k, p->alpha, room->laid[0],
                    lda, room->laid[1], ldb, p->beta, room->laid[2], ldc);
        return;
    }
    for (int x = 0; x < 3; x++)
        for (int64_t i = 0; i < counts[x]; i++)
            room->single[x][i] = (float)room->laid[x][i];
    cblas_sgemm(CblasColMajor, op_a, op_b, m, n, k, (float)p->alpha,
                room->single[0], lda, room->single[1], ldb, (float)p->beta,
                room->single[2], ldc);
    for (int64_t i = 0; i < counts[2]; i++)
        room->laid[2][i] = (double)room->single[2][i];
}

/* Zeros may have either sign, but for a C that must not be touched. */
static bool same(const struct gp_trial_product *p, double got, double wanted)
{
    if (isnan(wanted))
        return isnan(got);
    if (p->alpha == 0 && p->beta == 1 && !signbit(got) != !signbit(wanted))
        return false;
    return got == wanted;
}

/* Multiply once; false, and the first wrong element, if there is one. */
static bool right(const struct gp_trial_product *p, struct room *room,
                  struct gp_trial_wrong *ret_wrong)
{
    int64_t ldc = (p->m > 0 ? p->m : 1) + p->pad;

    fill(room->a, p->m * p->k, p, 1);
    fill(room->b, p->k * p->n, p, 2);
    fill(room->c, p->m * p->n, p, 3);
    poison(p, room);
    expect(p, room);
    call(p, room);
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < ldc; i++) {
            double got = room->laid[2][i + j * ldc];
            double wanted = i < p->m ? room->wanted[i + j * p->m] : 12345;
            if (same(p, got, wanted))
                continue;
            *ret_wrong = (struct gp_trial_wrong){*p, i, j, got, wanted};
            return false;
        }
    return true;
}

/* --- The list ----------------------------------------------------------------
 */

static double work(const struct gp_trial_product *p)
{
    return (double)p->m * (double)p->n * (double)p->k +
           1e-3 * (double)(p->m + p->n + p->k);
}

/* Smaller, and still wrong? One size is halved or made one less. */
static void shrink(struct room *room, struct gp_trial_wrong *wrong)
{
    bool again = true;

    while (again) {
        again = false;
        for (int step = 0; step < 6 && !again; step++) {
            struct gp_trial_product p = wrong->product;
            int64_t *size = step % 3 == 0 ? &p.m : step % 3 == 1 ? &p.n : &p.k;
            *size = step < 3 ? *size / 2 : *size - 1;
            again = *size >= 1 && !right(&p, room, wrong);
        }
    }
}

static void on_trial(struct room *room, enum gp_trial_group group,
                     struct gp_trial_product p)
{
    struct gp_trial_wrong wrong;

    for (int single = 0; single < 2; single++) {
        int64_t *count = &room->trial->groups[group].wrong;
        struct gp_trial_wrong *smallest = &room->trial->groups[group].smallest;
        p.single = single == 1;
        room->trial->groups[group].checks++;
        if (right(&p, room, &wrong))
            continue;
        if ((*count)++ > 0 && work(&wrong.product) >= work(&smallest->product))
            continue;
        if (group != GP_TRIAL_EMPTY)
            shrink(room, &wrong);
        *smallest = wrong;
    }
}

static struct gp_trial_product plain(int64_t m, int64_t n, int64_t k)
{
    return (struct gp_trial_product){.m = m, .n = n, .k = k, .alpha = 1};
}

/* What kernels and small-matrix paths cut at, and what is left over. */
static const int64_t small[] = {1,  2,  3,  4,  5,  6,  7,  8,  9, 12,
                                15, 16, 17, 23, 24, 25, 31, 32, 33};
static const int64_t few[] = {1, 3, 8, 17, 33};
static const int64_t medium[] = {47,  48,  49,  63,  64,  65,  95,
                                 96,  97,  100, 101, 127, 128, 129,
                                 160, 191, 192, 193, 255, 256, 257};
/* Threads, blocks of k, vectors. */
static const int64_t large[][3] = {
    {512, 512, 300}, {1000, 1, 300}, {1, 1000, 300},  {3, 5, 10000},
    {8, 8, 4096},    {1, 1, 65536},  {400, 300, 257}, {64, 64, 4096},
    {2, 1500, 64},   {1500, 2, 64},  {640, 17, 1000}, {17, 640, 1000}};
enum {
    SMALL = sizeof small / sizeof *small,
    FEW = sizeof few / sizeof *few,
    MEDIUM = sizeof medium / sizeof *medium,
    LARGE = sizeof large / sizeof *large
};

/* The `which`-th of a fixed choice of medium sizes. */
static struct gp_trial_product some(int which)
{
    uint64_t word = gp_hash_mix((uint64_t)which + 77);

    return plain(medium[word % MEDIUM], medium[(word >> 16) % MEDIUM],
                 medium[(word >> 32) % MEDIUM]);
}

static void try_products(struct room *room)
{
    for (int at = 0; at < SMALL * SMALL * SMALL; at++)
        on_trial(room, GP_TRIAL_PRODUCTS,
                 plain(small[at / SMALL / SMALL], small[at / SMALL % SMALL],
                       small[at % SMALL]));
    for (int which = 0; which < 60; which++)
        on_trial(room, GP_TRIAL_PRODUCTS, some(which));
    for (int i = 0; i < LARGE; i++)
        on_trial(room, GP_TRIAL_PRODUCTS,
                 plain(large[i][0], large[i][1], large[i][2]));
}

static void try_layouts(struct room *room)
{
    for (int layout = 1; layout < 8; layout++) {
        struct gp_trial_product p = plain(0, 0, 0);
        int64_t pad = layout & 4 ? PAD : 0;
        for (int at = 0; at < FEW * FEW * FEW; at++) {
            p = plain(few[at / FEW / FEW], few[at / FEW % FEW], few[at % FEW]);
            p.trans_a = layout & 1;
            p.trans_b = layout & 2;
            p.pad = pad;
            on_trial(room, GP_TRIAL_LAYOUTS, p);
        }
        for (int which = 0; which < 12 + LARGE; which++) {
            p = which < 12 ? some(which + layout * 12)
                           : plain(large[which - 12][0], large[which - 12][1],
                                   large[which - 12][2]);
            if (which >= 12 && which % 7 != layout % 7)
                continue;
            p.trans_a = layout & 1;
            p.trans_b = layout & 2;
            p.pad = pad;
            on_trial(room, GP_TRIAL_LAYOUTS, p);
        }
    }
}

static void try_scalars(struct room *room)
{
    static const double alphas[] = {1, 0, -1, 0.5, 1.5}, betas[] = {0, 1, 0.5};

    for (int s = 1; s < 15; s++)
        for (int at = 0; at < FEW * FEW * FEW + 4; at++) {
            struct gp_trial_product p =
                at < FEW * FEW * FEW ? plain(few[at / FEW / FEW],
                                             few[at / FEW % FEW], few[at % FEW])
                                     : some(at + s * 4);
            p.trans_a = at & 1;
            p.trans_b = at & 2;
            p.alpha = alphas[s / 3];
            p.beta = betas[s % 3];
            on_trial(room, GP_TRIAL_SCALARS, p);
        }
}

static void try_special(struct room *room)
{
    static const int64_t sizes[] = {1, 2, 3, 8, 17, 33, 64, 100, 101, 160};

    for (int at = 0; at < 10 * 4; at++) {
        int64_t size = sizes[at / 4];
        struct gp_trial_product p = plain(size, size, size);
        p.trans_a = at & 1;
        p.trans_b = at & 2;
        p.poison = GP_TRIAL_NAN_IN_C;
        on_trial(room, GP_TRIAL_SPECIAL, p);
        p.poison = GP_TRIAL_NAN_IN_A;
        on_trial(room, GP_TRIAL_SPECIAL, p);
        p.poison = GP_TRIAL_UNREAD;
        p.alpha = 0;
        for (int b = 0; b < 3; b++) {
            p.beta = b == 2 ? 0.5 : b;
            on_trial(room, GP_TRIAL_SPECIAL, p);
        }
    }
}

static void try_empty(struct room *room)
{
    static const int64_t sizes[] = {1, 3, 17, 64, 200};

    for (int at = 0; at < 5 * 4; at++) {
        int64_t size = sizes[at / 4];
        struct gp_trial_product p = plain(size, size + 1, 0);
        p.trans_a = at & 1;
        p.trans_b = at & 2;
        p.poison = GP_TRIAL_NAN_IN_C;
        on_trial(room, GP_TRIAL_EMPTY, p);
        p.poison = GP_TRIAL_CLEAN;
        for (int b = 0; b < 3; b++) {
            p.beta = b == 2 ? 0.5 : b;
            on_trial(room, GP_TRIAL_EMPTY, p);
        }
        p = plain(0, size, size);
        p.pad = 1;
        on_trial(room, GP_TRIAL_EMPTY, p);
        on_trial(room, GP_TRIAL_EMPTY, plain(size, 0, size));
    }
}

void gp_trial_name(struct gp_trial *trial)
{
    snprintf(trial->kernel, sizeof trial->kernel, "%s",
             openblas_get_corename());
    trial->threads = openblas_get_num_threads();
}

int gp_trial_run(struct gp_trial *trial, struct gp_err *err)
{
    struct room room = {.trial = trial};
    int status = make(&room, err);

    memset(trial, 0, sizeof *trial);
    gp_trial_name(trial);
    if (status == 0) {
        try_products(&room);
        try_layouts(&room);
        try_scalars(&room);
        try_special(&room);
        try_empty(&room);
    }
    drop(&room);
    return status;
}

void gp_trial_describe(const struct gp_trial_product *p, char text[120])
{
    static const char *const poisons[] = {
        "", ", NaN in C", ", NaN in A and infinity in B", ", one NaN in A"};
    char pad[24] = "";

    if (p->pad)
        snprintf(pad, sizeof pad, ", ld + %lld", (long long)p->pad);
    snprintf(text, 120, "%s %c%c %lldx%lldx%lld, alpha %g, beta %g%s%s",
             p->single ? "sgemm" : "dgemm", p->trans_a ? 't' : 'n',
             p->trans_b ? 't' : 'n', (long long)p->m, (long long)p->n,
             (long long)p->k, p->alpha, p->beta, pad, poisons[p->poison]);
}
