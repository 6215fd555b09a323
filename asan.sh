#!/usr/bin/env bash
# Runs all tests with what finds faults of `unsafe` code: the address sanitizer, and Miri where the
# toolchain has it. Needs nightly Rust, and takes ten minutes or more.
#
# Arguments choose packages (-p ichnos-io), as for test.sh.
set -euo pipefail
cd "$(dirname "$0")"

skipped=()
skip() {
	skipped+=("$*")
	echo "asan.sh: skipped: $*"
}

finish() {
	printf '\n=== not checked by %s\n' "$0"
	printf '  %s\n' "${skipped[@]}"
	echo "=== $*"
}

if ! cargo +nightly --version >/dev/null 2>&1; then
	skip "everything: there is no nightly toolchain (rustup toolchain install nightly)"
	finish "nothing was run"
	exit 0
fi

export CARGO_TERM_PROGRESS_WHEN=never
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/asan
target=$(rustc +nightly -vV | sed -n 's/^host: //p')
echo "=== Miri"
if cargo +nightly miri --version >/dev/null 2>&1; then
	# What maps files or calls C libraries it cannot run.
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p ichnos-io owned
	skip "Miri: mapped files, the handler of bus errors, and C libraries, which it cannot run"
else
	skip "Miri: this toolchain does not have it (rustup +nightly component add miri)"
fi

echo "=== address sanitizer"
skip "the inside of the C libraries zstd and xz and of Rust's standard library: they are built without" \
	"the sanitizer; what they allocate and are handed is checked"
# With the target named, build scripts and macros are built without. The sanitizer leaves bus errors to
# the handlers of the tests, and has no memory where there is none instead of giving up; frames on the
# stack are larger with it. Not optimized at all, tests take too long.
status=0
RUSTUP_TOOLCHAIN=nightly CARGO_BUILD_TARGET=$target CARGO_PROFILE_DEV_OPT_LEVEL=1 \
	RUSTFLAGS="${RUSTFLAGS:-} -Zsanitizer=address" RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -Zsanitizer=address" \
	ASAN_OPTIONS="handle_sigbus=0:allocator_may_return_null=1:${ASAN_OPTIONS:-}" RUST_MIN_STACK=$((16 << 20)) \
	./test.sh "$@" || status=$?
finish "$([ $status = 0 ] && echo "nothing was found" || echo "something was found (status $status)")"
exit $status
