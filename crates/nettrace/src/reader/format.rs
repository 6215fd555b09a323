//! EventPipe files as a format of the registry.

use ichnos_io::{Bytes, Entry, Format, OpenedTraces, ReadFiles, ReadOptions, Refused, TraceWriter, Tree};

use super::{NettraceFile, OpenOptions, clock_zeros};
use crate::container::{SEARCHED, find_block};
use crate::{NettraceWriter, recognise};

/// EventPipe files.
#[derive(Clone, Copy, Debug)]
pub struct Nettrace;

/// Number of bytes needed to recognize a file.
const PROBED: usize = 64;

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

    fn has_file_order(&self) -> bool {
        true
    }

    fn probe(&self, tree: &Tree, _: &ReadOptions) -> bool {
        tree.entries.iter().any(is_trace)
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let options = OpenOptions::from(options);
        let mut opened = OpenedTraces::default();
        let mut read = ReadFiles::default();
        let mut files: Vec<(String, Bytes)> = Vec::new();
        for tree in trees {
            for entry in tree.entries.iter().filter(|entry| entry.repeats().is_none() && is_trace(entry)) {
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
            let options = OpenOptions { clock_zero, ..options.clone() };
            match NettraceFile::open(&name, bytes, &options) {
                Ok(trace) => opened.traces.push(Box::new(trace)),
                Err(error) => opened.refused.push(Refused::because(&name, error)),
            }
        }
        opened
    }
}

fn is_trace(entry: &Entry) -> bool {
    entry.beginning(PROBED).is_ok_and(|beginning| recognise(&beginning)) || is_rest_of_trace(entry)
}

/// Returns `true` for a file that has the name of a trace, and blocks, but not its beginning: opening it explains that.
fn is_rest_of_trace(entry: &Entry) -> bool {
    [".nettrace", ".netperf"].iter().any(|extension| entry.name().ends_with(extension))
        && entry.beginning(SEARCHED).is_ok_and(|beginning| find_block(&beginning).is_some())
}

impl From<&ReadOptions> for OpenOptions {
    fn from(options: &ReadOptions) -> Self {
        Self {
            clock_offsets: options.clock_offsets.clone(),
            class_map: options.class_map.clone(),
            check: options.check,
            unsorted: options.unsorted,
            limits: options.limits,
            ..Self::default()
        }
    }
}
