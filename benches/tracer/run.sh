#!/usr/bin/env bash
# Nanoseconds of an event, in turn: of 24 bytes with ichnos-tracer and with LTTng-UST, and of six fields with the layer
# for `tracing`, as JSON with tracing-appender, with tracing-chrome and with fastrace. Then bytes of an event in files:
#     benches/tracer/run.sh [EVENTS ROUNDS]
# Ours and LTTng-UST keep the last events (flight recorder). Needs gcc, lttng-tools and liblttng-ust-dev. As root, LTTng's session
# daemon runs as `nobody`, as in examples/hello-lttng/record.sh.
set -euo pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
events=${1:-5000000} rounds=${2:-5}
target=$(cd "$here/../.." && pwd)/target/tracer-comparison
if [ -z "${OURS:-}" ]; then
	"${CARGO:-cargo}" build --release --quiet --locked --manifest-path "$here/Cargo.toml" --target-dir "$target"
fi
program=${OURS:-$target/release/ichnos-tracer-comparison}
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
run create bench --snapshot --output="$scratch/trace"
run enable-channel --userspace --overwrite --subbuf-size=1M --num-subbuf=8 chan
run enable-event --userspace --channel=chan 'bench:*'
run add-context --userspace --channel=chan --type=vtid
run start
export LTTNG_UST_REGISTER_TIMEOUT=10000
ours() { rm -rf "$scratch/ours" && "$program" "$1" "$scratch/ours" "$2" "$3"; }
for threads in 1 2; do
	for _ in $(seq "$rounds"); do
		lttng=$("${as[@]}" "$scratch/tick" "$events" "$threads")
		monotonic=$(ours monotonic "$events" "$threads") fastest=$(ours fastest "$events" "$threads")
		echo "threads $threads: LTTng-UST $lttng, ichnos-tracer $monotonic, with the time stamp counter $fastest"
	done
done
for _ in $(seq "$rounds"); do
	few=$((events / 10))
	layer=$(ours layer $few 1) json=$(ours json $few 1) chrome=$(ours chrome $few 1)
	echo "layer $layer, JSON $json, tracing-chrome $chrome, fastrace $(ours fastrace $few 1)"
	echo "off: event $(ours off "$events" 1), layer $(ours layer-off "$events" 1)"
done
few=100000
for kind in all layer json chrome; do
	ours "$kind" $few 1 >/dev/null
	bytes=$(find "$scratch/ours" -type f -printf '%s\n' | awk '{ all += $1 } END { print all }')
	packed=$(find "$scratch/ours" -type f -exec cat {} + | gzip -6 | wc -c)
	awk -v kind="$kind" -v bytes="$bytes" -v packed="$packed" -v events=$few \
		'BEGIN { printf "%s: %.1f bytes an event, with gzip %.1f\n", kind, bytes / events, packed / events }'
done
