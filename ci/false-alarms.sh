#!/usr/bin/env bash
# How often the checks cry wolf: right workers over cases/tiny.yaml and
# kinds.yaml in every mode with SEEDS seeds, and over smoke.yaml with
# SMOKE_SEEDS. Prints the judgements that were made, the false alarms expected
# (the sum of the probabilities that statistical findings state; proved ones
# have none) and those seen, each with its id.
#   BINDIR       where gemmproof and its workers are (build/bin)
#   SEEDS        seeds 1 to SEEDS of tiny and kinds (1000)
#   SMOKE_SEEDS  seeds 1 to SMOKE_SEEDS of smoke (20)
#   BACKENDS     the right workers; smoke leaves sm70 and sm80 out
#   OUTDIR       where the journals go (a temporary folder); one that has an
#                alarm is kept, others are removed
# Exits 1 if an alarm was seen, 3 if a run ended in an error or was not made.
# shellcheck disable=SC2317 # `one` is called by name
set -u
cd "$(dirname "$0")/.." || exit 2
gemmproof=${BINDIR:-build/bin}/gemmproof
seeds=${SEEDS:-1000}
smoke_seeds=${SMOKE_SEEDS:-20}
backends=${BACKENDS:-simulated=sm70,simulated=sm80,simulated=sm90,naive,openblas}
out=${OUTDIR:-$(mktemp -d)} || exit 2
chunk=25
began=$EPOCHREALTIME
export gemmproof out

for number in "$seeds" "$smoke_seeds"; do
    if ! [[ $number =~ ^(0|[1-9][0-9]{0,5})$ ]]; then
        echo "false-alarms: '$number' is no number of seeds" >&2
        exit 2
    fi
done
mkdir -p "$out" && rm -f "$out"/*.yaml "$out"/*.end || exit 2

# variant FROM TO MODES < CASES: the cases with these seeds; with MODES, in
# these modes.
variant() {
    awk -v from="$1" -v to="$2" -v modes="$3" '
        modes != "" && /^    modes:/ { next }
        { print }
        /^  - name:/ {
            printf "    seeds: {from: %d, to: %d}\n", from, to
            if (modes != "")
                printf "    modes: [%s]\n", modes
        }'
}

for file in cases/tiny.yaml cases/kinds.yaml cases/smoke.yaml; do
    if [ "$(grep -c 'name:' "$file")" -ne "$(grep -c '^  - name:' "$file")" ]; then
        echo "false-alarms: $file has a case that does not begin with a" \
            "line '  - name:', after which its seeds would go" >&2
        exit 2
    fi
done

# One case file through the program; its last record stays, and its journal if
# anything is wrong in it.
one() {
    local name
    name=$(basename "$1" .yaml)
    rm -rf "${out:?}/$name"
    "$gemmproof" run "$1" --backend "$2" --out "$out/$name" --threads 1 \
        --no-known --no-reports --quiet 2>"$out/$name.err"
    if [ -s "$out/$name/results.jsonl" ]; then
        tail -n 1 "$out/$name/results.jsonl" >"$out/$name.end"
        grep -q '"exit":0,' "$out/$name.end" && rm -rf "${out:?}/$name"
    else
        cat "$out/$name.err" >&2
    fi
    rm -f "$out/$name.err"
}
export -f one

# plan NAME CASES SEEDS MODES BACKENDS: its case files, and lines for `one`.
plan() {
    local from to
    for ((from = 1; from <= $3; from += chunk)); do
        to=$((from + chunk - 1 < $3 ? from + chunk - 1 : $3))
        variant "$from" "$to" "$4" <"$2" >"$out/$1-$from.yaml"
        printf '%s\0%s\0' "$out/$1-$from.yaml" "$5"
    done
}

modes=$("$gemmproof" list modes | awk 'NR > 1 { print $1 }' | paste -sd,) ||
    exit 2
smoke=$(tr , '\n' <<<"$backends" | grep -v 'sm[78]0' | paste -sd,)
{
    plan smoke cases/smoke.yaml "$smoke_seeds" "" "$smoke"
    plan tiny cases/tiny.yaml "$seeds" "$modes" "$backends"
    plan kinds cases/kinds.yaml "$seeds" "$modes" "$backends"
} >"$out/plan" || exit 2
# shellcheck disable=SC2016 # $1 and $2 are of the inner shell
xargs -0 -n 2 -P "$(nproc)" bash -c 'one "$1" "$2"' - <"$out/plan"

for folder in "$out"/*/; do
    [ -s "$folder/results.jsonl" ] && jq -r '
        select(.verdict == "fail" or .verdict == "error") |
        "\(.verdict) \(.id // .relation // .check): \([.findings[]? |
        select(.verdict == "fail") | .text][0] // .text //
        .error.text)"' "$folder/results.jsonl"
done

# One line of totals; every case file must have come to its end.
find "$out" -name '*.end' -exec cat {} + >"$out/ends.jsonl"
planned=$(find "$out" -name '*.yaml' | wc -l)
jq -rs --argjson planned "$planned" \
    --arg seconds "$(awk -v a="$began" -v b="$EPOCHREALTIME" \
        'BEGIN { printf "%.0f", b - a }')" '
    map(select(.record == "end")) |
    (map(.judgements // {} | to_entries) | add // [] | group_by(.key) |
        map({by: .[0].key, count: (map(.value) | add)})) as $by |
    (map(.counts.fail + .counts.relations_failed) | add // 0) as $seen |
    (map(.counts.run) | add // 0) as $run |
    ($by[] | "\(.count) judgements by \(.by)"),
    "\($run) runs judged, \(map(.counts.skip) | add // 0) not offered, " +
        "\(map(.counts.error) | add // 0) errors; \($planned - length) of " +
        "\($planned) case files did not end; \($seconds) s",
    "\($by | map(.count) | add // 0) judgements, false alarms: " +
        "\(map(.alarms_expected // 0) | add // 0) expected, \($seen) seen",
    if $seen > 0 then "1" elif $planned > length or $run == 0 or
        any(.[]; .exit != 0) then "3" else "0" end' \
    "$out/ends.jsonl" >"$out/told" || exit 3
head -n -1 "$out/told"
status=$(tail -n 1 "$out/told")
if [ "$status" -eq 0 ] && [ -z "${OUTDIR:-}" ]; then
    rm -rf "${out:?}"
elif [ "$status" -ne 0 ]; then
    echo "false-alarms: the journals are in $out" >&2
fi
exit "$status"
