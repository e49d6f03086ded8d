#!/usr/bin/env bats
# make bundle: what it packs runs elsewhere.
# Run from the root: GEMMPROOF=build/bin/gemmproof bats tests/cli/bundle.bats

# Packed once, from the programs as they were built.
setup_file() {
    gemmproof="$(realpath "${GEMMPROOF:-build/bin/gemmproof}")"
    workers=()
    for worker in naive openblas simulated faulty cublas; do
        [ ! -e "$gemmproof-worker-$worker" ] ||
            workers+=("$gemmproof-worker-$worker")
    done
    BUILDDIR="$BATS_FILE_TMPDIR/build" VERSION=1.2.3 \
        ci/bundle.sh "$gemmproof" "${workers[@]}" > "$BATS_FILE_TMPDIR/said"
    mkdir "$BATS_FILE_TMPDIR/elsewhere"
    tar -C "$BATS_FILE_TMPDIR/elsewhere" -xzf "$(cat "$BATS_FILE_TMPDIR/said")"
}

setup() {
    root="$PWD"
    packed="$(cat "$BATS_FILE_TMPDIR/said")"
    cd "$BATS_FILE_TMPDIR"/elsewhere/gemmproof-1.2.3-linux-*
}

# Without the source tree, where this system lets us hide it, and without our
# environment.
alone() {
    if unshare -rm true 2> /dev/null; then
        # shellcheck disable=SC2016 # they are the inner shell's
        run env -i PATH="$PATH" HOME="$HOME" "TMPDIR=$BATS_TEST_TMPDIR" \
            unshare -rm bash -c '
                mount -t tmpfs none "$1" || exit 99
                shift
                exec "$@"
            ' - "$root" "$@"
        [ "$status" -eq 99 ] || return 0
    fi
    run env -i PATH="$PATH" HOME="$HOME" "$@"
}

@test "its name says what it is for, and it is packed alike every time" {
    [ "$(basename "$packed")" = "gemmproof-1.2.3-linux-$(uname -m).tar.gz" ]
    # Nothing else is left behind.
    [ "$(find "$BATS_FILE_TMPDIR/build" -mindepth 1)" = "$packed" ]
    cd "$root"
    again="$BATS_TEST_TMPDIR/again"
    run env BUILDDIR="$again" VERSION=1.2.3 ci/bundle.sh \
        "$BATS_FILE_TMPDIR"/elsewhere/*/bin/gemmproof*
    [ "$status" -eq 0 ]
    cmp "$packed" "$output"
}

@test "it has the program, its workers, cases and what they need" {
    for file in bin/gemmproof bin/gemmproof-worker-naive \
        bin/gemmproof-worker-openblas cases/smoke.yaml cases/default.yaml \
        run.sh ci/verify.sh lib/libopenblas.so.0; do
        [ -s "$file" ]
    done
    for file in README.md LICENSE VERSION; do
        [ ! -e "$root/$file" ] || cmp "$root/$file" "$file"
    done
    if ldd bin/gemmproof | grep -q libasan; then
        skip "the libraries of a sanitizer are not packed"
    fi
    # What is linked is glibc, or carried, or of the compiler and on every
    # system; CUDA is loaded when it runs.
    for program in bin/*; do
        for library in $(LD_TRACE_LOADED_OBJECTS=1 "$program" |
            awk '$2 == "=>" { print $1 }'); do
            [ -e "lib/$library" ] || [[ $library =~ \
                ^lib(c|m|dl|rt|pthread|gcc_s)\.so ]]
        done
    done
}

@test "the program runs elsewhere" {
    alone bin/gemmproof --version
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == gemmproof* ]]
    alone bin/gemmproof list
    [ "$status" -eq 0 ]
    [ "$(wc -l <<< "$output")" -gt 20 ]
    alone bin/gemmproof doctor --backend naive,openblas
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "the smoke suite runs elsewhere, on naive and openblas" {
    alone bin/gemmproof run cases/smoke.yaml --backend naive,openblas \
        --out "$BATS_TEST_TMPDIR/out" --quiet
    echo "$output"
    [ "$status" -eq 0 ]
    grep -q '"verdict":"pass"' "$BATS_TEST_TMPDIR/out/results.jsonl"
}

@test "run.sh verifies, and passes words on" {
    alone ./run.sh --version
    [ "$status" -eq 0 ]
    [[ $output == gemmproof* ]]
    alone env BACKEND=naive OUTDIR="$BATS_TEST_TMPDIR/out" \
        SUITE=cases/smoke.yaml ./run.sh
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"planted faults caught"* ]]
    [ -s "$BATS_TEST_TMPDIR/out/run/report.md" ]
    # From any folder, and relative words are of that folder.
    here="$PWD"
    cd "$BATS_TEST_TMPDIR"
    cp "$here/cases/smoke.yaml" mine.yaml
    run "$here/run.sh" plan mine.yaml --backend naive
    [ "$status" -eq 0 ]
}

@test "the OpenBLAS in lib/ is used only where there is none" {
    if ldd bin/gemmproof | grep -q libasan; then
        skip "AddressSanitizer wants to be loaded first"
    fi
    run ./run.sh --version
    [[ $output != *"no OpenBLAS"* ]]
    # Without the system's: a loader that is told to look in lib/ alone does
    # with it, and every library that is carried is found there.
    run env LD_LIBRARY_PATH="$PWD/lib" LD_TRACE_LOADED_OBJECTS=1 bin/gemmproof
    for library in lib/*.so*; do
        grep -qF "=> $PWD/$library" <<< "$output"
    done
    unshare -rm true 2> /dev/null || skip "no mount namespaces here"
    system="$(LD_TRACE_LOADED_OBJECTS=1 bin/gemmproof |
        awk '/libopenblas/ { print $3 }')"
    # shellcheck disable=SC2016 # they are the inner shell's
    run unshare -rm bash -c '
        mount -t tmpfs none "$(dirname "$(realpath "$1")")" &&
        ./run.sh doctor --backend openblas
    ' - "$system"
    echo "$output"
    [[ $output == *"the one in lib/ is used"* ]]
    [ "$status" -eq 0 ]
}

@test "no file knows the machine it was built on" {
    for word in "$root" "$BATS_FILE_TMPDIR" "$(hostname)"; do
        [ "${#word}" -gt 3 ] || continue
        run grep -rlF --include='*.sh' --include='*.yaml' --include='*.md' \
            -e "$word" .
        [ -z "$output" ]
    done
    for program in bin/*; do
        run grep -cF -e "$root" "$program"
        [ "$output" = 0 ]
    done
}
