#!/usr/bin/env bats
# The axis of seeds: numbers and ranges. Run from the root:
# bats tests/cli/seeds.bats

load runs

# A case with these seeds, in line 5.
seeds() {
    printf 'suite: s\ncases:\n  - name: one\n    sizes: 8\n    seeds: %s\n' \
        "$1" > x.yaml
}

@test "numbers and ranges of them" {
    for text in 7 '[1, 2]' '{from: 1, to: 1000}' '[{from: 0, to: 3}, 9]' \
        '{from: 18446744073709551614, to: 18446744073709551615}'; do
        seeds "$text"
        ends 0 plan x.yaml
    done
    seeds '[{from: 3, to: 5}, 9]'
    ends 0 plan x.yaml --backend naive
    cut -d . -f 5 stdout > have
    printf '%s\n' s3/naive/default s4/naive/default s5/naive/default \
        s9/naive/default | diff - have
}

# no TEXT PLACE WORDS: these seeds are refused, in one line with all of that.
no() {
    seeds "$1"
    refused plan x.yaml && says "x.yaml:5:$2" "$3"
}

@test "ranges that are none" {
    no '{from: 3, to: 2}' 26 "'to' is '2': write a whole number from 3 to"
    no '[{from: 1}]' 13 "'to'"
    no '{from: 1, to: 9, plus: 2}' 29 "no key 'plus' in a range of seeds"
    no '{from: -1, to: 9}' 19 "'from' is '-1'"
    no '[]' 12 'empty list'
    no '[{from: 0, to: 18446744073709551615}]' 12 'more than 1000000 seeds'
    no '[{from: 1, to: 1000000}, 0]' 12 'more than 1000000 seeds'
}
