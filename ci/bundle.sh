#!/usr/bin/env bash
# Pack programs into BUILDDIR/gemmproof-VERSION-linux-MACHINE.tar.gz, for a
# machine that has glibc and, for the cublas worker, CUDA, and nothing else of
# what building needs: make bundle.
#   BUILDDIR=DIR VERSION=TEXT ci/bundle.sh bin/gemmproof bin/gemmproof-worker-...
# The libraries of the reference go along in lib/; run.sh uses them only where
# the system has no OpenBLAS.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || {
    echo "usage: BUILDDIR=DIR VERSION=TEXT ci/bundle.sh PROGRAM..." >&2
    exit 2
}
: "${BUILDDIR:=build}" "${VERSION:=$(cat VERSION)}"
name=gemmproof-$VERSION-linux-$(uname -m)
stage=$BUILDDIR/bundle
to=$stage/$name
carried='^lib(openblas|gfortran|quadmath)\.so'

rm -rf "$stage"
mkdir -p "$to/bin" "$to/lib" "$to/ci"
for program in "$@"; do
    cp "$program" "$to/bin/"
    # Without the names of files and folders of this machine.
    strip "$to/bin/$(basename "$program")"
done
cp -R cases "$to/"
cp ci/verify.sh "$to/ci/"
for file in README.md LICENSE VERSION; do
    [ ! -e "$file" ] || cp "$file" "$to/"
done

# "libopenblas.so.0 => /usr/lib/.../libopenblas.so.0 (0x...)"
ldd "$1" | while read -r library arrow path _; do
    [[ $library =~ $carried ]] || continue
    if [ "$arrow" != "=>" ] || [ ! -e "$path" ]; then
        echo "ci/bundle.sh: $1 needs $library, which is not here" >&2
        exit 1
    fi
    cp -L "$path" "$to/lib/$library"
done
# Their licences ask to be passed on.
for notice in /usr/share/doc/lib{openblas0*,gfortran5,quadmath0}/copyright; do
    [ ! -e "$notice" ] ||
        cp -L "$notice" "$to/lib/copyright-$(basename "$(dirname "$notice")")"
done

cat > "$to/run.sh" << 'END'
#!/usr/bin/env bash
# Without words: prove on this machine that the harness can fail, then let it
# judge (BACKEND, SUITE and OUTDIR as ci/verify.sh says). With words: the
# program, say ./run.sh doctor. The OpenBLAS in lib/ is used only where the
# system has none.
set -u
from=$PWD
cd "$(dirname "$0")" || exit 2
if LD_TRACE_LOADED_OBJECTS=1 bin/gemmproof 2>&1 |
    grep -q 'libopenblas.*not found'; then
    export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    echo "run.sh: this system has no OpenBLAS: the one in lib/ is used" >&2
fi
if [ $# -gt 0 ]; then
    program=$PWD/bin/gemmproof
    cd "$from" || exit 2
    exec "$program" "$@"
fi
BINDIR=bin exec ci/verify.sh
END
chmod 755 "$to/run.sh" "$to/ci/verify.sh"

# The same bytes for the same files, whenever and by whom they are packed.
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@${SOURCE_DATE_EPOCH:-0}" --mode=go=u-w \
    -cf - "$name" | gzip -9n > "$stage/$name.tar.gz"
mv "$stage/$name.tar.gz" "$BUILDDIR/"
rm -rf "$stage"
echo "$BUILDDIR/$name.tar.gz"
