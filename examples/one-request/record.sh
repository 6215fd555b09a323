#!/usr/bin/env bash
# Records one request with four tracers: record.sh DOTNET DIR [REQUESTS]
# DOTNET is the directory of a .NET Core SDK 3.1. DIR must not exist. Needs gcc, lttng-tools, liblttng-ust-dev, python3,
# zstd and Rust.
# With REQUESTS, it records so many requests, and the kernel's scheduler (as root) instead of the printer.
#
# LTTng has a session daemon of its own, as in ../hello-lttng/record.sh. As root, the name of this machine is another one
# while it is recorded.
set -euo pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" = 0 ] && [ "$(hostname)" != workstation ]; then
	exec unshare --uts sh -c 'hostname workstation && exec "$@"' sh "$here/record.sh" "$@"
fi
dotnet=$(cd "$1" && pwd)
directory=$(realpath -m "$2")
mkdir "$directory"
scratch=/tmp/one-request
mkdir "$scratch"
as=()
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chown 65534:65534 "$scratch"
fi
daemon=
finish() {
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null || true
		wait "$daemon" 2>/dev/null || true
	fi
	rm -rf "$scratch"
}
trap finish EXIT

# The programs.
mkdir "$scratch/prices"
(cd "$here/../.." && cargo build --locked -p ichnos-xtrace --features propagation --example one_request &&
	cargo build --locked -p ichnos-fuchsia --features log --example printer)
examples=${CARGO_TARGET_DIR:-$here/../../target}/debug/examples
gcc -O2 -I"$here" -o "$scratch/stock" "$here/stock.c" -llttng-ust -ldl
references=()
for file in "$dotnet"/packs/Microsoft.NETCore.App.Ref/*/ref/*/*.dll; do references+=("-r:$file"); done
export DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 DOTNET_NOLOGO=1
"$dotnet/dotnet" "$(ls -d "$dotnet"/sdk/*/)Roslyn/bincore/csc.dll" -nologo -o+ -langversion:8 -nostdlib \
	"${references[@]}" -out:"$scratch/prices.dll" "$here/Prices.cs"
echo '{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"3.1.0"}}}' \
	>"$scratch/prices.runtimeconfig.json"

# How the shop runs them.
program() {
	printf '#!/bin/sh\n%s\n' "$2" >"$scratch/run-$1"
	chmod +x "$scratch/run-$1"
}
export HOME=$scratch LTTNG_HOME=$scratch
program stock "LTTNG_UST_REGISTER_TIMEOUT=10000 exec ${as[*]} $scratch/stock \"\$@\""
program prices "cd $scratch/prices && COMPlus_EnableEventPipe=1 \
COMPlus_EventPipeConfig=Shop-Prices:FFFFFFFFFFFFFFFF:5 exec $dotnet/dotnet $scratch/prices.dll \"\$@\""
requests=${3:-}
if [ -n "$requests" ]; then
	program printer "exit 0"
else
	program printer "exec $examples/printer $directory/printer.log \"\$@\""
fi

"${as[@]}" lttng-sessiond --no-kernel >"$scratch/daemon.log" 2>&1 &
daemon=$!
for _ in $(seq 100); do
	if "${as[@]}" lttng --no-sessiond list >/dev/null 2>&1; then break; fi
	sleep 0.1
done
run() { "${as[@]}" lttng --no-sessiond "$@" >>"$scratch/lttng.log" 2>&1 || { cat "$scratch"/*.log >&2; exit 1; }; }
run create stock --output="$scratch/trace"
run enable-channel --userspace --subbuf-size=4K --num-subbuf=2 chan
run enable-event --userspace --channel=chan 'stock:*'
run add-context --userspace --channel=chan --type=vpid --type=vtid --type=procname
run start
programs=("$scratch/run-stock" "$scratch/run-prices" "$scratch/run-printer")
if [ -n "$requests" ]; then
	cat >"$scratch/requests" <<'END'
for request in $(seq "$1"); do "$2" "$3/shop-$request.reports" "$4" "$5" "$6" || exit; done
END
	python3 "$here/kernel.py" "$directory/kernel.jsonl" \
		sh "$scratch/requests" "$requests" "$examples/one_request" "$directory" "${programs[@]}"
else
	"$examples/one_request" "$directory/shop.reports" "${programs[@]}"
fi
run stop
run destroy
cp -r --no-preserve=mode,ownership "$scratch/trace" "$directory/stock"
if [ -n "$requests" ]; then
	cp "$scratch"/prices/*.nettrace "$directory"
	chmod 644 "$directory"/*.nettrace
	tar -C "$directory" --sort=name --owner=0 --group=0 --numeric-owner -cf - . | zstd -q -19 -o "$directory.tar.zst"
	exit
fi
zstd -q -19 "$scratch"/prices/*.nettrace -o "$directory/prices.nettrace.zst"

# The clock of log records counts from when the machine was started.
python3 - <<'END'
from datetime import datetime, timezone
from time import CLOCK_BOOTTIME, clock_gettime_ns, time_ns
seconds, nanoseconds = divmod(time_ns() - clock_gettime_ns(CLOCK_BOOTTIME), 10**9)
print(f"--offset '*.log={datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{nanoseconds:09d}Z'")
END
