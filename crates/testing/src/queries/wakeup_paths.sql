-- Critical paths over wake-ups of all threads, found backward from their last state. It needs the tables of the states and
-- of the spans.

-- Runs of events of a processor between two switches.
create table segments as
select
    row, events.cpu,
    sum(coalesce(is_switch, false)::bigint) over before as segment,
    -- Events of perf name the thread.
    coalesce(perf_tid::bigint, last_value(case when is_switch then next end ignore nulls) over before) as running
from (select row, coalesce("packet.cpu_id", perf_cpu)::bigint as cpu, perf_tid from events) as events
left join scheduling using (row)
window before as (partition by events.cpu order by row);

-- Wake-ups and forks that change a thread, by the thread that runs there. An interrupt is open if the last of its events in the
-- segment is a begin; a processor without a thread wakes up threads in interrupts alone.
create table wakers as
with
woken as (
    select changes.row, changes.thread, segments.cpu, segments.segment, segments.running
    from changes
    join segments using (row)
    where not changes.is_switch
),
interrupts as (
    select edges.row, edges.kind, edges.is_begin, segments.cpu, segments.segment
    from edges
    join segments using (row)
    where edges.kind in ('irq', 'softirq', 'hrtimer', 'timer')
)
select woken.row, woken.thread, running as waker
from woken
where running <> 0 and running <> thread and running in (select thread from states)
    and not exists (
        from (
            select kind, arg_max(is_begin, interrupts.row) as is_open
            from interrupts
            where interrupts.cpu = woken.cpu and interrupts.segment = woken.segment and interrupts.row < woken.row
            group by kind
        )
        where is_open
    );

-- States by number, which grows with time in each thread; of waits, the thread that ended them, and its last state before; of
-- states after a wake-up or a fork, the thread that did it (the starter), and its last state before.
create table parts as
with
numbered as (select *, row_number() over (order by thread, begin_ts) as number from states)
select
    ended.number, ended.thread, ended.state, ended.begin_ts, ended.end_ts,
    lag(ended.number) over (partition by ended.thread order by ended.number) as previous,
    ender.waker, before.number as waker_number,
    starters.waker as starter, earlier.number as starter_number
from numbered as ended
left join wakers as ender
    on ender.row = ended.end_row and ender.thread = ended.thread and ended.state in ('waiting', 'sleeping')
left join wakers as starters
    on starters.row = ended.row and starters.thread = ended.thread
asof left join numbered as before on before.thread = ender.waker and before.begin_ts < ended.end_ts
asof left join numbered as earlier on earlier.thread = starters.waker and earlier.begin_ts < ended.begin_ts;

-- A frame is a part of the time of a thread, from `begin_ts` to `until_ts`, that is on the path of the thread `root`; the
-- state `number` is the last one in it. What is found there last is a step, or the frame of the thread that ended the wait. A
-- frame for the rest follows. `starter` is the thread that made the thread of the frame runnable at its end.
with recursive path as (
    select
        thread as root, thread, max(number) as number, min(begin_ts) as begin_ts, max(end_ts) as until_ts,
        null::bigint as starter, null::bigint as starter_number, null::varchar as step
    from parts
    group by thread
    union all
    select
        root,
        case when next = 'waker' then other else thread end,
        case
            when next = 'waker' then other_number
            when found <> 'unknown' then previous
            else number
        end,
        case when next = 'rest' then begin_ts else since end,
        case when next = 'rest' then since else until_ts end,
        case when next = 'rest' and found <> 'unknown' then state_starter end,
        case when next = 'rest' and found <> 'unknown' then state_starter_number end,
        case when next = 'step' then found end
    from (
        select
            path.root, path.thread, path.begin_ts, path.until_ts,
            parts.number, parts.previous, parts.starter as state_starter, parts.starter_number as state_starter_number,
            -- Between the ends of a thread and its next begin, and before its first one, nothing is known of it.
            case when parts.end_ts >= path.until_ts then parts.state else 'unknown' end as found,
            found = 'unknown' and path.starter is not null as is_started,
            case when is_started then path.starter else parts.waker end as other,
            case when is_started then path.starter_number else parts.waker_number end as other_number,
            case
                when is_started then path.begin_ts
                else greatest(
                    path.begin_ts, case when parts.end_ts >= path.until_ts then parts.begin_ts else parts.end_ts end
                )
            end as since,
            is_started or parts.waker is not null and parts.end_ts = path.until_ts as is_woken
        from path
        left join parts on parts.number = path.number
        where path.step is null and path.begin_ts < path.until_ts
    )
    cross join (values ('step'), ('waker'), ('rest')) as kinds_of_next(next)
    where next = 'rest' or (next = 'waker') = coalesce(is_woken, false)
)
select root, begin_ts, until_ts, step, thread
from path
where step is not null
order by root, begin_ts
