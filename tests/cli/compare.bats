#!/usr/bin/env bats
# compare: two journals, or two settings of one.
load runs

deep() {
    cat > x.yaml <<'Y'
suite: deep
cases:
  - name: deep
    sizes: [[8, 8, 65536], [8, 8, 64]]
    types: [f32, f16]
    families: [dense]
    modes: [default, tf32]
    workspaces: [unset, "0:0"]
    repeats: 2
Y
}

# Ids of NEW whose digests differ from those of the run of OLD that it stands
# for: by jq, which knows nothing of ours.
differ() { # journal, old workspace, new workspace
    jq -rn --arg old "$2" --arg new "$3" '
        [inputs | select(.record == "run")] as $runs
        | ($runs | map(select(.workspace == $old)
            | {key: ([.problem, .backend, .entry, .mode, .env, .schedule,
                      .repeats, .fault] | tostring), value: .digests})
           | from_entries) as $before
        | $runs[] | select(.workspace == $new)
        | ([.problem, .backend, .entry, .mode, .env, .schedule, .repeats,
            .fault] | tostring) as $key
        | select($before[$key] and ($before[$key] | length) > 0
                 and (.digests | length) > 0
                 and ($before[$key] | sort) != (.digests | sort))
        | .id' "$1" | sort
}

@test "two settings of one journal" {
    deep
    ends 0 run x.yaml --backend simulated --quiet --out o
    differ o/results.jsonl unset 0:0 > want
    [ -s want ]
    ends 0 compare o o --old workspace=unset --new workspace=0:0 \
        --format json
    jq -r '.pairs[] | select(.changes | contains("bits changed"))
        | .new.id' stdout | sort > seen
    diff want seen
    same "$(wc -l < want)" "$(jq .counts.bits stdout)"
    ends 1 compare o o --old workspace=unset --new workspace=0:0 \
        --fail-on bits
    ends 0 compare o o --fail-on bits
    grep -q 'bits changed 0' stdout
}

@test "the runs of a real H200 whose bits 4096:8 changes" {
    if ldd "$GEMMPROOF" | grep -q libasan; then
        skip "jq and a sanitizer take long over 37325 runs"
    fi
    gzip -dc "$ROOT/reports/samples/h200-cublas13.1/results.jsonl.gz" > j
    differ j unset 4096:8 > want
    [ -s want ]
    ends 0 compare j j --old workspace=unset --new workspace=4096:8 \
        --format json
    jq -r '.pairs[] | select(.changes | contains("bits changed"))
        | .new.id' stdout | sort > seen
    diff want seen
}

@test "verdict, accuracy, and what only one of the two has" {
    deep
    ends 0 run x.yaml --backend naive --mode default --workspace unset \
        --quiet --out a
    ends 1 run x.yaml --backend faulty=tf32-inputs --mode default \
        --workspace unset --quiet --out b
    ends 1 compare a b --old backend=naive --new backend=faulty=tf32-inputs \
        --fail-on accuracy
    grep -q 'accuracy worse' stdout
    ends 1 compare a b --old backend=naive --new backend=faulty=tf32-inputs \
        --fail-on verdict
    head -n 3 b/results.jsonl > c
    ends 0 compare b c
    grep -q 'only old [1-9]' stdout
    grep -q '^new: .*STOPPED' stdout
    # Nor is a run that was stopped, even when no run is missing.
    sed '$d' b/results.jsonl > d
    ends 3 compare b d --fail-on verdict
    # What was not compared is no green answer.
    ends 3 compare b c --fail-on verdict
    ends 0 compare b c --format markdown
    grep -q 'only in the old one' stdout
}

@test "what cannot be compared" {
    deep
    ends 0 run x.yaml --backend naive --mode default --workspace unset \
        --quiet --out a
    ends 2 compare a
    says 'compare takes two runs'
    ends 2 compare a nowhere
    says 'cannot be read'
    ends 2 compare a a --old mod=tf32
    says "did you mean 'mode'"
    ends 2 compare a a --old mode=tf32
    says 'no run of the old journal is left'
    ends 2 compare a a --fail-on bit
    says "did you mean 'bits'"
    ends 2 compare a a --format html
    says "no format 'html'"
    ends 0 run x.yaml --backend simulated --mode default --quiet --out o
    ends 2 compare o o --old workspace=unset
    says 'stand for the same run'
}
