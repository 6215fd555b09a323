//! Registers the EventPipe format.

use ichnos_io::{
    Bytes, Entry, Format, FormatInfo, FormatOption, OpenedTraces, OptionValue, ReadOptions, RefusedTrace,
    Tree, open_files,
};

use super::{NettraceFile, NettraceOptions, clock_zeros};
use crate::first_block::{SEARCHED, find_block};
use crate::{NettraceWriter, recognize};

/// EventPipe files.
#[derive(Clone, Copy, Debug)]
pub struct Nettrace;

/// Number of bytes needed to recognize a file.
const PROBED: usize = 64;

const OPTIONS: &[FormatOption] = &[
    FormatOption::text("frequency", "clock ticks per second, for a file without its start")
        .value_name("HZ")
        .details("Default: 1000000000, as on Linux and macOS. Windows usually has 10000000."),
    FormatOption::choice(
        "pointer-size",
        "address size, for a file without its start",
        &[OptionValue::new("8", "64-bit processes"), OptionValue::new("4", "32-bit processes")],
    ),
];

static INFO: FormatInfo = FormatInfo {
    versions: "netperf 3; nettrace 4, also with the tags of 5; nettrace 6",
    detection: "files that start with `Nettrace` or `!FastSerialization.1`, and files without their start, \
        named `.nettrace` or `.netperf`",
    writer: Some(&NettraceWriter),
    options: OPTIONS,
    has_file_order: true,
    is_read_once: true,
    ..FormatInfo::new("nettrace", ".NET EventPipe files")
};

impl Format for Nettrace {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        tree.entries.iter().any(|entry| is_trace(entry, options.force))
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let force = options.force;
        let frequency = frequency(options);
        let options = NettraceOptions::from(options);
        let mut files: Vec<(String, Bytes)> = Vec::new();
        let add = |_: &mut OpenedTraces, name, bytes| files.push((name, bytes));
        let mut opened = open_files(trees, |entry| is_trace(entry, force), add);
        let contents: Vec<&[u8]> = files.iter().map(|(_, bytes)| &**bytes).collect();
        let zeros = clock_zeros(&contents);
        for ((name, bytes), clock_zero) in files.into_iter().zip(zeros) {
            let frequency = match &frequency {
                Ok(frequency) => *frequency,
                Err(problem) => {
                    opened.refused.push(RefusedTrace::because(&name, problem));
                    continue;
                }
            };
            let options = NettraceOptions { clock_zero, frequency, ..options.clone() };
            let trace = NettraceFile::open(&name, bytes, &options);
            opened.notices.extend(trace.iter().filter_map(|trace| unused_options(&name, trace, &options)));
            opened.add(&name, trace);
        }
        opened
    }
}

fn is_trace(entry: &Entry, force: bool) -> bool {
    entry.beginning(PROBED).is_ok_and(|beginning| recognize(&beginning)) || is_rest_of_trace(entry, force)
}

/// Returns `true` for a file that has blocks but lacks its start. Its name must be a trace file name, unless the user
/// says that it is a trace.
fn is_rest_of_trace(entry: &Entry, force: bool) -> bool {
    (force || [".nettrace", ".netperf"].iter().any(|extension| entry.name().ends_with(extension)))
        && entry.beginning(SEARCHED).is_ok_and(|beginning| find_block(&beginning).is_some())
}

/// Returns a notice if the file has a trace block and therefore ignores options for files without one.
fn unused_options(name: &str, trace: &NettraceFile, options: &NettraceOptions) -> Option<String> {
    let given =
        [("frequency", options.frequency.is_some()), ("pointer-size", options.pointer_size.is_some())];
    let names: Vec<&str> =
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
    let is_unused = !names.is_empty() && !trace.is_trace_assumed();
    is_unused.then(|| {
        let names = names.iter().map(|name| format!("`{}.{name}`", INFO.name)).collect::<Vec<_>>();
        format!("{name}: {} not used: the file has its trace block", names.join(" and "))
    })
}

/// Returns the frequency from the options.
fn frequency(options: &ReadOptions) -> Result<Option<u64>, String> {
    let Some(text) = options.formats.text(INFO.name, "frequency") else { return Ok(None) };
    let frequency = text.parse().ok().filter(|frequency| (1..=i64::MAX as u64).contains(frequency));
    frequency.map(Some).ok_or_else(|| {
        format!("invalid value `{text}` for the option `nettrace.frequency`; expected a number of ticks from 1 to 2^63-1")
    })
}

impl From<&ReadOptions> for NettraceOptions {
    fn from(options: &ReadOptions) -> Self {
        Self {
            clock_offsets: options.clock_offsets.clone(),
            class_map: options.class_map.clone(),
            pointer_size: match options.formats.choice(INFO.name, "pointer-size") {
                Some("4") => Some(4),
                Some(_) => Some(8),
                None => None,
            },
            check: options.check,
            unsorted: options.unsorted,
            limits: options.limits,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    /// A version 6 file with only a trace block, and the rest of a file with two empty event blocks.
    #[test]
    fn options_that_are_not_used_are_told() {
        let header = b"Nettrace\0\0\0\0\x06\0\0\0\0\0\0\0";
        let date = [2024u16, 5, 1, 6, 7, 8, 9, 10].map(u16::to_le_bytes).concat();
        let clock = [1_000u64, 1_000_000_000].map(u64::to_le_bytes).concat();
        let trace = [b"\x28\0\0\x01", &date[..], &clock, b"\x08\0\0\0\0\0\0\0"].concat();
        let events = [&b"\x14\0\0\x02\x14\0\x01\0"[..], &[0; 16]].concat();
        let whole = [&header[..], &trace, &events, &[0; 4]].concat();
        let rest = [&events[..], &events, &[0; 4]].concat();
        let notices = |bytes: &[u8], given: &[(&str, &str)]| {
            let entries = vec![Entry::from_bytes("a.nettrace", bytes.to_vec())];
            let tree = Tree { name: "a.nettrace".to_owned(), entries, problems: Vec::new() };
            let mut options = ReadOptions::default();
            for (name, value) in given {
                options.formats.set(INFO.name, OPTIONS, name, OsStr::new(value)).unwrap();
            }
            let opened = Nettrace.open(&[&tree], &options);
            assert_eq!((opened.traces.len(), opened.refused.len()), (1, 0), "{:?}", opened.refused);
            opened.notices
        };
        let both = [("frequency", "1000"), ("pointer-size", "4")];
        assert!(notices(&whole, &[]).is_empty() && notices(&rest, &both).is_empty());
        let [notice] = &notices(&whole, &both)[..] else { panic!() };
        let names = "`nettrace.frequency` and `nettrace.pointer-size` not used";
        assert!(notice.contains(names), "{notice}");
        assert!(notices(&whole, &both[1..])[0].contains(": `nettrace.pointer-size` not used"));
    }
}
