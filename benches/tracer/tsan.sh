#!/usr/bin/env bash
# Runs many threads under ThreadSanitizer, also in the standard library:
#     benches/tracer/tsan.sh [ROUNDS]
# Needs the nightly toolchain with rust-src.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=$(cd "$here/../.." && pwd)/target/tracer-tsan
host=x86_64-unknown-linux-gnu
RUSTFLAGS=-Zsanitizer=thread ${CARGO:-cargo} +nightly build -Zbuild-std=std,panic_abort --target $host --release --locked \
	--manifest-path "$here/Cargo.toml" --target-dir "$target" --no-default-features --bin stress
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
TSAN_OPTIONS=halt_on_error=1 "$target/$host/release/stress" "$scratch" "${1:-8}"
if [ -n "${ICHNOS:-}" ]; then
	for trace in "$scratch"/trace-*; do "$ICHNOS" check --fail-on damage "$trace" >/dev/null; done
	for trace in "$scratch"/copy-*; do "$ICHNOS" check --fail-on damage "$trace" >/dev/null; done
fi
