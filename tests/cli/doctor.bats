#!/usr/bin/env bats
# gemmproof doctor: what it finds, and its exit status.
# Run from the root: GEMMPROOF=build/bin/gemmproof bats tests/cli/doctor.bats

setup() {
    gemmproof="$(realpath "${GEMMPROOF:-build/bin/gemmproof}")"
    cd "$BATS_TEST_TMPDIR"
    unset OPENBLAS_CORETYPE NVIDIA_TF32_OVERRIDE CUBLAS_WORKSPACE_CONFIG
}

# A program of ours beside a worker `cublas` that says what it is told.
device='{"name":"H200","compute_capability":90,"compute_mode":"default",
    "driver":"580.1","cuda_driver":"13.0","mig":false,"multiprocessors":132,
    "ecc":{"enabled":true},"state":{"temperature_c":31,
    "clocks":{"sm_mhz":345,"sm_max_mhz":1980,"memory_mhz":3201,
    "throttle":["idle"]},"ecc":{"uncorrected_volatile":0,
    "uncorrected_aggregate":2,"corrected_volatile":5}}}'
fake() {
    mkdir -p fake
    [ -e fake/gemmproof ] || cp "$gemmproof" fake/gemmproof
    tr -d '\n' > fake/hello << END
{"ok":true,"protocol":1,"library":{"name":"cuBLAS","version":"13.1.0",
"path":"/x/libcublas.so.13","lt_path":"/x/libcublasLt.so.13",
"lt_version":"13.1.0","loaded":[{"name":"libcuda","path":"/y/libcuda.so.1"}]},
"device":$1,"workspace":{"allocations":[33554432,512]},"offers":[],
"schedules":["serial"]}
END
    printf '#!/bin/bash\nread -r _\ncat "%s"\necho\nread -r _\n' \
        "$PWD/fake/hello" > fake/gemmproof-worker-cublas
    chmod +x fake/gemmproof-worker-cublas
    gemmproof="$PWD/fake/gemmproof"
}

@test "every line is ok or !!, and the last one sums up" {
    run "$gemmproof" doctor --backend naive,openblas
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -cvE '^(ok|!!|doctor:) ' <<< "$output")" -eq 0 ]
    [ "$(grep -c $'\033' <<< "$output")" -eq 0 ]
    [ "$(tail -n 1 <<< "$output")" = "doctor: all ok" ]
    grep -qF 'naive greets' <<< "$output"
    grep -qE 'reference +OpenBLAS .* kernel .* threads' <<< "$output"
    grep -qE 'certificate +6 products' <<< "$output"
}

@test "the workers that are here greet, on this machine as it is" {
    if compgen -G '/dev/nvidia*' > /dev/null ||
        grep -qs 0x10de /sys/bus/pci/devices/*/vendor; then
        skip "this machine shows an NVIDIA device"
    fi
    unset GEMMPROOF_REQUIRE_GPU
    run "$gemmproof" doctor
    echo "$output"
    [ "$status" -eq 0 ]
    for worker in naive openblas faulty=none; do
        grep -qF "$worker greets" <<< "$output"
    done
    grep -qF 'verify uses the CPU workers' <<< "$output"
    GEMMPROOF_REQUIRE_GPU=1 run "$gemmproof" doctor --backend naive
    [ "$status" -eq 3 ]
    [[ $output == *"!!  device "*"unset it"* ]]
}

@test "a worker that should be there and is not is status 3" {
    run "$gemmproof" doctor --backend naive,nix
    [ "$status" -eq 3 ]
    [[ $output == *"!!  worker "*"nix"*"build it"* ]]
    run "$gemmproof" doctor --backend faulty=die-hello
    [ "$status" -eq 3 ]
}

@test "words that are wrong are status 2" {
    for words in nonsense --nonsense "--backend A!"; do
        # shellcheck disable=SC2086 # words are words
        run "$gemmproof" doctor $words
        [ "$status" -eq 2 ]
        [[ $output == "gemmproof: "* ]]
    done
}

@test "the facts of a GPU are shown" {
    fake "$device"
    run "$gemmproof" doctor --backend cublas
    echo "$output"
    [ "$status" -eq 0 ]
    for fact in 'H200, compute capability 9.0, 132 multiprocessors, MIG off' \
        '31 degrees' '580.1, which knows CUDA 13.0' 'compute mode default' \
        'on; uncorrected errors: 0, in its life 2; corrected: 5' \
        'SM 345 MHz of 1980 MHz, memory 3201 MHz' 'throttling   idle' \
        'cuBLAS 13.1.0: /x/libcublas.so.13' 'cuBLASLt 13.1.0: /x/' \
        'libcuda: /y/libcuda.so.1' '33554432, 512 bytes'; do
        grep -qF "$fact" <<< "$output"
    done
}

@test "what a worker does not say is not known" {
    fake '{"name":"old","compute_capability":70}'
    run "$gemmproof" doctor --backend cublas
    [ "$status" -eq 0 ]
    for about in driver 'compute mode' ecc clocks throttling; do
        grep -qE "^ok +$about.* not known" <<< "$output"
    done
}

@test "what makes results untrustworthy is status 1" {
    for change in 's/"idle"/"idle","hw-thermal"/' \
        's/"uncorrected_volatile":0/"uncorrected_volatile":3/'; do
        fake "$(sed "$change" <<< "$device")"
        run "$gemmproof" doctor --backend cublas
        echo "$output"
        [ "$status" -eq 1 ]
        [ "$(grep -c '^!!' <<< "$output")" -eq 1 ]
        grep -q '^!!.*before believing a result' <<< "$output"
        [[ $(tail -n 1 <<< "$output") == *"cannot be trusted" ]]
        # It outranks a worker that is missing.
        run "$gemmproof" doctor --backend cublas,nix
        [ "$status" -eq 1 ]
    done
    fake "${device/\"default\"/\"prohibited\"}"
    run "$gemmproof" doctor --backend cublas
    [ "$status" -eq 3 ]
    [[ $output == *"nvidia-smi -c DEFAULT"* ]]
}

@test "an OpenBLAS that multiplies wrongly is status 1, by its certificate" {
    if ldd "$gemmproof" | grep -q libasan; then
        skip "AddressSanitizer wants to be loaded first"
    fi
    cat > wrong.c << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
void cblas_dgemm(int l, int s, int t, int m, int n, int k, double x,
                 const double *a, int lda, const double *b, int ldb, double y,
                 double *c, int ldc)
{
    void (*real)(int, int, int, int, int, int, double, const double *, int,
                 const double *, int, double, double *, int);
    *(void **)&real = dlsym(RTLD_NEXT, "cblas_dgemm");
    real(l, s, t, m, n, k, x, a, lda, b, ldb, y, c, ldc);
    c[m - 1 + (n - 1) * ldc] += 1;
}
END
    gcc -shared -fPIC -o wrong.so wrong.c -ldl
    LD_PRELOAD="$PWD/wrong.so" run "$gemmproof" doctor --backend naive
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$(grep -cE '^!! +certificate .*fails its certificate' \
        <<< "$output")" -eq 6 ]
    # The variable that did it is there.
    grep -qE '^ok +environment +LD_PRELOAD=' <<< "$output"
}

# A host library of one kernel whose small products are its own, so that what
# this machine's does is not judged. sins.so: SIN is a statement on the result.
host_library() {
    if ldd "$gemmproof" | grep -q libasan; then
        skip "AddressSanitizer wants to be loaded first"
    fi
    cat > host.c << END
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>
char *openblas_get_corename(void) { return "Fake"; }
#define GEMM(NAME, T)                                                          \\
    void NAME(int layout, int s, int t, int m, int n, int k, T alpha,          \\
              const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc) \\
    {                                                                          \\
        void (*real)(int, int, int, int, int, int, T, const T *, int,          \\
                     const T *, int, T, T *, int);                             \\
        *(void **)&real = dlsym(RTLD_NEXT, #NAME);                             \\
        if ((double)m * n * k > 1e8) {                                         \\
            real(layout, s, t, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);  \\
            return;                                                            \\
        }                                                                      \\
        T *sum = malloc(sizeof *sum * (m + 1));                                \\
        for (int j = 0; j < n; j++) {                                          \\
            for (int i = 0; i < m; i++)                                        \\
                sum[i] = 0;                                                    \\
            for (int l = 0; l < k && alpha != 0; l++) {                        \\
                T y = t == 112 ? b[j + l * ldb] : b[l + j * ldb];              \\
                for (int i = 0; i < m; i++)                                    \\
                    sum[i] += (s == 112 ? a[l + i * lda] : a[i + l * lda]) * y;\\
            }                                                                  \\
            for (int i = 0; i < m; i++) {                                      \\
                T *at = &c[i + j * ldc];                                       \\
                if (alpha == 0 || k == 0)                                      \\
                    *at = beta == 0 ? 0 : beta == 1 ? *at : beta * *at;        \\
                else                                                           \\
                    *at = alpha * sum[i] + (beta == 0 ? 0 : beta * *at);       \\
                $1;                                                            \\
            }                                                                  \\
        }                                                                      \\
        free(sum);                                                             \\
    }
GEMM(cblas_dgemm, double)
GEMM(cblas_sgemm, float)
END
    gcc -O2 -w -shared -fPIC -o host.so host.c -ldl
}

@test "--reference: a right library, each count of threads in its process" {
    host_library ''
    LD_PRELOAD="$PWD/host.so" OPENBLAS_NUM_THREADS=2 \
        run "$gemmproof" doctor --reference
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -cE '^ok +kernel ' <<< "$output")" -eq 2 ]
    grep -qE 'Fake \(in use\), 1 thread: [0-9]{5} products, all' <<< "$output"
    [ "$(tail -n 1 <<< "$output")" = "doctor: all ok" ]
    [[ $output != *greets* ]]
}

@test "--reference: a wrong product is status 1, other wrongs are warnings" {
    # FP64 alone in the third column of the fifth row, alpha = 0, beta = 1/2.
    host_library 'if (sizeof(T) == 8 && i == 4 && j == 2) *at += 1; '\
'if (alpha == 0) *at += 0 * a[0]; if (beta == 0.5 && m > 2) *at = -*at'
    LD_PRELOAD="$PWD/host.so" OPENBLAS_NUM_THREADS=1 \
        run "$gemmproof" doctor --reference
    echo "$output"
    [ "$status" -eq 1 ]
    line=$(grep -E '^!! +kernel ' <<< "$output")
    [[ $line == *"products, "*" wrong; the smallest: dgemm nn 5x3x1, alpha 1,"* ]]
    [[ $line =~ element\ \(4,\ 2\)\ is\ (.*)\ and\ should\ be\ (.*)$ ]]
    got=${BASH_REMATCH[1]} expected=${BASH_REMATCH[2]}
    [ "$(python3 -c "print(float.fromhex('$got') - float.fromhex('$expected'))")" = 1.0 ]
    grep -qE '^-- .*scalars, .*smallest: dgemm .. 3x1x1, .*beta 0.5' \
        <<< "$output"
    grep -qE '^-- .*special values, .*smallest: dgemm nn 1x1x1, alpha 0,' \
        <<< "$output"
    [[ $(tail -n 1 <<< "$output") == *"cannot be trusted" ]]
    # Without the first it is no more than a warning.
    host_library 'if (alpha == 0) *at += 0 * a[0]'
    LD_PRELOAD="$PWD/host.so" OPENBLAS_NUM_THREADS=1 \
        run "$gemmproof" doctor --reference
    [ "$status" -eq 0 ]
    [ "$(grep -c '^!!' <<< "$output")" -eq 0 ]
    [[ $(tail -n 1 <<< "$output") == *"see the lines marked --" ]]
}

@test "--reference: a library that dies is not a right one" {
    host_library 'if (m == 7 && getenv("OPENBLAS_CORETYPE")) abort()'
    LD_PRELOAD="$PWD/host.so" OPENBLAS_NUM_THREADS=1 \
        run "$gemmproof" doctor --reference
    echo "$output"
    [ "$status" -eq 1 ]
    grep -qE '^!! +kernel +Fake \(in use\), 1 thread: .*signal 6' <<< "$output"
}

@test "variables that can change the arithmetic, and who sees them" {
    run "$gemmproof" doctor --backend naive
    [[ $output != *TF32* ]]
    NVIDIA_TF32_OVERRIDE=0 CUBLAS_WORKSPACE_CONFIG=:16:8 \
        OPENBLAS_CORETYPE=Haswell HARMLESS=1 \
        run "$gemmproof" doctor --backend naive
    [ "$status" -eq 0 ]
    grep -qE 'NVIDIA_TF32_OVERRIDE=0 .*workers do not see it' <<< "$output"
    grep -qE 'CUBLAS_WORKSPACE_CONFIG=:16:8 .*do not see it' <<< "$output"
    grep -qE 'OPENBLAS_CORETYPE=Haswell .*workers see it' <<< "$output"
    [[ $output != *HARMLESS* ]]
}
