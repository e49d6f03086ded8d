#!/usr/bin/env bats
# What must not be green by omission.

load runs.bash

suite() {
    printf 'suite: s\ncases:\n%s' "$1" > s.yaml
}

@test "a NaN is wrong where no sum can overflow" {
    ends 1 run --out a --only \
        "f16.nn.16x16x16.alpha=1e-06.beta=1.dense.s1/faulty=nan-leak/default"
    ends 1 run --out b --only \
        "f16.nn.16x16x16.alpha=60000.dense.s1/faulty=nan-leak/pedantic"
}

@test "what cannot be compared is not a pass" {
    ends 3 run --out a --only \
        "f64.nn.16x16x16.alpha=1e308.beta=1e308.dense.s1/naive/default"
    jq -es 'map(select(.record == "run")) | .[0].verdict == "error"' \
        a/results.jsonl
}

@test "what a case requires must have been looked at" {
    suite '  - {name: a, sizes: [8], families: exact, require: [workspace]}
'
    ends 3 run s.yaml --backend naive --out a
    jq -es 'map(select(.record == "relation")) | .[0].verdict == "error"' \
        a/results.jsonl
    grep -q 'case a requires workspace' stdout
    suite '  - {name: a, sizes: [8], repeats: 1, require: [repeat]}
'
    ends 3 run s.yaml --backend naive --out b
    suite '  - {name: a, sizes: [8], repeats: 2, require: [repeat]}
'
    ends 0 run s.yaml --backend naive --out c
}

@test "a required relation that differs is a failure" {
    suite '  - name: a
    sizes: [[64, 64, 4096]]
    workspaces: [unset, "0:0"]
    repeats: 2
'
    ends 0 run s.yaml --backend simulated --out a
    suite '  - name: a
    sizes: [[64, 64, 4096]]
    workspaces: [unset, "0:0"]
    repeats: 2
    require: [workspace]
'
    ends 1 run s.yaml --backend simulated --out b
}

@test "a type of which nothing was tested is not green" {
    suite '  - {name: a, sizes: [8], types: f32}
  - {name: b, sizes: [64], types: f64}
'
    ends 0 run s.yaml --backend naive --out a
    ends 3 run s.yaml --backend naive --max-flops 1e5 --out b
}

@test "two runs in one journal are refused" {
    ends 1 run --out red --only f32.nn.8x8x8.dense.s1/faulty=drop-last-k/default
    ends 0 run --out green --only f32.nn.8x8x8.dense.s1/naive/default
    cat red/results.jsonl green/results.jsonl > both.jsonl
    ends 2 report both.jsonl
    says 'second head'
}

# A worker of the protocol that says everything twice.
@test "a worker that speaks unasked is lost" {
    mkdir bin
    cp "$BIN"/gemmproof bin/
    cat > bin/gemmproof-worker-echo <<EOF
#!/bin/bash
"$BIN/gemmproof-worker-naive" | while IFS= read -r line; do
    printf '%s\n%s\n' "\$line" "\$line"
done
EOF
    chmod +x bin/gemmproof-worker-echo
    # shellcheck disable=SC2034 # for ends
    GEMMPROOF=bin/gemmproof
    ends 3 gemm 8 8 8 f64 --backend echo --mode default,pedantic --out a
    jq -es 'map(select(.record == "run")) | all(.verdict == "error")' \
        a/results.jsonl
}

@test "a bound that allows anything is observed, and no error" {
    ends 0 run --out a --only \
        f16.nn.8x8x65536.dense.s1/simulated/f16-accumulate
    jq -es 'map(select(.record == "run")) | .[0].flags == ["observed"]' \
        a/results.jsonl
}
