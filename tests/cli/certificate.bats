#!/usr/bin/env bats
# An OpenBLAS that multiplies wrongly: the reference's certificate finds it, and
# no worker is judged by it. Run from the root: bats tests/cli/certificate.bats

load runs

# preload WHERE HOW [WHEN]: wrong.so has a cblas_dgemm whose products with m = 24
# or 384 are wrong in element WHERE by HOW, an expression of the element x, of S,
# its sum of magnitudes, and of k; WHEN, the end of a comparison with how many
# such products there were before, says in which of them. (Workers do not see
# LD_PRELOAD: only the reference is.)
preload() {
    set -- "$1" "$2" "${3:->= 0}"
    if ldd "$GEMMPROOF" | grep -q libasan; then
        skip 'AddressSanitizer wants to be loaded first'
    fi
    cat > wrong.c << END
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
void cblas_dgemm(int layout, int s, int t, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb,
                 double beta, double *c, int ldc)
{
    void (*real)(int, int, int, int, int, int, double, const double *, int,
                 const double *, int, double, double *, int);
    int at = $1;
    static int before;
    double x, S = 0;
    *(void **)&real = dlsym(RTLD_NEXT, "cblas_dgemm");
    real(layout, s, t, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if ((m != 24 && m != 384) ||
        !(__atomic_fetch_add(&before, 1, __ATOMIC_SEQ_CST) $3))
        return;
    x = c[at % m + at / m * ldc];
    for (int l = 0; l < k; l++)
        S += fabs(a[at % m + l * lda] * b[l + at / m * ldb]);
    c[at % m + at / m * ldc] = $2;
}
END
    gcc -shared -fPIC -o wrong.so wrong.c -ldl
}

# wrongly STATUS WORDS...: a run with it ends with that status.
wrongly() {
    rm -rf o
    LD_PRELOAD="$PWD/wrong.so" ends "$@" --out o
}

case_file() {
    {
        printf 'suite: s\ncases:\n  - name: one\n    repeats: 2\n'
        cat
    } > x.yaml
}

# Every run of the problem with m = 24 is an error that names the kernel, and
# without a finding; every other run passes.
all_errors() {
    same "$1" "$(runs 'select(.id | contains(".24x")) | .id' | wc -l)"
    same 0 "$(runs 'select(.id | contains(".24x")) | select(
        .verdict != "error" or (.findings | length) > 0 or
        (.error.text | test("OpenBLAS.s kernel [A-Za-z0-9_]+ with [0-9]+ " +
        "threads fails its certificate") | not)) | .id' | wc -l)"
    same pass "$(runs 'select(.id | contains(".24x") | not) | .verdict' |
        sort -u)"
}

@test "a rounded product that is 2^-40 of its magnitude off" {
    case_file <<< $'    sizes: [[24, 31, 150], [23, 31, 150]]
    types: [f32]
    families: dense'
    for where in 0 300 743; do
        preload "$where" 'x + ldexp(S, -40) * 2'
        wrongly 3 run x.yaml --backend naive,openblas
        all_errors 2
    done
}

@test "an exact product that is one unit of the grid off" {
    case_file <<< $'    sizes: [[24, 31, 64], [23, 31, 64]]
    types: [f32, f64]
    families: [grid, exact, ones, index]'
    for where in 0 300 743; do
        # 2^-46 is the unit of grid (23 bits each) at most; of integers, 1.
        preload "$where" 'x == floor(x) ? x + 1 : x + 0x1p-46'
        wrongly 3 run x.yaml --backend naive,openblas
        all_errors 16
    done
}

@test "FP64 by slices: whole numbers and the rest, each by its certificate" {
    case_file <<< $'    sizes: [[384, 512, 384], [24, 31, 150]]
    types: [f64]
    families: dense'
    for how in 'k == 384 ? x + 1 : x' 'k == 768 ? x - 1 : x' \
        'k == 1152 ? x + ldexp(S, -38) : x' 'k == 1152 ? NAN : x'; do
        preload 777 "$how"
        wrongly 3 run x.yaml --backend openblas
        same 1 "$(runs 'select((.id | contains(".384x")) and .verdict == "error"
            and (.error.text | test("kernel [A-Za-z0-9_]+ with"))) | .id' |
            wc -l)"
        # Small ones are multiplied without the library.
        same pass "$(runs 'select(.id | contains(".24x")) | .verdict')"
    done
    preload 777 x
    wrongly 0 run x.yaml --backend openblas
}

@test "a result that is not there" {
    case_file <<< $'    sizes: [[24, 31, 64], [23, 31, 64]]
    types: [f32, f16, "bf16:f32"]
    families: [dense, exact, one-hot, product]'
    for how in NAN INFINITY 0; do
        preload 77 "$how"
        wrongly 3 run x.yaml --backend naive,faulty=none
        all_errors 24
    done
}

@test "nothing is said of a worker, and a right library changes nothing" {
    case_file <<< $'    sizes: [[24, 31, 150], [23, 31, 150]]
    families: [dense, exact]'
    preload 5 'x * (1 + 0x1p-30)+ 0x1p-20'
    wrongly 3 run x.yaml --backend naive,openblas
    all_errors 4
    lacks o/report.md 'Wrong|proved wrong'
    preload 5 x
    wrongly 0 run x.yaml --backend naive,openblas
    same pass "$(runs .verdict | sort -u)"
}

@test "each product of a batch has its certificate" {
    case_file <<< $'    sizes: [[24, 31, 64], [23, 31, 64]]
    batch: 3
    families: [dense]'
    for batch in 0 1 2; do
        preload 300 'x + ldexp(S, -40) * 2' "== $batch"
        wrongly 3 run x.yaml --backend naive,openblas
        all_errors 2
    done
    case_file <<< $'    sizes: [[24, 31, 64], [23, 31, 64]]
    batch: 3
    families: [grid]'
    for batch in 0 1 2; do
        preload 743 'x + 0x1p-46' "== $batch"
        wrongly 3 run x.yaml --backend naive,openblas
        all_errors 2
    done
    # There is no fourth.
    preload 743 'x + 1' '== 3'
    wrongly 0 run x.yaml --backend naive,openblas
}
