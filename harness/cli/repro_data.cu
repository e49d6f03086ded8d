/* --- The operands, as the run had them -------------------------------------
 */

enum { GUARD = 4096, POISON = 0xff }; /* bytes before and after each matrix */

struct matrix {
    unsigned char *bytes, *element; /* of the guards too; 1 where data is */
    size_t total;
    double *op; /* A: row i of op(A) at op[i * k], B: column j of op(B) */
};

static void *allocate(size_t bytes)
{
    void *memory = calloc(bytes ? bytes : 1, 1);

    if (!memory) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return memory;
}

static void store(const struct gp_type *type, double x, unsigned char *to)
{
    float narrow = (float)x;
    uint16_t bits;

    if (type->bytes == 8) {
        memcpy(to, &x, 8);
    } else if (type->bytes == 4) {
        memcpy(to, &narrow, 4);
    } else {
        bits = narrow_bits(gp_type_round(type, x), type);
        memcpy(to, &bits, 2);
    }
}

/* Column j of op(X) into its places of the stored, laid out matrix. */
static void place_column(const struct gp_gemm *gemm, enum gp_operand which,
                         int64_t batch, int64_t j, const double *column,
                         struct matrix *matrix)
{
    const struct gp_type *type = gp_gemm_type(gemm, which);
    bool trans = which == GP_A   ? gemm->trans_a
                 : which == GP_B ? gemm->trans_b
                                 : false;
    int64_t rows = gp_gemm_rows(gemm, which);
    int64_t each = rows * gp_gemm_cols(gemm, which);
    int64_t length = trans ? gp_gemm_cols(gemm, which) : rows;

    for (int64_t i = 0; i < length; i++) {
        int64_t packed = batch * each + (trans ? j + i * rows : i + j * rows);
        size_t at =
            GUARD + (size_t)gp_gemm_place(gemm, which, packed) * type->bytes;
        store(type, column[i], matrix->bytes + at);
        memset(matrix->element + at, 1, type->bytes);
        if (which == GP_A)
            matrix->op[(batch * gemm->m + i) * gemm->k + j] = column[i];
        else if (which == GP_B)
            matrix->op[(batch * gemm->n + j) * gemm->k + i] = column[i];
    }
}

/* Guards, padding and, when beta = 0, D itself are POISON. */
static struct matrix make(const struct gp_gemm *gemm, enum gp_operand which)
{
    const struct gp_type *type = gp_gemm_type(gemm, which);
    int64_t length = which == GP_B ? gemm->k : gemm->m;
    int64_t columns = which == GP_A ? gemm->k : gemm->n;
    double *column = (double *)allocate((size_t)length * sizeof *column);
    struct matrix matrix;

    matrix.total =
        2 * GUARD +
        (size_t)(gp_gemm_stride(gemm, which) * gemm->batch) * type->bytes;
    matrix.bytes = (unsigned char *)allocate(matrix.total);
    matrix.element = (unsigned char *)allocate(matrix.total);
    matrix.op = (double *)allocate(
        which == GP_C
            ? 0
            : (size_t)(length * columns * gemm->batch) * sizeof *matrix.op);
    memset(matrix.bytes, POISON, matrix.total);
    for (int64_t batch = 0; batch < gemm->batch; batch++) {
        for (int64_t j = 0; j < columns; j++) {
            struct gp_family_args args = {gemm, REPRO_SEED, which, batch};
            if (which != GP_C || gemm->beta != 0)
                REPRO_COLUMN(&args, j, column);
            place_column(gemm, which, batch, j, column, &matrix);
        }
    }
    if (which == GP_C && gemm->beta == 0)
        memset(matrix.bytes, POISON, matrix.total);
    free(column);
    return matrix;
}

static uint64_t bits_at(const struct gp_gemm *gemm, enum gp_operand which,
                        const unsigned char *bytes, int64_t packed)
{
    return gp_type_bits(gp_gemm_type(gemm, which), bytes + GUARD,
                        gp_gemm_place(gemm, which, packed));
}

/* 128 bits over the elements in packed column-major order, as in the
 * journals of gemmproof. */
static void print_digest(const char *name, const struct gp_gemm *gemm,
                         enum gp_operand which, const unsigned char *bytes)
{
    int64_t count = gp_gemm_count(gemm, which);
    uint64_t lanes[2] = {0, 0};

    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = bits_at(gemm, which, bytes, i);
        lanes[0] += gp_hash_lane(0, (uint64_t)i, bits);
        lanes[1] += gp_hash_lane(1, (uint64_t)i, bits);
    }
    printf("%s %016llx%016llx %lld\n", name, (unsigned long long)lanes[0],
           (unsigned long long)lanes[1], (long long)count);
}

#ifdef REPRO_DUMP

int main(void)
{
    struct gp_gemm gemm = repro_gemm();
    struct matrix a = make(&gemm, GP_A), b = make(&gemm, GP_B);
    struct matrix c = make(&gemm, GP_C);

    print_digest("A", &gemm, GP_A, a.bytes);
    print_digest("B", &gemm, GP_B, b.bytes);
    if (gemm.beta != 0)
        print_digest("C", &gemm, GP_C, c.bytes);
    return 0;
}

#endif
