#!/usr/bin/env bats
# gemmproof repro: the command, and the program that repeats a run of cuBLAS.
# Run from the root: GEMMPROOF=build/bin/gemmproof bats tests/cli/repro.bats

setup() {
    gemmproof="$(realpath "${GEMMPROOF:-build/bin/gemmproof}")"
    root="$PWD"
    unset MAKEFLAGS MFLAGS FAKE REPRO_STARTED
    cd "$BATS_TEST_TMPDIR"
}

# One id for each thing that a program must do in its own way.
ids=(
    f32.nn.33x31x65.dense.s1/cublas/default/ws=16x8
    f32.tn.33x31x65.ld+3.b3.dense.s7/cublas/pedantic/r3
    f32.nt.33x31x65.row.alpha=0.5.beta=-2.exact.s2/cublas.gemm-ex/tf32
    f32.nn.16x48x64.product.s1/cublas/tf32/env=nvidia_5ftf32_5foverride=1
    f64.tt.33x31x65.row.b2.beta=1.dense.s1/cublas/default
    f16xf32.nn.40x24x96.grid.s1/cublas/default/ws=4096x2x16x8
    f16.tn.40x24x96.row.alpha=2.beta=1.dense.s1/cublas/no-reduced-precision
    f16.nn.40x24x96.exact.s1/cublas/f16-accumulate
    bf16.nt.40x24x96.b2.dense.s1/cublas/default/ws=raw=_61bc
    f32.nn.8x8x64.one-hot.s1/cublas.gemm-ex/pedantic+32f-fast-tf32
    f16.nt.40x24x96.split-finder.s1/cublas/no-reduced-precision
    f32.tn.33x31x65.two-term.s1/cublas/pedantic
)

# Compiling takes long, and a sanitizer changes nothing in a program's text.
not_again() {
    if ldd "$gemmproof" | grep -q libasan; then
        skip "the programs are those of the build without sanitizers"
    fi
}

@test "the command names the run as it is" {
    run "$gemmproof" repro f32.nn.8x8x64.dense.s1/cublas.gemm/default/r10
    [ "$status" -eq 0 ]
    [ "$output" = \
        "gemmproof run --only 'f32.nn.8x8x64.dense.s1/cublas/default'" ]
    run "$gemmproof" repro --cublas "/a/it's" f32.nn.8x8x64.dense.s1/naive/default
    [ "$output" = "gemmproof run --only \
'f32.nn.8x8x64.dense.s1/naive/default' --cublas '/a/it'\\''s'" ]
}

@test "the command that is printed runs that run alone" {
    command="$("$gemmproof" repro f32.nn.8x8x64.exact.s1/naive/default/r3)"
    PATH="$(dirname "$gemmproof"):$PATH" bash -c "$command --out here" \
        > /dev/null 2>&1
    [ "$(grep -c '^{"record":"run"' here/results.jsonl)" -eq 1 ]
    grep -q '"id":"f32.nn.8x8x64.exact.s1/naive/default/r3"' here/results.jsonl
}

@test "what is no id, or no run of cuBLAS, is a sentence and status 2" {
    for words in "nonsense" "" "f32.nn.8x8x64.dense.s1/cublas/nothing" \
        "--c - f32.nn.8x8x64.dense.s1/openblas/default" \
        "--c - f32.nn.8x8x64.dense.s1/cublas/default/fault=bit_781_780_780" \
        "--c /no/such/folder/a.cu f32.nn.8x8x64.dense.s1/cublas/default"; do
        # shellcheck disable=SC2086 # words are words
        run "$gemmproof" repro $words
        [ "$status" -eq 2 ]
        [[ $output == "gemmproof: "* ]]
        [ "$(wc -l <<< "$output")" -eq 1 ]
    done
}

@test "a program has its 20 lines of explanation and its bound" {
    "$gemmproof" repro --c a.cu "${ids[0]}"
    [ "$("$gemmproof" repro --c - "${ids[0]}")" = "$(cat a.cu)" ]
    head -n 1 a.cu | grep -qF '/*'
    [ "$(sed '/\*\//q' a.cu | wc -l)" -ge 18 ]
    sed '/\*\//q' a.cu | grep -qF 'nvcc -o repro repro.cu -lcublas'
    sed '/\*\//q' a.cu | grep -qF "${ids[0]}"
    grep -q 'gp_bound_make' a.cu
    [ "$(awk 'length > 80' a.cu | wc -l)" -eq 0 ]
    # Nothing but CUDA and the C library.
    run grep -hE '^#include' a.cu
    [ "$(grep -c '"' <<< "$output")" -eq 0 ]
}

# The operands of every family and type, by the program's own functions as C
# and as C++, against those that workers get.
@test "the program's operands are the harness's, bit for bit" {
    not_again
    shapes=(nn.33x20x70 tn.20x33x300.ld+1.b2 tt.9x8x70.row)
    tested=0 refused=0
    for family in $("$gemmproof" list families | awk '/^  / { print $1 }'); do
        before=$tested
        for type in f32 f64 f16 bf16 f16xf32 bf16xf32; do
            # Rotate, so that every family meets every shape.
            id="$type.${shapes[tested % 3]}.$family.s3/cublas/default"
            "$gemmproof" repro --operands-digest "$id" > harness 2> why || {
                # A family that this type or shape cannot have.
                grep -q 'no run has the id' why
                continue
            }
            "$gemmproof" repro --c a.cu "$id" 2> why || {
                # It is about values that no program is written for.
                grep -q 'writes no program about NaN' why
                refused=$((refused + 1))
                continue
            }
            gcc -x c -std=c11 -Wall -Wextra -Wpedantic -Werror \
                -Wno-unused-function -DREPRO_DUMP -o as_c a.cu -lm
            ./as_c | diff harness -
            tested=$((tested + 1))
        done
        [ "$tested" -gt "$before" ] || continue
        g++ -x c++ -std=c++17 -Wall -Werror -Wno-unused-function \
            -DREPRO_DUMP -o as_cxx a.cu
        ./as_cxx | diff <(./as_c) -
    done
    # Families of special values, but those that need alpha = 0.
    [ "$refused" -eq 36 ]
    [ "$tested" -ge 66 ]
    # C is made too.
    id=bf16.nt.9x8x70.beta=0.5.dense.s3/cublas/default
    "$gemmproof" repro --operands-digest "$id" > harness
    "$gemmproof" repro --c a.cu "$id"
    gcc -x c -std=c11 -DREPRO_DUMP -o as_c a.cu -lm
    ./as_c | diff harness -
    grep -q '^C ' harness
}

# Without a GPU: the header beside this file stands for CUDA.
fake() {
    mkdir -p include
    for header in cuda_runtime.h cublas_v2.h; do
        echo '#include "tests/cli/fake_cuda.h"' > include/$header
    done
    "$gemmproof" repro --c a.cu "$1"
    g++ -x c++ -std=c++17 -O1 -Iinclude -I"$root" -o fake a.cu
}

@test "a program finds nothing where a product is right" {
    for id in "${ids[@]}"; do
        fake "$id"
        run ./fake
        echo "$id: $output"
        [ "$status" -eq 0 ]
        [[ $output == *"Nothing wrong shows."* ]]
        [[ $output == *"guard: 0 bytes beside D changed, 0 bytes of A"* ]]
        [[ $output == *"0 outside"* ]]
    done
}

@test "a program has the environment of its run" {
    fake "${ids[0]}"
    NVIDIA_TF32_OVERRIDE=0 CUBLAS_LOGINFO_DBG=1 run ./fake
    [[ $output == *"environment: CUBLAS_WORKSPACE_CONFIG=:16:8"* ]]
    fake "${ids[3]}"
    run ./fake
    [[ $output == *"environment: NVIDIA_TF32_OVERRIDE=1"* ]]
    [[ $output != *CUBLAS_WORKSPACE_CONFIG* ]]
    fake "${ids[8]}"
    run ./fake
    [[ $output == *"environment: CUBLAS_WORKSPACE_CONFIG=abc"* ]]
}

@test "a program finds what is wrong, and says where" {
    for id in "${ids[0]}" "${ids[2]}" "${ids[4]}" "${ids[6]}" "${ids[8]}"; do
        fake "$id"
        FAKE=repeat run ./fake
        [ "$status" -eq 1 ]
        [[ $output == *"repeat 1 differs from the first in 1 elements"* ]]
        [[ $output == *"1 of 10 have other bits"* ]]
        FAKE=wrong run ./fake
        [ "$status" -eq 1 ]
        FAKE=guard run ./fake
        [ "$status" -eq 1 ]
        [[ $output == *"guard: 1 bytes beside D"* || \
            $output == *"guard: 2 bytes beside D"* ]]
        FAKE=input run ./fake
        [ "$status" -eq 1 ]
    done
    fake "${ids[2]}"
    FAKE=wrong run ./fake
    [[ $output == *"exact: D(0, 0) of batch 0 is "* ]]
    [[ $output == *"exact: 1 elements are not the only possible result"* ]]
    fake "${ids[3]}"
    FAKE=bf16 run ./fake
    [ "$status" -eq 1 ]
    [[ $output == *"operands rounded to 8 bits, ties to even"* ]]
}

@test "a program prints the digest that the journal has" {
    id=f32.nn.33x31x65.exact.s1
    "$gemmproof" run --only "$id/naive/default" --quiet --out here
    digest="$(grep -o '"digests":\["[0-9a-f]*"' here/results.jsonl |
        grep -oE '[0-9a-f]{32}')"
    fake "$id/cublas/default"
    run ./fake
    [[ $output == *"bits of the first: $digest 1023"* ]]
}

@test "nvcc compiles every program without a warning" {
    nvcc="${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}"
    [ -x "$nvcc" ] || skip "there is no nvcc here"
    not_again
    for i in "${!ids[@]}"; do
        "$gemmproof" repro --c "$i.cu" "${ids[i]}"
    done
    # The command in the program's own words, once.
    cp 0.cu repro.cu
    run "$nvcc" -o repro repro.cu -lcublas
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    run xargs -P 2 -I {} "$nvcc" -c -o {}.o {}.cu < <(seq "$((${#ids[@]} - 1))")
    echo "$output"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}
