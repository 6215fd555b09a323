#!/usr/bin/env bash
# Runs all tests.
#
# Some of them compare ichnos with other programs: Debian's `babeltrace2`, and LTTng, which
# records a trace for the purpose. What is missing is installed if that can be done without
# asking (as root, with apt-get); otherwise the tests that need it are skipped, and named at the
# end. Recorded traces of real tracers are used if they are in ../shared/traces or in the directory
# that ICHNOS_TRACES names. DuckDB, Polars and pyarrow, which read tables and query events, and OpenTelemetry's
# messages are installed into target/python, unless ICHNOS_PYTHON names a Python; chdb and pyspark are compared if that
# Python has them. The page of `ichnos view` is tested in Chromium where node and npm are there.
#
# Arguments choose packages (-p ichnos-ctf); without any, all are tested. `quick` runs the tests that take little time,
# less than a minute in all when they are compiled: .config/nextest.toml says which.
set -euo pipefail
cd "$(dirname "$0")"

# Prints /dev/shm if it has room and can run programs. With test files on a disk, some tests take three times as long. Sparse
# files still need a disk: see `Directory::on_disk` in crates/cli/tests/cli/support.rs.
temporary() {
	local memory=/dev/shm probe room
	if [ -z "${TMPDIR:-}" ] && probe=$(mktemp -p $memory 2>/dev/null); then
		printf '#!/bin/sh\n' >"$probe"
		chmod +x "$probe"
		room=$(df -k --output=avail $memory 2>/dev/null | tail -n 1)
		if "$probe" 2>/dev/null && [ "${room:-0}" -gt 4000000 ]; then
			echo $memory
		fi
		rm -f "$probe"
	fi
}

if memory=$(temporary) && [ -n "$memory" ]; then
	export TMPDIR=$memory
fi

if [ "${1:-}" = quick ]; then
	shift
	if ! cargo nextest --version >/dev/null 2>&1; then
		echo "test.sh: quick: without cargo-nextest, unit tests alone"
		exec cargo test --workspace --features ichnos-cli/table --lib --bins "$@"
	fi
	exec cargo nextest run --workspace --features ichnos-cli/table --profile quick "$@"
fi

missing() {
	command -v babeltrace2 >/dev/null || echo babeltrace2
	command -v lttng-sessiond >/dev/null || echo lttng-tools
	command -v strace >/dev/null || echo strace
	command -v eatmydata >/dev/null || echo eatmydata
	command -v setpriv >/dev/null || echo util-linux
	command -v gcc >/dev/null || echo gcc libc6-dev
	# Debian's packages of node are several hundred: it is used where it is there.
	if command -v node >/dev/null && command -v npm >/dev/null; then
		# Chromium without windows takes a third less time. Tests of the page find it first.
		command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || echo chromium-headless-shell
	fi
	python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
	gcc -include lttng/tracepoint.h -fsyntax-only -xc /dev/null 2>/dev/null || echo liblttng-ust-dev
}

install() {
	local log
	log=$(mktemp)
	echo "test.sh: installing $*"
	if ! { apt-get update && apt-get install --yes --no-install-recommends "$@"; } \
		</dev/null >"$log" 2>&1; then
		echo "test.sh: that failed; the tests that need them are skipped:"
		tail -n 3 "$log"
	fi
	rm -f "$log"
}

packages=$(missing | tr '\n' ' ')
if [ -n "$packages" ]; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		export DEBIAN_FRONTEND=noninteractive
		# shellcheck disable=SC2086 # several words
		install $packages
	else
		echo "test.sh: not installed: $packages(the tests that need them are skipped)"
	fi
fi

# Installs packages of Python, for tests of tables, of OpenTelemetry's requests and of Perfetto's samples, while tests are compiled: it takes some 15 s of one core.
python_packages() {
	local venv=target/python
	[ -x $venv/bin/pip ] || timeout 60 python3 -m venv --clear $venv || return
	timeout 180 $venv/bin/python -m pip install --quiet --no-compile --disable-pip-version-check \
		'duckdb==2.*' 'polars==2.*' 'pyarrow==26.*' 'opentelemetry-proto==1.*' 'perfetto==0.59.*'
}

# Installs packages of node, for tests of the page of `ichnos view`.
page_packages() {
	[ -d crates/view/page/node_modules ] || ! npm --version >/dev/null 2>&1 ||
		(cd crates/view/page && timeout 180 npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
}

packages_pid=
if [[ $# = 0 || " $* " == *" ichnos-view "* ]]; then
	page_packages </dev/null >/dev/null 2>&1 || true
fi
if [ -z "${ICHNOS_PYTHON:-}" ] &&
	[[ $# = 0 || " $* " =~ " ichnos-"(table|cli|view)" " || " $* " == *" ichnos "* ]]; then
	python_packages </dev/null >/dev/null 2>&1 &
	packages_pid=$!
fi

# Waits for the packages; without them, tests that need them are skipped.
wait_for_packages() {
	[ -n "$packages_pid" ] || return 0
	if wait "$packages_pid"; then
		export ICHNOS_PYTHON=$PWD/target/python/bin/python
	else
		echo "test.sh: packages of Python cannot be installed"
	fi
}

# Outputs of tests need not survive a crash of the machine: waiting for the disk would take half of the time.
unsynced=$(command -v eatmydata || true)

# What tests print when they pass is hidden, but for two things: why they are skipped
# ("skipped: ..."), and the results of those that compare with other readers over recorded traces.
summary() {
	awk '
		/^ *(PASS|SLOW|LEAK|FAIL|TIMEOUT|SIG[A-Z]+) \[/ { name = $0; sub(/.*\) /, "", name) }
		/^---- .* stdout ----$/ { name = $2 }
		/^ *(FAIL|TIMEOUT|SIG[A-Z]+) \[/ || (!passed && !/^ *skipped: /) { print }
		/^ *Summary \[/ { passed = 1; next }
		/^ *skipped: / { sub(/^ *skipped: /, ""); skipped[++n] = name ": " $0; next }
		passed && name ~ /conformance|text_output|_suite::/ && /^    [^ ]/ && !/^ *(running [0-9]+ test|test )|: (warning|error|note): / { print }
		END {
			print "\n" n + 0 " skipped" (n ? ":" : "")
			for (i = 1; i <= n; i++) {
				print "  " skipped[i]
				lacking += skipped[i] ~ /no (recorded (trace|file)|real traces|capture of magic|vectors|goldens|traces in)|the (recorded traces|vectors of .*) are not there/
			}
			if (ENVIRON["ICHNOS_NEEDS_RECORDED"] && lacking) {
				print "error: " lacking " skipped tests need recorded traces, which are there"
				exit 1
			}
		}
	'
}

# Browser tests mostly wait, and only one runs at a time. The other tests use all processors meanwhile.
export NEXTEST_TEST_THREADS=${NEXTEST_TEST_THREADS:-$(($(getconf _NPROCESSORS_ONLN) + 1))}

[ $# -gt 0 ] || set -- --workspace --features ichnos-cli/table
if cargo nextest --version >/dev/null 2>&1; then
	if [ -n "$packages_pid" ]; then
		# Errors are printed below.
		cargo nextest run --no-run "$@" >/dev/null 2>&1 || true
		wait_for_packages
	fi
	$unsynced cargo nextest run --no-fail-fast --success-output final "$@" 2>&1 | summary
	cargo test --doc --quiet "$@"
else
	wait_for_packages
	$unsynced cargo test --no-fail-fast "$@" -- --show-output 2>&1 | summary
fi
