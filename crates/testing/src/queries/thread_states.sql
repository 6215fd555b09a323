-- States of threads by the rules of Linux's scheduler, from its events alone. Kernels before 4.14: `prev_state` is 0, bits of
-- a sleep (1, 2), of a stop (4, 8), of an end (16, 32, 64), and bits above that say more about them, or about none of them.

-- Events of the scheduler: `previous` stopped running, `next` runs, `woken` can run, which a fork also says of its child.
create table scheduling as
select
    row,
    ts,
    coalesce("packet.cpu_id", perf_cpu)::bigint as cpu,
    event similar to '(sched:)?sched_switch' as is_switch,
    coalesce(prev_tid, prev_pid)::bigint as previous,
    prev_state::bigint as bits,
    coalesce(next_tid, next_pid)::bigint as next,
    case
        when event similar to '(sched:)?sched_(waking|wakeup|wakeup_new|ttwu)' then coalesce(tid, pid)::bigint
        when event similar to '(sched:)?sched_process_fork' then coalesce(child_tid, child_pid)::bigint
    end as woken
from events
where event similar to '(sched:)?sched_(switch|waking|wakeup|wakeup_new|ttwu|process_fork)';

-- Changes of threads: what a switch or a wake-up says. A thread that stops running comes before the one that runs next.
create table changes as
with
recorded as (
    select
        row, 0 as part, ts, cpu, previous as thread, true as is_switch,
        case
            when bits & (16 | 32 | 64) <> 0 then 'dead'
            when bits & (4 | 8) <> 0 then 'stopped'
            -- An idle kernel thread.
            when bits & 1026 = 1026 then 'sleeping'
            when bits & 2 <> 0 then 'waiting'
            when bits & 1 <> 0 then 'sleeping'
            else 'runnable'
        end as state
    from scheduling where is_switch
    union all
    select row, 1, ts, cpu, next, true, 'running' from scheduling where is_switch
    union all
    select row, 0, ts, cpu, woken, false, 'runnable' from scheduling where woken is not null
),
-- What a processor ran at its first switch, it has run since its first event.
firsts as (
    select
        (select min(row) from events where coalesce("packet.cpu_id", perf_cpu)::bigint = first.cpu) as row,
        -1 as part,
        (select min(ts) from events where coalesce("packet.cpu_id", perf_cpu)::bigint = first.cpu) as ts,
        cpu, previous as thread, true as is_switch, 'running' as state
    from (select cpu, arg_min(previous, row) as previous from scheduling where is_switch group by cpu) as first
),
ordered as (
    select
        *,
        -- Number of the life between two switches of the thread.
        count(*) filter (is_switch) over (partition by thread order by row, part) as life
    from (select * from recorded union all select * from firsts)
    where thread <> 0
),
-- A wake-up changes a thread that neither runs nor can run, and further ones before it runs do not.
effective as (
    select
        *,
        first_value(case when is_switch then state else 'unseen' end) over lives as since_switch,
        count(*) filter (not is_switch) over (lives order by row, part) as wakeups
    from ordered
    window lives as (partition by thread, life)
)
select row, part, ts, thread, state, is_switch
from effective
where is_switch or wakeups = 1 and since_switch not in ('running', 'runnable');

-- Intervals between changes, the last ones to the end of the trace.
create table states as
select *
from (
    select
        row, part, thread, ts as begin_ts,
        -- Before the first event of its processor, it began to run unseen.
        case when lead(part) over by_thread = -1 then 'unknown' else state end as state,
        lead(ts, 1, (select max(ts) from events)) over by_thread as end_ts,
        lead(row) over by_thread as end_row
    from changes
    window by_thread as (partition by thread order by row, part)
)
where state <> 'dead' and begin_ts < end_ts;

-- The last column is the part of the sum before the first switch of the processor.
select
    thread, state, sum(end_ts - begin_ts)::bigint, coalesce(sum(end_ts - begin_ts) filter (part = -1), 0)::bigint
from states
group by all
order by all
