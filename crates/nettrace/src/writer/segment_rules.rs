//! Rules for copying segments instead of encoding their events.

use ichnos_io::{WriteOptions, WriteSource};
use ichnos_model::Window;

use super::copied_file::is_same;
use super::dialect::Dialect;
use crate::Version;
use crate::metadata_writer::can_describe;
use crate::reader::segment::SegmentScanner;
use crate::reader::ticks_of;
use crate::reader::trace_file::FileState;

/// Rules for segments in the only source.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentRules {
    /// First and last time of the selected events, in ticks.
    pub(super) window: (u64, u64),
    /// `true` to select rundown events outside of the window, too.
    pub(super) keeps_rundown: bool,
}

impl SegmentRules {
    /// Returns the rules, if the whole file is copied, or if segments of the only source can be copied. The source must
    /// have the output version and valid descriptions. Events must be selected by time alone, and neither repaired nor
    /// sorted.
    pub(super) fn from_sources(
        sources: &[WriteSource],
        dialect: Dialect,
        options: &WriteOptions,
        is_copied: bool,
    ) -> Option<Self> {
        let [source] = sources else { return None };
        let [stream] = &source.streams[..] else { return None };
        let file = source.trace.reader_data::<FileState>()?;
        // In version 6, rows refer to threads by indexes from earlier blocks.
        let is_possible = is_same(file, dialect)
            && file.version() == Version::V4
            && !file.is_unsorted()
            && file.is_as_recorded()
            && options.selected_by.is_empty()
            && !options.repair
            && !options.sorts
            // Their names are written as function names at the end of the file.
            && !file.has_provider("Universal.System");
        let window = match options.cut {
            Some(window) if options.window == Window::default() => window,
            Some(_) => return None,
            None if options.leaves_out => return None,
            None => options.window,
        };
        let rules = Self { window: ticks_of(window, stream.clock()), keeps_rundown: options.cut.is_some() };
        (is_possible || is_copied).then_some(rules)
    }
}

/// Copies segments.
#[derive(Debug)]
pub(super) struct SegmentCopier {
    pub(super) scanner: SegmentScanner,
    pub(super) rules: SegmentRules,
    /// Next segment's file offset.
    pub(super) at: u64,
    /// First block's file offset.
    first: u64,
    /// End of the last copied segment, or else the first block.
    pub(super) copied_until: u64,
    /// Written metadata ids, by id.
    written_ids: Vec<bool>,
    /// `true` if the last segment's events are in the output.
    pub(super) counts: bool,
}

impl SegmentCopier {
    pub(super) fn new(file: &FileState, rules: SegmentRules) -> Option<Self> {
        let scanner = SegmentScanner::new(file)?;
        let first = file.container().position();
        let written_ids = vec![false; scanner.free_id() as usize];
        Some(Self { scanner, rules, at: first, first, copied_until: first, written_ids, counts: false })
    }

    /// Returns `true` if a segment was copied.
    pub(super) fn has_copied(&self) -> bool {
        self.copied_until > self.first
    }

    /// Records an id as written. Returns `true` if it is new.
    pub(super) fn add_id(&mut self, id: u32) -> bool {
        self.written_ids.get_mut(id as usize).is_some_and(|is_written| !std::mem::replace(is_written, true))
    }

    /// Returns an event kind's metadata id. Also returns `true` if its metadata must still be written, and records
    /// it as written.
    pub(super) fn take_id(&mut self, kind: usize) -> Option<(u32, bool)> {
        let id = self.scanner.id_of(kind)?;
        Some((id, self.add_id(id)))
    }

    /// Returns `true` if version 4 can describe the metadata with these ids.
    pub(super) fn can_describe(&self, file: &FileState, ids: &[u32]) -> bool {
        let metadata = |id: &u32| file.metadata_of_kind(self.scanner.kind_of(*id)?);
        ids.iter().all(|id| metadata(id).is_some_and(|metadata| can_describe(&metadata.fields, false)))
    }
}
