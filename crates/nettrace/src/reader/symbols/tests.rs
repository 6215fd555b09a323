//! Hand-made files.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use ichnos_io::Bytes;
use ichnos_model::field::FieldRef;
use ichnos_model::meaning::Meaning;
use ichnos_model::stack::{CodeKind, Resolved, Symbols};
use ichnos_model::{Cursor, Message, OpenedTrace, Window};
use ichnos_testing::{cases, in_cpu_time};

use super::symbol_event::RUNDOWN;
use super::threads::RUNTIME;
use crate::reader::processes::UNIVERSAL_SYSTEM;
use crate::{NettraceFile, NettraceOptions};

// Event numbers of the runtime and of its rundown.
const LOAD: (&str, u32) = (RUNTIME, 143);
const UNLOAD: (&str, u32) = (RUNTIME, 144);
const LOAD_WITHOUT_NAME: (&str, u32) = (RUNTIME, 141);
const MODULE_LOAD: (&str, u32) = (RUNTIME, 152);
const DC_END: (&str, u32) = (RUNDOWN, 144);
const MODULE_DC_END: (&str, u32) = (RUNDOWN, 154);

/// Test event: its kind, its time, and its payload.
type TestEvent = ((&'static str, u32), u8, Vec<u8>);

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// Returns the fixed part of a payload about a method in a module, at an address.
fn place(method: u64, begin: u64, size: u32) -> Vec<u8> {
    let (module, token, flags) = (0xf00d_u64, 0x0600_0001_u32, 0_u32);
    [&method.to_le_bytes()[..], &module.to_le_bytes(), &begin.to_le_bytes()]
        .into_iter()
        .chain([&size.to_le_bytes()[..], &token.to_le_bytes(), &flags.to_le_bytes()])
        .flatten()
        .copied()
        .collect()
}

fn method(method: u64, begin: u64, size: u32, [space, name, signature]: [&str; 3]) -> Vec<u8> {
    [place(method, begin, size), utf16(space), utf16(name), utf16(signature), vec![0; 10]].concat()
}

/// Returns a method `T.name()` whose id is its address.
fn simple(begin: u64, size: u32, name: &str) -> Vec<u8> {
    method(begin ^ u64::from(size) << 32, begin, size, ["T", name, "void  ()"])
}

fn module(id: u64, il: &str, native: &str) -> Vec<u8> {
    [id.to_le_bytes().to_vec(), vec![0; 16], utf16(il), utf16(native), vec![0; 2]].concat()
}

/// Creates a version 4 file with these events. A tick is a nanosecond since 1970. All event kinds have version 2.
fn v4(events: &[TestEvent]) -> Vec<u8> {
    let object = |file: &mut Vec<u8>, name: &str, version: u8, content: &[u8], has_size: bool| {
        file.extend([5, 5, 1, version, 0, 0, 0, version, 0, 0, 0, name.len() as u8, 0, 0, 0]);
        file.extend(name.bytes().chain([6]));
        if has_size {
            file.extend((content.len() as u32).to_le_bytes());
            file.resize(file.len().next_multiple_of(4), 0);
        }
        file.extend(content);
        file.push(6);
    };
    let mut file = b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec();
    object(&mut file, "Trace", 4, &[&trace_block()[..], &[0; 12]].concat(), false);
    let header = [&[20, 0, 1, 0][..], &1_u64.to_le_bytes(), &255_u64.to_le_bytes()].concat();
    let (mut metadata, mut rows) = (header.clone(), header);
    for (i, ((provider, event), ticks, payload)) in events.iter().enumerate() {
        let id = i as u32 + 1;
        let row =
            [&id.to_le_bytes()[..], &utf16(provider), &event.to_le_bytes(), &utf16(""), &[0; 8]].concat();
        let row = [&row[..], &[2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]].concat();
        metadata.extend([0x80, 0]);
        metadata.extend(varuint(row.len() as u64));
        metadata.extend(row);
        // With a metadata id, a thread, a time relative to the previous row, and a size.
        let before = i.checked_sub(1).map_or(0, |before| events[before].1);
        rows.push(0x87);
        rows.extend(varuint(id.into()));
        rows.extend([0, 7, 0, 7]);
        rows.extend(varuint(u64::from(*ticks).wrapping_sub(before.into())));
        rows.extend(varuint(payload.len() as u64));
        rows.extend(payload);
    }
    object(&mut file, "MetadataBlock", 2, &metadata, true);
    object(&mut file, "EventBlock", 2, &rows, true);
    file.push(1);
    file
}

/// Returns the start of trace blocks, which all versions share.
fn trace_block() -> Vec<u8> {
    let date = [1970_u16, 1, 4, 1, 0, 0, 0, 0];
    let words = date.into_iter().flat_map(u16::to_le_bytes);
    words.chain(0_u64.to_le_bytes()).chain(1_000_000_000_u64.to_le_bytes()).chain([8, 0, 0, 0]).collect()
}

fn varuint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn open(file: Vec<u8>) -> NettraceFile {
    NettraceFile::open("made by hand", Bytes::from(file), &NettraceOptions::default()).unwrap()
}

/// Reads the function names at an address and a time.
struct TestSymbols(NettraceFile, std::cell::OnceCell<std::sync::Arc<Symbols>>);

impl TestSymbols {
    fn new(file: NettraceFile) -> Self {
        Self(file, std::cell::OnceCell::new())
    }

    fn v4(events: &[TestEvent]) -> Self {
        Self::new(open(v4(events)))
    }

    fn at(&self, space: u32, address: u64, time: i128) -> Option<Resolved<'_>> {
        self.1.get_or_init(|| self.0.trace().symbols()).resolve(space, address, time)
    }

    fn function(&self, address: u64, time: i128) -> Option<&str> {
        self.at(0, address, time)?.symbol.name.as_deref()
    }

    fn module(&self, address: u64, time: i128) -> Option<&str> {
        self.at(0, address, time)?.module.map(|name| &**name)
    }
}

#[test]
fn an_address_is_used_again() {
    let names = TestSymbols::v4(&[
        (LOAD, 10, simple(100, 50, "A")),
        (UNLOAD, 20, simple(100, 50, "A")),
        (LOAD, 30, simple(100, 20, "B")),
        (LOAD, 40, simple(100, 30, "C")),
    ]);
    let at = |address| [9, 10, 19, 20, 30, 39, 40].map(|time| names.function(address, time));
    let [a, b, c] = ["T.A()", "T.B()", "T.C()"].map(Some);
    assert_eq!(at(100), [None, a, a, None, b, b, c]);
    assert_eq!(at(125), [None, a, a, None, None, None, c]);
    assert_eq!(names.function(150, 15), None);
    assert_eq!(names.at(0, 100, 15).unwrap().kind, CodeKind::Managed);
}

#[test]
fn what_is_listed_at_the_end_was_there() {
    let names = TestSymbols::v4(&[
        (LOAD, 10, simple(100, 50, "A")),
        (LOAD, 10, simple(200, 50, "B")),
        (UNLOAD, 20, simple(200, 50, "B")),
        (UNLOAD, 25, simple(400, 50, "E")),
        (DC_END, 90, simple(100, 50, "A")),
        (DC_END, 90, simple(200, 60, "C")),
        (DC_END, 90, simple(300, 50, "D")),
    ]);
    let at = |address| [-1, 9, 10, 20, 25, 99].map(|time| names.function(address, time));
    let [a, b, c, d, e] = ["T.A()", "T.B()", "T.C()", "T.D()", "T.E()"].map(Some);
    assert_eq!(at(100), [None, None, a, a, a, a]);
    assert_eq!(at(200), [None, None, b, c, c, c]);
    assert_eq!(at(300), [d; 6]);
    assert_eq!(at(400), [e, e, e, e, None, None]);
}

#[test]
fn modules_are_named_after_their_files() {
    let of = |il: &str, native: &str| {
        let names = TestSymbols::v4(&[
            (DC_END, 10, simple(100, 50, "A")),
            // Rundown lists modules after methods.
            (MODULE_DC_END, 11, module(0xf00d, il, native)),
        ]);
        names.module(100, 5).map(str::to_owned)
    };
    assert_eq!(of("/usr/lib/My.App.dll", "").as_deref(), Some("My.App"));
    assert_eq!(of(r"C:\app\My.App.EXE", "").as_deref(), Some("My.App"));
    assert_eq!(of("System.ni.dll", "").as_deref(), Some("System"));
    assert_eq!(of("", "/lib/native.dll").as_deref(), Some("native"));
    assert_eq!(of("Made.At.Run.Time", "").as_deref(), Some("Made.At.Run.Time"));
    assert_eq!(of("", ""), None);

    let names = TestSymbols::v4(&[
        (MODULE_LOAD, 1, module(0xf00d, "old.dll", "")),
        (LOAD, 2, simple(100, 50, "A")),
        (MODULE_LOAD, 3, module(0xf00d, "new.dll", "")),
        (LOAD, 4, simple(200, 50, "B")),
    ]);
    assert_eq!((names.module(100, 9), names.module(200, 9)), (Some("old"), Some("new")));
}

#[test]
fn names_have_types_and_parameters() {
    let of = |texts| {
        let names = TestSymbols::v4(&[(LOAD, 1, method(1, 100, 50, texts))]);
        names.function(100, 1).unwrap().to_owned()
    };
    assert_eq!(of(["N.T", "Main", "void  (class System.String[])"]), "N.T.Main(class System.String[])");
    assert_eq!(of(["", "Main", "instance int32  ()"]), "Main()");
    assert_eq!(
        of(["T", ".ctor", "instance void  (method void *(int32),!0)"]),
        "T..ctor(method void *(int32),!0)"
    );
    assert_eq!(of(["T", "F", "method void *(int32)  (bool)"]), "T.F(bool)");
    assert_eq!(of(["T", "F", ""]), "T.F");
    assert_eq!(of(["T", "F", ")("]), "T.F");
}

#[test]
fn methods_without_names_are_named_by_others_or_by_their_tokens() {
    let named = method(1, 500, 50, ["T", "A", "void  ()"]);
    let names = TestSymbols::v4(&[
        (LOAD_WITHOUT_NAME, 1, [place(1, 100, 50), vec![0; 10]].concat()),
        (LOAD_WITHOUT_NAME, 1, [place(2, 200, 50), vec![0; 10]].concat()),
        (DC_END, 9, named),
    ]);
    assert_eq!((names.function(100, 1), names.function(200, 1)), (Some("T.A()"), Some("0x06000001")));
    assert_eq!((names.function(500, 1), names.function(100, 0)), (Some("T.A()"), None));
}

#[test]
fn hostile_payloads_say_nothing() {
    let whole = simple(100, 50, "A");
    // All fields are needed, except the fields after the texts.
    for length in 0..whole.len() - 10 {
        let names =
            TestSymbols::v4(&[(LOAD, 1, whole[..length].to_vec()), (DC_END, 2, whole[..length].to_vec())]);
        assert_eq!(names.function(100, 5), None, "{length}");
    }
    let names = TestSymbols::v4(&[
        (LOAD, 1, simple(u64::MAX - 5, 50, "A")),
        (LOAD, 1, simple(100, 0, "B")),
        (LOAD, 1, simple(200, u32::MAX, "C")),
        (MODULE_LOAD, 1, vec![1; 7]),
        (MODULE_LOAD, 1, module(0xf00d, "", "")[..26].to_vec()),
    ]);
    assert_eq!((names.function(u64::MAX - 5, 5), names.function(100, 5)), (None, None));
    assert_eq!(names.function(200 + (1 << 31), 5), Some("T.C()"));
    assert_eq!(names.0.trace().symbols().len(), 1);

    // Half of a character.
    let mut payload = simple(100, 50, "A");
    let at = payload.iter().rposition(|byte| *byte == b'A').unwrap();
    payload[at + 1] = 0xd8;
    assert_eq!(TestSymbols::v4(&[(LOAD, 1, payload)]).function(100, 5), Some("T.\u{fffd}()"));
}

#[test]
fn damaged_files_do_no_harm() {
    let v4 = v4(&[
        (LOAD, 10, simple(100, 50, "A")),
        (UNLOAD, 20, simple(100, 50, "A")),
        (MODULE_LOAD, 25, module(0xf00d, "m.dll", "")),
        (LOAD_WITHOUT_NAME, 30, place(3, 100, 20)),
        (DC_END, 40, simple(100, 20, "B")),
    ]);
    let v6 = v6();
    cases(600, |random| {
        let mut file = if random.index(2) == 0 { v4.clone() } else { v6.clone() };
        for _ in 0..=random.index(4) {
            let at = random.index(file.len());
            file[at] = random.number() as u8;
        }
        file.truncate(file.len() - random.index(2) * random.index(file.len() / 2));
        if let Ok(file) = NettraceFile::open("damaged", Bytes::from(file), &NettraceOptions::default()) {
            let _ = file.trace().symbols().resolve(0, 100, 15);
            let _ = stacks(&file, Window::default());
        }
    });
}

/// Each of these files would take hours if the time were events times bytes, or events squared.
#[test]
fn hostile_files_do_not_take_long() {
    let long = "x".repeat(1 << 20);
    let mut events =
        vec![(LOAD, 1, method(1, 1, 1, ["", &long, ""])), (MODULE_LOAD, 1, module(1, &long, ""))];
    for i in 0..8_000_u64 {
        events.push((LOAD_WITHOUT_NAME, 2, place(1, 100 * i, 50)));
        events.push((MODULE_LOAD, 2, module(1, &format!("{i}.dll"), "")));
        events.push((LOAD, 3, simple(1 << 40, 1 + i as u32, "Overlapping")));
        events.push((DC_END, 4, simple(1 << 50, 1 + i as u32, "Overlapping")));
    }
    let file = open(v4(&events));
    in_cpu_time(Duration::from_secs(10), "hostile methods", || assert!(file.trace().symbols().len() > 8_000));
}

// ---------------------------------------------------------------------------------------------
// Version 6

const KERNEL: u64 = 0xffff_ffff_8100_0000;

/// Event kinds in version 6 files, by metadata id. 0 is unused.
const V6_EVENTS: [&str; 5] = ["", "ProcessMapping", "ProcessSymbol", "ProcessCreate", "cpu"];

/// Creates a version 6 file with the processes 70 and 71, a thread in each, and one stack with these frames. `events`:
/// metadata id, thread (1 or 2), time and payload. Events of the last kind have the stack.
fn v6_of(frames: &[u64], events: &[(u8, u8, u64, Vec<u8>)]) -> Vec<u8> {
    let block = |file: &mut Vec<u8>, kind: u8, content: &[u8]| {
        file.extend(&(content.len() as u32 | u32::from(kind) << 24).to_le_bytes());
        file.extend(content);
    };
    let text = |text: &str| [varuint(text.len() as u64), text.as_bytes().to_vec()].concat();
    let sized = |row: Vec<u8>| [(row.len() as u16).to_le_bytes().to_vec(), row].concat();
    let mut file = b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    block(&mut file, 1, &[&trace_block()[..], &[0; 4]].concat());
    let rows = V6_EVENTS.iter().zip(0_u8..).skip(1).map(|(name, id)| {
        let provider = if *name == "cpu" { "Universal.Events" } else { UNIVERSAL_SYSTEM };
        sized([vec![id], text(provider), vec![id], text(name), vec![0; 4]].concat())
    });
    block(&mut file, 3, &[vec![0, 0], rows.collect::<Vec<_>>().concat()].concat());
    let threads = [70_u8, 71].map(|process| sized(vec![process - 69, 2, process, 3, process]));
    block(&mut file, 6, &threads.concat());
    let mut stack = [9_u32, 1, 8 * frames.len() as u32].map(u32::to_le_bytes).concat();
    stack.extend(frames.iter().flat_map(|frame| frame.to_le_bytes()));
    block(&mut file, 5, &stack);
    let mut rows = [&[20, 0, 1, 0][..], &1_u64.to_le_bytes(), &255_u64.to_le_bytes()].concat();
    let mut before = 0;
    for (id, thread, ticks, payload) in events {
        let stack = if *id == 4 { 9 } else { 0 };
        // Id, sequence number, threads, stack, time, size.
        rows.extend([0x8f, *id]);
        rows.extend([0, *thread, 0, *thread, stack]);
        rows.extend(varuint(ticks.wrapping_sub(before)));
        rows.extend(varuint(payload.len() as u64));
        rows.extend(payload);
        before = *ticks;
    }
    block(&mut file, 2, &rows);
    block(&mut file, 0, &[]);
    file
}

fn mapping(id: u8, begin: u64, end: u64, path: &str) -> Vec<u8> {
    let path = [(path.len() as u16).to_le_bytes().to_vec(), path.as_bytes().to_vec()].concat();
    [vec![id], varuint(begin), varuint(end), vec![0], path, vec![0]].concat()
}

fn symbol(mapping: u8, begin: u64, end: u64, name: &str) -> Vec<u8> {
    let name = [(name.len() as u16).to_le_bytes().to_vec(), name.as_bytes().to_vec()].concat();
    [vec![0, mapping], varuint(begin), varuint(end), name].concat()
}

/// Creates a file in which two processes have the same stack.
fn v6() -> Vec<u8> {
    let events: [(u8, u8, u64, Vec<u8>); 21] = [
        (1, 1, 10, mapping(1, 0x1000, 0x3000, "/usr/bin/one")),
        (2, 1, 90, symbol(1, 0x1000, 0x1010, "main")),
        (1, 1, 10, mapping(2, 1 << 63, u64::MAX, "vmlinux")),
        (2, 1, 90, symbol(2, KERNEL, KERNEL + 15, "schedule")),
        (2, 1, 90, symbol(2, 0, u64::MAX, "hidden")),
        (2, 1, 90, symbol(2, 1 << 62, KERNEL, "hidden")),
        (1, 2, 20, mapping(5, 0x1000, 0x2000, "/usr/bin/two")),
        (2, 2, 90, symbol(5, 0x1000, 0x1010, "start")),
        (2, 2, 90, symbol(5, 0x1ff0, 0x2010, "half outside")),
        // Two processes that share memory.
        (1, 1, 20, mapping(6, 0x5000, 0x6000, "/memfd:doublemapper (deleted)")),
        (1, 2, 20, mapping(6, 0x5000, 0x6000, "/memfd:doublemapper (deleted)")),
        (2, 2, 90, symbol(6, 0x5000, 0x5010, "void [My.App] N.T::Run(class System.String[],int32)[Tier1]")),
        (1, 2, 50, mapping(3, 0x1000, 0x2000, "/lib/plugin.so")),
        (1, 1, 10, vec![1, 0xff, 0xff]),
        (2, 1, 10, symbol(9, 0x2000, 0x2000, "without a size")),
        (4, 1, 30, vec![1]),
        (4, 2, 31, vec![1]),
        (4, 2, 60, vec![1]),
        // The process ends. Its id is reused.
        (3, 2, 15, vec![]),
        (3, 2, 80, vec![]),
        (1, 2, 81, mapping(4, 0x1000, 0x2000, "/usr/bin/three")),
    ];
    v6_of(&[KERNEL + 5, 0x1005, 0x2005], &events)
}

/// Returns the time and the stack of all events with a stack.
fn stacks(file: &NettraceFile, window: Window) -> Vec<(i128, u32)> {
    let mut found = Vec::new();
    for mut cursor in file.cursors(window) {
        while cursor.advance() {
            let Some(Message::Event(event)) = cursor.current() else { continue };
            let member = event.class.meanings.members(Meaning::Stack).next();
            let stack = member.and_then(|member| event.get(&FieldRef::for_member(&event, member)?)?.as_u64());
            found.extend(stack.map(|stack| (event.nanoseconds().unwrap(), stack as u32)));
        }
    }
    found
}

#[test]
fn processes_have_their_own_addresses_and_share_the_kernel() {
    let names = TestSymbols::new(open(v6()));
    let file = &names.0;
    let found = stacks(file, Window::default());
    let [(30, one), (31, two), (60, later)] = found[..] else { panic!("{found:?}") };
    assert_ne!(one, two);
    assert_eq!(two, later);
    let frames = |stack| file.trace().stacks.frames(stack).into_iter();
    let frames =
        |stack| frames(stack).map(|frame| (frame.address_space, frame.address.unwrap())).collect::<Vec<_>>();
    assert_eq!(frames(one), [(0, KERNEL + 5), (70, 0x1005), (70, 0x2005)]);
    assert_eq!(frames(two), [(0, KERNEL + 5), (71, 0x1005), (71, 0x2005)]);

    let named = |space, address, time| {
        let resolved = names.at(space, address, time)?;
        let module = resolved.module.map_or("", |module| &**module);
        Some((module, resolved.symbol.name.as_deref(), resolved.kind))
    };
    let native = |module, name| Some((module, name, CodeKind::Native));
    assert_eq!(named(70, 0x1005, 30), native("one", Some("main")));
    assert_eq!(named(70, 0x2005, 0), native("one", None));
    assert_eq!(named(71, 0x1005, 31), native("two", Some("start")));
    assert_eq!(named(71, 0x2005, 31), None);
    assert_eq!(named(0, KERNEL + 5, 31), Some(("vmlinux", Some("schedule"), CodeKind::Kernel)));
    assert_eq!(named(0, KERNEL + 15, 31), Some(("vmlinux", Some("schedule"), CodeKind::Kernel)));
    assert_eq!(named(0, KERNEL + 16, 31), Some(("vmlinux", None, CodeKind::Kernel)));
    assert_eq!(named(71, 0x1105, 60), native("plugin.so", None));
    assert_eq!((named(71, 0x1ff5, 31), named(1, 0x1005, 31)), (native("two", None), None));
    let run = Some(("My.App", Some("N.T.Run(class System.String[],int32)"), CodeKind::Managed));
    assert_eq!((named(70, 0x5005, 90), named(71, 0x5005, 31)), (run, run));
    assert_eq!(named(71, 0x1005, 90), native("three", None));
}

#[test]
fn methods_in_the_words_of_maps() {
    let of = |text| super::mappings::jitted_method(text);
    let is = |module, name: &str| Some((module, name.to_owned()));
    assert_eq!(of("instance void [A.B] T::.ctor(int32)[PreJIT]"), is("A.B", "T..ctor(int32)"));
    assert_eq!(of("int32[] [a] N.T`1[System.Int32]::F(int32[])"), is("a", "N.T`1[System.Int32].F(int32[])"));
    assert_eq!(of("void [a] ::F()[Tier0]"), is("a", "F()"));
    for other in [
        "main",
        "f(int) [clone .cold]",
        "void [a] T::F(int32) const",
        "stub [1] x",
        "",
        " [] )::(",
        "a [b] ::(",
    ] {
        assert_eq!(of(other), None, "{other}");
    }
}

/// Stack numbers do not depend on the event that is read first.
#[test]
fn numbers_of_stacks_do_not_depend_on_what_is_read() {
    let all = stacks(&open(v6()), Window::default());
    let end = Window { begin: Some(60), end: None };
    assert_eq!(stacks(&open(v6()), end), all[2..]);
}

// ---------------------------------------------------------------------------------------------
// Files of real runtimes

/// Another reader's folded stacks must have the same names. The weights may differ.
#[test]
fn names_are_those_of_another_reader() {
    let Some(directory) = ichnos_testing::recorded("nettrace/dotnetdiag") else { return };
    let name = "dotnet-5.0-SampleProfiler-single-thread";
    let file = open(std::fs::read(directory.join(format!("{name}.golden.nettrace"))).unwrap());
    let expected = std::fs::read_to_string(directory.join(format!("{name}.txt"))).unwrap();
    let expected: BTreeSet<&str> =
        expected.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
    let trace = file.trace();
    let folded = stacks(&file, Window::default()).into_iter().map(|(time, stack)| {
        let frames = trace.frames(stack, Some(time)).into_iter().rev();
        let names = frames.map(|frame| format!("{}!{}", frame.module.unwrap(), frame.symbol.unwrap()));
        names.collect::<Vec<_>>().join(";")
    });
    let folded: BTreeSet<String> = folded.collect();
    assert!(folded.iter().map(String::as_str).eq(expected));
}

/// In complete traces, nearly all frames have names. Exceptions: precompiled code that the runtime does not list (3.1:
/// 2 addresses), and `_start`, whose symbol was not written.
#[test]
fn frames_of_whole_traces_have_names() {
    let expected = [
        ("runtime", "net10.0-small.nettrace", 0),
        ("runtime", "net3.1.2-small.nettrace", 5),
        ("runtime", "net10.0-drops.nettrace", 0),
        ("runtime", "net10.0-ipc-netperfV3.netperf", 0),
        ("perfview", "mixed_managed_external_samples.nettrace", 0),
        ("perfview", "eventpipe-dotnetcore5.0-win-x64-arraytypes.nettrace", 0),
        ("runtime", "perl-cpu-v6.nettrace", 1968),
    ];
    for (directory, name, unnamed) in expected {
        let Some(directory) = ichnos_testing::recorded(format!("nettrace/{directory}")) else { return };
        let file = open(std::fs::read(directory.join(name)).unwrap());
        let trace = file.trace();
        let stacks = stacks(&file, Window::default());
        let mut found = 0;
        // Names stay valid, because no address is reused in these files.
        let mut known = HashMap::new();
        for (time, stack) in &stacks {
            found += *known.entry(*stack).or_insert_with(|| {
                let frames = trace.frames(*stack, Some(*time));
                frames.iter().filter(|frame| frame.symbol.is_none()).count()
            });
        }
        assert!(!stacks.is_empty());
        assert_eq!(found, unnamed, "{name}");
    }
}

#[test]
fn hostile_mappings_do_not_take_long() {
    let mut events = Vec::new();
    for i in 0..5_000 {
        events.push((1, 1 + (i % 2) as u8, 7 * i % 256, mapping(1, i, 1 << 40, "shared")));
        events.push((2, 1, i % 256, symbol(1, 10_000 + i, 20_000 + i, "symbol")));
        events.push((3, 1, i % 256, Vec::new()));
        events.push((1, 1, i % 256, mapping(2, 1 << 63 | i, u64::MAX, "kernel")));
        events.push((2, 1, i % 256, symbol(2, 1 << 63 | 10_000, (1 << 63) + 20_000 + i, "symbol")));
    }
    let file = open(v6_of(&[1], &events));
    in_cpu_time(Duration::from_secs(20), "hostile mappings", || {
        let count = file.trace().symbols().len();
        assert!((10_000..300_000).contains(&count), "{count}");
    });
}
