//! Known events with their roles and meanings: Linux kernel, LTTng libraries, perf, ROS 2 and Zephyr.

use std::sync::{Arc, LazyLock};

use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldClass, FieldKind, Member};
use ichnos_model::meaning::{EventDisplay, EventRole, EventRule, EventTrack, Meaning};
use ichnos_model::{Scope, TraceClass};

/// Context member meanings. If several members have the same meaning, the first one wins.
const CONTEXTS: [(&str, Meaning); 5] = [
    ("vpid", Meaning::Process),
    ("pid", Meaning::Process),
    ("vtid", Meaning::Thread),
    ("tid", Meaning::Thread),
    ("procname", Meaning::ProcessName),
];

/// LTTng packet context member.
const PROCESSOR: &str = "cpu_id";

/// Pattern for event names: a full name, a prefix or a suffix.
enum NamePattern {
    Is(&'static str),
    Begins(&'static str),
    Ends(&'static str),
}

impl NamePattern {
    /// Creates a pattern from a text with at most one star, at its start or end.
    const fn new(text: &'static str) -> Self {
        match text.as_bytes() {
            [b'*', ..] => Self::Ends(text.split_at(1).1),
            [.., b'*'] => Self::Begins(text.split_at(text.len() - 1).0),
            _ => Self::Is(text),
        }
    }

    /// Returns the part of a name that matches the star.
    fn rest<'n>(&self, name: &'n str) -> Option<&'n str> {
        match self {
            Self::Is(text) => (*text == name).then_some(""),
            Self::Begins(text) => name.strip_prefix(text),
            Self::Ends(text) => name.strip_suffix(text),
        }
    }
}

/// Known events.
struct KnownEvents {
    names: NamePattern,
    rule: EventRule,
    /// `true` if the span is named after the part that matches the star.
    named: bool,
}

/// Begin and end event names, name and category of the spans, and members with meanings.
type Spans<'a> = ([&'static str; 2], (&'a str, &'a str), &'a [(&'a str, Meaning)]);

/// Creates known events from their names, role, display name, category, and members with meanings. The display name `*`
/// is the part of the event name that matches the star.
fn known(
    names: &'static str,
    role: EventRole,
    (name, category): (&str, &str),
    members: &[(&str, Meaning)],
) -> KnownEvents {
    let text = |text: &str| (!text.is_empty() && text != "*").then(|| text.to_owned());
    let display = EventDisplay { name: text(name), category: text(category), ..EventDisplay::default() };
    let mut rule = EventRule::new(role).shown(display);
    rule.members = members.iter().map(|(member, meaning)| (format!("payload.{member}"), *meaning)).collect();
    KnownEvents { names: NamePattern::new(names), rule, named: name == "*" }
}

impl KnownEvents {
    /// Changes the display.
    fn shown(mut self, change: impl FnOnce(&mut EventDisplay)) -> Self {
        if let Some(display) = &mut self.rule.display {
            change(Arc::make_mut(display));
        }
        self
    }

    /// Puts the events on a track.
    fn on(self, track: EventTrack) -> Self {
        self.shown(|display| display.track = track)
    }

    fn in_unit(self, unit: &str) -> Self {
        self.shown(|display| display.unit = Some(unit.to_owned()))
    }

    /// Sets the member that identifies an object, and the member that contains the object's name.
    fn names_object(self, object: &str, by: &str) -> Self {
        self.ends_object(object).shown(|display| display.object_name = Some(format!("payload.{by}")))
    }

    /// Sets the member that identifies an object which the events end.
    fn ends_object(self, object: &str) -> Self {
        self.shown(|display| display.object = Some(format!("payload.{object}")))
    }

    /// Sets the member that identifies the object in question.
    fn about(self, object: &str) -> Self {
        self.shown(|display| display.about = Some(format!("payload.{object}")))
    }

    /// Creates the events that begin and end spans.
    fn spans([begin, end]: [&'static str; 2], shown: (&str, &str), members: &[(&str, Meaning)]) -> [Self; 2] {
        let keys: Vec<_> =
            members.iter().filter(|(_, meaning)| *meaning == Meaning::PairKey).copied().collect();
        [known(begin, EventRole::Begin, shown, members), known(end, EventRole::End, shown, &keys)]
    }

    /// Applies the rule to a matching class. Returns `true` if it matches.
    fn apply(&self, class: &mut EventRecordClass, stream: &DataStreamClass) -> bool {
        let Some(rest) = class.name.as_deref().and_then(|name| self.names.rest(name)) else { return false };
        let rest = rest.to_owned();
        self.rule.apply(class, stream);
        if let Some(display) = class.display.as_mut().filter(|_| self.named && !rest.is_empty()) {
            Arc::make_mut(display).name = Some(rest);
        }
        true
    }
}

/// Linux kernel events under LTTng's names, before and since version 2.8.
static KERNEL: LazyLock<Vec<KnownEvents>> = LazyLock::new(|| {
    use EventRole::{Begin, Counter, End, Instant, Switch, ThreadStart, Wakeup};
    use Meaning::{
        CounterValue, EventName, PairKey, PreviousState, PreviousThread, PreviousThreadName, Processor,
        TargetProcess, TargetThread, TargetThreadName,
    };
    let thread = [("tid", TargetThread), ("comm", TargetThreadName)];
    let switch = [
        ("prev_tid", PreviousThread),
        ("prev_comm", PreviousThreadName),
        ("prev_state", PreviousState),
        ("next_tid", TargetThread),
        ("next_comm", TargetThreadName),
    ];
    let child = [("child_tid", TargetThread), ("child_comm", TargetThreadName), ("child_pid", TargetProcess)];
    let state = [("tid", TargetThread), ("name", TargetThreadName), ("pid", TargetProcess)];
    let mut all = vec![known("sched_switch", Switch, ("", "sched"), &switch)];
    for name in ["sched_wakeup", "sched_wakeup_new", "sched_waking", "sched_ttwu"] {
        all.push(known(name, Wakeup, ("", "sched"), &thread));
    }
    all.extend([
        known("sched_process_fork", ThreadStart, ("", "sched"), &child),
        known("lttng_statedump_process_state", Instant, ("", "statedump"), &state),
        known("sched_*", Instant, ("", "sched"), &thread),
        known(
            "signal_generate",
            Instant,
            ("", "signal"),
            &[("pid", TargetThread), ("comm", TargetThreadName)],
        ),
        known(
            "power_cpu_frequency",
            Counter,
            ("frequency", "power"),
            &[("state", CounterValue), ("cpu_id", Processor)],
        )
        .in_unit("kHz"),
    ]);
    for begin in ["syscall_entry_*", "compat_syscall_entry_*", "sys_*", "compat_sys_*"] {
        all.push(known(begin, Begin, ("*", "syscall"), &[]));
    }
    for end in ["syscall_exit_*", "compat_syscall_exit_*", "exit_syscall*"] {
        all.push(known(end, End, ("*", "syscall"), &[]));
    }
    let on_processor: &[Spans<'_>] = &[
        (["irq_handler_entry", "irq_handler_exit"], ("irq", "irq"), &[("name", EventName)]),
        (["irq_softirq_entry", "irq_softirq_exit"], ("softirq", "irq"), &[]),
        (["softirq_entry", "softirq_exit"], ("softirq", "irq"), &[]),
        (["irq_tasklet_low_entry", "irq_tasklet_low_exit"], ("tasklet", "irq"), &[]),
        (["irq_tasklet_hi_entry", "irq_tasklet_hi_exit"], ("tasklet", "irq"), &[]),
        (["timer_hrtimer_expire_entry", "timer_hrtimer_expire_exit"], ("hrtimer", "timer"), &[]),
        (["hrtimer_expire_entry", "hrtimer_expire_exit"], ("hrtimer", "timer"), &[]),
        (["timer_expire_entry", "timer_expire_exit"], ("timer", "timer"), &[]),
        (["kvm_x86_entry", "kvm_x86_exit"], ("guest", "kvm"), &[]),
    ];
    for (names, shown, members) in on_processor {
        all.extend(KnownEvents::spans(*names, *shown, members).map(|known| known.on(EventTrack::Processor)));
    }
    let request = [("dev", PairKey), ("sector", PairKey)];
    let of_trace: &[Spans<'_>] = &[
        (["block_rq_issue", "block_rq_complete"], ("block request", "block"), &request),
        (["net_dev_queue", "net_dev_xmit"], ("net transmit", "net"), &[("skbaddr", PairKey)]),
    ];
    for (names, shown, members) in of_trace {
        all.extend(KnownEvents::spans(*names, *shown, members).map(|known| known.on(EventTrack::Trace)));
    }
    let of_threads: &[Spans<'_>] = &[
        (["workqueue_execute_start", "workqueue_execute_end"], ("workqueue", "workqueue"), &[]),
        (["mm_page_fault_entry", "mm_page_fault_exit"], ("page fault", "mm"), &[]),
        (["mm_shrink_slab_start", "mm_shrink_slab_end"], ("shrink slab", "mm"), &[]),
        (["mm_vmscan_direct_reclaim_begin", "mm_vmscan_direct_reclaim_end"], ("direct reclaim", "mm"), &[]),
    ];
    for (names, shown, members) in of_threads {
        all.extend(KnownEvents::spans(*names, *shown, members));
    }
    all
});

/// ROS 2 events that name objects, which other events identify by address: the object, and its name or its owner.
const OBJECTS: [(&str, &str, &str); 13] = [
    ("ros2:rclcpp_callback_register", "callback", "symbol"),
    ("ros2:rcl_subscription_init", "subscription_handle", "topic_name"),
    ("ros2:rclcpp_subscription_init", "subscription", "subscription_handle"),
    ("ros2:rclcpp_subscription_callback_added", "callback", "subscription"),
    ("ros2:rcl_publisher_init", "publisher_handle", "topic_name"),
    ("ros2:rcl_service_init", "service_handle", "service_name"),
    ("ros2:rclcpp_service_callback_added", "callback", "service_handle"),
    ("ros2:rcl_client_init", "client_handle", "service_name"),
    ("ros2:rcl_node_init", "node_handle", "node_name"),
    ("ros2:rclcpp_timer_callback_added", "callback", "timer_handle"),
    ("ros2:rclcpp_timer_link_node", "timer_handle", "node_handle"),
    ("dds:create_writer", "writer", "topic_name"),
    ("dds:create_reader", "reader", "topic_name"),
];

/// Further ROS 2 events about such objects.
const ABOUT: [(&str, &str); 4] = [
    ("dds:write_pre", "writer"),
    ("dds:read", "reader"),
    ("ros2:rclcpp_intra_publish", "publisher_handle"),
    ("ros2:rclcpp_executor_execute", "handle"),
];

/// User-space events, by provider.
static USER: LazyLock<Vec<KnownEvents>> = LazyLock::new(|| {
    use EventRole::{Receive, Send};
    use Meaning::{EventName, PairKey};
    let mut all = Vec::new();
    let spans: &[Spans<'_>] = &[
        (
            ["lttng_ust_cyg_profile:func_entry", "lttng_ust_cyg_profile:func_exit"],
            ("function", ""),
            &[("addr", EventName)],
        ),
        (
            ["lttng_ust_cyg_profile_fast:func_entry", "lttng_ust_cyg_profile_fast:func_exit"],
            ("function", ""),
            &[("addr", EventName)],
        ),
        (
            ["lttng_ust_pthread:pthread_mutex_lock_req", "lttng_ust_pthread:pthread_mutex_lock_acq"],
            ("wait for mutex", ""),
            &[],
        ),
        (["ros2:callback_start", "ros2:callback_end"], ("callback", ""), &[("callback", EventName)]),
    ];
    for (names, shown, members) in spans {
        all.extend(KnownEvents::spans(*names, *shown, members));
    }
    let instant = |name| known(name, EventRole::Instant, ("", ""), &[]);
    all.extend(OBJECTS.into_iter().map(|(name, object, by)| instant(name).names_object(object, by)));
    all.extend(ABOUT.into_iter().map(|(name, object)| instant(name).about(object)));
    // Timers are named by their period.
    all.push(instant("ros2:rcl_timer_init").names_object("timer_handle", "period").in_unit("ns"));
    // A message belongs to its publisher until the middleware has it. From there on, the publisher is unknown.
    all.push(
        instant("ros2:rcl_publish").about("publisher_handle").names_object("message", "publisher_handle"),
    );
    let published = [("timestamp", PairKey)];
    all.push(known("ros2:rmw_publish", Send, ("", ""), &published).about("message").ends_object("message"));
    all.push(known("dds:write", Send, ("", ""), &published).about("writer"));
    all.push(known("ros2:rmw_take", Receive, ("", ""), &[("source_timestamp", PairKey)]));
    all
});

/// Events that perf converts to CTF. Their threads are called processes.
static PERF: LazyLock<Vec<KnownEvents>> = LazyLock::new(|| {
    use Meaning::{
        PreviousState, PreviousThread, PreviousThreadName, Process, Processor, TargetThread,
        TargetThreadName, Thread,
    };
    let own = [("perf_tid", Thread), ("perf_pid", Process), ("perf_cpu", Processor)];
    let switch = [
        ("prev_pid", PreviousThread),
        ("prev_comm", PreviousThreadName),
        ("prev_state", PreviousState),
        ("next_pid", TargetThread),
        ("next_comm", TargetThreadName),
    ];
    let thread = [("pid", TargetThread), ("comm", TargetThreadName)];
    let child = [("child_pid", TargetThread), ("child_comm", TargetThreadName)];
    let with = |members: &[(&'static str, Meaning)]| [&own[..], members].concat();
    vec![
        known("sched:sched_switch", EventRole::Switch, ("", ""), &with(&switch)),
        known("sched:sched_wakeup*", EventRole::Wakeup, ("", ""), &with(&thread)),
        known("sched:sched_waking", EventRole::Wakeup, ("", ""), &with(&thread)),
        known("sched:sched_process_fork", EventRole::ThreadStart, ("", ""), &with(&child)),
        known("sched:*", EventRole::Instant, ("", ""), &with(&thread)),
        known(
            "raw_syscalls:sys_enter",
            EventRole::Begin,
            ("syscall", "syscall"),
            &with(&[("id", Meaning::EventName)]),
        ),
        known("raw_syscalls:sys_exit", EventRole::End, ("syscall", "syscall"), &with(&[])),
        known("perf_comm", EventRole::Instant, ("", ""), &NAMED_THREAD),
        known("*", EventRole::Instant, ("", ""), &own),
    ]
});

/// Members of perf events that name a thread.
const NAMED_THREAD: [(&str, Meaning); 3] =
    [("tid", Meaning::TargetThread), ("comm", Meaning::TargetThreadName), ("pid", Meaning::TargetProcess)];

/// Zephyr events, from Zephyr's published metadata.
static ZEPHYR: LazyLock<Vec<KnownEvents>> = LazyLock::new(|| {
    use EventRole::{Begin, End, Instant, Switch, Wakeup};
    let thread = [("thread_id", Meaning::TargetThread), ("name", Meaning::TargetThreadName)];
    let mut all = vec![
        known("thread_switched_in", Switch, ("", "thread"), &thread),
        known("thread_ready", Wakeup, ("", "thread"), &thread),
        known("thread_wakeup", Wakeup, ("", "thread"), &thread),
        known("user_mode_enter", Instant, ("", "thread"), &thread),
        known("thread_*", Instant, ("", "thread"), &thread),
        known("isr_exit_to_scheduler", End, ("isr", ""), &[]).on(EventTrack::Processor),
    ];
    all.extend(
        KnownEvents::spans(["isr_enter", "isr_exit"], ("isr", ""), &[])
            .map(|known| known.on(EventTrack::Processor)),
    );
    all.push(known("*_enter", Begin, ("*", ""), &[]));
    all.push(known("*_exit", End, ("*", ""), &[]));
    all
});

/// Sets roles for known events, and meanings for their members and contexts.
pub(crate) fn add_known_events(trace: &mut TraceClass) {
    for stream in &mut trace.data_streams {
        let is_zephyr = is_zephyr(stream);
        // Conversions may have dropped the environment, which names the tracer.
        let is_lttng = has_member(stream.packet_context.as_deref(), PROCESSOR);
        let mut classes = std::mem::take(&mut stream.event_records);
        for class in &mut classes {
            let class = Arc::make_mut(class);
            add_contexts(class, stream);
            // Written by ichnos, with its own roles.
            if class.role != EventRole::Instant || class.display.is_some() {
                continue;
            }
            // LTTng library events have a provider.
            let has_provider = class.name.as_deref().is_some_and(|name| name.contains(':'));
            let is_from_perf = has_member(class.payload.as_deref(), "perf_tid")
                || (class.name.as_deref() == Some("perf_comm")
                    && NAMED_THREAD.iter().all(|(name, _)| has_member(class.payload.as_deref(), name)));
            let known = if is_from_perf {
                &*PERF
            } else if has_provider {
                &*USER
            } else if is_lttng {
                &*KERNEL
            } else if is_zephyr {
                &*ZEPHYR
            } else {
                continue;
            };
            known.iter().any(|known| known.apply(class, stream));
        }
        stream.event_records = classes;
    }
}

fn is_zephyr(stream: &DataStreamClass) -> bool {
    let has = |name| stream.event_records.iter().any(|class| class.name.as_deref() == Some(name));
    has("thread_switched_in") && has("isr_enter")
}

/// Sets context member meanings.
fn add_contexts(class: &mut EventRecordClass, stream: &DataStreamClass) {
    let EventRecordClass { meanings, specific_context, .. } = class;
    let contexts = [
        (Scope::CommonContext, stream.common_context.as_deref()),
        (Scope::SpecificContext, specific_context.as_deref()),
    ];
    let mut known = Vec::new();
    for (name, meaning) in CONTEXTS {
        let find = |(scope, class)| Some((scope, members(class).position(|member| member.name == name)?));
        if !known.contains(&meaning)
            && let Some((scope, index)) = contexts.into_iter().find_map(find)
        {
            meanings.insert(scope, index, meaning);
            known.push(meaning);
        }
    }
}

/// Returns the members of a root structure.
pub(crate) fn members(class: Option<&FieldClass>) -> impl Iterator<Item = &Member> {
    let members = match class.map(|class| &class.kind) {
        Some(FieldKind::Structure { members, .. }) => &members[..],
        _ => &[],
    };
    members.iter()
}

/// Returns `true` if a root structure has a member with this name.
pub(crate) fn has_member(class: Option<&FieldClass>, name: &str) -> bool {
    members(class).any(|member| member.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{MetadataOptions, parse};

    /// Returns an event class as declared by a tracer with this packet context.
    fn class(packet: &str, events: &str) -> EventRecordClass {
        let text = format!(
            "/* CTF 1.8 */
            typealias integer {{ size = 32; align = 8; signed = false; }} := u32;
            trace {{ major = 1; minor = 8; byte_order = le; }};
            stream {{
                event.header := struct {{ u32 id; }};
                packet.context := struct {{ u32 packet_size; {packet} }};
                event.context := struct {{ u32 _tid; }};
            }};
            {events}"
        );
        let mut trace = parse(text.as_bytes(), &MetadataOptions::default()).unwrap().trace;
        add_known_events(&mut trace);
        (*trace.data_streams[0].event_records[0]).clone()
    }

    fn kernel(event: &str) -> EventRecordClass {
        class("u32 cpu_id;", &format!("event {{ id = 0; {event} }};"))
    }

    fn display(class: &EventRecordClass) -> (Option<&str>, EventTrack) {
        let display = class.display.as_deref().unwrap();
        (display.name.as_deref(), display.track)
    }

    #[test]
    fn contexts_have_meanings() {
        let class = class("", r#"event { id = 0; name = "x"; };"#);
        assert_eq!(class.role, EventRole::Instant);
        assert_eq!(class.meanings.get(Scope::CommonContext, 0), Some(Meaning::Thread));
    }

    #[test]
    fn kernel_events_have_roles() {
        let call = kernel(r#"name = "syscall_entry_openat";"#);
        assert_eq!((call.role, display(&call)), (EventRole::Begin, (Some("openat"), EventTrack::Thread)));
        let end = kernel(r#"name = "exit_syscall";"#);
        assert_eq!((end.role, display(&end).0), (EventRole::End, None));
        let irq = kernel(r#"name = "irq_handler_entry"; fields := struct { u32 _irq; string _name; };"#);
        assert_eq!((irq.role, display(&irq)), (EventRole::Begin, (Some("irq"), EventTrack::Processor)));
        assert_eq!(irq.meanings.get(Scope::Payload, 1), Some(Meaning::EventName));
        let switch = kernel(
            r#"name = "sched_switch"; fields := struct { string _prev_comm; u32 _prev_tid; u32 _prev_state;
            string _next_comm; u32 _next_tid; };"#,
        );
        assert_eq!(switch.role, EventRole::Switch);
        assert_eq!(switch.meanings.members(Meaning::TargetThread).next().unwrap().index, 4);
        assert_eq!(switch.meanings.members(Meaning::Thread).next().unwrap().scope, Scope::CommonContext);
        let migrated = kernel(r#"name = "sched_migrate_task"; fields := struct { u32 _tid; };"#);
        assert_eq!(migrated.role, EventRole::Instant);
        assert_eq!(migrated.meanings.get(Scope::Payload, 0), Some(Meaning::TargetThread));
    }

    #[test]
    fn events_of_ros_name_objects() {
        let display = |name: &str, members: &str| {
            let class = class(
                "",
                &format!(r#"event {{ id = 0; name = "{name}"; fields := struct {{ {members} }}; }};"#),
            );
            let display = class.display.unwrap();
            let EventDisplay { object, object_name, about, unit, .. } = &*display;
            [object, object_name, about, unit].map(|text| text.clone().unwrap_or_default())
        };
        let timer = display("ros2:rcl_timer_init", "u32 timer_handle; u32 period;");
        assert_eq!(timer, ["payload.timer_handle", "payload.period", "", "ns"]);
        let link = display("ros2:rclcpp_timer_link_node", "u32 timer_handle; u32 node_handle;");
        assert_eq!(link, ["payload.timer_handle", "payload.node_handle", "", ""]);
        let publish = display("ros2:rmw_publish", "u32 message;");
        assert_eq!(publish, ["payload.message", "", "payload.message", ""]);
        assert_eq!(display("dds:write", "u32 writer; u32 timestamp;"), ["", "", "payload.writer", ""]);
    }

    #[test]
    fn other_events_have_roles_of_their_programs() {
        let of = |events: &str| class("", events);
        assert_eq!(of(r#"event { id = 0; name = "sched_switch"; };"#).role, EventRole::Instant);
        let function = of(r#"event { id = 0; name = "lttng_ust_cyg_profile:func_entry";
            fields := struct { u32 _addr; }; };"#);
        assert_eq!(function.role, EventRole::Begin);
        let perf = of(r#"event { id = 0; name = "sched:sched_switch";
            fields := struct { u32 perf_tid; u32 next_pid; }; };"#);
        assert_eq!(perf.role, EventRole::Switch);
        assert_eq!(perf.meanings.get(Scope::Payload, 1), Some(Meaning::TargetThread));
        let zephyr = r#"event { id = 1; name = "thread_switched_in"; };
            event { id = 2; name = "isr_enter"; };"#;
        let take = of(&format!("event {{ id = 0; name = \"semaphore_take_enter\"; }}; {zephyr}"));
        assert_eq!((take.role, display(&take).0), (EventRole::Begin, Some("semaphore_take")));
        let exit = of(&format!("event {{ id = 0; name = \"isr_exit_to_scheduler\"; }}; {zephyr}"));
        assert_eq!((exit.role, display(&exit)), (EventRole::End, (Some("isr"), EventTrack::Processor)));
    }
}
