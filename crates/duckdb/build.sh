#!/bin/sh
# Builds the DuckDB extension `ichnos.duckdb_extension` and copies `views.sql` to the directory $1 (default: the target
# directory).
# PROFILE=dev builds without optimization across crates, for tests.
set -eu
caller=$PWD
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-target}
case ${1:-} in
    "") output=$target ;;
    /*) output=$1 ;;
    *) output=$caller/$1 ;;
esac
profile=${PROFILE:-release}
directory=$profile
test "$profile" != dev || directory=debug
case $(uname -sm) in
    "Linux x86_64") platform=linux_amd64 library=libichnos_duckdb.so ;;
    "Linux aarch64") platform=linux_arm64 library=libichnos_duckdb.so ;;
    "Darwin arm64") platform=osx_arm64 library=libichnos_duckdb.dylib ;;
    "Darwin x86_64") platform=osx_amd64 library=libichnos_duckdb.dylib ;;
    *) echo "no extension for the platform $(uname -sm)" >&2; exit 1 ;;
esac
cargo build --locked --profile "$profile"
mkdir -p "$output"
version=$(sed -n 's/^version = "\(.*\)"$/v\1/p' Cargo.toml | head -n 1)
python3 footer.py "$target/$directory/$library" "$output/ichnos.duckdb_extension" "$platform" "$version"
cp ../ichnos/src/query/views.sql "$output"
echo "$output/ichnos.duckdb_extension"
