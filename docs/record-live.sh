#!/usr/bin/env bash
# Records the terminal in docs/live.md: LTTng, .NET and OpenTelemetry at once.
#
#     ICHNOS_DOTNET=DIR docs/record-live.sh [ICHNOS]
#
# It needs LTTng's daemons and headers, a compiler, curl, and a directory with .NET runtimes (see CONTRIBUTING.md). It
# writes docs/images/live.txt, and `SNAPSHOTS=overwrite cargo nextest run -p ichnos-cli pictures` draws it. As root, give
# the daemons a user of their own: `AS="setpriv --reuid=65534 --regid=65534 --clear-groups"`.
set -euo pipefail
cd "$(dirname "$0")/.."
ichnos=$(realpath "${1:-target/debug/ichnos}")
root=$PWD home=$(mktemp -d) pids=()
end() { kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$home"; }
trap end EXIT
gcc -O2 -Iexamples/hello-lttng -o "$home/hello" examples/hello-lttng/hello.c -llttng-ust -ldl -lpthread
if [ -n "${AS:-}" ]; then chown -R 65534:65534 "$home"; fi
cd "$home"
export HOME=$home LTTNG_HOME=$home

# LTTng: a live session, and a program that runs twice a second.
${AS:-} lttng-relayd -o "$home/relay" >relayd.log 2>&1 & pids+=($!)
${AS:-} lttng-sessiond --no-kernel >sessiond.log 2>&1 & pids+=($!)
for _ in $(seq 100); do ${AS:-} lttng --no-sessiond list >/dev/null 2>&1 && break; sleep 0.1; done
{
    ${AS:-} lttng --no-sessiond create hello --live=100000 --set-url=net://localhost
    ${AS:-} lttng --no-sessiond enable-event --userspace hello:tick
    ${AS:-} lttng --no-sessiond start
} >/dev/null
(while sleep 0.45; do ${AS:-} env LTTNG_UST_REGISTER_TIMEOUT=10000 ./hello 3 1; done) & pids+=($!)

# .NET: a process with counters.
LD_LIBRARY_PATH=$ICHNOS_DOTNET/openssl11/lib DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 \
    HOOK_ARGS="1 1 1 1 60000" DOTNET_STARTUP_HOOKS=$ICHNOS_DOTNET/app/hook.dll \
    "$ICHNOS_DOTNET/net10/host" --version >dotnet.txt & pids+=($!)
until grep -q '^pid ' dotnet.txt; do sleep 0.1; done
dotnet=$(sed -n 's/^pid \([0-9]*\) .*/\1/p' dotnet.txt)

# OpenTelemetry: a log record every 0.3 s.
send() {
    curl -sf -o answer.txt -H 'Content-Type: application/json' http://127.0.0.1:4318/v1/logs --data "{
        \"resourceLogs\": [{\"resource\": {\"attributes\": [
            {\"key\": \"service.name\", \"value\": {\"stringValue\": \"shop\"}}]}, \"scopeLogs\": [{\"logRecords\": [
            {\"timeUnixNano\": \"$(date +%s%N)\", \"body\": {\"stringValue\": \"order $1 is paid\"}}]}]}]}"
}
(order=0; while sleep 0.3; do if send "$order"; then order=$((order + 1)); fi; done) & pids+=($!)

sleep 1
inputs=("net://localhost/host/$(hostname)/hello" "dotnet:$dotnet" --listen otlp://127.0.0.1:4318)
options=(--attach now --providers "'System.Runtime::4:EventCounterIntervalSec=1'")
filter="event == \"hello:tick\" or event == \"log\" or Payload.Name == \"cpu-usage\""
line="ichnos cat --for 3s --no-delta --names none ${inputs[*]} ${options[*]} --filter '$filter'"
printf '$ \033[1m%s\033[0m\n' "$line" >live.txt
PATH=$(dirname "$ichnos"):$PATH COLUMNS=80 LC_ALL=C.UTF-8 bash -c "$line --gmt --color always" >>live.txt 2>&1
cp live.txt "$root/docs/images/live.txt"
