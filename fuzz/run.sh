#!/usr/bin/env bash
# Fuzzes each target in turn, and says what was found: run.sh [SECONDS PER TARGET [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-60}
shift || true
[ $# -gt 0 ] || set -- tsdl prop1 prop2 spec2 packetized packets index trace generated archive log legacy printf

./seeds.sh
# Our code has next to no `unsafe`, so that without the address sanitizer twice as much is tried.
nice -n 10 cargo +nightly fuzz build --sanitizer none
mkdir -p corpus/logs
for target in "$@"; do
	case $target in
	tsdl | prop1 | prop2 | spec2 | packetized) options=(-max_len=4096 -dict=corpus/words.dict) ;;
	trace) options=(-max_len=16384 -dict=corpus/words.dict) ;;
	generated) options=(-max_len=1024) ;;
	index | legacy) options=(-max_len=1024) ;;
	log | printf) options=(-max_len=4096 -dict=corpus/fuchsia.dict) ;;
	*) options=(-max_len=16384) ;;
	esac
	log=corpus/logs/$target
	status=0
	nice -n 10 cargo +nightly fuzz run --sanitizer none "$target" corpus/$target -- "${options[@]}" \
		-workers=1 -max_total_time="$seconds" -timeout=5 -report_slow_units=1 \
		-rss_limit_mb=512 -malloc_limit_mb=256 -print_final_stats=1 >"$log" 2>&1 || status=$?
	executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	echo "$target: ${executions:-no} executions, $([ $status = 0 ] && echo nothing found || echo "status $status, see fuzz/$log")"
	grep -aE "panicked at|^SUMMARY|Test unit written|Slowest unit|slow-unit" -A1 "$log" | head -n 12 || true
done
