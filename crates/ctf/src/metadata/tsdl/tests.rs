//! Meaning of TSDL texts, beyond syntax.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use ichnos_model::TraceClass;
use ichnos_model::class::{
    ByteOrder, FieldClass, FieldKind, FieldLocation, Length, Role, StringLength, VariantOption,
};
use ichnos_model::clock::ClockOrigin;
use ichnos_model::trace::{Diagnostic, Limits, Severity};

use super::super::Problems;
use super::parse;

const TRACE: &str = "trace { major = 1; minor = 8; byte_order = be; };
    typealias integer { size = 8; } := u8; typealias integer { size = 32; signed = true; } := int;";

fn read_with(text: &str, limits: &Limits) -> (Option<TraceClass>, Vec<Diagnostic>) {
    let mut problems = Problems::new(limits);
    let trace = parse(text.as_bytes(), limits, &mut problems);
    (trace, problems.into_diagnostics())
}

fn read(text: &str) -> TraceClass {
    let (trace, diagnostics) = read_with(text, &Limits::default());
    assert!(diagnostics.iter().all(|problem| problem.severity != Severity::Error), "{diagnostics:#?}");
    trace.unwrap()
}

fn errors(text: &str) -> Vec<String> {
    let (trace, diagnostics) = read_with(text, &Limits::default());
    assert!(trace.is_none());
    diagnostics.iter().map(ToString::to_string).collect()
}

/// Returns the first event's payload in a trace with these fields.
fn payload(fields: &str) -> FieldClass {
    let trace = read(&format!("{TRACE} event {{ fields := struct {{ {fields} }}; }};"));
    trace.data_streams[0].event_records[0].payload.as_deref().unwrap().clone()
}

/// Returns the member at a path of names. Variant options are entered by their names, array elements by `[]`.
fn member<'a>(class: &'a FieldClass, path: &str) -> &'a FieldClass {
    path.split('/').fold(class, |class, name| match &class.kind {
        FieldKind::Structure { members, .. } => {
            &members.iter().find(|member| member.name == name).unwrap_or_else(|| panic!("{name}")).class
        }
        FieldKind::Variant { options, .. } => {
            &options.iter().find(|option| option.name.as_deref() == Some(name)).unwrap().class
        }
        FieldKind::Array { element, .. } => element,
        other => panic!("{other:?}"),
    })
}

fn length(class: &FieldClass) -> &FieldLocation {
    match &class.kind {
        FieldKind::Array { length: Length::Dynamic(location), .. }
        | FieldKind::String { length: StringLength::Dynamic(location), .. } => location,
        other => panic!("{other:?}"),
    }
}

fn options(class: &FieldClass) -> (&[VariantOption], String) {
    match &class.kind {
        FieldKind::Variant { options, selector, .. } => (options, selector.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn relative_lookups_go_outwards_and_backwards() {
    let class = payload("u8 n; struct { u8 a[n]; u8 n; u8 b[n]; struct { u8 c[n]; } in[2]; } s; u8 d[n];");
    assert_eq!(length(member(&class, "s/a")).to_string(), "event-record-payload/n");
    assert_eq!(length(member(&class, "s/b")).to_string(), "event-record-payload/s/n");
    assert_eq!(length(member(&class, "s/in/[]/c")).to_string(), "event-record-payload/s/n");
    assert_eq!(length(member(&class, "d")).to_string(), "event-record-payload/n");
    let found = errors(&format!("{TRACE} event {{ fields := struct {{ u8 a[n]; u8 n; }}; }};"));
    assert!(found[0].contains("no earlier field has the name `n`"), "{found:?}");
}

#[test]
fn a_type_is_looked_up_from_where_it_was_declared() {
    // Example from section 4.2.2: the tag is the `x` next to the declaration.
    let class = payload(
        "enum : u8 { a = 1, b = 2 } x;
         typedef variant <x> { u8 a; u8 b; } example;
         struct { enum : u8 { a = 7, b = 8 } x; example v; } s[10];",
    );
    let (options, selector) = options(member(&class, "s/[]/v"));
    assert_eq!(selector, "event-record-payload/x");
    assert_eq!(options[0].ranges.to_string(), "1");
}

#[test]
fn a_type_without_a_structure_around_is_looked_up_where_it_is_used() {
    let trace = read(&format!(
        "{TRACE} struct seq {{ u8 len; u8 data[len]; }};
         variant v {{ u8 a; struct seq b; }};
         event {{ fields := struct {{ struct seq one; enum : u8 {{ a, b = 5 ... 9, a = 20 }} t; variant v <t> two; }}; }};"
    ));
    let class = trace.data_streams[0].event_records[0].payload.clone().unwrap();
    assert_eq!(length(member(&class, "one/data")).to_string(), "event-record-payload/one/len");
    let (options, selector) = options(member(&class, "two"));
    assert_eq!(selector, "event-record-payload/t");
    assert_eq!(
        (options[0].ranges.to_string(), options[1].ranges.to_string()),
        ("0, 20".into(), "5..9".into())
    );
    // Through a variant, the path does not name the option.
    assert_eq!(length(member(&class, "two/b/data")).to_string(), "event-record-payload/two/len");
}

#[test]
fn absolute_lookups_reach_other_root_fields_and_options() {
    let trace = read(&format!(
        "{TRACE}
         stream {{ packet.context := struct {{ u8 n; }}; event.header := struct {{ struct {{ u8 m; }} x; }};
                   event.context := struct {{ u8 k; }}; }};
         event {{ context := struct {{ u8 p; }};
           fields := struct {{
             u8 a[stream.packet.context.n]; u8 b[stream.event.header.x.m]; u8 c[stream.event.context.k];
             u8 d[event.context.p]; enum : u8 {{ o }} t; variant <t> {{ struct {{ u8 q; u8 r[event.fields.v.q]; }} o; }} v;
             u8 e[event.fields.v.o.q];
           }}; }};"
    ));
    let class = trace.data_streams[0].event_records[0].payload.clone().unwrap();
    let expected = [
        ("a", "packet-context/n"),
        ("b", "event-record-header/x/m"),
        ("c", "event-record-common-context/k"),
        ("d", "event-record-specific-context/p"),
        ("v/o/r", "event-record-payload/v/q"),
        ("e", "event-record-payload/v/q"),
    ];
    for (path, location) in expected {
        assert_eq!(length(member(&class, path)).to_string(), location, "{path}");
    }
}

#[test]
fn one_underscore_is_for_the_text_only() {
    let class = payload(
        "u8 __len; u8 _seq[__len]; enum : u8 { _a, __b, c } _tag; variant <_tag> { u8 _a; u8 __b; u8 c; } v;",
    );
    let FieldKind::Structure { members, .. } = &class.kind else { panic!() };
    assert_eq!((members[0].name.as_str(), &*members[0].location_name()), ("_len", "__len"));
    assert!(!members[3].has_underscore);
    assert_eq!(length(member(&class, "seq")).to_string(), "event-record-payload/__len");
    let (options, _) = options(member(&class, "v"));
    let names: Vec<_> =
        options.iter().map(|option| (option.name.as_deref().unwrap(), option.ranges.to_string())).collect();
    // Options match labels as written, and labels keep their underscores.
    assert_eq!(names, [("a", "0".to_owned()), ("_b", "1".to_owned()), ("c", "2".to_owned())]);
    let FieldKind::Integer { integer, .. } = &member(&class, "tag").kind else { panic!() };
    assert_eq!(integer.mappings.as_ref().unwrap().get(1).unwrap().name, "__b");
}

#[test]
fn arrays_texts_and_defaults() {
    let class = payload(
        "u8 a[2][3]; integer { size = 8; encoding = UTF8; } t[4]; integer { size = 12; byte_order = le; base = hex; } i;
         integer { size = 100; } wide; floating_point { exp_dig = 5; mant_dig = 11; align = 16; } f;
         floating_point { exp_dig = 15; mant_dig = 113; } q; struct { u8 x; } align(32) s;",
    );
    let FieldKind::Array { length: Length::Static(2), element, .. } = &member(&class, "a").kind else {
        panic!()
    };
    assert!(matches!(element.kind, FieldKind::Array { length: Length::Static(3), .. }));
    assert!(matches!(member(&class, "t").kind, FieldKind::String { length: StringLength::Static(4), .. }));
    let FieldKind::Integer { bits, .. } = &member(&class, "i").kind else { panic!() };
    assert_eq!((bits.alignment, bits.byte_order), (1, ByteOrder::LittleEndian));
    let FieldKind::Integer { bits, .. } = &member(&class, "wide").kind else { panic!() };
    assert_eq!((bits.length, bits.byte_order), (100, ByteOrder::BigEndian));
    assert_eq!(member(&class, "f").describe(), "16-bit floating-point number");
    assert_eq!(member(&class, "q").describe(), "128-bit floating-point number");
    assert_eq!(member(&class, "s").alignment(), 32);
}

#[test]
fn the_byte_order_of_the_trace_may_come_late() {
    let trace = read(
        "typealias integer { size = 16; byte_order = native; } := unsigned  short int;
         event { fields := struct { unsigned short int x, y[2]; }; };
         trace { major = 1; minor = 8; byte_order = be; };",
    );
    let class = trace.data_streams[0].event_records[0].payload.clone().unwrap();
    let FieldKind::Integer { bits, .. } = &member(&class, "y/[]").kind else { panic!() };
    assert_eq!(bits.byte_order, ByteOrder::BigEndian);
}

#[test]
fn special_names_and_clocks_have_roles() {
    let trace = read(&format!(
        "{TRACE}
         env {{ tracer_name = \"lttng-modules\"; n = -5; }};
         clock {{ name = monotonic; freq = 10; offset_s = 1; offset = 25; absolute = TRUE; }};
         clock {{ name = other; absolute = FALSE; offset = -1; }};
         typealias integer {{ size = 27; map = clock.monotonic.value; }} := ts;
         callsite {{ name = \"e\"; line = 39; }};
         stream {{
           packet.context := struct {{ ts timestamp_begin; ts timestamp_end; u8 packet_size; u8 content_size;
             u8 events_discarded; u8 packet_seq_num; }};
           event.header := struct {{
             enum : u8 {{ compact = 0 ... 30, extended = 31 }} id;
             variant <id> {{ struct {{ ts timestamp; }} compact; struct {{ u8 id; ts timestamp; }} extended; }} v; }};
         }};
         event {{ name = a; id = 3; loglevel = -2; model.emf.uri = \"uri\"; }};"
    ));
    assert_eq!(trace.clocks[0].origin, ClockOrigin::UnixEpoch);
    assert_eq!((trace.clocks[0].offset_seconds, trace.clocks[0].offset_cycles), (3, 5));
    assert_eq!((trace.clocks[1].offset_seconds, trace.clocks[1].offset_cycles), (-1, 999_999_999));
    assert_eq!(trace.clocks[1].origin, ClockOrigin::Unknown);
    assert_eq!(trace.call_sites[0].get("line").unwrap().as_integer(), Some(39));
    let stream = &trace.data_streams[0];
    assert_eq!(stream.default_clock, Some(0));
    let context = stream.packet_context.clone().unwrap();
    assert!(member(&context, "timestamp_begin").roles.has(Role::Timestamp));
    assert!(member(&context, "timestamp_end").roles.has(Role::PacketEndTimestamp));
    assert!(member(&context, "packet_seq_num").roles.has(Role::PacketSequenceNumber));
    let header = stream.event_record_header.clone().unwrap();
    assert!(member(&header, "v/extended/id").roles.has(Role::EventRecordClassId));
    assert_eq!(member(&header, "v/compact/timestamp").roles.clock, Some(0));
    let event = &stream.event_records[0];
    assert_eq!((event.id, event.log_level, event.emf_uri.as_deref()), (3, Some(-2), Some("uri")));
}

#[test]
fn a_timestamp_without_a_clock_counts_nanoseconds() {
    let trace = read(&format!("{TRACE} stream {{ event.header := struct {{ u8 timestamp; }}; }};"));
    assert_eq!((trace.clocks[0].id.as_str(), trace.clocks[0].frequency), ("default", 1_000_000_000));
    assert_eq!(trace.data_streams[0].default_clock, Some(0));
    let clocks = "clock { name = a; }; clock { name = b; };";
    let found =
        errors(&format!("{TRACE} {clocks} stream {{ event.header := struct {{ u8 timestamp; }}; }};"));
    assert!(found[0].contains("does not name its clock"), "{found:?}");
}

#[test]
fn several_problems_in_one_run() {
    let found = errors(
        "trace { major = 1; minor = x; byte_order = le; uuid = \"no\"; };
         typealias integer { size = 8; align = 3; } := u8;
         event { id = ; fields := struct { u8 a; nothing b; u8 a[]; }; }
         stream { id = -1; };",
    );
    assert_eq!(found.len(), 8, "{found:#?}");
    assert!(found[4].contains("in `event` block, `fields`, `struct`: unknown type `nothing`"), "{found:#?}");
}

#[test]
fn hostile_nesting_is_an_error_and_no_more() {
    let nested = "struct { ".repeat(10_000);
    let found = errors(&format!("{TRACE} event {{ fields := {nested}"));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("exceeds the limit of 64 levels"), "{found:?}");
    let found = errors(&format!("{TRACE} event {{ fields := {}", "variant <a> { ".repeat(10_000)));
    assert_eq!(found.len(), 1);
    // Nesting by name, a level per line.
    let mut text = format!("{TRACE} struct s0 {{ u8 x; }};");
    for i in 1..10_000 {
        text.push_str(&format!("struct s{i} {{ struct s{} x; }};\n", i - 1));
    }
    assert!(errors(&text)[0].contains("exceeds the limit of 64 levels"));
    let dimensions = format!("u8 a{};", "[1]".repeat(10_000));
    assert!(
        errors(&format!("{TRACE} event {{ fields := struct {{ {dimensions} }}; }};"))[0]
            .contains("the limit of 64 levels")
    );
    // Aliases of aliases do not count as nesting.
    let mut text = format!("{TRACE} typedef u8 t0;");
    for i in 1..1000 {
        text.push_str(&format!("typedef t{} t{i};", i - 1));
    }
    read(&text);
    assert!(errors(&"((((".repeat(10_000))[0].contains("syntax"));
    assert!(errors(&"}".repeat(10_000))[0].contains("syntax"));
}

#[test]
fn a_bomb_of_aliases_is_an_error() {
    let mut limits = Limits::default();
    limits.field_classes = 10_000;
    let mut text = format!("{TRACE} struct s0 {{ u8 a, b, c, d; }};");
    for i in 1..30 {
        text.push_str(&format!("struct s{i} {{ struct s{0} a, b, c, d; }};\n", i - 1));
    }
    text.push_str("event { fields := struct s29; };");
    let (trace, diagnostics) = read_with(&text, &limits);
    assert!(trace.is_none());
    assert_eq!(diagnostics.len(), 1);
    assert!(diagnostics[0].message.contains("10000 field classes"), "{diagnostics:?}");
}

#[test]
fn no_bytes_make_it_panic() {
    let text = format!(
        "{TRACE} env {{ a = \"\\x41\"; }}; clock {{ name = c; }};
         struct s {{ typedef u8 t[3]; t x; enum : u8 {{ a = 1 ... 2, \"b\" }} e; variant <e> {{ u8 a; string b; }} v; }} align(8);
         stream {{ id = 0; event.header := struct s; }};
         event {{ name = \"x\"; fields := struct {{ struct s y; u8 z[y.x]; u8 w[env.a]; }}; }};"
    );
    let bytes = text.as_bytes();
    let limits = Limits::default();
    let mut attempts: Vec<Vec<u8>> = (0..bytes.len()).map(|end| bytes[..end].to_vec()).collect();
    for at in 0..bytes.len() {
        for new in [b'{', b'}', b';', b'"', b'<', 0, 0xff, b'9', b'-', b'*', b' '] {
            let mut changed = bytes.to_vec();
            changed[at] = new;
            attempts.push(changed);
        }
        let mut shorter = bytes.to_vec();
        shorter.remove(at);
        attempts.push(shorter);
    }
    for attempt in attempts {
        let mut problems = Problems::new(&limits);
        let trace = parse(&attempt, &limits, &mut problems);
        assert_eq!(trace.is_none(), problems.errors() > 0);
    }
}

#[test]
fn fields_of_large_structures_are_found_with_and_without_underscores() {
    let others: String = (0..40).map(|i| format!("u8 _m{i};")).collect();
    let text = format!(
        "/* CTF 1.8 */ typealias integer {{ size = 8; }} := u8;
        trace {{ major = 1; minor = 8; byte_order = le; }}; stream {{}};
        event {{ fields := struct {{
            u8 __n; u8 _n; u8 k; {others} u8 a[_n]; u8 b[__n]; u8 c[_m30]; u8 d[k];
        }}; }};"
    );
    let read =
        |text: &str| crate::metadata::parse(text.as_bytes(), &crate::metadata::MetadataOptions::default());
    assert!(read(&text).is_ok());
    assert!(read(&text.replace("[__n]", "[n]")).is_err());
}
