#!/usr/bin/env bash
# Compares the events of ichnos-tracer with LTTng-UST's of the same loop, by payload:
#     benches/tracer/compare.sh [EVENTS]
# Needs gcc, lttng-tools, liblttng-ust-dev, and `ichnos` in PATH or in ICHNOS. As root, LTTng's session daemon runs as
# `nobody`.
set -euo pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
events=${1:-20000}
target=$(cd "$here/../.." && pwd)/target/tracer-comparison
if [ -z "${OURS:-}" ]; then
	"${CARGO:-cargo}" build --release --quiet --locked --manifest-path "$here/Cargo.toml" --target-dir "$target"
fi
program=${OURS:-$target/release/ichnos-tracer-comparison}
ichnos=${ICHNOS:-ichnos}
scratch=$(mktemp -d)
as=()
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chown 65534:65534 "$scratch"
fi
export HOME=$scratch LTTNG_HOME=$scratch
daemon=
finish() {
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null || true
		wait "$daemon" 2>/dev/null || true
	fi
	rm -rf "$scratch"
}
trap finish EXIT

gcc -O2 -I"$here" -o "$scratch/tick" "$here/tick.c" -llttng-ust -ldl -lpthread
"${as[@]}" lttng-sessiond --no-kernel >"$scratch/daemon.log" 2>&1 &
daemon=$!
for _ in $(seq 100); do
	if "${as[@]}" lttng --no-sessiond list >/dev/null 2>&1; then break; fi
	sleep 0.1
done
run() { "${as[@]}" lttng --no-sessiond "$@" >>"$scratch/lttng.log" 2>&1 || { cat "$scratch"/*.log >&2; exit 1; }; }
run create compare --output="$scratch/lttng"
# Rings that hold all events, so that LTTng discards none.
run enable-channel --userspace --subbuf-size=4M --num-subbuf=4 chan
run enable-event --userspace --channel=chan 'bench:*'
run add-context --userspace --channel=chan --type=vtid
run start
export LTTNG_UST_REGISTER_TIMEOUT=10000
"${as[@]}" "$scratch/tick" "$events" 1 >/dev/null
run destroy
"$program" all "$scratch/ours" "$events" 1 >/dev/null

for trace in lttng ours; do
	"$ichnos" cat --format jsonl --event 'bench:tick' "$scratch/$trace" |
		sed -n 's/^{"type":"event",.*"payload":\({[^}]*}\).*/\1/p' >"$scratch/$trace.payloads"
done
found=$(wc -l <"$scratch/ours.payloads")
cmp "$scratch/lttng.payloads" "$scratch/ours.payloads"
[ "$found" = "$events" ]
echo "$found events with the same payloads"
