-- Spans of Linux's kernel: system calls and work of threads, interrupts of processors, and requests with keys.

-- Events that begin or end a span: how it is called, and which ones an end can end.
create table kinds as
select event, name, coalesce(kind, name) as kind, place, is_begin
from (
    select distinct event from events
) as classes,
lateral (
    select
        regexp_extract(event, '^(?:compat_)?(?:syscall_entry|syscall_exit|sys)_(.*)$', 1) as call,
        replace(event, 'irq_softirq_', 'softirq_') as known
),
lateral (
    -- An end without a name ends any call.
    select
        call as name, 'thread' as place,
        case when 'exit_syscall' in (select event from events) then 'call' end as kind,
        event not like '%syscall_exit_%' as is_begin
    where call <> ''
    union all
    select 'exit', 'thread', 'call', false where known = 'exit_syscall'
    union all
    select name, place, null, is_begin
    from (
        values
            ('irq_handler_entry', 'irq', 'processor', true), ('irq_handler_exit', 'irq', 'processor', false),
            ('softirq_entry', 'softirq', 'processor', true), ('softirq_exit', 'softirq', 'processor', false),
            ('hrtimer_expire_entry', 'hrtimer', 'processor', true), ('hrtimer_expire_exit', 'hrtimer', 'processor', false),
            ('timer_expire_entry', 'timer', 'processor', true), ('timer_expire_exit', 'timer', 'processor', false),
            ('workqueue_execute_start', 'workqueue', 'thread', true), ('workqueue_execute_end', 'workqueue', 'thread', false),
            ('mm_page_fault_entry', 'page fault', 'thread', true), ('mm_page_fault_exit', 'page fault', 'thread', false),
            ('net_dev_queue', 'net transmit', 'key', true), ('net_dev_xmit', 'net transmit', 'key', false),
            ('block_rq_issue', 'block request', 'key', true), ('block_rq_complete', 'block request', 'key', false)
    ) as known_spans(class, name, place, is_begin)
    where class = known
);

-- The thread that a processor runs is that of its last switch.
create table edges as
select
    row, ts, kind, is_begin,
    -- Interrupts are called by their devices.
    coalesce(case when event = 'irq_handler_entry' then nullif(placed.name, '') end, kinds.name) as name,
    case
        when place = 'key' then concat_ws(' ', 'key', skbaddr, dev, sector)
        when place = 'thread' and running <> 0 then 'thread ' || running
        else 'processor ' || cpu
    end as track
from (
    select
        *,
        "packet.cpu_id"::bigint as cpu,
        last_value(case when event = 'sched_switch' then next_tid::bigint end ignore nulls)
            over (partition by "packet.cpu_id" order by row) as running
    from events
) as placed
join kinds using (event);

-- A span is a begin whose next edge of its kind on its track is an end.
create table complete as
select
    name, track, begin_row, end_row, end_ts - begin_ts as length,
    -- Only such spans can be within others, or around them.
    coalesce(max(end_row) over (before rows between unbounded preceding and 1 preceding) > begin_row, false) as is_inside,
    coalesce(lead(begin_row) over before < end_row, false) as is_around
from (
    select
        name, track, is_begin, row as begin_row, ts as begin_ts,
        lead(row) over next as end_row, lead(ts) over next as end_ts, lead(is_begin) over next as is_lost
    from edges
    window next as (partition by track, kind order by row)
)
where is_begin and not is_lost
window before as (partition by track order by begin_row);

-- The end of a span that began earlier ends it, too: it has lost its own end.
create table pairs as
select *
from complete
where begin_row not in (
    select inside.begin_row
    from (from complete where is_inside) as inside
    join (from complete where is_around) as around
        on around.track = inside.track
        and around.begin_row < inside.begin_row
        and around.end_row > inside.begin_row
        and around.end_row < inside.end_row
);

-- The span around a span is the last one that began before it, and ends behind it.
create table within as
select inside.begin_row, max(around.begin_row) as around_row, any_value(inside.length) as length
from (from pairs where is_inside) as inside
join (from pairs where is_around) as around
    on around.track = inside.track
    and around.begin_row < inside.begin_row
    and around.end_row > inside.end_row
where inside.track not like 'key %'
group by inside.begin_row;

select
    name, count(*), min(pairs.length)::bigint, max(pairs.length)::bigint, sum(pairs.length)::bigint,
    sum(pairs.length - coalesce(inside, 0))::bigint
from pairs
left join (select around_row, sum(length) as inside from within group by around_row) on around_row = begin_row
group by name order by name
