//! Function names from other sources than runtime events, written to files.

use std::process::Command;
use std::sync::Arc;

use ichnos_io::{Lane, WriteSource, WriteTarget, WriterFactory as _};
use ichnos_model::{Event as ReadEvent, Message, OpenedTrace as _, Scope};
use ichnos_nettrace::NettraceWriter;

use crate::builder::{Bytes, Event, File, Form, Metadata, field};
use crate::support::{Opened, fields};
use crate::workload::runtimes;
use crate::writing::{encoding, opened, rewrite};

/// Sample provider with a changed last letter, because readers have built-in schemas for the original name.
const PROVIDER: &str = "Microsoft-DotNETCore-SampleProfilex";

/// Functions with their modules.
const FUNCTIONS: &[(&str, &str)] = &[
    ("/usr/bin/one", "main"),
    ("/usr/bin/one", "std::vec::push<int>(int, a.b)"),
    ("/usr/lib/libc.so.6", "__libc_start_main"),
    ("/app/Some.Library.dll", "Some.Library.Type.Method(class System.String)"),
    ("/app/Some.Library.dll", "Some.Library.Type..ctor()"),
];

/// Creates a version 6 file with samples. Their functions are symbols in mapped files.
fn file() -> Opened {
    let system = |id, name| {
        // Version 4 lacks this type, so the event is converted.
        let event = Metadata::new(id, name, [field(Form::V6, 21, "Id")]);
        Metadata { provider: "Universal.System".to_owned(), ..event }
    };
    let sample = Metadata::new(3, "", [field(Form::V6, 9, "Type")]);
    let sample = Metadata { provider: PROVIDER.to_owned(), event_id: 0, ..sample };
    let mut file = File::new(Form::V6);
    file.metadata(&[system(1, "ProcessMapping"), system(2, "ProcessSymbol"), sample]);
    file.threads(&[(1, 101, "")]);
    let text = |bytes: Bytes, text: &str| bytes.u16(text.len() as u16).raw(text.as_bytes());
    let mut events = Vec::new();
    let mut add = |metadata: u32, payload: Bytes| {
        let sequence = events.len() as u32 + 1;
        events.push(Event::new(metadata, 1, sequence, 2_000 + 1_000 * u64::from(sequence)).with(payload));
    };
    for (index, (module, function)) in (1..).zip(FUNCTIONS) {
        let begin = 0x10_0000 * index;
        let mapping = Bytes::new().var(index).var(begin).var(begin + 0xffff).var(0);
        add(1, text(mapping, module).var(0));
        let symbol = Bytes::new().var(index).var(index).var(begin + 0x100).var(begin + 0x1ff);
        add(2, text(symbol, function));
    }
    for kind in 0..3 {
        add(3, Bytes::new().u32(kind));
    }
    let addresses: Vec<u64> = (1..=FUNCTIONS.len() as u64).map(|index| 0x10_0000 * index + 0x142).collect();
    file.stacks(1, &[&addresses]);
    events.iter_mut().filter(|event| event.metadata == 3).for_each(|event| event.stack = 1);
    file.events(true, &events);
    opened("source", file.end())
}

/// Returns the functions in all stacks as displayed: module and function, callers first.
fn frames(opened: &Opened) -> Vec<String> {
    let trace = opened.file.trace();
    let mut found = Vec::new();
    opened.each(|message| {
        let Message::Event(event) = message else { return };
        let context = fields(event, Scope::CommonContext);
        let stack = context.iter().find(|(name, _)| name == "stack").and_then(|(_, stack)| stack.integer());
        let frames = stack.map(|stack| trace.frames(stack.value as u32, event.nanoseconds()));
        for frame in frames.into_iter().flatten().rev() {
            let (module, symbol) = (frame.module.unwrap_or_default(), frame.symbol.unwrap_or_default());
            found.push(format!("{module}!{symbol}"));
        }
    });
    found
}

/// Version 4 lacks symbols in mapped files, but its functions have the same names.
#[test]
fn functions_have_the_same_names_in_the_other_version() {
    let source = file();
    let expected = frames(&source);
    assert_eq!(expected.len(), 3 * FUNCTIONS.len());
    for (frame, (_, function)) in expected.iter().zip(FUNCTIONS.iter().rev()) {
        assert!(frame.ends_with(function), "{frame}: {function}");
    }
    // In .NET files, the module name is the file name without `.dll`.
    let expected: Vec<String> = expected.iter().map(|frame| frame.replace(".dll!", "!")).collect();
    assert_eq!(frames(&opened("source", rewrite(&[&source], Some("4")))), expected);
}

/// Writes the selected events of a file. Returns the bytes.
fn filtered(source: &Opened, mut wants: impl FnMut(&ReadEvent<'_>) -> bool) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("filtered.nettrace");
    let sources = vec![WriteSource {
        trace: Arc::clone(source.file.trace()),
        format: "nettrace",
        has_dynamic_classes: true,
        streams: source.file.data_streams(),
    }];
    let mut options = encoding(None);
    options.selected_by = vec!["some".to_owned()];
    let output = NettraceWriter.create(WriteTarget::Complete(path.clone()), sources, &options).unwrap();
    let mut worker = output.worker(Lane::All);
    source.each(|message| {
        if !matches!(message, Message::Event(event) if !wants(event)) {
            worker.message(message).unwrap();
        }
    });
    worker.finish().unwrap();
    while let Some(block) = worker.take() {
        output.join(block).unwrap();
    }
    drop(worker);
    output.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// Returns the number of events other than samples.
fn count_others(opened: &Opened) -> usize {
    let mut count = 0;
    opened.each(|message| {
        if let Message::Event(event) = message {
            count += usize::from(!event.name().starts_with(PROVIDER));
        }
    });
    count
}

/// Function names are added exactly when the events that name them are omitted.
#[test]
fn functions_keep_their_names_without_some_symbols() {
    let source = file();
    let without_dll = |frames: Vec<String>| -> Vec<String> {
        frames.iter().map(|frame| frame.replace(".dll!", "!")).collect()
    };
    let expected = without_dll(frames(&source));
    let all = count_others(&source);
    for kept in [0, 3, FUNCTIONS.len()] {
        let mut symbols = 0;
        let bytes = filtered(&source, |event| {
            let is_symbol = event.name().contains("ProcessSymbol");
            symbols += usize::from(is_symbol);
            !is_symbol || symbols <= kept
        });
        let written = opened("source", bytes);
        assert_eq!(without_dll(frames(&written)), expected, "{kept} of the symbols");
        assert!(kept < FUNCTIONS.len() || count_others(&written) == all, "named twice");
    }
}

/// The reference reader resolves them, too.
#[test]
fn functions_as_the_reference_names_them() {
    let test = "functions_as_the_reference_names_them";
    let Some((tools, runtimes)) = runtimes(test) else { return };
    let source = file();
    let mut bytes = rewrite(&[&source], Some("4"));
    // The reference reader only shows profiler samples.
    let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let provider = utf16(PROVIDER);
    let at = bytes.windows(provider.len()).position(|window| window == provider).unwrap();
    bytes[at + provider.len() - 2] = b'r';
    let directory = tempfile::tempdir().unwrap();
    let (path, output) = (directory.path().join("named.nettrace"), directory.path().join("named"));
    std::fs::write(&path, bytes).unwrap();
    let mut command = Command::new("bash");
    command.arg(tools.join("traceevent/dump.sh")).arg("--stacks").args([&*runtimes, &*path, &*output]);
    let result = command.output().unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let samples = std::fs::read_to_string(output.with_extension("samples")).unwrap();
    let found: Vec<&str> = samples
        .lines()
        .flat_map(|line| line.rsplit('\t').next().unwrap().split(';'))
        .map(|frame| frame.rsplit_once('@').unwrap().0)
        .collect();
    // It puts a dot before names without one, and writes modules without a directory in lower case.
    let shown = |frame: &String| {
        let (module, function) = frame.split_once('!').unwrap();
        let dot = if function.starts_with("Some.") { "" } else { "." };
        format!("{}!{dot}{function}", module.trim_end_matches(".dll").to_lowercase())
    };
    assert_eq!(found, frames(&source).iter().map(shown).collect::<Vec<_>>());
}
