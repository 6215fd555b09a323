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

-- Waits that a wake-up ends, by the thread that runs there. An interrupt is open if the last of its events in the segment is a
-- begin; a processor without a thread wakes up threads in interrupts alone.
create table wakers as
with
woken as (
    select states.row, states.end_row, segments.cpu, segments.segment, segments.running
    from states
    join changes on changes.row = states.end_row and changes.thread = states.thread and not changes.is_switch
    join segments on segments.row = states.end_row
    where states.state in ('waiting', 'sleeping')
),
interrupts as (
    select edges.row, edges.kind, edges.is_begin, segments.cpu, segments.segment
    from edges
    join segments using (row)
    where edges.kind in ('irq', 'softirq', 'hrtimer', 'timer')
)
select woken.row, woken.end_row, running as waker
from woken
where running <> 0
    and not exists (
        from (
            select kind, arg_max(is_begin, interrupts.row) as is_open
            from interrupts
            where interrupts.cpu = woken.cpu and interrupts.segment = woken.segment and interrupts.row < woken.end_row
            group by kind
        )
        where is_open
    );

-- States by number, which grows with time in each thread; of waits, the thread that ended them, and its last state before.
create table parts as
with
numbered as (select *, row_number() over (order by thread, begin_ts) as number from states)
select
    ended.number, ended.thread, ended.state, ended.begin_ts, ended.end_ts,
    lag(ended.number) over (partition by ended.thread order by ended.number) as previous,
    case when waker <> ended.thread and waker in (select thread from states) then waker end as waker,
    before.number as waker_number
from numbered as ended
left join wakers using (row, end_row)
asof left join numbered as before on before.thread = waker and before.begin_ts < ended.end_ts;

-- A frame is a part of the time of a thread, from `begin_ts` to `until_ts`, that is on the path of the thread `root`; the
-- state `number` is the last one in it. What is found there last is a step, or the frame of the thread that ended the wait. A
-- frame for the rest follows.
with recursive path as (
    select
        thread as root, thread, max(number) as number, min(begin_ts) as begin_ts, max(end_ts) as until_ts,
        null::varchar as step
    from parts
    group by thread
    union all
    select
        root,
        case when next = 'waker' then waker else thread end,
        case
            when next = 'waker' then waker_number
            when step <> 'unknown' then previous
            else number
        end,
        case when next = 'rest' then begin_ts else since end,
        case when next = 'rest' then since else until_ts end,
        case when next = 'step' then step end
    from (
        select
            path.root, path.thread, path.begin_ts, path.until_ts,
            parts.number, parts.previous, parts.waker, parts.waker_number,
            -- Between the ends of a thread and its next begin, and before its first one, nothing is known.
            case when parts.end_ts >= path.until_ts then parts.state else 'unknown' end as step,
            greatest(
                path.begin_ts, case when parts.end_ts >= path.until_ts then parts.begin_ts else parts.end_ts end
            ) as since,
            parts.waker is not null and parts.end_ts = path.until_ts as is_woken
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
