#!/usr/bin/env bats
# Known faults: listed ones are no news, others and those that are gone are.
# Run from the root: GEMMPROOF=build/bin/gemmproof bats tests/cli/known.bats

setup() {
    GEMMPROOF="$(realpath "${GEMMPROOF:-build/bin/gemmproof}")"
    CASES="$(realpath cases)"
    cd "$BATS_TEST_TMPDIR"
    # drop-last-k gets all 15 elements of this one wrong, so far that `bound`
    # sees it too.
    printf 'suite: s\ncases: [{name: one, sizes: [[3, 5, 7]], families: ' \
        > x.yaml
    printf 'exact, repeats: 2}]\n' >> x.yaml
}

# entry CHECK VERDICT WORST [MORE]: one known fault.
entry() {
    printf '  - runs: "f32.*/faulty=*"\n    check: %s\n' "$1"
    printf '    verdict: %s\n    worst: %s\n' "$2" "$3"
    printf '    reason: the last k is lost\n%s' "${4:+    $4$'\n'}"
}

# list FILE VERDICT WORST [MORE]: both checks that see drop-last-k.
list() {
    local file="$1" verdict="$2" worst="$3" more="${4:-}"
    {
        echo known:
        entry exact "$verdict" "$worst" "$more"
        entry bound "$verdict" 1e30 "$more"
    } > "$file"
}

# verdict SIN STATUS OPTIONS...: the suite on this sinner; its journal is j,
# its first line first.
verdict() {
    local sin="$1" wanted="$2" status=0
    shift 2
    rm -rf o
    "$GEMMPROOF" run x.yaml --backend "faulty=$sin" --out o "$@" \
        > out 2> err || status=$?
    cat out err
    [ "$status" -eq "$wanted" ]
    grep -o 'pass [0-9]* (observed [0-9]*, known [0-9]*), fail [0-9]*' out |
        head -n 1 > first
}

# refused PLACE WORDS...: status 2, one line on stderr, nothing was run.
refused() {
    local place="$1" status=0
    shift
    "$GEMMPROOF" run x.yaml --backend naive --known k.yaml --out o > out \
        2> err || status=$?
    cat err
    [ "$status" -eq 2 ]
    [ "$(wc -l < err)" -eq 1 ]
    [ ! -s out ]
    [ ! -e o ]
    grep -qF -- "$place" err
    for words in "$@"; do
        grep -qF -- "$words" err
    done
}

@test "a known fault is run, counted and green" {
    list k.yaml fail 15
    verdict drop-last-k 0 --known k.yaml
    [ "$(cat first)" = "pass 1 (observed 0, known 1), fail 0" ]
    [ "$(head -n 1 o/results.jsonl | jq -r .known)" = k.yaml ]
    jq -es '.[] | select(.record == "run") | .verdict == "pass" and
        .flags == ["known"] and ([.findings[] | select(.flags == ["known"]) |
        .text | endswith("[known: the last k is lost]")] == [true, true])' \
        o/results.jsonl
}

@test "without the list it is a fail" {
    list known.yaml fail 15
    verdict drop-last-k 1 --no-known
    [ "$(cat first)" = "pass 0 (observed 0, known 0), fail 1" ]
    [ "$(head -n 1 o/results.jsonl | jq -r .known)" = "" ]
}

@test "a list beside the case file is taken" {
    list known.yaml fail 15
    verdict drop-last-k 0
    [ "$(head -n 1 o/results.jsonl | jq -r .known)" = known.yaml ]
    mkdir d
    mv x.yaml known.yaml d
    cp d/x.yaml .
    verdict drop-last-k 1
    "$GEMMPROOF" run d/x.yaml --backend faulty=drop-last-k --out p
    [ "$(head -n 1 p/results.jsonl | jq -r .known)" = d/known.yaml ]
}

@test "a list installed with the program is taken where there is no other" {
    mkdir -p bin share/gemmproof/cases other
    cp "$GEMMPROOF" "$(dirname "$GEMMPROOF")/gemmproof-worker-faulty" bin
    list share/gemmproof/cases/known.yaml fail 15
    GEMMPROOF="$PWD/bin/gemmproof"
    verdict drop-last-k 0
    verdict drop-last-k 1 --no-known
    printf 'known: []\n' > known.yaml
    verdict drop-last-k 1
}

@test "worse than listed is a fail" {
    list k.yaml fail 14
    verdict drop-last-k 1 --known k.yaml
    grep -qF 'worse than listed (15 > 14): the last k is lost' o/results.jsonl
}

@test "a fault that is gone is a fail with a sentence" {
    list k.yaml fail 15
    verdict none 1 --known k.yaml
    [ "$(cat first)" = "pass 0 (observed 0, known 0), fail 1" ]
    grep -qF 'listed as failing (the last k is lost) and does not fail any' \
        out
}

@test "a flaky fault may be either" {
    list k.yaml flaky 15
    verdict drop-last-k 0 --known k.yaml
    [ "$(cat first)" = "pass 1 (observed 0, known 1), fail 0" ]
    verdict none 0 --known k.yaml
    [ "$(cat first)" = "pass 1 (observed 0, known 0), fail 0" ]
    list k.yaml flaky 14
    verdict drop-last-k 1 --known k.yaml
}

@test "a list is for one device" {
    list k.yaml fail 15 'gpu: "NVIDIA H200*"'
    verdict drop-last-k 1 --known k.yaml
    list k.yaml fail 15 'gpu: C?U'
    verdict drop-last-k 0 --known k.yaml
}

@test "planted faults are never known" {
    {
        echo known:
        for check in repeat exact bound guard; do
            entry "$check" flaky 1e30 | sed 's/runs: .*/runs: "*"/'
        done
    } > k.yaml
    verdict none 1 --known k.yaml --inject bit:1:0:0
    "$GEMMPROOF" selftest --backend naive --known k.yaml --out s
}

@test "entries that match no run are said once, and are no error" {
    list k.yaml fail 15
    verdict drop-last-k 0 --known k.yaml
    [ "$(grep -c 'note:' err)" -eq 0 ]
    entry exact fail 1 | sed 's/f32/f64/' >> k.yaml
    verdict drop-last-k 0 --known k.yaml
    [ "$(grep -c 'note:' err)" -eq 1 ]
    grep -qF 'note: 1 of 3 known faults match no run' err
    grep -qF 'k.yaml:12: f64.*' err
}

@test "the list of the tree is read" {
    "$GEMMPROOF" run x.yaml --backend naive --known "$CASES/known.yaml" \
        --out o
}

@test "an empty list is a list" {
    printf 'known: []\n' > k.yaml
    verdict drop-last-k 1 --known k.yaml
    verdict none 0 --known k.yaml
}

@test "--known and --no-known exclude each other" {
    printf 'known: []\n' > k.yaml
    verdict none 2 --known k.yaml --no-known
    grep -q 'exclude each other' err
}

@test "keys that are unknown, twice or missing" {
    printf 'knwon: []\n' > k.yaml
    refused k.yaml:1:1: "no key 'knwon'" "'known'?"
    list k.yaml fail 15 'libary: ..13'
    refused k.yaml:7:5: "no key 'libary' in a known fault" "'library'?"
    list k.yaml fail 15 'worst: 12'
    refused k.yaml:7:5: "'worst' stands twice" 'lines 5 and 7'
    for key in runs check verdict worst reason; do
        {
            printf 'known:\n  - {gpu: CPU'
            for pair in 'runs: "*"' 'check: exact' 'verdict: fail' \
                'worst: 1' 'reason: x'; do
                [ "${pair%%:*}" = "$key" ] || printf ', %s' "$pair"
            done
            echo '}'
        } > k.yaml
        refused k.yaml:2:5: "a known fault has no '$key'"
    done
}

@test "wrong words get the nearest one" {
    printf 'known:\n' > k.yaml
    entry exakt fail 1 >> k.yaml
    refused k.yaml:3:12: "no check 'exakt'" "'exact'?"
    list k.yaml failing 1
    refused k.yaml:4:14: "no verdict 'failing'" "'fail'?"
    printf 'known:\n' > k.yaml
    entry workspace fail 1 >> k.yaml
    refused k.yaml:3:12: "no check 'workspace'"
}

@test "values that cannot be" {
    for worst in nan inf 1e999 -1 many; do
        list k.yaml fail "$worst"
        refused k.yaml:5:12: "'worst' is '$worst'"
    done
    for range in 13.1 .. 13..x a..b ..13. 13.1...13.2 13.2..13.1; do
        list k.yaml fail 1 "library: $range"
        refused k.yaml:7:14: "'library' is '$range'"
    done
    list k.yaml fail 1
    sed -i 's/^  - runs: .*/  - runs: "*ws=16:8*"/' k.yaml
    refused k.yaml:2:11: "':' stands in no id"
    list k.yaml fail 1
    sed -i 's/reason: .*/reason: " "/' k.yaml
    refused k.yaml:6:13: "'reason' is one sentence"
    list k.yaml fail 1 'gpu: Ä'
    refused k.yaml:7:10: "'gpu' is 'Ä'"
}

@test "files that are none" {
    refused k.yaml: 'cannot be read' 'a list of known faults'
    mkdir k.yaml
    refused k.yaml: 'it is a folder'
    rmdir k.yaml
    : > k.yaml
    refused k.yaml:1:1: empty 'known: []'
    printf 'known:\n' > k.yaml
    refused k.yaml:1:7: "'known' takes a list of known faults"
    printf 'known: [a, b\nx: y\n' > k.yaml
    refused k.yaml:2: 'not YAML'
    printf 'known: [a]\n' > k.yaml
    refused k.yaml:1:9: 'a known fault is a map' 'not a single value'
    {
        echo known:
        for _ in {1..1001}; do entry exact fail 1; done
    } > k.yaml
    refused k.yaml:5002:5: 'more than 1000 known faults'
}
