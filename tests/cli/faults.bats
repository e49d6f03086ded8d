#!/usr/bin/env bats
# The worker `faulty`: each sin is caught by the check that tests/faults.tsv
# names. Run from the root: bats tests/cli/faults.bats

load runs

# table FILE: ci/faults.sh with this table.
table() {
    (cd "$ROOT" && BINDIR="$BIN" FAULTS="$1" ci/faults.sh) 3>&- > told
}

@test "each sin is caught by its check, and no sin raises nothing" {
    table tests/faults.tsv || {
        grep -E '^(MISSED|RAISED)' told
        false
    }
    planted="$(awk -F '\t' '!/^#/ && $2 != "-"' "$ROOT/tests/faults.tsv" |
        wc -l)"
    [ "$planted" -ge 300 ]
    same "$planted/$planted planted faults caught" "$(tail -n 1 told)"
    same "$planted" "$(grep -c '^caught ' told)"
}

@test "a fault that is missed, and a clean run that raises, are told" {
    local run='f32.nn.16x16x16.FAMILY.s1/faulty=SIN/default'
    {
        printf 'tf32-inputs\tfingerprint\tproduct\t%s\n' "$run"
        # Caught, but by another check; not at all; with the right run red.
        printf 'tf32-inputs\tguard\tdense\t%s\n' "$run"
        printf 'none\tbound\tdense\t%s\n' "$run"
        printf 'nan-leak\tbound\tdense\t%s/fault=inputx3\n' "$run"
        printf 'nan-leak\t-\tdense\t%s\n' "$run"
        printf 'none\terror\tdense\t%s\n' "$run"
    } > mine.tsv
    run table "$PWD/mine.tsv"
    cat told
    [ "$status" -eq 1 ]
    same '1/5 planted faults caught' "$(tail -n 1 told)"
    same '0 of 1 clean runs raised nothing' "$(tail -n 2 told | head -n 1)"
    same 'caught MISSED MISSED MISSED RAISED MISSED' \
        "$(head -n 6 told | cut -d ' ' -f 1 | paste -sd ' ')"
    grep -q '^MISSED .*not by guard: verdict fail, .*bound fail' told
    grep -q '^MISSED .*without the fault the run is no pass' told
}

@test "a table of nothing is not green" {
    printf '# nothing\n' > mine.tsv
    run table "$PWD/mine.tsv"
    [ "$status" -eq 1 ]
    same '0/0 planted faults caught' "$(tail -n 1 told)"
}

@test "every sin of the worker has its row" {
    (cd "$ROOT/harness/worker/backends" &&
        sed -nE 's/^ *(\{\.name = |SIN\()"([a-z0-9-]+)".*/\2/p' faulty_*.c) |
        sort > listed
    [ "$(wc -l < listed)" -ge 70 ]
    grep -v '^#' "$ROOT/tests/faults.tsv" | cut -f 1 | sort -u > have
    diff listed have
}

@test "a word that is no sin is answered with the nearest" {
    ends 3 run --only f32.nn.8x8x8.dense.s1/faulty=tf32-input/default --out o
    runs .error.text | grep -qF "did you mean faulty=tf32-inputs?"
}

@test "where the fault is, is said" {
    ends 1 run --only f32.nn.8x8x8.dense.s1/faulty=flip-bit/default --out o
    # Element 32 of 8 x 8 in repeat 7: the flipped one.
    same '{"i":0,"j":4,"batch":0,"repeat":7}' \
        "$(runs '.findings[] | select(.check == "repeat") | .where | tojson')"
    same '[[0,7],[1,1],[0,2]]' "$(runs '.order | tojson')"
    rm -r o
    ends 1 run --only f32.nn.7x5x8.dense.s1/faulty=skip-last/default --out o
    same '6 4' "$(runs '.findings[] | select(.check == "guard") | .where |
        "\(.i) \(.j)"')"
}
