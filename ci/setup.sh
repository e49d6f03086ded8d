#!/usr/bin/env bash
# Install with apt-get what running and testing need (Debian 12, Ubuntu 24.04).
# CUDA is never touched. When nothing is missing: no output and no apt-get.
#   ci/setup.sh run    what `make verify` and `make check` need
#   ci/setup.sh dev    the same, and the heavy extras of development
set -eu

packages=(gcc libc6-dev make pkg-config git clang libclang-rt-dev
    libopenblas-dev libjansson-dev libyaml-dev libcriterion-dev bats jq
    shellcheck libxml2-utils python3)
case "${1:-}" in
run) ;;
dev) packages+=(gnuplot-nox python3-venv valgrind) ;;
*)
    echo "usage: ci/setup.sh run|dev" >&2
    exit 2
    ;;
esac
# nvcc compiles through g++.
if [ -n "${NVCC:-}" ] || command -v nvcc >/dev/null ||
    [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
    packages+=(g++)
fi

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "ci/setup.sh: there is no apt-get here: install what Debian calls" \
        "${packages[*]} clang-format-14, then run make without setup" >&2
    exit 1
fi

# Which of these packages are not installed?
not_installed() {
    local installed name
    # A package that was never heard of is only an error to dpkg-query.
    installed=" $(dpkg-query -W -f '${db:Status-Status}=${Package} ' "$@" \
        2>/dev/null || true)"
    for name in "$@"; do
        [[ $installed == *" installed=$name "* ]] || echo "$name"
    done
}

as_root() {
    if [ "$EUID" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "ci/setup.sh: not root, and there is no sudo: as root, run" \
            "apt-get install ${missing[*]}" >&2
        exit 1
    fi
}

quiet_apt() {
    local output
    if ! output=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq \
        -o Dpkg::Use-Pty=0 "$@" 2>&1); then
        printf '%s\n' "$output" >&2
        echo "ci/setup.sh: apt-get $* failed" >&2
        exit 1
    fi
}

mapfile -t missing < <(not_installed "${packages[@]}")
# The layout of the sources is that of clang-format 14; a system that has no
# such package gets its own, and ci/lint.sh says that it skips the layout.
mapfile -t formatter < <(not_installed clang-format-14)
if [ ${#formatter[@]} -gt 0 ] && [ -z "$(not_installed clang-format)" ] &&
    ! apt-cache show clang-format-14 >/dev/null 2>&1; then
    formatter=()
fi
if [ ${#missing[@]} -eq 0 ] && [ ${#formatter[@]} -eq 0 ]; then
    exit 0
fi

quiet_apt update
if [ ${#formatter[@]} -gt 0 ] &&
    ! apt-cache show clang-format-14 >/dev/null 2>&1; then
    formatter=(clang-format)
fi
missing+=("${formatter[@]}")
echo "ci/setup.sh: installing ${missing[*]}"
quiet_apt install --no-install-recommends "${missing[@]}"
