//! Files made to take much memory.

use ichnos_nettrace::{NettraceFile, NettraceOptions};

use crate::builder::{
    Bytes, Event, File, Form, Metadata, block_header, field, field_v5, field_v6, kind, tag_v5,
};

/// Maximum size of a version 6 block.
const LONGEST: usize = (1 << 24) - 1;

fn length_of_blocks(form: Form) -> usize {
    if form == Form::V6 { LONGEST } else { 60 << 20 }
}

/// Creates a file of at least `size` bytes. `block` adds a block, given its number and its maximum size.
fn filled(form: Form, size: usize, mut block: impl FnMut(&mut File, usize)) -> Vec<u8> {
    let mut file = File::new(form);
    file.metadata(&[Metadata::new(1, "Number", [field(form, 9, "number")]), Metadata::new(2, "Empty", [])]);
    if form == Form::V6 {
        file.threads(&[(1, 11, "first")]);
    }
    let most = length_of_blocks(form);
    while file.bytes.len() < size {
        let left = size - file.bytes.len();
        block(&mut file, most.min(left.max(1 << 16)));
    }
    file.end()
}

/// Concatenates as many pieces as fit.
fn pieces(most: usize, head: Bytes, mut piece: impl FnMut(Bytes) -> Bytes) -> (Bytes, u32) {
    let (mut bytes, mut count) = (head, 0);
    loop {
        let before = bytes.0.len();
        bytes = piece(bytes);
        if bytes.0.len() > most {
            bytes.0.truncate(before);
            return (bytes, count);
        }
        count += 1;
    }
}

/// Creates sequence points with as many threads as fit.
fn points(form: Form, size: usize) -> Vec<u8> {
    filled(form, size, |file, most| {
        let piece: &[u8] = if form == Form::V6 { &[1, 1] } else { &[1; 12] };
        let head = Bytes::new().u64(1_000);
        let head = if form == Form::V6 { head.u32(0) } else { head };
        let count = (most - 20) / piece.len();
        file.block(kind::SEQUENCE_POINT, &head.u32(count as u32).raw(&piece.repeat(count)).0);
        file.events(true, &[Event::new(2, 1, 1, 2_000)]);
    })
}

/// Creates sequence points, each with other threads.
fn points_of_threads(form: Form, size: usize) -> Vec<u8> {
    let mut thread = 0;
    filled(form, size, |file, most| {
        let mut threads = Vec::new();
        for _ in 0..most / 12 {
            thread += 1;
            threads.push((1 << 30 | thread, 1));
        }
        file.sequence_point(1_000, 0, &threads);
        file.events(true, &[Event::new(2, 1, 1, 2_000)]);
    })
}

fn block_of_metadata(file: &mut File, rows: Bytes) {
    let header = if file.form == Form::V6 { Bytes::new().u16(0) } else { block_header(true, (0, 0), 0) };
    file.block(kind::METADATA, &header.raw(&rows.0).0);
}

/// Returns a metadata row with its frame.
fn row_of_metadata(form: Form, row: &Metadata) -> Bytes {
    if form == Form::V6 {
        return Bytes::new().sized(row.v6());
    }
    let row = row.v5();
    // Everything else is 0. The size is present.
    Bytes::new().u8(0x80).var(0).var(row.0.len() as u64).raw(&row.0)
}

/// Creates event kinds with as many fields as fit.
fn wide(form: Form, size: usize, in_tag: bool) -> Vec<u8> {
    let mut id = 2;
    filled(form, size, |file, most| {
        if form == Form::V6 {
            let (rows, _) = pieces(most - 2, Bytes::new(), |rows| {
                id += 1;
                let fields = vec![field_v6("", &[6]); 16_000];
                rows.raw(&row_of_metadata(form, &Metadata::new(id, &id.to_string(), fields)).0)
            });
            return block_of_metadata(file, rows);
        }
        id += 1;
        let mut row = Metadata::new(id, &id.to_string(), []);
        let fields = most / 6 - 100;
        if in_tag {
            let field = Bytes::new().u32(10).u16(0).u32(6);
            row.tags = tag_v5(2, Bytes::new().u32(fields as u32 / 2).raw(&field.0.repeat(fields / 2)));
        } else {
            row.fields = vec![field_v5(6, ""); fields];
        }
        block_of_metadata(file, row_of_metadata(form, &row));
    })
}

/// Creates event kinds with minimum size, or with long names. With `same`, one event kind has many ids.
fn kinds(form: Form, size: usize, length: usize, same: bool) -> Vec<u8> {
    let mut id = 2;
    let name = "n".repeat(length);
    filled(form, size, |file, most| {
        let (rows, _) = pieces(most - 22, Bytes::new(), |rows| {
            id += 1;
            let number = if same { 5 } else { id };
            let row = Metadata { provider: String::new(), event_id: number, ..Metadata::new(id, &name, []) };
            let row = if form == Form::V6 {
                Bytes::new().sized(Bytes::new().var(id.into()).text("").var(number.into()).text(&name).u16(0))
            } else {
                row_of_metadata(form, &row)
            };
            rows.raw(&row.0)
        });
        block_of_metadata(file, rows);
    })
}

/// Each event kind has an event that does not match it.
fn misfits(form: Form, size: usize) -> Vec<u8> {
    let mut id = 2;
    filled(form, size, |file, _| {
        let ids: Vec<u32> = (0..1_000)
            .map(|_| {
                id += 1;
                id
            })
            .collect();
        let rows: Vec<Metadata> =
            ids.iter().map(|id| Metadata::new(*id, "", [field(form, 9, "number")])).collect();
        file.metadata(&rows);
        let events: Vec<Event> = ids
            .iter()
            .map(|id| Event::new(*id, 1, *id, 1_000 + u64::from(*id)).with(Bytes::new().u8(1)))
            .collect();
        file.events(true, &events);
    })
}

/// Creates small events without promises about time. With `back`, times go back now and then. With `threads`, each
/// event has another thread. `points` is the number of events between sequence points.
fn events(form: Form, size: usize, back: bool, threads: bool, point: bool) -> Vec<u8> {
    let (mut time, mut number) = (1_000_000u64, 0);
    filled(form, size, |file, most| {
        let mut before = Event::default();
        let (rows, _) = pieces(most.min(4 << 20), Bytes::new(), |rows| {
            number += 1;
            time = if back && number % 1_000 == 0 { time - 900 } else { time + 1 };
            let mut event = Event {
                thread: 1,
                capture_thread: 1,
                metadata: 2,
                time,
                sequence: number,
                ..Event::default()
            };
            if threads {
                event.capture_thread = 1 << 20 | u64::from(number);
                event.sequence = 1;
            }
            let rows = crate::builder::row_compressed(rows, &event, &before, form == Form::V6, false);
            before = event;
            rows
        });
        file.block(kind::EVENT, &block_header(true, (1, time), 0).raw(&rows.0).0);
        if point {
            file.sequence_point(time, 0, &[(1, number)]);
        }
    })
}

/// Creates label lists, and events that refer to some of them.
fn labels(size: usize, text: usize) -> Vec<u8> {
    let mut first = 1;
    let text = "t".repeat(text);
    filled(Form::V6, size, |file, most| {
        let (lists, count) = pieces(most - 8, Bytes::new(), |lists| match text.len() {
            0 => lists.u8(0x87).u8(1),
            _ => lists.u8(0x85).text("").text(&text),
        });
        file.block(kind::LABEL_LIST, &Bytes::new().u32(first).u32(count).raw(&lists.0).0);
        let event = Event { labels: first, ..Event::new(2, 1, first, u64::from(first)) };
        file.events(true, &[event]);
        first += count;
    })
}

/// Creates threads with long names, many properties, or nothing.
fn threads(size: usize, name: usize, properties: usize) -> Vec<u8> {
    let mut index = 1;
    let name = "t".repeat(name);
    filled(Form::V6, size, |file, most| {
        let (rows, _) = pieces(most, Bytes::new(), |rows| {
            index += 1;
            let row = Bytes::new().var(index);
            let row = if name.is_empty() { row } else { row.u8(1).text(&name) };
            rows.sized(row.raw(&[4, 0, 0].repeat(properties)))
        });
        file.block(kind::THREAD, &rows.0);
        file.events(true, &[Event::new(2, index, 1, index)]);
    })
}

/// Creates distinct stacks with this many addresses, and events that use them.
fn stacks(form: Form, size: usize, frames: usize) -> Vec<u8> {
    let (mut first, mut address, mut time) = (1, 0u64, 0);
    filled(form, size, |file, most| {
        let (stacks, count) = pieces(most.min(1 << 20), Bytes::new(), |stacks| {
            (0..frames).fold(stacks.u32(8 * frames as u32), |stacks, _| {
                address += 1;
                stacks.u64(address.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            })
        });
        file.block(kind::STACK, &Bytes::new().u32(first).u32(count).raw(&stacks.0).0);
        time += 1;
        file.events(true, &[Event { stack: first, ..Event::new(2, 1, time, time.into()) }]);
        first += count;
    })
}

type Make = Box<dyn Fn() -> Vec<u8>>;

/// Returns all kinds of files by name.
fn files(size: usize) -> Vec<(String, Make)> {
    let mut files: Vec<(String, Make)> = Vec::new();
    for form in [Form::V4, Form::V6] {
        let mut add = |what: &str, make: Make| files.push((format!("{form:?}-{what}"), make));
        add("points", Box::new(move || points(form, size)));
        add("points-of-threads", Box::new(move || points_of_threads(form, size)));
        add("wide", Box::new(move || wide(form, size, false)));
        if form == Form::V4 {
            add("wide-tag", Box::new(move || wide(form, size, true)));
        }
        add("kinds", Box::new(move || kinds(form, size, 0, false)));
        add("kinds-with-names", Box::new(move || kinds(form, size, 15_000, false)));
        add("ids", Box::new(move || kinds(form, size, 0, true)));
        add("misfits", Box::new(move || misfits(form, size)));
        add("events", Box::new(move || events(form, size, false, false, false)));
        add("events-back", Box::new(move || events(form, size, true, false, false)));
        add("events-points", Box::new(move || events(form, size, true, false, true)));
        add("events-threads", Box::new(move || events(form, size, true, true, false)));
        add("stacks", Box::new(move || stacks(form, size, 30)));
        add("stacks-short", Box::new(move || stacks(form, size, 1)));
        add("stacks-empty", Box::new(move || stacks(form, size, 0)));
    }
    let mut add = |what: &str, make: Make| files.push((format!("V6-{what}"), make));
    add("labels", Box::new(move || labels(size, 0)));
    add("labels-long", Box::new(move || labels(size, 1_000)));
    add("threads", Box::new(move || threads(size, 0, 0)));
    add("threads-long", Box::new(move || threads(size, 60_000, 0)));
    add("threads-properties", Box::new(move || threads(size, 0, 1_000)));
    files
}

/// Private memory of this process, in KiB.
fn private_memory() -> Option<u64> {
    Some(ichnos_testing::private_memory(std::process::id())? / 1024)
}

/// Opening and reading any of these files takes less than 64 MB, in a separate process.
#[test]
fn no_file_takes_much_memory() {
    if private_memory().is_none() {
        println!("skipped: no_file_takes_much_memory: this system does not tell how much memory is private");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file.nettrace");
    let size = if cfg!(debug_assertions) { 3 << 20 } else { 40 << 20 };
    for (name, make) in files(size) {
        std::fs::write(&path, make()).unwrap();
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "memory::read_a_file", "--ignored", "--nocapture"]);
        let output = command.env("ICHNOS_HOSTILE_FILE", &path).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let peak = text.lines().find_map(|line| line.split_once("peak: ")?.1.parse::<u64>().ok());
        let peak = peak.unwrap_or_else(|| panic!("{name}: {text}"));
        println!("{name}: {} MB", peak >> 10);
        assert!(peak < 64 << 10, "{name}: {peak} KiB");
    }
}

/// Reads a file and prints the private memory it took.
#[test]
#[ignore = "part of no_file_takes_much_memory, in its own process"]
fn read_a_file() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let Some(path) = std::env::var_os("ICHNOS_HOSTILE_FILE") else { return };
    let is_done = AtomicBool::new(false);
    let peak = std::thread::scope(|scope| {
        let peak = scope.spawn(|| {
            let mut peak = 0;
            while !is_done.load(Ordering::Relaxed) {
                peak = peak.max(private_memory().unwrap_or(0));
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            peak
        });
        let bytes = crate::support::bytes_of(std::path::Path::new(&path));
        let file = NettraceFile::open("file", bytes, &NettraceOptions::default()).unwrap();
        crate::reading::count(&file);
        is_done.store(true, Ordering::Relaxed);
        peak.join().unwrap()
    });
    println!("\npeak: {peak}");
}

/// Writes the files to a directory, for tests with the command.
#[test]
#[ignore = "writes large files: ICHNOS_HOSTILE_FILES=DIR [ICHNOS_HOSTILE_MIB=100]"]
fn write_files() {
    let Some(directory) = std::env::var_os("ICHNOS_HOSTILE_FILES") else { return };
    let mib = std::env::var("ICHNOS_HOSTILE_MIB").map_or(100, |mib| mib.parse().unwrap());
    for (name, make) in files(mib << 20) {
        std::fs::write(std::path::Path::new(&directory).join(format!("{name}.nettrace")), make()).unwrap();
    }
}
