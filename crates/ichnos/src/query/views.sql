-- Questions about traces, as table macros: .read views.sql, then FROM slowest_spans('my-trace').
-- Times and durations are nanoseconds. Where a trace lacks the events, a view has no rows: `UNION ALL BY NAME` adds the columns.

-- Complete spans, slowest first.
CREATE OR REPLACE TEMP MACRO slowest_spans(path) AS TABLE
SELECT duration, name, begin_ts, process_name, thread, thread_name FROM trace_spans(path)
WHERE is_complete ORDER BY duration DESC, begin_ts;

-- Number and durations of spans by name.
CREATE OR REPLACE TEMP MACRO span_times(path) AS TABLE
SELECT name, count(*) AS spans, sum(duration)::BIGINT AS total, min(duration) AS least,
    quantile_disc(duration, 0.5) AS median, quantile_disc(duration, 0.95) AS p95,
    quantile_disc(duration, 0.99) AS p99, max(duration) AS most
FROM trace_spans(path) WHERE is_complete GROUP BY name ORDER BY total DESC, name;

-- The same for system calls of a Linux kernel trace.
CREATE OR REPLACE TEMP MACRO syscall_times(path) AS TABLE
SELECT name, count(*) AS calls, sum(duration)::BIGINT AS total, quantile_disc(duration, 0.5) AS median,
    quantile_disc(duration, 0.95) AS p95, quantile_disc(duration, 0.99) AS p99, max(duration) AS most
FROM trace_spans(path, event := ['syscall_*', 'sys_*', 'exit_syscall', 'compat_sys*', 'sched_switch'])
WHERE is_complete GROUP BY name ORDER BY total DESC, name;

-- How long threads waited for a processor after a wakeup. A wakeup of a running thread is none.
CREATE OR REPLACE TEMP MACRO run_queue_latency(path) AS TABLE
WITH steps AS (
    SELECT ts, stream, seq, event LIKE 'sched_switch' AS is_switch, prev_tid, prev_comm, next_tid, next_comm, tid, comm
    FROM (SELECT NULL::BIGINT AS prev_tid, NULL::VARCHAR AS prev_comm, NULL::BIGINT AS next_tid, NULL::VARCHAR AS next_comm,
            NULL::BIGINT AS tid, NULL::VARCHAR AS comm WHERE false
        UNION ALL BY NAME FROM read_trace(path, event := ['sched_switch', 'sched_wakeup', 'sched_wakeup_new', 'sched_waking']))
), changes AS (
    SELECT ts, stream, seq, 0 AS place, prev_tid AS thread, prev_comm AS name, 'stop' AS change FROM steps WHERE is_switch
    UNION ALL
    SELECT ts, stream, seq, 1, next_tid, next_comm, 'start' FROM steps WHERE is_switch
    UNION ALL
    SELECT ts, stream, seq, 0, tid, comm, 'wakeup' FROM steps WHERE NOT is_switch
), pairs AS (
    SELECT *, lag(ts) OVER w AS woken, lag(change) OVER w AS before,
        last_value(CASE WHEN change <> 'wakeup' THEN change END IGNORE NULLS)
            OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS switched
    FROM changes WINDOW w AS (PARTITION BY thread ORDER BY ts, stream, seq, place)
)
SELECT thread, any_value(name) AS name, count(*) AS wakeups, quantile_disc(ts - woken, 0.5) AS median,
    quantile_disc(ts - woken, 0.99) AS p99, max(ts - woken) AS most
FROM pairs WHERE change = 'start' AND before = 'wakeup' AND switched IS DISTINCT FROM 'start' AND thread <> 0
GROUP BY thread ORDER BY most DESC, thread;

-- How long each thread did not run between two runs.
CREATE OR REPLACE TEMP MACRO off_cpu(path) AS TABLE
WITH switches AS (
    SELECT ts, stream, seq, prev_tid, prev_comm, next_tid
    FROM (SELECT NULL::BIGINT AS prev_tid, NULL::VARCHAR AS prev_comm, NULL::BIGINT AS next_tid WHERE false
        UNION ALL BY NAME FROM read_trace(path, event := 'sched_switch'))
), steps AS (
    SELECT ts, stream, seq, prev_tid AS thread, prev_comm AS name, false AS runs FROM switches
    UNION ALL
    SELECT ts, stream, seq, next_tid, NULL, true FROM switches
), waits AS (
    SELECT thread, name, runs, ts - lag(ts) OVER w AS waited, lag(runs) OVER w AS ran_before
    FROM steps WINDOW w AS (PARTITION BY thread ORDER BY ts, stream, seq, runs)
)
SELECT thread, any_value(name) AS name, count(*) FILTER (WHERE runs AND NOT ran_before) AS waits,
    sum(waited) FILTER (WHERE runs AND NOT ran_before)::BIGINT AS total,
    max(waited) FILTER (WHERE runs AND NOT ran_before) AS most
FROM waits WHERE thread <> 0 GROUP BY thread HAVING waits > 0 ORDER BY total DESC, thread;

-- Pauses of .NET programs by the garbage collector: from the wish to suspend to the end of the restart.
CREATE OR REPLACE TEMP MACRO gc_pauses(path) AS TABLE
WITH steps AS (
    SELECT ts, process, event LIKE '%GCRestartEE%' AS is_end, lag(ts) OVER w AS begin_ts,
        lag(event) OVER w LIKE '%GCSuspendEE%' AS has_begun
    FROM trace_events(path, event := '*/{GCSuspendEEBegin*,GCRestartEEEnd*}')
    WINDOW w AS (PARTITION BY trace, process ORDER BY ts)
)
SELECT begin_ts, ts AS end_ts, ts - begin_ts AS duration, process FROM steps
WHERE is_end AND has_begun ORDER BY duration DESC, begin_ts;

-- Functions on top of call stacks.
CREATE OR REPLACE TEMP MACRO top_functions(path) AS TABLE
SELECT coalesce(f.symbol, printf('0x%x', f.address)) AS symbol, f.module, count(*) AS samples FROM trace_events(path) e
JOIN trace_stacks(path) s USING (stack) JOIN trace_frames(path) f USING (frame)
GROUP BY ALL ORDER BY samples DESC, symbol, f.module;

-- Number of events in each second.
CREATE OR REPLACE TEMP MACRO events_per_second(path) AS TABLE
SELECT ts // 1000000000 AS second, count(*) AS events FROM trace_events(path)
WHERE ts IS NOT NULL GROUP BY second ORDER BY second;

-- Longest times without an event in a data stream.
CREATE OR REPLACE TEMP MACRO gaps(path) AS TABLE
SELECT ts - before AS duration, before AS begin_ts, ts AS end_ts, stream FROM (
    SELECT ts, stream, lag(ts) OVER (PARTITION BY stream ORDER BY ts) AS before FROM trace_events(path)
) WHERE before IS NOT NULL ORDER BY duration DESC, begin_ts, stream;

-- Steps of the critical path of each task.
CREATE OR REPLACE TEMP MACRO critical_path(path) AS TABLE
SELECT task, cause_end_ts AS from_ts, effect_begin_ts AS to_ts, effect_begin_ts - cause_end_ts AS waited, kind,
    cause_label, effect_label, cause_place, effect_place
FROM trace_edges(path) WHERE is_critical ORDER BY task, to_ts;

-- Threads with the most events.
CREATE OR REPLACE TEMP MACRO busiest_threads(path) AS TABLE
SELECT process, thread, count(*) AS events, min(ts) AS begin_ts, max(ts) AS end_ts FROM trace_events(path)
WHERE thread IS NOT NULL GROUP BY process, thread ORDER BY events DESC, process, thread;

-- Log lines by level.
CREATE OR REPLACE TEMP MACRO log_levels(path) AS TABLE
SELECT level, count(*) AS lines, arg_min(message, ts) AS first_message FROM trace_events(path)
WHERE level IS NOT NULL GROUP BY level ORDER BY lines DESC, level;

-- What each data stream lost.
CREATE OR REPLACE TEMP MACRO losses_by_stream(path) AS TABLE
SELECT stream_name, kind, count(*) AS places, sum("count")::BIGINT AS missing, sum(skipped_bytes)::BIGINT AS skipped_bytes
FROM trace_losses(path) GROUP BY ALL ORDER BY places DESC, stream_name, kind;

-- Exceptions of .NET programs by type.
CREATE OR REPLACE TEMP MACRO exceptions(path) AS TABLE
SELECT "ExceptionType" AS type, count(*) AS exceptions, count(DISTINCT thread) AS threads, min(ts) AS first_ts,
    max(ts) AS last_ts, arg_min("ExceptionMessage", ts) AS first_message
FROM (SELECT NULL::VARCHAR AS "ExceptionType", NULL::VARCHAR AS "ExceptionMessage", NULL::BIGINT AS thread WHERE false
    UNION ALL BY NAME FROM read_trace(path, event := '*/ExceptionThrown*'))
WHERE type IS NOT NULL GROUP BY type ORDER BY exceptions DESC, type;

-- Sampled allocations of .NET programs by type.
CREATE OR REPLACE TEMP MACRO allocations(path) AS TABLE
SELECT "TypeName" AS type, count(*) AS samples, sum("AllocationAmount64")::BIGINT AS bytes
FROM (SELECT NULL::VARCHAR AS "TypeName", NULL::BIGINT AS "AllocationAmount64" WHERE false
    UNION ALL BY NAME FROM read_trace(path, event := '*/GCAllocationTick*'))
GROUP BY type ORDER BY bytes DESC, type;

-- Times when threads of .NET programs waited for a lock.
CREATE OR REPLACE TEMP MACRO lock_waits(path) AS TABLE
WITH steps AS (
    SELECT ts, process, thread, event LIKE '%ContentionStop%' AS is_end, lag(ts) OVER w AS begin_ts,
        lag(event) OVER w LIKE '%ContentionStart%' AS has_begun
    FROM trace_events(path, event := '*/{ContentionStart*,ContentionStop*}')
    WINDOW w AS (PARTITION BY trace, process, thread ORDER BY ts)
)
SELECT begin_ts, ts AS end_ts, ts - begin_ts AS duration, process, thread FROM steps
WHERE is_end AND has_begun ORDER BY duration DESC, begin_ts;

-- Number of events by name.
CREATE OR REPLACE TEMP MACRO event_counts(path) AS TABLE
SELECT event, count(*) AS events, min(ts) AS first_ts, max(ts) AS last_ts FROM trace_events(path)
GROUP BY event ORDER BY events DESC, event;

-- Slowest tasks.
CREATE OR REPLACE TEMP MACRO slowest_tasks(path) AS TABLE
SELECT duration, task, title, begin_ts, operations, depth, joins, events FROM trace_tasks(path)
WHERE duration IS NOT NULL ORDER BY duration DESC, task;

-- Call stacks with the most samples, from the outermost function to the innermost.
CREATE OR REPLACE TEMP MACRO top_stacks(path) AS TABLE
WITH RECURSIVE frames AS MATERIALIZED (
    SELECT stack, caller, coalesce(symbol, printf('0x%x', address)) AS name
    FROM trace_stacks(path) JOIN trace_frames(path) USING (frame)
), counted AS MATERIALIZED (
    SELECT stack, count(*) AS samples FROM trace_events(path) WHERE stack IS NOT NULL
    GROUP BY stack ORDER BY samples DESC, stack LIMIT 100
), chains AS (
    SELECT counted.stack, caller, name, 0 AS depth FROM counted JOIN frames USING (stack)
    UNION ALL
    SELECT chains.stack, frames.caller, frames.name, depth + 1 FROM chains JOIN frames ON frames.stack = chains.caller
    WHERE depth < 10000
)
SELECT any_value(samples) AS samples, string_agg(name, ';' ORDER BY depth DESC) AS functions, stack
FROM chains JOIN counted USING (stack) GROUP BY stack ORDER BY samples DESC, functions, stack;

-- How long each processor ran threads, from scheduler events.
CREATE OR REPLACE TEMP MACRO cpu_use(path) AS TABLE
SELECT cpu, (sum(lasted) FILTER (WHERE prev_tid <> 0))::BIGINT AS busy, sum(lasted)::BIGINT AS total,
    round(100.0 * busy / total, 2) AS percent
FROM (
    SELECT cpu, prev_tid, ts - lag(ts) OVER (PARTITION BY cpu ORDER BY ts, seq) AS lasted
    FROM (SELECT NULL::BIGINT AS prev_tid, NULL::BIGINT AS cpu WHERE false
        UNION ALL BY NAME FROM read_trace(path, event := 'sched_switch'))
) WHERE lasted IS NOT NULL GROUP BY cpu ORDER BY cpu;
