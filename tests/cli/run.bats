#!/usr/bin/env bats
# Runs: what cannot start says so in one sentence and leaves nothing behind;
# what ran is in the journal. Run from the root: bats tests/cli/run.bats

load runs

GREEN=f32.nn.8x8x8.dense.s1/naive/default

# A file of one case with these lines, in x.yaml.
case_file() {
    { printf 'suite: s\ncases:\n  - name: one\n'; cat; } > x.yaml
}

# bad_file WORDS...: x.yaml is refused by run, with these words.
bad_file() {
    refused run x.yaml --backend naive --out o && says x.yaml "$@"
}

# --- Bad input ---------------------------------------------------------------

@test "an unknown key" {
    case_file <<< $'    sizes: 8\n    sises: 9'
    bad_file x.yaml:5:5: "no key 'sises'" "'sizes'"
}

@test "a wrong word for a mode" {
    case_file <<< $'    sizes: 8\n    modes: [tf23]'
    bad_file x.yaml:5:13: "no mode 'tf23'" "'tf32'"
}

@test "a size that is negative or too large" {
    for size in -8 2147483648 99999999999999999999; do
        case_file <<< "    sizes: [[8, $size, 8]]"
        bad_file x.yaml:4: "$size" 'from 0 to 2147483647'
    done
}

@test "a product that overflows" {
    case_file <<< '    sizes: [[2147483647, 2147483647, 2147483647]]'
    bad_file x.yaml:3 one '2^46'
    case_file <<< $'    sizes: [[1000000, 1000000, 8]]\n    batch: 1048576'
    bad_file '2^46'
}

@test "a problem larger than memory" {
    case_file <<< '    sizes: [[8, 8, 8], [1000000, 1000000, 1000000]]'
    refused run x.yaml --backend naive --out o
    says f32.nn.1000000x1000000x1000000.dense.s1 GiB smaller
    refused run --out o --only \
        f32.nn.1000000x1000000x1000000.dense.s1/naive/default
    says GiB
    refused gemm 1000000 1000000 1000000 --backend naive --out o
    says GiB
}

@test "a large problem that is not selected is in nobody's way" {
    case_file <<< '    sizes: [[8, 8, 8], [1000000, 1000000, 1000000]]'
    ends 0 run x.yaml --backend naive --only "$GREEN" --out o
    same 1 "$(jq 'select(.record == "head") | .planned.problems' \
        o/results.jsonl)"
}

@test "what is not YAML, empty, or has no case" {
    printf 'suite: s\ncases: [a, b\n' > x.yaml
    bad_file 'not YAML'
    head -c 3000 /dev/urandom > x.yaml
    bad_file
    : > x.yaml
    bad_file empty
    printf 'suite: s\ncases: []\n' > x.yaml
    bad_file 'empty list'
    printf 'suite: s\n' > x.yaml
    bad_file "has no 'cases'"
}

@test "a duplicate key" {
    case_file <<< $'    sizes: 8\n    sizes: 9'
    bad_file x.yaml:5:5: 'twice' 'lines 4 and 5'
}

@test "a workspace with its colon, bare or quoted" {
    case_file <<< $'    sizes: 8\n    workspaces: [unset, :16:8]'
    bad_file x.yaml:5:25: 'without the leading colon: "16:8"'
    case_file <<< $'    sizes: 8\n    workspaces: [":16:8"]'
    bad_file x.yaml:5: 'without the leading colon: "16:8"'
}

@test "a requirement that is no check" {
    case_file <<< $'    sizes: 8\n    require: [repeet]'
    bad_file x.yaml:3 "'repeet'" "'repeat'"
}

@test "a case file that is not there" {
    refused run none.yaml --out o
    says none.yaml 'No such file'
}

@test "words of the command line that are wrong" {
    case_file <<< '    sizes: 8'
    refused run --out o
    says 'no case file'
    refused run x.yaml --moed tf32 --out o
    says "no option '--moed'" --mode
    refused run x.yaml --mode tf23 --out o
    says tf23 tf32
    refused run x.yaml --workspace :16:8 --out o
    says 'without'
    refused run x.yaml --workspace 16 --out o
    refused run x.yaml --backend 'No Such' --out o
    says 'No Such'
    refused run x.yaml --repeats 0 --out o
    refused run x.yaml --repeats 1000001 --out o
    refused run x.yaml --inject melt:1 --out o
    says 'bit:REPEAT:ELEMENT:BIT'
    refused run x.yaml --only f32.nn.9x9x9.dense.s1/naive/default --out o
    refused run x.yaml --match 'f64*' --out o
    refused run --only f32.nn.8x8x8.dense.s1/naive/tf23 --out o
    refused rum x.yaml
    says "'run'"
    refused plan x.yaml --mode tf23
    refused report
    refused report o
    refused report x.yaml
}

@test "an id that is cut short gets a clean sentence" {
    for id in f32 f32.nn f32.nn.8x8x8 f32.nn.8x8x8.dense.s1/naive x /; do
        refused run --only "$id" --out o
        says 'no run has the id'
        [ "$(wc -c < stderr)" -lt 300 ]
        [ "$(LC_ALL=C grep -c '[^ -~]' stderr)" -eq 0 ]
    done
}

@test "factors that are no numbers" {
    for factor in nan inf -inf 1e999; do
        refused run --only \
            "f32.nn.8x8x8.alpha=$factor.dense.s1/naive/default" --out o
    done
}

@test "no words, help and version" {
    status=0
    "$GEMMPROOF" > stdout 2> stderr || status=$?
    same 2 "$status"
    for command in run gemm plan report selftest; do
        ends 0 "$command" --help
        grep -q "usage: gemmproof $command" stdout
        grep -q -- --out stdout || [ "$command" = plan ]
    done
    ends 0 --help
    grep -q selftest stdout
    ends 0 --version
    grep -qE '^gemmproof [0-9]+\.[0-9]+\.[0-9]+' stdout
}

# --- Folders -----------------------------------------------------------------

@test "an output folder that cannot be written" {
    echo precious > file
    for folder in file file/below /proc /proc/o /dev/null/o ''; do
        ends 2 run --only "$GREEN" --out "$folder"
        [ ! -s stdout ] && [ "$(wc -l < stderr)" -eq 1 ]
        says 'cannot be written' --out
    done
    same precious "$(cat file)"
    same 'file stderr stdout' "$(names .)"
}

@test "a journal is never written over" {
    ends 0 run --only "$GREEN" --out o
    sha256sum o/* > sums
    ends 2 run --only "f64.nn.8x8x8.dense.s1/naive/default" --out o
    same 1 "$(wc -l < stderr)"
    says o/results.jsonl 'already'
    sha256sum --quiet -c sums
    same "$(wc -l < sums)" "$(names o | wc -w)"
    # Nor is one that was cut in its first line.
    mkdir p
    printf '{"rec' > p/results.jsonl
    ends 2 run --only "$GREEN" --out p
    same '{"rec' "$(cat p/results.jsonl)"
    same results.jsonl "$(names p)"
}

@test "folders are made, and by default named after suite and time" {
    ends 0 run --only "$GREEN" --out a/b/c
    [ -s a/b/c/results.jsonl ]
    ends 0 gemm 8 8 8 --backend naive
    ends 0 gemm 8 8 8 --backend naive
    [[ "$(names out)" =~ ^gemm-[0-9]{8}-[0-9]{6}\ gemm-[0-9]{8}-[-0-9]+$ ]]
}

@test "a report that cannot be written out is not green" {
    status=0
    "$GEMMPROOF" run --only "$GREEN" --out o > /dev/full 2> stderr || status=$?
    same 3 "$status"
}

# --- What ran ----------------------------------------------------------------

@test "smoke is green on naive and openblas" {
    without_gpu
    ends 0 run "$ROOT/cases/smoke.yaml" --out o
    head -n 1 stdout | grep -q '^No GPU was measured'
    same 'naive openblas' "$(runs .backend | sort -u | paste -sd ' ')"
    same pass "$(runs .verdict | sort -u)"
    same "$(jq 'select(.record == "head") | .planned.runs' o/results.jsonl)" \
        "$(runs .id | sort -u | wc -l)"
    for file in results.jsonl report.md report.json junit.xml; do
        [ -s "o/$file" ]
    done
    grep -m 1 -q 'No GPU was measured' o/report.md
    same 0 "$(jq 'select(.record == "end") | .exit' o/results.jsonl)"
}

# Two runs of a plan on a deterministic machine: equal outside of the objects
# that hold time, host and process.
@test "two runs of naive give the same journal" {
    for side in a b; do
        mkdir "$side"
        (cd "$side" && "$GEMMPROOF" run "$ROOT/cases/smoke.yaml" --quiet \
            --backend naive --match '*.31x37x41*' --out o)
        jq -c 'del(.started, .finished, .time)' "$side/o/results.jsonl" \
            > "$side.jsonl"
    done
    [ "$(wc -l < a.jsonl)" -gt 50 ]
    cmp a.jsonl b.jsonl
}

@test "what fails is red, whatever else there is" {
    ends 1 run --only "$GREEN" --out o \
        --only f32.nn.8x8x64.dense.s1/faulty=drop-last-k/default \
        --only f32.nn.8x8x8.dense.s1/nosuch/default
    same 'error fail pass' "$(runs .verdict | sort | paste -sd ' ')"
    grep -q 'planned 3, run 2, pass 1 (observed 0, known 0), fail 1' stdout
    same 1 "$(jq 'select(.record == "end") | .exit' o/results.jsonl)"
}

@test "nothing but skips is not green" {
    ends 3 run --only f32.nn.8x8x8.dense.s1/naive/tf32 --out o
    same 'skip not offered' "$(runs '"\(.verdict) \(.reason)"')"
    grep -q 'Nothing was tested' stdout
}

@test "seconds that no clock holds are refused, not turned into the past" {
    status=0
    "$GEMMPROOF" run --only "$GREEN" --out o --start-timeout \
        9223372036854775807 --execute-timeout 9223372036854775807 \
        > stdout 2> stderr || status=$?
    cat stderr
    [ "$status" -eq 0 ] || [ "$status" -eq 2 ]
}

@test "quiet is quiet" {
    ends 0 run --only "$GREEN" --quiet --out o
    [ ! -s stdout ]
    [ ! -s stderr ]
}

@test "products that sum nothing: beta C to the last bit, and what fails is explained" {
    for id in f16.nn.40x40x0.beta=0.25.dense.s36 \
        f16.nn.5x6x0.beta=9.999999747378752e-06.dense.s1 \
        f16.nn.40x40x0.beta=0.25.dense.s11; do
        ends 0 run --only $id/naive/default/r1 --quiet --out o
        rm -r o
    done
    ends 1 run --only f64.nn.16x16x0.beta=0.3.dense.s1/naive/default/r2 \
        --inject bit:0:7:40 --quiet --out o
    runs .explanation.text | grep -q 'no rule'
}

@test "scalars that FP16 sums must round are no bias of the sums" {
    id=f16.nn.70x70x64.alpha=-0.37.dense.s1/simulated/f16-accumulate/r1
    ends 0 run --only $id --quiet --out o
    runs '.findings[] | select(.check == "band") | .text' |
        grep -q 'alpha or beta is rounded'
}

@test "a factor that is infinite in its type is refused with its line" {
    printf 'suite: s\ncases:\n  - {name: a, sizes: 8, alpha: 1e39}\n' > x.yaml
    refused run x.yaml --backend naive --out o
    says x.yaml:3: 'infinite'
    printf 'suite: s\ncases:\n  - {name: a, sizes: 8, types: f64, alpha: 1e39}\n' \
        > x.yaml
    ends 0 run x.yaml --backend naive --quiet --out o
}
