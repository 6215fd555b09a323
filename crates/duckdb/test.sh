#!/bin/sh
# Tests the extension: compares its answers with those of the command. Needs Python with the package `duckdb`
# (ICHNOS_PYTHON), and the command with the feature `table` (ICHNOS_COMMAND). Skipped by name without them.
set -eu
cd "$(dirname "$0")"
python=${ICHNOS_PYTHON:-python3}
command=${ICHNOS_COMMAND:-../../target/debug/ichnos}
if ! "$python" -c 'import duckdb' 2> /dev/null; then
    echo "skipped: the DuckDB extension ($python has no package duckdb)"
    exit 0
fi
if ! test -x "$command"; then
    echo "skipped: the DuckDB extension (there is no $command: cargo build -p ichnos-cli --features table)"
    exit 0
fi
extension=$(PROFILE=${PROFILE:-dev} ./build.sh | tail -n 1)
for test in tests/*.py; do
    "$python" "$test" "$extension" "$command" "${ICHNOS_TRACES:-../../../shared/traces}"
done
