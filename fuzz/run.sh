#!/usr/bin/env bash
# Fuzzes targets, JOBS at once (by default one), and says what was found:
# run.sh [SECONDS PER TARGET [TARGET...]]. Ends with 1 if something was found.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-60}
shift || true
[ $# -gt 0 ] || set -- tsdl prop1 prop2 spec2 packetized packets index trace generated roundtrip archive expression log legacy printf fxt nettrace_v3 nettrace_v4 nettrace_v6 xtrace_metadata xtrace_reports json jsonl convert

./seeds.sh
# Our code has next to no `unsafe`, so that without the address sanitizer twice as much is tried.
nice -n 10 cargo +nightly fuzz build --sanitizer none
mkdir -p corpus/logs

fuzz() {
	local target=$1 log=corpus/logs/$1 status=0 options executions
	case $target in
	tsdl | prop1 | prop2 | spec2 | packetized) options=(-max_len=4096 -dict=corpus/words.dict) ;;
	trace | jsonl) options=(-max_len=16384 -dict=corpus/words.dict) ;;
	json) options=(-max_len=1024 -dict=corpus/words.dict) ;;
	generated | index | legacy) options=(-max_len=1024) ;;
	roundtrip) options=(-max_len=8192) ;;
	expression) options=(-max_len=512 -dict=corpus/expression.dict) ;;
	xtrace_metadata) options=(-max_len=1024 -dict=corpus/xtrace.dict) ;;
	xtrace_reports) options=(-max_len=4096 -dict=corpus/xtrace.dict) ;;
	log | printf) options=(-max_len=4096 -dict=corpus/fuchsia.dict) ;;
	*) options=(-max_len=16384) ;;
	esac
	nice -n 10 cargo +nightly fuzz run --sanitizer none "$target" corpus/"$target" -- "${options[@]}" \
		-workers=1 -max_total_time="$seconds" -timeout=20 -report_slow_units=1 \
		-rss_limit_mb=512 -malloc_limit_mb=256 -print_final_stats=1 >"$log" 2>&1 || status=$?
	executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	echo "$target: ${executions:-no} executions, $([ $status = 0 ] && echo nothing found || echo "status $status, see fuzz/$log")"
	grep -aE "panicked at|^SUMMARY|Test unit written|Slowest unit|slow-unit" -A1 "$log" | head -n 12 || true
	return $status
}

rm -f corpus/logs/found
for target in "$@"; do
	while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-1}" ]; do
		wait -n || true
	done
	fuzz "$target" || touch corpus/logs/found &
done
wait
[ ! -e corpus/logs/found ]
