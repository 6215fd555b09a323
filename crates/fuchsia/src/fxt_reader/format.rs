//! Traces as a format of the registry.

use ichnos_io::{Entry, Format, OpenedTraces, ReadFiles, ReadOptions, Refused, TraceWriter, Tree};

use super::{FxtTrace, OpenOptions};
use crate::fxt::recognise;
use crate::fxt_writer::FxtWriter;

/// Fuchsia traces.
#[derive(Clone, Copy, Debug)]
pub struct Fxt;

/// Number of bytes needed to recognize a file.
const PROBED: usize = 4 << 10;

impl Format for Fxt {
    fn name(&self) -> &'static str {
        "fxt"
    }

    fn title(&self) -> &'static str {
        "Fuchsia traces"
    }

    fn versions(&self) -> &'static str {
        "FXT, little-endian, with the records of Fuchsia's profiler and of Jane Street's writers"
    }

    fn recognised_by(&self) -> &'static str {
        "files that start with the magic number record, or with a clock, a provider or strings"
    }

    fn writer(&self) -> Option<&'static dyn TraceWriter> {
        Some(&FxtWriter)
    }

    fn has_file_order(&self) -> bool {
        true
    }

    fn probe(&self, tree: &Tree, _: &ReadOptions) -> bool {
        tree.entries.iter().any(is_trace)
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let open_options = OpenOptions::from(options);
        let mut opened = OpenedTraces::default();
        let mut read = ReadFiles::default();
        for tree in trees {
            for entry in tree.entries.iter().filter(|entry| entry.repeats().is_none()) {
                if !is_trace(entry) && !options.force {
                    continue;
                }
                let name = tree.path_of(entry);
                if let Err(notice) = read.add(&name, entry) {
                    opened.notices.push(notice);
                    continue;
                }
                let bytes = match entry.read() {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        opened.refused.push(Refused::because(&name, error));
                        continue;
                    }
                };
                match FxtTrace::open(&name, bytes, &open_options) {
                    Ok(trace) => opened.traces.push(Box::new(trace)),
                    Err(error) => opened.refused.push(Refused::because(&name, error)),
                }
            }
        }
        opened
    }
}

fn is_trace(entry: &Entry) -> bool {
    entry.beginning(PROBED).is_ok_and(|beginning| recognise(&beginning))
}

impl From<&ReadOptions> for OpenOptions {
    fn from(options: &ReadOptions) -> Self {
        Self {
            clock_offsets: options.clock_offsets.clone(),
            class_map: options.class_map.clone(),
            check: options.check,
            unsorted: options.unsorted,
            limits: options.limits,
        }
    }
}
