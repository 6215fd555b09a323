//! Call stack files, written and read, valid and invalid.

use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldClass, Member};
use ichnos_model::stack::{CodeKind, Frame};
use ichnos_model::trace::TextPosition;
use ichnos_model::{Scope, TraceClass};
use ichnos_testing::{Random, cases};

use super::records::{CLASS_MEMORY, FRAME_MEMORY, STACK_MEMORY};
use super::*;

const MEMORY: u64 = 1 << 20;

fn trace() -> Trace {
    let member = Member::new("stack", FieldClass::unsigned(32));
    let mut class = EventRecordClass::new("sample", [member]);
    class.meanings.insert(Scope::Payload, 0, Meaning::Stack);
    let class = TraceClass::new("", [], [DataStreamClass::new(Some(0), [class])]);
    Trace::new(class, "", &Limits::default()).unwrap()
}

fn text(random: &mut Random) -> Option<Arc<str>> {
    let texts = ["", "f", "Σ(int)", "a;b\n"];
    (random.below(3) > 0).then(|| texts[random.index(texts.len())].into())
}

fn number(random: &mut Random) -> u64 {
    if random.below(2) == 0 { random.below(9) } else { random.number() }
}

fn time(random: &mut Random) -> i128 {
    let time = i128::from(random.number()) << random.below(64);
    if random.below(2) == 0 { time } else { -time }
}

fn symbol(random: &mut Random) -> Symbol {
    let begin = number(random);
    Symbol {
        begin,
        end: begin.saturating_add(random.below(1 << 40) + 1),
        from: if random.below(3) == 0 { i128::MIN } else { time(random) },
        until: (random.below(3) == 0).then_some(i128::MAX),
        name: text(random),
        module: text(random),
        kind: [CodeKind::Unknown, CodeKind::Native, CodeKind::Managed, CodeKind::Kernel][random.index(4)],
    }
}

fn random_trace(random: &mut Random) -> Trace {
    let trace = trace();
    for _ in 0..random.below(30) {
        let mut frame = Frame::default().in_space(random.below(3) as u32);
        frame.address = (random.below(4) > 0).then(|| number(random));
        (frame.symbol, frame.module) = (text(random), text(random));
        let caller = random.below(trace.stacks.len() as u64 + 1) as u32;
        let caller = (caller as usize) < trace.stacks.len();
        let caller = caller.then(|| random.below(trace.stacks.len() as u64) as u32);
        trace.stacks.push(caller, frame).unwrap();
    }
    let count = random.below(20);
    let symbols: Vec<(u32, Symbol)> = (0..count).map(|_| (random.below(3) as u32, symbol(random))).collect();
    let names: Vec<_> = (0..random.below(4))
        .filter_map(|_| {
            let process = (random.below(2) == 0).then(|| number(random));
            Some(((process, number(random)), text(random)?))
        })
        .collect();
    trace.set_symbols(move || Symbols::new(symbols.iter().cloned()).with_thread_names(names.iter().cloned()));
    trace
}

fn written(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_stacks(trace.stacks_of(0), &[], &mut bytes).unwrap();
    bytes
}

fn read(files: &[&[u8]], memory: u64) -> (Trace, Vec<StackFileError>) {
    let mut stacks = StackFiles::default();
    let add = |file: &&[u8]| stacks.add_bytes(Bytes::from(file.to_vec()), memory).err();
    let faults = files.iter().filter_map(add).collect();
    let mut trace = trace();
    stacks.finish(&mut trace, 0);
    (trace, faults)
}

fn stacks(trace: &Trace) -> Vec<(Vec<Frame>, Option<u32>)> {
    (0..trace.stacks.len() as u32)
        .map(|stack| (trace.stacks.frames(stack), trace.stacks.caller(stack)))
        .collect()
}

#[test]
fn what_is_written_is_read_again() {
    cases(300, |random: &mut Random| {
        let original = random_trace(random);
        let bytes = written(&original);
        let (again, faults) = read(&[&bytes], MEMORY);
        assert_eq!(faults, []);
        assert_eq!(stacks(&again), stacks(&original));
        assert!(again.symbols().iter().eq(original.symbols().iter()));
        assert!(again.symbols().thread_names().eq(original.symbols().thread_names()));
        assert_eq!(written(&again), bytes);
    });
}

#[test]
fn only_traces_with_stacks_have_a_file() {
    let trace = trace();
    assert!(classes_with_stacks(&trace).is_empty());
    trace.stacks.push(None, Frame::at(1));
    assert_eq!(classes_with_stacks(&trace), [[0]]);
    let class = TraceClass::new("", [], [DataStreamClass::new(Some(0), [EventRecordClass::default()])]);
    let other = Trace::new(class, "", &Limits::default()).unwrap();
    other.stacks.push(None, Frame::at(1));
    assert!(classes_with_stacks(&other).is_empty());
}

#[test]
fn a_file_that_breaks_off_gives_what_is_before() {
    let mut random = Random::new(3);
    let original = random_trace(&mut random);
    let bytes = written(&original);
    for len in HEAD.len()..bytes.len() {
        let (again, faults) = read(&[&bytes[..len]], MEMORY);
        assert_eq!(faults, [StackFileError::CutOff], "{len}");
        let count = again.stacks.len();
        assert_eq!(stacks(&again), stacks(&original)[..count]);
        assert!(again.symbols().len() <= original.symbols().len());
    }
    // A file that loses bytes while it is read looks like this.
    let lost = [&bytes[..HEAD.len() + 5], &vec![0; bytes.len() - HEAD.len() - 5]].concat();
    assert_eq!(read(&[&lost], MEMORY).1, [StackFileError::CutOff]);
}

/// First line of a file for all data stream classes.
const HEAD: &str = "{\"type\":\"call-stacks\",\"version\":1}\n";

/// Reads a file with these lines after the head. Returns the error.
fn error_of(lines: &[&str]) -> Option<StackFileError> {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    read(&[format!("{HEAD}{lines}").as_bytes()], MEMORY).1.pop()
}

#[test]
fn lines_are_as_documented() {
    let original = trace();
    let main = original.stacks.push(None, Frame::named("main").with_module("a.out"));
    original.stacks.push(main, Frame::at(u64::MAX).in_space(7));
    let symbol = Symbol {
        begin: 4096,
        end: 4112,
        from: -5,
        until: Some(1 << 64),
        name: Some("\"f\"".into()),
        kind: CodeKind::Managed,
        ..Symbol::default()
    };
    let module = Symbol { begin: 1, end: 2, from: i128::MIN, module: Some("m".into()), ..Symbol::default() };
    original.set_symbols(move || {
        let symbols = Symbols::new([(7, symbol.clone()), (0, module.clone())]);
        symbols.with_thread_names([((None, 3), "t".into()), ((Some(1), 3), "u".into())])
    });
    let mut bytes = Vec::new();
    write_stacks(original.stacks_of(0), &[1, u128::MAX], &mut bytes).unwrap();
    let expected = r#"{"type":"call-stacks","version":1,"data_stream_classes":[1,340282366920938463463374607431768211455]}
{"type":"frame","frame":0,"symbol":"main","module":"a.out"}
{"type":"frame","frame":1,"address":18446744073709551615,"address_space":7}
{"type":"stack","stack":0,"frame":0}
{"type":"stack","stack":1,"frame":1,"caller":0}
{"type":"symbol","module":"m","begin":1,"end":2}
{"type":"symbol","name":"\"f\"","kind":"managed","begin":4096,"end":4112,"address_space":7,"from":-5,"until":18446744073709551616}
{"type":"thread","thread":3,"name":"t"}
{"type":"thread","process":1,"thread":3,"name":"u"}
{"type":"end"}
"#;
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
}

#[test]
fn damaged_files_are_no_panic() {
    cases(2_000, |random: &mut Random| {
        let mut bytes = written(&random_trace(random));
        for _ in 0..=random.below(3) {
            let at = random.index(bytes.len());
            bytes[at] = random.number() as u8;
        }
        let (again, faults) = read(&[&bytes], MEMORY);
        assert!(faults.len() <= 1);
        let _ = again.symbols();
        let _ = stacks(&again);
    });
}

#[test]
fn damaged_lines_have_a_position() {
    let frame = r#"{"type":"frame","frame":0}"#;
    let stack = r#"{"type":"stack","stack":0,"frame":0}"#;
    for (lines, column, expected) in [
        (&[r#"{"type":"other"}"#][..], 9, "a valid `type`"),
        (&[r#"{"frame":0}"#], 12, "a valid `type`"),
        (&["{\"type\":\"end\"} 1"], 16, "the end of the line"),
        (&["[]"], 1, "an object"),
        (&[r#"{"type":"frame","frame":1}"#], 25, "a valid `frame`"),
        (&[r#"{"type":"frame","frame":0,"address":-1}"#], 37, "a valid `address`"),
        (&[r#"{"type":"frame","frame":0,"symbol":1}"#], 36, "a valid `symbol`"),
        (&[stack], 35, "a valid `frame`"),
        (&[frame, r#"{"type":"stack","stack":0,"frame":0,"caller":0}"#], 46, "a valid `caller`"),
        (&[frame, stack, r#"{"type":"stack","stack":1,"frame":0}"#], 25, "a valid `stack`"),
        (&[frame, stack, stack], 25, "a valid `stack`"),
        (&[r#"{"type":"thread","thread":5}"#], 29, "a valid `name`"),
        (&[r#"{"type":"symbol","begin":2,"end":1}"#], 34, "a valid `end`"),
        (&[r#"{"type":"symbol","kind":"x"}"#], 25, "a valid `kind`"),
    ] {
        let error = error_of(lines);
        let Some(StackFileError::Malformed { position, expected: found }) = &error else {
            panic!("{lines:?}: {error:?}");
        };
        let line = lines.len() as u32 + 1;
        assert_eq!((position.line, position.column, &**found), (line, column, expected), "{lines:?}");
        let before = HEAD.len() + lines[..lines.len() - 1].iter().map(|line| line.len() + 1).sum::<usize>();
        let offset = before as u64 + u64::from(column) - 1;
        assert_eq!(*position, TextPosition { line, column, offset });
    }
    // Unknown members are ignored, up to a maximum number.
    let members = |count: usize| format!("{{\"type\":\"end\"{}}}", ",\"x\":[]".repeat(count));
    assert_eq!(error_of(&[&members(20)]), None);
    assert!(matches!(error_of(&[&members(40)]), Some(StackFileError::Malformed { .. })));
    assert_eq!(error_of(&[]), Some(StackFileError::CutOff));
    let version = b"{\"type\":\"call-stacks\",\"version\":2}\n";
    assert_eq!(read(&[version], MEMORY).1, [StackFileError::Version(2)]);
    for other in [&b""[..], b"other\n", b"{}\n", HEAD.trim_end().as_bytes()] {
        assert_eq!(read(&[other], MEMORY).1, [StackFileError::Head]);
    }
}

#[test]
fn memory_is_bounded() {
    let original = trace();
    (0..1_000).for_each(|address| {
        original.stacks.push(None, Frame::at(address));
    });
    let bytes = written(&original);
    let memory = 1_000 * FRAME_MEMORY + 10 * STACK_MEMORY;
    let (again, faults) = read(&[&bytes], memory);
    assert_eq!((faults, again.stacks.len()), (vec![StackFileError::TooLarge(memory)], 10));
    assert_eq!(stacks(&again), stacks(&original)[..10]);
    // A text is as long as the file.
    let name = "a".repeat(100);
    let line = format!("{{\"type\":\"thread\",\"thread\":1,\"name\":\"{name}\"}}\n{{\"type\":\"end\"}}\n");
    let text = format!("{HEAD}{line}");
    assert_eq!(read(&[text.as_bytes()], 100).1, [StackFileError::TooLarge(100)]);
    assert_eq!(read(&[text.as_bytes()], 300).1, []);
    // An escaped text counts as it is written: its 60 characters take 360 bytes.
    let name = "\\u0041".repeat(60);
    let line = format!("{{\"type\":\"thread\",\"thread\":1,\"name\":\"{name}\"}}\n{{\"type\":\"end\"}}\n");
    let text = format!("{HEAD}{line}");
    assert_eq!(read(&[text.as_bytes()], 300).1, [StackFileError::TooLarge(300)]);
    assert_eq!(read(&[text.as_bytes()], 1_000).1, []);
}

#[test]
fn directories_have_the_same_stacks_or_none_count() {
    let of = |addresses: &[u64]| {
        let trace = trace();
        addresses.iter().for_each(|address| {
            trace.stacks.push(None, Frame::at(*address));
        });
        written(&trace)
    };
    let (short, long, other) = (of(&[1, 2]), of(&[1, 2, 3]), of(&[1, 3]));
    for files in [[&short, &long], [&long, &short], [&long, &long]] {
        let (trace, faults) = read(&files.map(|file| &file[..]), MEMORY);
        assert_eq!((faults, trace.stacks.len()), (vec![], 3));
        assert_eq!(trace.stacks.frames(2), [Frame::at(3)]);
    }
    for files in [[&short, &other], [&other, &long]] {
        assert_eq!(read(&files.map(|file| &file[..]), MEMORY).1, [StackFileError::Conflict]);
    }
}

#[test]
fn files_of_data_stream_classes() {
    let of = |address: u64, classes: &[u128]| {
        let trace = trace();
        trace.stacks.push(None, Frame::at(address));
        let mut bytes = Vec::new();
        write_stacks(trace.stacks_of(0), classes, &mut bytes).unwrap();
        bytes
    };
    let mut class = TraceClass::new("", [], vec![DataStreamClass::default(); 3]);
    class.data_streams.iter_mut().zip(5..).for_each(|(stream, id)| stream.id = id);
    let mut trace = Trace::new(class, "", &Limits::default()).unwrap();
    let mut stacks = StackFiles::default();
    // Several directories contain the same stacks. The id 9 does not exist.
    for file in [of(1, &[5, 9]), of(2, &[7]), of(1, &[5, 9])] {
        stacks.add_bytes(Bytes::from(file), MEMORY).unwrap();
    }
    assert_eq!(stacks.used, 2 * (FRAME_MEMORY + STACK_MEMORY) + 3 * CLASS_MEMORY);
    stacks.finish(&mut trace, 0);
    let frames = [0, 1, 2].map(|index| trace.stacks_of(index).table.frames(0));
    assert_eq!(frames, [vec![Frame::at(1)], vec![], vec![Frame::at(2)]]);
    // All files share the memory limit of a single file.
    let memory = 2 * (FRAME_MEMORY + STACK_MEMORY) + CLASS_MEMORY;
    let mut stacks = StackFiles::default();
    stacks.add_bytes(Bytes::from(of(1, &[5])), memory).unwrap();
    let fault = stacks.add_bytes(Bytes::from(of(2, &[7])), memory).unwrap_err();
    assert!(matches!(fault, StackFileError::TooLarge(_)), "{fault}");
    assert!(["", "-1", "-12"].iter().all(|end| is_stack_file(&format!("{STACK_FILE}{end}"))));
    assert!(["1", "-", "-a", ".idx"].iter().all(|end| !is_stack_file(&format!("{STACK_FILE}{end}"))));
}

#[test]
fn symbols_move_with_the_clock() {
    let original = trace();
    original.stacks.push(None, Frame::at(1));
    let name: Option<Arc<str>> = Some("f".into());
    let loaded = Symbol { begin: 1, end: 2, from: 10, until: Some(20), name, ..Symbol::default() };
    let before = Symbol { begin: 5, end: 6, from: i128::MIN, ..loaded.clone() };
    original.set_symbols(move || Symbols::new([(0, loaded.clone()), (0, before.clone())]));
    let mut stacks = StackFiles::default();
    stacks.add_bytes(Bytes::from(written(&original)), MEMORY).unwrap();
    let mut trace = trace();
    stacks.finish(&mut trace, 100);
    let times: Vec<(i128, Option<i128>)> =
        trace.symbols().iter().map(|(_, symbol)| (symbol.from, symbol.until)).collect();
    assert_eq!(times, [(i128::MIN, Some(120)), (110, Some(120))]);
}
