#!/usr/bin/env bats
# Reports made again from a journal. Run from the root:
# bats tests/cli/report.bats

load runs

# A run with everything in it, in o: pass, fail, skip, error, a relation.
everything() {
    ends 1 run --out o --only f32.nn.8x8x8.dense.s1/naive/default \
        --only f32.nn.8x8x64.dense.s1/faulty=drop-last-k/default \
        --only f32.nn.8x8x8.dense.s1/naive/tf32 \
        --only f32.nn.8x8x8.dense.s1/nosuch/default
    mv stdout text
}

@test "a report made again has the same bytes" {
    everything
    ends 0 report o
    cmp text stdout
    ends 0 report o/results.jsonl
    cmp text stdout
    mkdir again
    ends 0 report o --out again
    for file in report.md report.json junit.xml; do
        [ -s "o/$file" ]
        cmp "o/$file" "again/$file"
    done
    same 'junit.xml report.json report.md' "$(names again)"
}

@test "a journal that was carried elsewhere gives the same bytes" {
    everything
    mkdir -p far/away
    mv o/results.jsonl far/away/j
    ends 0 report far/away/j
    cmp text stdout
}

@test "every format on standard output" {
    everything
    ends 0 report o --format text
    cmp text stdout
    ends 0 report o --format markdown
    cmp stdout o/report.md
    ends 0 report o --format json
    cmp stdout o/report.json
    ends 0 report o --format junit
    cmp stdout o/junit.xml
    ends 2 report o --format pdf
    says "no format 'pdf'"
}

@test "reports tell what happened" {
    everything
    same 'No GPU was measured' "$(head -c 19 text)"
    grep -q 'planned 4, run 2, pass 1 (observed 0, known 0), fail 1' text
    grep -qF "gemmproof run --only 'f32.nn.8x8x64.dense.s1/faulty=drop-last-k" \
        text
    grep -q 'there is no worker' text
    same '4 2 1 1 1 1' "$(jq -r '.counts |
        "\(.planned) \(.run) \(.pass) \(.fail) \(.skip) \(.error)"' \
        o/report.json)"
    same 1 "$(jq .exit o/report.json)"
    same "$(grep -c '"record":"run"' o/results.jsonl)" \
        "$(jq '.runs | length' o/report.json)"
    grep -q 'tests="4" failures="1" errors="1" skipped="1"' o/junit.xml
    if command -v xmllint > /dev/null; then xmllint --noout o/junit.xml; fi
}

@test "a green run says so" {
    ends 0 run --only f32.nn.8x8x8.dense.s1/naive/default --out o
    grep -q 'Everything that was judged passed: 1 run' stdout
    same 0 "$(jq .exit o/report.json)"
    lacks o/junit.xml '<(failure|error|skipped)'
}

@test "a run that was cut" {
    everything
    head -n 3 o/results.jsonl > j
    ends 0 report j
    grep -q 'STOPPED before its end' stdout
    grep -q 'Not green' stdout
    # In the middle of the fourth line, wherever that lies: the head's
    # length is the machine's.
    { head -n 3 o/results.jsonl; sed -n 4p o/results.jsonl | head -c 40; } > j
    ends 0 report j
    grep -q 'The last line of the journal was cut' stdout
    ends 0 report j --format json
    same 'true true 3' "$(jq -r '"\(.stopped) \(.cut) \(.exit)"' stdout)"
}

@test "what is no journal" {
    everything
    rm -r o/results.jsonl
    ends 2 report o
    says 'cannot be read'
    same 1 "$(wc -l < stderr)"
    echo 'good morning' > j
    ends 2 report j
    says j:1:
    : > j
    ends 2 report j
    ends 2 report o text
    ends 2 report /dev
}

@test "reports that cannot be written" {
    everything
    ends 2 report o --out nowhere/deep
    says nowhere 'cannot be made'
    same 1 "$(wc -l < stderr)"
    [ ! -e nowhere ]
    status=0
    "$GEMMPROOF" report o > /dev/full 2> stderr || status=$?
    [ "$status" -ne 0 ]
}

@test "errors measured over expected, and how probable a false alarm is" {
    cat >k.yaml <<'EOF'
suite: k
about: four sizes of k, and a product with too few results
cases:
  - name: k
    sizes: [[32, 32, 16], [32, 32, 32], [32, 32, 64], [32, 32, 128], [8, 8, 8]]
    types: [f32, f16]
    modes: [default]
    repeats: 1
EOF
    ends 0 run k.yaml --backend simulated --out k
    ends 0 report k
    grep -q '  8 runs judged by statistics: the probability' stdout
    tr '\n' ' ' <stdout | grep -q '2 more could *not *be *judged'
    grep -q 'growth with k: 2 groups of sizes, 0 grow too fast' stdout
    jq -e '(.bands | length == 8 and all(.least > 0.5 and .most < 1.5)) and
        .false_alarm <= 1e-6 and .false_alarm > 0.9e-6' k/report.json
    # No pass in silence.
    [ "$(jq -r 'select(.m == 8) | .findings[] | select(.check == "band") |
        .verdict' k/results.jsonl | sort -u)" = skip ]
}
