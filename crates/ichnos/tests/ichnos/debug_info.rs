//! Debug information in events of LTTng-UST.

use std::path::Path;

use ichnos::convert::{ConvertOptions, target};
use ichnos::debug_info::{DebugInfoOptions, debug_info};
use ichnos::export::{Details, DetailsOptions, Pretty, PrettyOptions};
use ichnos::jsonl::{JsonLines, JsonLinesOptions};
use ichnos::prelude::*;
use ichnos::{BlockWriter, TextOutput};
use ichnos_testing::{ELF_BUILD_ID, ElfForm, elf_library};

const METADATA: &str = r#"/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := u64;
clock { name = c; freq = 1000000000; };
trace { major = 1; minor = 8; byte_order = le; };
stream {
    event.header := struct { u8 id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; };
    event.context := struct { integer { size = 32; align = 8; signed = true; } _vpid; u64 _ip; };
};
event { id = 0; name = "lttng_ust_statedump:start"; fields := struct { }; };
event { id = 1; name = "lttng_ust_statedump:bin_info";
    fields := struct { u64 _baddr; u64 _memsz; string _path; u8 _is_pic; }; };
event { id = 2; name = "lttng_ust_statedump:build_id";
    fields := struct { u64 _baddr; u8 __build_id_length; u8 _build_id[__build_id_length]; }; };
event { id = 3; name = "lttng_ust_lib:unload"; fields := struct { u64 _baddr; }; };
event { id = 4; name = "app:event"; fields := struct { u32 _n; }; };
"#;

const BASE: u64 = 0x7f00_0000_0000;

/// Events of a data stream.
#[derive(Default)]
struct Stream(Vec<u8>);

impl Stream {
    fn event(&mut self, id: u8, time: u64, process: i32, address: u64, payload: &[&[u8]]) {
        self.0.push(id);
        self.0.extend(time.to_le_bytes());
        self.0.extend(process.to_le_bytes());
        self.0.extend(address.to_le_bytes());
        payload.iter().for_each(|part| self.0.extend(*part));
    }

    fn app(&mut self, time: u64, process: i32, address: u64) {
        self.event(4, time, process, address, &[&7u32.to_le_bytes()]);
    }
}

/// Writes a trace, and the root directory of its system.
fn write(directory: &Path, build_id: &[u8]) {
    let mut stream = Stream::default();
    let base = BASE.to_le_bytes();
    stream.app(1, 5, BASE + 0x1010);
    stream.event(0, 2, 5, 0, &[]);
    let mapping: [&[u8]; 4] = [&base, &0x2000u64.to_le_bytes(), b"/usr/lib.so\0", &[1]];
    stream.event(1, 3, 5, 0, &mapping);
    stream.event(2, 4, 5, 0, &[&base, &[build_id.len() as u8], build_id]);
    stream.app(5, 5, BASE + 0x1010);
    stream.app(6, 5, BASE + 0x1041);
    stream.app(7, 6, BASE + 0x1010);
    stream.event(3, 8, 5, 0, &[&base]);
    stream.app(9, 5, BASE + 0x1010);
    std::fs::create_dir_all(directory.join("trace")).unwrap();
    std::fs::create_dir_all(directory.join("root/usr")).unwrap();
    std::fs::write(directory.join("trace/metadata"), METADATA).unwrap();
    std::fs::write(directory.join("trace/stream"), stream.0).unwrap();
    std::fs::write(directory.join("root/usr/lib.so"), elf_library(ElfForm::ALL[5], true)).unwrap();
}

fn session(directory: &Path, change: impl FnOnce(&mut DebugInfoOptions)) -> Session {
    let mut options = DebugInfoOptions::default();
    options.target_prefix = Some(directory.join("root"));
    change(&mut options);
    let mut open = OpenOptions::default();
    open.debug_info = Some(debug_info(options));
    ichnos::open([directory.join("trace")], &open).unwrap()
}

fn text<S: ichnos::export::ResumableSink + Send + 'static>(
    session: &Session,
    make: impl Fn(BlockWriter) -> S + Send + Sync,
) -> String {
    let mut text = Vec::new();
    let output = TextOutput::new(&mut text, make);
    session.reader().unwrap().pass().write(&output).unwrap();
    drop(output);
    String::from_utf8(text).unwrap()
}

/// Returns the debug information of all application events.
fn found(session: &Session) -> Vec<[String; 3]> {
    let mut events = session.events().unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next_event() {
        if event.name() == "app:event" {
            let text = |member: &str| {
                let value = event.field(&format!("debug_info.{member}")).unwrap();
                value.as_str().unwrap().to_owned()
            };
            found.push(["bin", "func", "src"].map(text));
        }
    }
    found
}

#[test]
fn addresses_are_named_while_the_binary_is_mapped() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &ELF_BUILD_ID);
    let unknown = ["", "", ""];
    let inlined = ["lib.so+0x1010", "main+0x10", "a.c:11"];
    let symbol = ["lib.so+0x1041", "other+0x1", ""];
    let expected = [unknown, inlined, symbol, unknown, unknown];
    assert_eq!(found(&session(directory.path(), |_| {})), expected);
    let full = found(&session(directory.path(), |options| options.full_path = true));
    assert!(full[1][0].ends_with("/root/usr/lib.so+0x1010"), "{:?}", full[1]);
    assert_eq!(full[1][2], "/src/a.c:11");
    // Windows and data streams do not change the state.
    let session = session(directory.path(), |_| {});
    let window = Window { begin: Some(6), end: Some(6) };
    let mut events = session.events_in(window).unwrap();
    let event = events.next_event().unwrap();
    assert_eq!(event.field("resource.debug_info.func").unwrap().as_str(), Some("other+0x1"));
}

/// A trace could name any file.
#[test]
fn binaries_are_not_read_without_a_prefix() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &ELF_BUILD_ID);
    let without = session(directory.path(), |options| options.target_prefix = None);
    assert_eq!(found(&without)[1], ["lib.so+0x1010", "", ""]);
    let mut options = DebugInfoOptions::default();
    options.target_prefix = None;
    let debug_info = debug_info(options);
    let mut open = OpenOptions::default();
    open.debug_info = Some(debug_info.clone());
    found(&ichnos::open([directory.path().join("trace")], &open).unwrap());
    let problems: Vec<String> = debug_info.problems().iter().map(ToString::to_string).collect();
    assert!(problems.len() == 1 && problems[0].contains("target prefix"), "{problems:?}");
}

#[test]
fn other_builds_have_only_their_address() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &[1, 2, 3]);
    let [address, none] = [["lib.so+0x1010", "", ""], ["", "", ""]];
    assert_eq!(found(&session(directory.path(), |_| {}))[1], address);
    assert_eq!(found(&session(directory.path(), |options| options.as_babeltrace = true))[1], none);
}

#[test]
fn texts_have_debug_information_in_the_context() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &ELF_BUILD_ID);
    let session = session(directory.path(), |options| options.field_name = "where".to_owned());
    let mut options = PrettyOptions::default();
    (options.resource_in_context, options.clock_cycles) = (true, true);
    let pretty = text(&session, |writer| Pretty::new(writer, options.clone()));
    let line = "app:event: { vpid = 5, ip = 0x7F0000001010, where = { bin = \"lib.so+0x1010\", \
        func = \"main+0x10\", src = \"a.c:11\" } }, { n = 7 }\n";
    assert!(pretty.contains(line), "{pretty}");
    let line = "app:event: { vpid = 6, ip = 0x7F0000001010, where = { bin = \"\", func = \"\", src = \"\" } }, \
        { n = 7 }\n";
    assert!(pretty.contains(line), "{pretty}");
    let mut options = DetailsOptions::default();
    options.resource_in_context = true;
    let details = text(&session, |writer| Details::new(writer, options.clone()));
    let class = "    Event common context field class: Structure (3 members):\n      \
        vpid: Signed integer (32-bit, Base 10)\n      ip: Unsigned integer (64-bit, Base 16)\n      \
        where: Structure (3 members):\n        bin: String\n        func: String\n        src: String\n";
    assert!(details.contains(class), "{details}");
    let event = "  Common context:\n    vpid: 5\n    ip: 0x7f00:0000:1010\n    where:\n      bin: lib.so+0x1010\n      \
        func: main+0x10\n      src: a.c:11\n  Payload:\n    n: 7\n";
    assert!(details.contains(event), "{details}");
    let json = text(&session, |writer| JsonLines::new(writer, JsonLinesOptions::default()));
    let resource = r#""resource":{"where":{"bin":"lib.so+0x1010","func":"main+0x10","src":"a.c:11"}}"#;
    assert!(json.contains(resource), "{json}");
}

#[test]
fn written_traces_have_debug_information_in_the_context() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &ELF_BUILD_ID);
    let session = session(directory.path(), |_| {});
    let output = directory.path().join("written");
    let target = target(Some("ctf"), &output, None).unwrap();
    session
        .reader()
        .unwrap()
        .convert(target.writer, Some(output.clone()), &ConvertOptions::default())
        .unwrap();
    let written = ichnos::open([&output], &OpenOptions::default()).unwrap();
    assert_eq!(found(&written), found(&session));
    let mut events = written.events().unwrap();
    let event = events.next_event().unwrap();
    assert_eq!(event.field("ctx.debug_info.bin").unwrap().as_str(), Some(""));
    assert!(!event.has_resource());
}

#[test]
fn traces_without_addresses_are_unchanged() {
    let open = |with: bool| {
        let mut options = OpenOptions::default();
        options.debug_info = with.then(|| debug_info(DebugInfoOptions::default()));
        ichnos::open(["../../examples/hello-lttng"], &options).unwrap()
    };
    let json =
        |session: &Session| text(session, |writer| JsonLines::new(writer, JsonLinesOptions::default()));
    assert_eq!(json(&open(true)), json(&open(false)));
}

const PERF: &str = r#"/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := u64;
clock { name = c; freq = 1000000000; };
trace { major = 1; minor = 8; byte_order = le; };
stream {
    event.header := struct { u32 id; integer { size = 64; align = 8; map = clock.c.value; } timestamp; };
};
event { id = 0; name = "cpu-clock"; fields := struct {
    u64 perf_ip; i32 perf_tid; i32 perf_pid; u32 perf_callchain_size; u64 perf_callchain[perf_callchain_size]; }; };
event { id = 1; name = "perf_comm"; fields := struct { u32 pid; u32 tid; string comm; }; };
event { id = 2; name = "perf_mmap2"; fields := struct { u32 pid; u32 tid; u64 start; string filename; }; };
event { id = 3; name = "perf_fork";
    fields := struct { u32 pid; u32 ppid; u32 tid; u32 ptid; u64 time; }; };
"#;

/// Returns the frames of all samples in a trace of perf.
fn frames(directory: &Path, with_functions: bool) -> Vec<String> {
    let mut open = OpenOptions::default();
    let mut options = DebugInfoOptions::default();
    options.target_prefix = Some(directory.join("root"));
    open.debug_info = with_functions.then(|| debug_info(options));
    let session = ichnos::open([directory.join("trace")], &open).unwrap();
    let mut events = session.events().unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next_event() {
        let Some(stack) = event.meaning(Meaning::Stack).and_then(|stack| stack.as_u64()) else { continue };
        let trace = session.traces()[0].trace();
        let frames = trace.frames(u32::try_from(stack).unwrap(), event.nanoseconds());
        let shown = frames.iter().map(|frame| {
            let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().unwrap_or("?").to_owned();
            format!("{}!{}", text(&frame.module), text(&frame.symbol))
        });
        let name = trace.symbols().thread_name(Some(5), 6).map(|name| name.to_string());
        found.push(format!("{}: {}", name.unwrap_or_default(), shown.collect::<Vec<_>>().join(" ")));
    }
    found
}

/// Writes a perf trace, and the root directory of its system.
fn write_perf(directory: &Path) {
    write(directory, &ELF_BUILD_ID);
    let mut stream = Vec::new();
    let mut event = |id: u32, time: u64, payload: &[&[u8]]| {
        stream.extend(id.to_le_bytes());
        stream.extend(time.to_le_bytes());
        payload.iter().for_each(|part| stream.extend(*part));
    };
    let number = |number: u32| number.to_le_bytes();
    let address = |address: u64| address.to_le_bytes();
    event(
        2,
        1,
        &[&number(u32::MAX), &number(0), &address(0xffff_ffff_8000_0000), b"[kernel.kallsyms]_text\0"],
    );
    event(1, 2, &[&number(5), &number(6), b"worker\0"]);
    event(2, 3, &[&number(5), &number(6), &address(BASE), b"/usr/lib.so\0"]);
    event(3, 4, &[&number(7), &number(5), &number(7), &number(5), &address(0)]);
    // The kernel, the user space: marks separate them.
    let chain =
        [0xffff_ffff_ffff_ff80, 0xffff_ffff_8000_0010, 0xffff_ffff_ffff_fe00, BASE + 0x1044, BASE + 0x1010];
    let chain: Vec<u8> = chain.iter().flat_map(|number: &u64| number.to_le_bytes()).collect();
    for process in [5, 7] {
        event(0, 5, &[&address(0), &number(6), &number(process), &number(5), &chain]);
    }
    event(0, 6, &[&address(0), &number(6), &number(8), &number(0)]);
    std::fs::write(directory.join("trace/metadata"), PERF).unwrap();
    std::fs::write(directory.join("trace/stream"), stream).unwrap();
}

#[test]
fn call_chains_of_perf_become_stacks() {
    let directory = tempfile::tempdir().unwrap();
    write_perf(directory.path());
    let modules = "worker: [kernel.kallsyms]!? /usr/lib.so!? /usr/lib.so!?";
    assert_eq!(frames(directory.path(), false), [modules; 2]);
    let functions = "worker: [kernel.kallsyms]!? /usr/lib.so!other /usr/lib.so!main";
    assert_eq!(frames(directory.path(), true), [functions; 2]);
}

#[test]
fn too_many_binaries_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    for is_perf in [false, true] {
        match is_perf {
            true => write_perf(directory.path()),
            false => write(directory.path(), &ELF_BUILD_ID),
        }
        // The trace of perf maps three binaries, one of them in a new process.
        for (most, is_incomplete) in [(0, true), (1, is_perf), (2, is_perf), (3, false)] {
            let mut options = DebugInfoOptions::default();
            options.limits.mappings = most;
            let mut open = OpenOptions::default();
            let debug_info = debug_info(options);
            open.debug_info = Some(debug_info.clone());
            let session = ichnos::open([directory.path().join("trace")], &open).unwrap();
            let mut events = session.events().unwrap();
            while events.next_event().is_some() {}
            let symbols = session.traces()[0].trace().symbols();
            assert_eq!(symbols.is_incomplete(), is_perf && is_incomplete, "{is_perf} {most}");
            assert_eq!(debug_info.is_incomplete(), is_incomplete, "{is_perf} {most}");
        }
    }
}
