//! Each record and argument in the document, built word by word.

use ichnos_model::OpenedTrace;
use ichnos_model::meaning::{EventRole, Meaning};

use super::builder::{Body, Builder, body, header, inline};
use super::dump::{checked, messages, open, open_with, read};

fn one(build: impl FnOnce(&mut Builder)) -> String {
    let mut builder = Builder::new();
    build(&mut builder);
    let lines = read(&builder.bytes);
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.into_iter().next().unwrap()
}

#[test]
fn events_of_all_types() {
    let mut builder = Builder::new();
    for kind in 0..11 {
        let data: &[u64] = if matches!(kind, 0 | 2 | 3) { &[] } else { &[150] };
        builder.event(kind, 100, ["cat", "name"], vec![], data);
    }
    // Some writers add the scope of an instant event.
    builder.event(0, 100, ["cat", "name"], vec![], &[2]);
    builder.event(0, 100, ["", "name"], vec![], &[]);
    assert_eq!(
        read(&builder.bytes),
        [
            "100 cat:name | pid=1 tid=2",
            "100 cat:name | pid=1 tid=2 | counter_id=150",
            "100 cat:name:begin | pid=1 tid=2",
            "100 cat:name:end | pid=1 tid=2",
            "100 cat:name | pid=1 tid=2 | duration=+50",
            "100 cat:name:async_begin | pid=1 tid=2 | async_id=150",
            "100 cat:name:async_instant | pid=1 tid=2 | async_id=150",
            "100 cat:name:async_end | pid=1 tid=2 | async_id=150",
            "100 cat:name:flow_begin | pid=1 tid=2 | flow_id=150",
            "100 cat:name:flow_step | pid=1 tid=2 | flow_id=150 operation='00000000000000960000000000000002'",
            "100 cat:name:flow_end | pid=1 tid=2 | flow_id=150 operation='00000000000000960000000000000002'",
            "100 cat:name | pid=1 tid=2 | scope=2(global)",
            "100 name | pid=1 tid=2",
        ]
    );
}

fn arguments() -> Vec<Body> {
    let number = |value: u64| body().word(value);
    vec![
        body().argument(0, "null", 0, body()),
        body().argument(1, "int32", u64::from(-5i32 as u32), body()),
        body().argument(2, "uint32", 5, body()),
        body().argument(3, "int64", 0, number(-6i64 as u64)),
        body().argument(4, "uint64", 0, number(u64::MAX)),
        body().argument(5, "double", 0, number(1.5f64.to_bits())),
        body().argument(6, "string", inline("a text"), body().text("a text")),
        body().argument(6, "empty", 0, body()),
        body().argument(7, "pointer", 0, number(0xbeef)),
        body().argument(8, "koid", 0, number(77)),
        body().argument(9, "true", 1, body()),
        body().argument(9, "a name of more than a word", 0, body()),
        body().argument(10, "blob", 5, body().stream(&[1, 2, 3, 4, 5])),
        // A type that the document lacks.
        body().argument(12, "unknown", 0x04030201, number(9)),
    ]
}

const ARGUMENTS: &str = "null=null int32=-5 uint32=5 int64=-6 uint64=18446744073709551615 double=1.5 \
                         string='a text' empty='' pointer=48879 koid=77 true=true a name of more than a word=false \
                         blob=x'\\x01\\x02\\x03\\x04\\x05' \
                         unknown=x'\\x01\\x02\\x03\\x04\\t\\x00\\x00\\x00\\x00\\x00\\x00\\x00'";

#[test]
fn arguments_of_all_types() {
    let line = one(|builder| {
        builder.event(2, 7, ["c", "n"], arguments(), &[]);
    });
    assert_eq!(line, format!("7 c:n:begin | pid=1 tid=2 |  | {ARGUMENTS}"));
}

#[test]
fn values_of_counters_are_their_numbers() {
    let mut builder = Builder::new();
    let arguments = vec![
        body().argument(2, "used", 5, body()),
        body().argument(6, "unit", inline("KiB"), body().text("KiB")),
        body().argument(5, "load", 0, body().word(0.5f64.to_bits())),
    ];
    builder.event(1, 1, ["memory", "heap"], arguments, &[3]);
    let trace = open(&builder.bytes);
    assert_eq!(messages(&trace), ["1 memory:heap | pid=1 tid=2 | counter_id=3 | used=5 unit='KiB' load=0.5"]);
    let class = trace.trace().event_records(0).next().unwrap();
    assert_eq!(class.role, EventRole::Counter);
    let values = class.meanings.members(Meaning::CounterValue).map(|member| member.index);
    assert_eq!(values.collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn objects() {
    let line = one(|builder| {
        let fields = [(24, inline("view")), (40, 1)];
        let all = body().words(&[0xabc, 31]).text("view").argument(1, "width", 640, body());
        builder.record(header(6, &fields), all);
    });
    assert_eq!(line, "- userspace_object | pid=31 | pointer=2748 name='view' | width=+640");
    let line = one(|builder| {
        let fields = [(16, 4), (24, inline("pipe")), (40, 1)];
        let all = body().word(88).text("pipe").argument(8, "peer", 0, body().word(89));
        builder.record(header(7, &fields), all);
    });
    assert_eq!(line, "- kernel_object |  | koid=88 type=4(channel) name='pipe' | peer=89");
}

#[test]
fn an_object_is_named_by_its_kernel_object() {
    let mut builder = Builder::new();
    builder.event(0, 1, ["c", "n"], vec![], &[]);
    for (kind, koid, name) in [(1, 1, "shell"), (2, 2, "main"), (2, 2, "m")] {
        builder.record(header(7, &[(16, kind), (24, inline(name))]), body().word(koid).text(name));
    }
    // The longest name wins in any order.
    assert_eq!(
        read(&builder.bytes)[0],
        "1 c:n | pid=1 tid=2 |  |  | process_name='shell' thread_name='main'"
    );
}

#[test]
fn scheduling_of_all_types() {
    let line = one(|builder| {
        let fields = [(16, 3), (24, 2), (44, 20), (52, 21)];
        builder.record(header(8, &fields), body().words(&[9, 1, 2, 3, 4]));
    });
    assert_eq!(
        line,
        "9 legacy_context_switch | pid=3 tid=4 |  | cpu=3 outgoing_pid=1 outgoing_tid=2 outgoing_state=2(suspended) outgoing_priority=20 incoming_priority=21"
    );
    let line = one(|builder| {
        let fields = [(16, 1), (20, 300), (36, 3), (60, 1)];
        let all = body().words(&[9, 2, 4]).argument(1, "incoming_weight", 100, body());
        builder.record(header(8, &fields), all);
    });
    assert_eq!(
        line,
        "9 context_switch | tid=4 | cpu=300 outgoing_tid=2 outgoing_state=3(blocked) | incoming_weight=+100"
    );
    let line = one(|builder| {
        let fields = [(16, 1), (20, 7), (60, 2)];
        builder.record(header(8, &fields), body().words(&[9, 2]).argument(1, "weight", 8, body()));
    });
    assert_eq!(line, "9 thread_wakeup | tid=2 | cpu=7 | weight=+8");
}

#[test]
fn blobs_of_all_types() {
    for (kind, name) in [(1, "(data)"), (2, "(last_branch)"), (3, "(perfetto)"), (9, "")] {
        let line = one(|builder| {
            let fields = [(16, inline("lbr")), (32, 3), (48, kind)];
            builder.record(header(5, &fields), body().text("lbr").stream(b"abc"));
        });
        assert_eq!(line, format!("- blob |  |  | name='lbr' type={kind}{name} data=x'abc'"));
    }
    let line = one(|builder| {
        let format = header(0, &[(0, inline("cat")), (16, inline("image")), (32, 1)]);
        let all = body().word(format).text("cat").text("image").words(&[5, 1, 2]);
        let all = all.argument(2, "width", 16, body()).word(9).stream(b"123456789");
        builder.record(15, all);
    });
    assert_eq!(
        line,
        "5 large_blob | pid=1 tid=2 | category='cat' name='image' arguments={width=16} | size=9 data=x'123456789'"
    );
    let line = one(|builder| {
        let format = header(0, &[(0, inline("cat")), (16, inline("image"))]);
        // Larger than a normal record.
        let all = body().word(format).text("cat").text("image").word(40_000).stream(&[b'x'; 40_000]);
        builder.record(header(15, &[(40, 1)]), all);
    });
    assert!(line.starts_with("- large_blob |  | category='cat' name='image' | size=40000 data=x'xxx"));
    assert_eq!(line.matches('x').count(), 40_001);
}

#[test]
fn logs() {
    let mut builder = Builder::new();
    builder.thread(3, 10, 11);
    builder.record(header(9, &[(16, 5), (32, 3)]), body().word(4).text("hello"));
    let trace = open(&builder.bytes);
    assert_eq!(messages(&trace), ["4 log | pid=10 tid=11 |  | message='hello'"]);
    assert!(trace.trace().event_records(0).next().unwrap().log.is_some());
}

#[test]
fn backtraces_have_stacks_and_modules() {
    let mut builder = Builder::new();
    builder.record(
        header(10, &[(16, 0), (28, 99), (44, 7), (52, 4)]),
        body().words(&[1, 123, 0]).text("libc.so").stream(&[1, 2, 3, 4]),
    );
    let mapping = body().words(&[2, 123, 0, 0x1000, 0x2000, 0x3000]);
    builder.record(header(10, &[(16, 1), (28, 99), (44, 5)]), mapping);
    builder.record(header(10, &[(16, 2), (28, 2), (36, 2)]), body().words(&[3, 123, 124, 0x1010, 0x9000]));
    builder.record(header(10, &[(16, 2)]), body().words(&[4, 123, 124]));
    let trace = open(&builder.bytes);
    assert_eq!(
        messages(&trace),
        [
            "1 module | pid=123 |  | module_id=99 name='libc.so' build_id=x'\\x01\\x02\\x03\\x04'",
            "2 mapping | pid=123 |  | module_id=99 flags=5 begin=4096 size=8192 module_address=12288",
            "3 backtrace | pid=123 tid=124 |  | stack=1 flags=2",
            "4 backtrace | pid=123 tid=124 |  | flags=0",
        ]
    );
    let frames = trace.trace().frames(1, Some(3));
    let frames: Vec<_> =
        frames.iter().map(|frame| (frame.address.unwrap(), frame.module.as_deref())).collect();
    assert_eq!(frames, [(0x1010, Some("libc.so")), (0x9000, None)]);
    let sample = trace.trace().event_records(0).find(|class| class.name.as_deref() == Some("backtrace"));
    assert_eq!(sample.unwrap().role, EventRole::Sample);
}

/// Numbers from a test of Fuchsia's C++ reader: a process and a thread, in records with 8, 7 and 6 words.
#[test]
fn records_of_the_profiler_have_a_process_and_a_thread() {
    let mut builder = Builder::new();
    let (module, mapping) =
        (header(10, &[(28, 1), (44, 4), (52, 20)]), header(10, &[(16, 1), (28, 1), (44, 7)]));
    builder.record(module, body().words(&[0, 1, 2]).text("test").stream(&[0x33; 20]));
    builder.record(mapping, body().words(&[0, 1, 2, 0x1000, 0x2000, 0x3000]));
    builder.record(header(10, &[(16, 2), (28, 2)]), body().words(&[0, 1, 2, 0x4000, 0x5000]));
    assert_eq!(builder.bytes.len(), 8 + 21 * 8);
    let lines = messages(&open_with(&builder.bytes, &checked()));
    let build_id = "3".repeat(20);
    assert_eq!(
        lines,
        [
            &*format!("0 module | pid=1 tid=2 |  | module_id=1 name='test' build_id=x'{build_id}'"),
            "0 mapping | pid=1 tid=2 |  | module_id=1 flags=7 begin=4096 size=8192 module_address=12288",
            "0 backtrace | pid=1 tid=2 |  | stack=1 flags=0",
        ]
    );
}

/// Records from older writers have only the process. One more word is a thread.
#[test]
fn modules_may_lack_the_thread() {
    for (thread, tid) in [(None, ""), (Some(0), ""), (Some(5), " tid=5")] {
        let mut builder = Builder::new();
        let ids = |ticks: u64| body().words(&[ticks, 123]).words(thread.as_slice());
        let module = ids(1).text("a module").stream(&[7; 9]);
        builder.record(header(10, &[(28, 9), (44, 8), (52, 9)]), module);
        builder.record(header(10, &[(16, 1), (28, 9)]), ids(2).words(&[1, 2, 3]));
        builder.record(header(10, &[(28, 9)]), ids(3));
        let seven = "\\x07".repeat(9);
        assert_eq!(
            messages(&open_with(&builder.bytes, &checked())),
            [
                format!("1 module | pid=123{tid} |  | module_id=9 name='a module' build_id=x'{seven}'"),
                format!("2 mapping | pid=123{tid} |  | module_id=9 flags=0 begin=1 size=2 module_address=3"),
                format!("3 module | pid=123{tid} |  | module_id=9 name='' build_id=x''"),
            ]
        );
    }
}

#[test]
fn unknown_records_are_kept() {
    let mut builder = Builder::new();
    builder.record(14, body().word(1));
    builder.record(header(4, &[(16, 11)]), body().word(1));
    builder.record(header(8, &[(60, 3)]), body());
    builder.record(header(10, &[(16, 3)]), body());
    builder.record(header(0, &[(16, 9)]), body());
    builder.record(header(0, &[(16, 4), (20, 1)]), body());
    builder.record(header(0, &[(16, 3), (20, 1), (52, 5)]), body());
    builder.record(header(15, &[(36, 1)]), body().word(1));
    builder.record(header(15, &[(40, 7)]), body().word(1));
    let lines = read(&builder.bytes);
    let types: Vec<_> = lines
        .iter()
        .map(|line| line.strip_prefix("- unknown_record |  |  | type=").unwrap().split(' ').next().unwrap())
        .collect();
    // The provider event belongs to another data stream.
    assert_eq!(types, ["14", "4", "8", "10", "0", "0", "15", "15", "0"]);
    assert!(lines[6].ends_with("header=68719476783 bytes=16"), "{}", lines[6]);
}

/// A trace with more event kinds than the class limit.
#[test]
fn events_beyond_the_limit_share_a_class() {
    let mut options = checked();
    options.limits.dynamic_event_record_classes = 1;
    let mut builder = Builder::new();
    builder.event(0, 1, ["c", "first"], vec![], &[]);
    builder.event(9, 2, ["c", "second"], arguments(), &[7]);
    builder.record(
        header(7, &[(16, 2), (24, inline("main")), (40, 1)]),
        body().word(88).text("main").argument(8, "process", 0, body().word(89)),
    );
    let lines = messages(&open_with(&builder.bytes, &options));
    assert_eq!(lines[0], "1 c:first | pid=1 tid=2");
    let event = lines.iter().find(|line| line.starts_with("2 event")).unwrap();
    assert!(
        event.starts_with(
            "2 event | pid=1 tid=2 | flow_id=7 operation='00000000000000070000000000000002' type=9(flow_step) category='c' name='second' | arguments=[{name='null' value=null} {name='int32' value=-5}"
        ),
        "{event}"
    );
    assert!(event.contains("{name='unknown' value=x'"), "{event}");
    let object = lines.iter().find(|line| line.starts_with("- kernel_object")).unwrap();
    assert_eq!(
        object,
        "- kernel_object |  | koid=88 type=2(thread) name='main' | arguments=[{name='process' value=89}]"
    );
}

/// A trace with all records and arguments that can be written, from two providers.
pub fn everything() -> Vec<u8> {
    let mut builder = Builder::new();
    builder.provider(7, "first").initialization(24_000_000);
    builder.string(1, "cat").string(2, "name").thread(1, 5, 6);
    for kind in 0..11 {
        let data: &[u64] = if matches!(kind, 0 | 2 | 3) { &[] } else { &[1_500] };
        builder.event(kind, 100 + kind, ["cat", "name"], arguments(), data);
        let fields = [(16, kind), (24, 1), (32, 1), (48, 2)];
        builder.record(header(4, &fields), body().word(200 + kind).words(data));
    }
    builder.event(0, 300, ["cat", ""], vec![], &[2]);
    let all = body().words(&[0xabc, 31]).text("view").argument(1, "width", 640, body());
    builder.record(header(6, &[(24, inline("view")), (40, 1)]), all);
    let all = body().word(88).text("pipe").argument(8, "peer", 0, body().word(89));
    builder.record(header(7, &[(16, 4), (24, inline("pipe")), (40, 1)]), all);
    // Kernel object names need not be UTF-8.
    builder.record(header(7, &[(16, 2), (24, 0x8000 | 3)]), body().word(6).stream(b"a\xffb"));
    builder.record(header(5, &[(16, inline("lbr")), (32, 3), (48, 2)]), body().text("lbr").stream(b"abc"));
    builder.provider(9, "second");
    builder.record(header(8, &[(16, 3), (24, 2), (44, 20), (52, 21)]), body().words(&[400, 1, 2, 3, 4]));
    let all = body().words(&[401, 2, 4]).argument(1, "incoming_weight", 100, body());
    builder.record(header(8, &[(16, 1), (20, 300), (36, 3), (60, 1)]), all);
    builder.record(header(8, &[(20, 7), (60, 2)]), body().words(&[402, 2]));
    builder.record(header(9, &[(16, 5)]), body().words(&[403, 10, 11]).text("hello"));
    let format = header(0, &[(0, inline("cat")), (16, inline("image")), (32, 1)]);
    let all = body().word(format).text("cat").text("image").words(&[404, 1, 2]);
    builder.record(15, all.argument(2, "width", 16, body()).word(9).stream(b"123456789"));
    let format = header(0, &[(0, inline("cat")), (16, inline("image"))]);
    let all = body().word(format).text("cat").text("image").word(40_000).stream(&[b'x'; 40_000]);
    builder.record(header(15, &[(40, 1)]), all);
    let all = body().words(&[405, 123, 0]).text("libc.so").stream(&[1, 2, 3, 4]);
    builder.record(header(10, &[(28, 99), (44, 7), (52, 4)]), all);
    let all = body().words(&[406, 123, 124, 0x1000, 0x2000, 0x3000]);
    builder.record(header(10, &[(16, 1), (28, 99), (44, 5)]), all);
    builder.record(header(10, &[(16, 2), (28, 2), (36, 2)]), body().words(&[407, 123, 124, 0x1010, 0x9000]));
    builder.record(header(10, &[(16, 2)]), body().words(&[408, 123, 124]));
    builder.record(14, body().word(1));
    builder.record(header(4, &[(16, 11)]), body().word(1));
    builder.record(header(0, &[(16, 3), (20, 7)]), body());
    builder.bytes
}
