#!/usr/bin/env bats
# The fingerprint of three simulated devices through the whole program: what
# their bits show, in one sentence for each shape and mode. Run from the root:
# bats tests/cli/fingerprint.bats

load runs

# A case file with every probe on one shape.
probes() {
    cat > probes.yaml << EOF2
suite: probes
cases:
  - name: probes
    sizes: [[64, 32, 2048]]
    types: [f32, f16, "f16:f32"]
    families: [dense, one-hot, product, two-term, bit-scan, tie, split-finder,
               zeros, range]
    modes: [default, pedantic, tf32, no-reduced-precision]
    repeats: 2
EOF2
}

# sentence TYPE MODE: what report.json says of them.
sentence() {
    jq -r ".fingerprints[] | select(.type == \"$1\" and .mode == \"$2\") |
        .sentence" o/report.json
}

@test "each generation is read as it is simulated" {
    probes
    for unit in "sm70 23" "sm80 24" "sm90 at least 25"; do
        bits="${unit#* }"
        rm -rf o
        ends 0 run probes.yaml --backend "simulated=${unit%% *}" --out o
        "$GEMMPROOF" report --format json o > o/report.json
        for mode in default pedantic no-reduced-precision; do
            same "asked $mode, delivered fp32: 24 bits read, all products \
correctly rounded, all 24 bits kept, one rounding at the end, no narrow split \
seen, no Strassen, 21 bits over exponents of +-12" "$(sentence f32 $mode)"
            [[ "$(sentence f16:f32 $mode)" == *"sums cut as in a tensor core \
that keeps $bits fraction bits, but to nearest between far places: k is \
split"* ]]
        done
        [[ "$(sentence f16 default)" == *"partials in f16, k split at 256, \
512, 768, 1024 and 3 more"* ]]
        [[ "$(sentence f16 no-reduced-precision)" == *"no split seen"* ]]
        [ "${unit%% *}" = sm70 ] && continue
        [[ "$(sentence f32 tf32)" == "asked tf32, delivered tf32: 11 bits \
read, operands rounded to 11 bits, to nearest, ties to even, 11 bits kept, \
sums cut as in a tensor core that keeps $bits fraction bits"* ]]
    done
}

@test "the three numbers stand beside each sentence in every report" {
    probes
    sed -i 's/types: .*/types: [f32]/' probes.yaml
    ends 0 run probes.yaml --backend simulated=sm90 --out o
    grep -q '^The fingerprint: ' stdout
    grep -A 3 'f32 asked tf32; delivered tf32: 11 bits read' stdout |
        grep -q 'b_in 11'
    "$GEMMPROOF" report --format markdown o > report.md
    grep -q '^### The fingerprint' report.md
    grep -qE '^\| f32 .* tf32 .* 11\.[0-9] \| 1[0-9]\.[0-9] \|' report.md
    "$GEMMPROOF" report --format json o > report.json
    same 'true' "$(jq '[.fingerprints[] | select(.mode == "tf32") |
        .bits_in > 11 and .bits_in < 12 and .bits_cw > 10 and .bits_nw > 9] |
        all' report.json)"
    # The numbers are those of the runs.
    same "$(runs 'select(.family == "dense" and .mode == "tf32") |
        .accuracy.bits_cw')" \
        "$(jq '.fingerprints[] | select(.mode == "tf32").bits_cw' report.json)"
}

@test "what was forbidden is a proved fail" {
    ends 1 run --out o --only \
        f16.nn.16x16x512.split-finder.s1/faulty=f16-split-4/no-reduced-precision
    same 'proved partials in f16, k split at 128, 256, 384' "$(runs \
        '.findings[] | select(.check == "fingerprint") |
        .evidence + " " + .clause')"
    grep -q 'FAIL faulty=f16-split-4 f16 asked no-reduced-precision' stdout
}

@test "a mode that was not engaged is reported" {
    ends 0 run --out o --only \
        f32.nn.1x64x256.product.s1/simulated=sm90/tf32
    same 'pass observed asked tf32, delivered fp32' "$(runs '.findings[] |
        select(.check == "fingerprint") | .verdict + " " + .flags[0] + " " +
        .text[:26]')"
}
