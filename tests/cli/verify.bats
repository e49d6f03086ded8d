#!/usr/bin/env bats
# The targets of make and the scripts behind them.
# Run from the root: GEMMPROOF=build/bin/gemmproof bats tests/cli/verify.bats
# shellcheck disable=SC2016 # the $0 and $@ are of the stubs

setup() {
    bin="$(dirname "$(realpath "${GEMMPROOF:-build/bin/gemmproof}")")"
    root="$PWD"
    out="$BATS_TEST_TMPDIR/out"
    stub="$BATS_TEST_TMPDIR/stub"
    mkdir "$stub"
    # The flags and knobs of a make above are not this one's.
    unset MAKEFLAGS MFLAGS BACKEND SUITE CUDA CUDA_HOME NVCC
}

# verify [VARIABLE=VALUE...]: ci/verify.sh with these; stdout and stderr kept.
verify() {
    status=0
    env BINDIR="$bin" OUTDIR="$out" "$@" "$root/ci/verify.sh" \
        > "$BATS_TEST_TMPDIR/stdout" 2> "$BATS_TEST_TMPDIR/stderr" ||
        status=$?
    cat "$BATS_TEST_TMPDIR/stdout" "$BATS_TEST_TMPDIR/stderr"
}

on_cpu_only() {
    if compgen -G '/dev/nvidia*' > /dev/null ||
        grep -qs 0x10de /sys/bus/pci/devices/*/vendor; then
        skip "this machine shows an NVIDIA device"
    fi
    unset GEMMPROOF_REQUIRE_GPU
}

# A program that writes down how it was called, before the real ones in PATH.
stub() {
    printf '#!/bin/bash\n%s\n' "$2" > "$stub/$1"
    chmod +x "$stub/$1"
}

@test "make help names every target and knob" {
    run make help
    [ "$status" -eq 0 ]
    for word in setup setup-dev verify faults false-alarms check CUDA_HOME NVCC CUDA BUILDDIR \
        DEBUG VERBOSE PREFIX DESTDIR SANITIZE WERROR SUITE BACKEND SEEDS \
        SMOKE_SEEDS; do
        [ "$(grep -cE "^ +$word  " <<< "$output")" -eq 1 ]
    done
    # One line each, and none wider than a terminal.
    [ "$(awk 'length > 80' <<< "$output" | wc -l)" -eq 0 ]
}

@test "CUDA=1 without a toolkit says what is missing" {
    run make help CUDA=1 CUDA_HOME=/nonexistent NVCC=
    [ "$status" -ne 0 ]
    [[ $output == *nvcc* ]]
    [[ $output == *cublas_v2.h* ]]
    [[ $output == *CUDA_HOME=/nonexistent* ]]
}

@test "CUDA=0 needs no toolkit" {
    run make help CUDA=0 CUDA_HOME=/nonexistent NVCC=
    [ "$status" -eq 0 ]
}

@test "a knob that is on or off takes 0 or 1" {
    for knob in CUDA DEBUG VERBOSE SANITIZE WERROR; do
        for value in 2 yes '0 1' ''; do
            run make help "$knob=$value"
            [ "$status" -ne 0 ]
            [[ $output == *"$knob=$value: the knob takes 0 or 1"* ]]
        done
    done
    run make help DEBUG=1 VERBOSE=1 SANITIZE=1 WERROR=1 CUDA=0
    [ "$status" -eq 0 ]
}

@test "the knobs of verify reach it whole" {
    # The real recipe, with another script in its place.
    mkdir -p "$BATS_TEST_TMPDIR/tree/ci"
    cp Makefile VERSION "$BATS_TEST_TMPDIR/tree"
    cd "$BATS_TEST_TMPDIR/tree"
    printf '#!/bin/bash\nprintf "%%s|" "$BINDIR" "$BACKEND" "$SUITE"\n' \
        > ci/verify.sh
    chmod +x ci/verify.sh
    run make --no-print-directory verify -o all CUDA=0 BUILDDIR=there \
        BACKEND=naive,openblas SUITE="my own 'suite'.yaml"
    [ "$status" -eq 0 ]
    [ "$output" = "there/bin|naive,openblas|my own 'suite'.yaml|" ]
}

@test "verify without a GPU is green, and every report says so first" {
    on_cpu_only
    verify
    [ "$status" -eq 0 ]
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/stdout")" = \
        "selftest: 17 of 17 planted faults caught" ]
    sed -n 2p "$BATS_TEST_TMPDIR/stdout" | grep -q '^No GPU was measured'
    grep -qF "$out/run" "$BATS_TEST_TMPDIR/stderr"
    head -n 1 "$out/run/report.md" | grep -q 'No GPU was measured'
    jq -er .measured "$out/run/report.json" | grep -q '^No GPU was measured'
    sed -n 2p "$out/run/junit.xml" | grep -q 'No GPU was measured'
    xmllint --noout "$out/run/junit.xml"
}

@test "verify takes another suite" {
    on_cpu_only
    printf 'suite: mine\ncases: [{name: one, sizes: 8}]\n' \
        > "$BATS_TEST_TMPDIR/my own.yaml"
    verify SUITE="$BATS_TEST_TMPDIR/my own.yaml"
    [ "$status" -eq 0 ]
    [ "$(head -n 1 "$out/run/results.jsonl" | jq -r .suite)" = mine ]
}

@test "verify of cuBLAS takes the default suite" {
    # The plain worker in the place of cublas; the suite itself is not run.
    mkdir "$BATS_TEST_TMPDIR/bin"
    cp "$bin/gemmproof" "$BATS_TEST_TMPDIR/bin"
    cp "$bin/gemmproof-worker-naive" \
        "$BATS_TEST_TMPDIR/bin/gemmproof-worker-cublas"
    stub gemmproof "[ \$1 = run ] || exec $BATS_TEST_TMPDIR/bin/gemmproof \"\$@\"
        echo \"\$@\"
        exit 1"
    verify BINDIR="$stub" BACKEND=cublas
    [ "$status" -eq 1 ]
    grep -q '^run cases/default.yaml --backend cublas ' \
        "$BATS_TEST_TMPDIR/stdout"
}

@test "verify exits with the status of the run" {
    verify BACKEND=naive SUITE=/nonexistent.yaml
    [ "$status" -eq 2 ]
    [ -e "$out/selftest/results.jsonl" ]
    [ ! -e "$out/run" ]
}

@test "verify exits 3 where planted faults are not caught" {
    verify BACKEND=faulty=die-hello
    [ "$status" -eq 3 ]
    grep -q '^MISSED: a bit in the first element' "$BATS_TEST_TMPDIR/stdout"
    grep -q '0 of 9 planted faults caught' "$BATS_TEST_TMPDIR/stdout"
    [ ! -e "$out/run" ]
}

@test "verify exits 2 for a word that is no backend" {
    verify BACKEND='no backend'
    [ "$status" -eq 2 ]
    grep -q 'no backend' "$BATS_TEST_TMPDIR/stderr"
}

@test "a backend that is not there gets one sentence" {
    verify BACKEND=cubals
    [ "$status" -eq 3 ]
    [ ! -s "$BATS_TEST_TMPDIR/stdout" ]
    [ "$(wc -l < "$BATS_TEST_TMPDIR/stderr")" -eq 1 ]
    grep -qE '^verify: there is no worker .*/gemmproof-worker-cubals .*build it,' \
        "$BATS_TEST_TMPDIR/stderr"
    [ ! -e "$out/run" ]
}

# worker NAME SED: the plain worker, whose requests go through sed on their way.
worker() {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    cp -n "$bin/gemmproof" "$bin/gemmproof-worker-naive" "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/bash\nsed -u "%s" | "${0%%/*}/gemmproof-worker-naive"\n' \
        "$2" > "$BATS_TEST_TMPDIR/bin/gemmproof-worker-$1"
    chmod +x "$BATS_TEST_TMPDIR/bin/gemmproof-worker-$1"
}

@test "a planted fault that is found elsewhere is missed" {
    worker plain ''
    verify BINDIR="$BATS_TEST_TMPDIR/bin" BACKEND=plain \
        SUITE=/nonexistent.yaml
    [ "$status" -eq 2 ]
    grep -q '9 of 9 planted faults caught' "$BATS_TEST_TMPDIR/stdout"
    # At another repeat; in another element; of another batch; another input;
    # another byte of the guard.
    worker repeat 's/bit:3:0:/bit:4:0:/'
    worker element 's/bit:5:4094:/bit:5:4093:/'
    worker batch 's/bit:7:2546:/bit:7:500:/'
    worker input 's/input:77/input:76/'
    worker guard 's/guard:5/guard:6/'
    worker order 's/variant:6/variant:5/'
    for name in repeat element batch input guard order; do
        rm -rf "$out"
        verify BINDIR="$BATS_TEST_TMPDIR/bin" BACKEND="$name"
        [ "$status" -eq 3 ]
        grep -q '8 of 9 planted faults caught' "$BATS_TEST_TMPDIR/stdout"
        [ "$(grep -c '^MISSED' "$BATS_TEST_TMPDIR/stdout")" -eq 1 ]
        [ ! -e "$out/run" ]
    done
}

@test "verify of cuBLAS without a GPU is not green" {
    on_cpu_only
    verify BACKEND=cublas
    [ "$status" -eq 3 ]
    [ ! -e "$out/run" ]
}

@test "a machine that must have a GPU is not verified on its CPU" {
    on_cpu_only
    verify GEMMPROOF_REQUIRE_GPU=1
    [ "$status" -eq 3 ]
    [ ! -e "$out/run" ]
}

@test "setup is quiet and calls no apt-get when nothing is missing" {
    command -v dpkg-query > /dev/null || skip "this is no Debian"
    stub apt-get 'echo "$@" >> "$0.called"; exit 1'
    stub sudo 'echo "$@" >> "$0.called"; exit 1'
    PATH="$stub:$PATH" run ci/setup.sh run
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [ ! -e "$stub/apt-get.called" ]
    [ ! -e "$stub/sudo.called" ]
}

@test "setup installs what is missing, and nothing of CUDA" {
    stub dpkg-query 'exit 1'
    stub apt-cache 'exit 0'
    stub apt-get 'echo "$DEBIAN_FRONTEND $*" >> "$0.called"'
    stub sudo 'exec "$@"'
    PATH="$stub:$PATH" run ci/setup.sh run
    [ "$status" -eq 0 ]
    [ "$(wc -l < "$stub/apt-get.called")" -eq 2 ]
    sed -n 1p "$stub/apt-get.called" | grep -q '^noninteractive .*update$'
    sed -n 2p "$stub/apt-get.called" |
        grep -q '^noninteractive .*install --no-install-recommends gcc '
    sed -n 2p "$stub/apt-get.called" | grep -q ' clang-format-14$'
    run grep -qiE 'cuda|nvidia|gnuplot|valgrind' "$stub/apt-get.called"
    [ "$status" -eq 1 ]
}

@test "setup fails with the output of apt-get" {
    stub dpkg-query 'exit 1'
    stub apt-get 'echo "E: no network"; exit 100'
    stub sudo 'exec "$@"'
    PATH="$stub:$PATH" run ci/setup.sh run
    [ "$status" -eq 1 ]
    [[ $output == *"E: no network"* ]]
}

@test "setup without apt-get names the packages in one sentence" {
    ln -s "$(command -v bash)" "$(command -v env)" "$stub"
    PATH="$stub" run ci/setup.sh run
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ $output == *libjansson-dev*clang-format-14* ]]
}

@test "setup takes run or dev" {
    run ci/setup.sh everything
    [ "$status" -eq 2 ]
    [[ $output == usage:* ]]
}

# --- What the documents say ---------------------------------------------------

@test "the README's case file loads" {
    sed -n '/^    suite: deep-k/,/^[^ ]/s/^    //p' README.md \
        > "$BATS_TEST_TMPDIR/deep-k.yaml"
    "$bin/gemmproof" plan "$BATS_TEST_TMPDIR/deep-k.yaml" --backend cublas \
        > "$BATS_TEST_TMPDIR/ids"
    grep -qxF 'f32.tn.8x8x65536.dense.s1/cublas/pedantic/ws=16x8/r100' \
        "$BATS_TEST_TMPDIR/ids"
}

@test "the worker of docs/protocol.md works as described" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    cp "$bin/gemmproof" "$bin/gemmproof-worker-naive" "$BATS_TEST_TMPDIR/bin"
    sed -n '/^```python$/,/^```$/p' docs/protocol.md | sed '1d;$d' \
        > "$BATS_TEST_TMPDIR/bin/gemmproof-worker-plain"
    chmod +x "$BATS_TEST_TMPDIR/bin/gemmproof-worker-plain"
    run "$BATS_TEST_TMPDIR/bin/gemmproof" gemm 17 13 31 f64 \
        --backend plain,naive --out "$out" --quiet
    cat "$out/workers.log"
    [ "$status" -eq 0 ]
    # The same sums in the same order: the same digests, pair by pair.
    jq -r 'select(.record == "run") | "\(.problem) \(.digests)"' \
        "$out/results.jsonl" | sort | uniq -c > "$BATS_TEST_TMPDIR/digests"
    cat "$BATS_TEST_TMPDIR/digests"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/digests")" -eq 2 ]
    [ "$(awk '$1 == 2' "$BATS_TEST_TMPDIR/digests" | wc -l)" -eq 2 ]
}
