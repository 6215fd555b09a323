#!/bin/sh
# Tests the wheel: compares its answers with those of the command. ICHNOS_PYTHON is a Python with the packages `duckdb`,
# `polars` and `pyarrow`, which the wheel is installed beside; ICHNOS_COMMAND the command with the feature `table`.
# Skipped by name without them.
set -eu
cd "$(dirname "$0")"
python=${ICHNOS_PYTHON:-python3}
command=${ICHNOS_COMMAND:-../../target/debug/ichnos}
target=${CARGO_TARGET_DIR:-$PWD/target}
if ! "$python" -c 'import duckdb, polars, pyarrow' 2> /dev/null; then
    echo "skipped: the Python package ($python lacks duckdb, polars or pyarrow)"
    exit 0
fi
if ! test -x "$command"; then
    echo "skipped: the Python package (there is no $command: cargo build -p ichnos-cli --features table)"
    exit 0
fi
# The environment of the tests has the packages of ICHNOS_PYTHON, and what the tests need besides.
environment=$target/python-tests
if ! test -x "$environment/bin/python"; then
    "$python" -m venv "$environment"
    "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
        > "$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/of_host.pth"
fi
# Without them, the wheel cannot be built, or a test is skipped.
for package in "maturin>=1.9,<2" "pandas>=3" mypy typing_extensions; do
    "$environment/bin/python" -m pip install -q --disable-pip-version-check "$package" > /dev/null 2>&1 || true
done
if ! command -v maturin > /dev/null && ! "$environment/bin/python" -m maturin --version > /dev/null 2>&1; then
    echo "skipped: the Python package (maturin is not installed)"
    exit 0
fi
wheel=$(ICHNOS_PYTHON="$environment/bin/python" PROFILE=${PROFILE:-dev} ./build.sh | tail -n 1)
"$environment/bin/python" -m pip install -q --disable-pip-version-check --no-deps --force-reinstall "$wheel"
for test in tests/*.py; do
    case $test in tests/support.py) continue ;; esac
    "$environment/bin/python" "$test" "$command" "${ICHNOS_TRACES:-../../../shared/traces}"
done
