#!/bin/sh
# Builds the wheel in the directory $1 (default: the directory `wheels` of the target directory). Needs maturin: the
# program, or the module of ICHNOS_PYTHON. PROFILE=dev builds without optimization across crates, for tests.
#
# The wheel runs with every Python from 3.9 on, and on Linux with the C library of this machine or a newer one: maturin
# checks that and names the wheel after it. COMPATIBILITY names an older one (manylinux_2_28), which needs such a machine.
set -eu
caller=$PWD
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-target}
case ${1:-} in
    "") output=$target/wheels ;;
    /*) output=$1 ;;
    *) output=$caller/$1 ;;
esac
maturin=maturin
command -v maturin > /dev/null || maturin="${ICHNOS_PYTHON:-python3} -m maturin"
set -- build --locked --out "$output" --profile "${PROFILE:-release}"
test -z "${COMPATIBILITY:-}" || set -- "$@" --compatibility "$COMPATIBILITY"
$maturin "$@" >&2
ls -t "$output"/ichnos-*.whl | head -n 1
