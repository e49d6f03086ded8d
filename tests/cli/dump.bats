#!/usr/bin/env bats
# --dump DIR. Run from the root: bats tests/cli/dump.bats

load runs

# A reader of .npy files of its own: format 1.0, what stands in them as
# {index: value}. Then the statements given.
npy() {
    cat > npy.py <<'EOF'
import ast, struct, sys

def read(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length = struct.unpack("<H", data[8:10])[0]
    assert (10 + length) % 64 == 0 and data[9 + length] == 10
    head = ast.literal_eval(data[10:10 + length].decode("latin1").strip())
    assert head["fortran_order"] is True and len(head) == 3, head
    kind = {"<f2": "e", "<f4": "f", "<f8": "d"}[head["descr"]]
    count = 1
    for axis in head["shape"]:
        count *= axis
    values = struct.unpack("<%d%s" % (count, kind), data[10 + length:])
    found = {}
    for at, value in enumerate(values):
        index = []
        for axis in head["shape"]:
            index.append(at % axis)
            at //= axis
        found[tuple(index)] = value
    return head["descr"], head["shape"], found
EOF
    cat >> npy.py
    python3 npy.py
}

@test "the matrices of a failing run are what was multiplied" {
    ends 1 run --only f16xf32.tn.5x3x1032.exact.s1/faulty=drop-k-tail-8/default \
        --dump d --out o
    cd 'd/f16xf32.tn.5x3x1032.exact.s1~faulty=drop-k-tail-8~default'
    same 'A.npy B.npy D.npy reference.npy run.txt' "$(names .)"
    grep -qF "gemmproof run --only 'f16xf32.tn.5x3x1032.exact.s1/faulty=drop" \
        run.txt
    grep -q 'k = 1024 .. 1031' run.txt
    npy <<'EOF'
a, b = read("A.npy"), read("B.npy")
d, ref = read("D.npy"), read("reference.npy")
assert a[:2] == ("<f2", (1032, 5)) and b[:2] == ("<f2", (1032, 3)), (a, b)
assert d[:2] == ("<f4", (5, 3)) and ref[:2] == ("<f8", (5, 3)), (d, ref)
for i in range(5):
    for j in range(3):
        terms = [a[2][l, i] * b[2][l, j] for l in range(1032)]
        assert ref[2][i, j] == sum(terms)
        assert d[2][i, j] == sum(terms[:1024]) != sum(terms)
EOF
}

@test "batches, C, and BF16 as FP32" {
    ends 1 run --only bf16.nt.4x6x8.b3.beta=-0.5.exact.s1/faulty=beta-twice/default \
        --dump d --out o
    cd d/bf16*
    same 'A.npy B.npy C.npy D.npy reference.npy run.txt' "$(names .)"
    grep -q 'bf16 is written exactly, as <f4' run.txt
    npy <<'EOF'
a, b, c = read("A.npy"), read("B.npy"), read("C.npy")
d, ref = read("D.npy"), read("reference.npy")
assert a[:2] == ("<f4", (4, 8, 3)) and b[:2] == ("<f4", (6, 8, 3))
assert c[:2] == d[:2] == ("<f4", (4, 6, 3)) and ref[1] == (4, 6, 3)
for i in range(4):
    for j in range(6):
        for t in range(3):
            ab = sum(a[2][i, l, t] * b[2][j, l, t] for l in range(8))
            assert ref[2][i, j, t] == ab - 0.5 * c[2][i, j, t]
            assert d[2][i, j, t] == ab + 0.25 * c[2][i, j, t]
EOF
}

@test "every distinct output, also of one that was seen before" {
    ends 1 run --only f32.nn.8x8x8.dense.s1/faulty=flip-bit/default \
        --only f32.nn.8x8x8.dense.s1/faulty=first-repeat/default --dump d --out o
    for run in d/*; do
        same 'A.npy B.npy D.1.npy D.npy reference.npy run.txt' "$(names "$run")"
        cd "$run"
        npy <<'EOF'
one, two = read("D.npy")[2], read("D.1.npy")[2]
assert [at for at in one if one[at] != two[at]] == [(0, 4)]
EOF
        cd ../..
    done
}

@test "so many at most, and nothing of what passes" {
    ends 1 run --only f32.nn.8x8x8.dense.s1/faulty=none/default \
        --only f32.nn.8x8x8.dense.s1/faulty=swap-op/default \
        --only f64.nn.8x8x8.dense.s1/faulty=swap-op/default \
        --only f16.nn.8x8x8.exact.s1/faulty=swap-op/default \
        --dump d --dump-most 2 --out o
    same 2 "$(names d | wc -w)"
    says 'the matrices of 2 of 3 failing runs are in d (--dump-most)'
    ends 0 run --only f32.nn.8x8x8.dense.s1/naive/default --dump e --out p
    same '*' "$(names e)"
}

@test "a folder that is in use or cannot be made is refused before anything" {
    local id=f32.nn.8x8x8.dense.s1/naive/default
    mkdir used && touch used/file
    refused run --only "$id" --dump used --out o
    says 'not an empty folder'
    refused run --only "$id" --dump used/file --out o
    refused run --only "$id" --dump none/deep --out o
    says 'cannot be made'
    refused run --only "$id" --dump-most 3 --out o
    says '--dump DIR'
}

@test "what cannot be written is told, and the journal is whole" {
    # Files of at most 700 KiB: the matrices that the worker reads are smaller,
    # A as FP32 is larger.
    (
        ulimit -f 700
        trap '' XFSZ
        ends 1 run --only bf16.nn.64x1x4096.dense.s1/faulty=nan-leak/default \
            --dump d --out o
    )
    says '1 of 1 dumps could not be written, the first: A.npy'
    same fail "$(runs .verdict)"
    tail -n 1 o/results.jsonl | grep -q '"record":"end"'
}
