//! EventPipe files as a format of the registry.

use ichnos_io::{
    Bytes, Entry, Format, FormatOption, OpenedTraces, OptionValue, ReadFiles, ReadOptions, Refused,
    TraceWriter, Tree,
};

use super::{NettraceFile, OpenOptions, clock_zeros};
use crate::container::{SEARCHED, find_block};
use crate::{NettraceWriter, recognise};

/// EventPipe files.
#[derive(Clone, Copy, Debug)]
pub struct Nettrace;

/// Number of bytes needed to recognize a file.
const PROBED: usize = 64;

const OPTIONS: &[FormatOption] = &[
    FormatOption::text("frequency", "ticks per second of the clock of a file without its beginning")
        .value_name("HZ")
        .details("Default: 1000000000, as on Linux and macOS. Windows usually has 10000000."),
    FormatOption::choice(
        "pointer-size",
        "size of addresses in a file without its beginning",
        &[OptionValue::new("8", "64-bit processes"), OptionValue::new("4", "32-bit processes")],
    ),
];

impl Format for Nettrace {
    fn name(&self) -> &'static str {
        "nettrace"
    }

    fn title(&self) -> &'static str {
        "EventPipe's files of .NET"
    }

    fn versions(&self) -> &'static str {
        "netperf 3; nettrace 4, also with the tags of 5; nettrace 6"
    }

    fn recognised_by(&self) -> &'static str {
        "files that begin with `Nettrace` or `!FastSerialization.1`"
    }

    fn writer(&self) -> Option<&'static dyn TraceWriter> {
        Some(&NettraceWriter)
    }

    fn options(&self) -> &'static [FormatOption] {
        OPTIONS
    }

    fn has_file_order(&self) -> bool {
        true
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        tree.entries.iter().any(|entry| is_trace(entry, options.force))
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let force = options.force;
        let frequency = frequency(options);
        let options = OpenOptions::from(options);
        let mut opened = OpenedTraces::default();
        let mut read = ReadFiles::default();
        let mut files: Vec<(String, Bytes)> = Vec::new();
        for tree in trees {
            for entry in
                tree.entries.iter().filter(|entry| entry.repeats().is_none() && is_trace(entry, force))
            {
                let name = tree.path_of(entry);
                if let Err(notice) = read.add(&name, entry) {
                    opened.notices.push(notice);
                    continue;
                }
                match entry.read() {
                    Ok(bytes) => files.push((name, bytes)),
                    Err(error) => opened.refused.push(Refused::because(&name, error)),
                }
            }
        }
        let contents: Vec<&[u8]> = files.iter().map(|(_, bytes)| &**bytes).collect();
        let zeros = clock_zeros(&contents);
        for ((name, bytes), clock_zero) in files.into_iter().zip(zeros) {
            let frequency = match &frequency {
                Ok(frequency) => *frequency,
                Err(problem) => {
                    opened.refused.push(Refused::because(&name, problem));
                    continue;
                }
            };
            let options = OpenOptions { clock_zero, frequency, ..options.clone() };
            match NettraceFile::open(&name, bytes, &options) {
                Ok(trace) => opened.traces.push(Box::new(trace)),
                Err(error) => opened.refused.push(Refused::because(&name, error)),
            }
        }
        opened
    }
}

fn is_trace(entry: &Entry, force: bool) -> bool {
    entry.beginning(PROBED).is_ok_and(|beginning| recognise(&beginning)) || is_rest_of_trace(entry, force)
}

/// Returns `true` for a file that has blocks, but not its beginning. Its name must be the name of a trace, unless the user
/// says that it is a trace.
fn is_rest_of_trace(entry: &Entry, force: bool) -> bool {
    (force || [".nettrace", ".netperf"].iter().any(|extension| entry.name().ends_with(extension)))
        && entry.beginning(SEARCHED).is_ok_and(|beginning| find_block(&beginning).is_some())
}

/// Returns the frequency that the user gives.
fn frequency(options: &ReadOptions) -> Result<Option<u64>, String> {
    let Some(text) = options.formats.text(Nettrace.name(), "frequency") else { return Ok(None) };
    let frequency = text.parse().ok().filter(|frequency| (1..=i64::MAX as u64).contains(frequency));
    frequency.map(Some).ok_or_else(|| {
        format!("invalid value `{text}` for the option `nettrace.frequency`; expected a number of ticks from 1 to 2^63-1")
    })
}

impl From<&ReadOptions> for OpenOptions {
    fn from(options: &ReadOptions) -> Self {
        Self {
            clock_offsets: options.clock_offsets.clone(),
            class_map: options.class_map.clone(),
            pointer_size: match options.formats.choice(Nettrace.name(), "pointer-size") {
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
