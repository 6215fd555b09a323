//! Registry entry for Fuchsia traces.

use ichnos_io::{Entry, Format, FormatInfo, OpenedTraces, ReadOptions, Tree, open_files};

use super::{FxtOptions, FxtTrace};
use crate::fxt::recognize;
use crate::fxt_writer::FxtWriter;

/// The FXT format.
#[derive(Clone, Copy, Debug)]
pub struct Fxt;

/// Number of bytes needed to recognize a file.
const PROBED: usize = 4 << 10;

static INFO: FormatInfo = FormatInfo {
    versions: "FXT, little-endian, with the records of Fuchsia's profiler and of Jane Street's writers",
    detection: "files that start with the magic number record, or with a clock, a provider or strings",
    writer: Some(&FxtWriter),
    has_file_order: true,
    ..FormatInfo::new("fxt", "Fuchsia traces")
};

impl Format for Fxt {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn probe(&self, tree: &Tree, _: &ReadOptions) -> bool {
        tree.entries.iter().any(is_trace)
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let fxt_options = FxtOptions::from(options);
        open_files(
            trees,
            |entry| options.force || is_trace(entry),
            |opened, name, bytes| opened.add(&name, FxtTrace::open(&name, bytes, &fxt_options)),
        )
    }
}

fn is_trace(entry: &Entry) -> bool {
    entry.beginning(PROBED).is_ok_and(|beginning| recognize(&beginning))
}

impl From<&ReadOptions> for FxtOptions {
    fn from(options: &ReadOptions) -> Self {
        Self {
            clock_offsets: options.clock_offsets.clone(),
            class_map: options.class_map.clone(),
            check: options.check,
            unsorted: options.unsorted,
            growing: options.growing,
            kept: options.kept.clone(),
            limits: options.limits,
        }
    }
}
