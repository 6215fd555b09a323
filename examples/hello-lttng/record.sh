#!/usr/bin/env bash
# Records a trace of hello.c with LTTng-UST:
#     record.sh DIR [EVENTS THREADS SUBBUF_SIZE]
# DIR must not exist. Needs gcc, lttng-tools and liblttng-ust-dev.
#
# A session daemon of its own does it, which has nothing to do with any other on this machine and
# is gone afterwards. As root there can be only one of those, so root becomes `nobody` for this.
set -euo pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
directory=$1 events=${2:-40} threads=${3:-2} subbuf=${4:-4K}
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

gcc -O2 -I"$here" -o "$scratch/hello" "$here/hello.c" -llttng-ust -ldl -lpthread
"${as[@]}" lttng-sessiond --no-kernel >"$scratch/daemon.log" 2>&1 &
daemon=$!
for _ in $(seq 100); do
	if "${as[@]}" lttng --no-sessiond list >/dev/null 2>&1; then break; fi
	sleep 0.1
done
run() { "${as[@]}" lttng --no-sessiond "$@" >>"$scratch/lttng.log" 2>&1 || { cat "$scratch"/*.log >&2; exit 1; }; }
run create hello --output="$scratch/trace"
run enable-channel --userspace --blocking-timeout=inf --subbuf-size="$subbuf" --num-subbuf=8 chan
run enable-event --userspace --channel=chan 'hello:*'
run add-context --userspace --channel=chan --type=vpid --type=vtid --type=procname
run start
LTTNG_UST_ALLOW_BLOCKING=1 LTTNG_UST_REGISTER_TIMEOUT=10000 "${as[@]}" "$scratch/hello" "$events" "$threads"
run stop
run destroy
cp -r --no-preserve=mode,ownership "$scratch/trace" "$directory"
