#!/usr/bin/env bats
# A failing run says why it fails. Run from the root: bats tests/cli/explain.bats

load runs

@test "the cause of each sin is named" {
    local sin run says said ids=() bad=0 count=0
    while IFS=$'\t' read -r sin run says; do
        [[ "$sin" == '#'* ]] || ids+=(--only "${run/SIN/$sin}")
    done < "$ROOT/tests/explain.tsv"
    ends 1 run "${ids[@]}" --out o
    while IFS=$'\t' read -r sin run says; do
        [[ "$sin" == '#'* ]] && continue
        count=$((count + 1))
        said=$(jq -r --arg id "${run/SIN/$sin}" 'select(.id == $id) |
            .explanation.text // .variation.text' o/results.jsonl)
        jq -en --arg said "$said" --arg says "$says" \
            '$said | test($says)' > /dev/null && continue
        printf '%s: "%s" is not %s\n' "$sin" "$said" "$says"
        bad=$((bad + 1))
    done < "$ROOT/tests/explain.tsv"
    [ "$count" -ge 50 ] && [ "$bad" -eq 0 ]
}

@test "what is right has no explanation" {
    ends 0 run --only f32.nn.8x8x8.dense.s1/faulty=none/default --out o
    same 'null null' "$(runs '"\(.explanation) \(.variation)"')"
}

@test "every report says it" {
    local cause='the last 8 products, k = 1024 .. 1031'
    ends 1 run --only f32.nn.32x8x1032.dense.s1/faulty=drop-k-tail-8/default \
        --out o
    tr '\n' ' ' < stdout | tr -s ' ' > text
    grep -qF "cause: $cause" text
    grep -qE 'wrong: 2[0-9][0-9] of 256 elements, ' text
    grep -qE 'worst: D\([0-9]+, [0-9]+\) = [-.0-9e]+ \(-?0x1[.0-9a-f]*p' text
    grep -qF "cause: $cause" o/junit.xml
    [ "$(grep -c '^- worst' o/report.md)" -eq 8 ]
    same '{"from":1024,"to":1031,"what":"missing","open":[1024,1031]}' \
        "$(jq -c '.runs[].explanation.k' o/report.json)"
    same '8 8' "$(runs '.explanation.worst | "\(length) \(map(select(
        .got_hex and .ref_hex and .limit_hex and .ulp > 0)) | length)"')"
    # The worst element has the share that the check reports.
    runs '(.explanation.worst[0] | ((.got - .ref) | fabs) / .limit) /
        (.findings[] | select(.check == "bound") | .value) |
        select(. > 0.999999 and . < 1.000001)' | grep -q .
}

@test "an output that was explained before is not sent again, and explained" {
    # Two entries of the journal with one output: the second is withheld.
    ends 1 run --only f64.nn.8x8x64.exact.s1/faulty=drop-last-k/default \
        --only f64.nn.8x8x64.exact.s1/faulty=drop-last-k/default/r3 --out o
    same 1 "$(runs .explanation.text | sort -u | wc -l)"
    same 2 "$(runs .explanation.text | grep -c 'k = 63, is missing')"
}
