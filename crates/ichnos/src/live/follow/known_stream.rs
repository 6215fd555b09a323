//! Data streams of growing files, and how far they were delivered.

use std::fs::{self, File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ichnos_io::FilePrint;
use ichnos_model::cursor::{BoxedCursor, MessageKind, ResumePoint};
use ichnos_model::trace::StreamSummary;
use ichnos_model::{DataStream, OpenedTrace, Window};

/// Identity of a data stream in all sessions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct StreamKey {
    place: StreamPlace,
    class: u128,
    id: Option<u128>,
    /// Name, unless the id or the place determines it.
    name: Option<Arc<str>>,
    /// Number among data streams that are otherwise equal.
    pub(super) ordinal: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum StreamPlace {
    /// Device and number of the only file, which can get another name.
    File(u64, u64),
    /// Path and identifier of the trace.
    Trace(String, Option<String>),
}

/// Size and identity of a data stream's only file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FollowedFile {
    device: u64,
    number: u64,
    bytes: u64,
    /// Time of the last modification, if it is known.
    modified: Option<SystemTime>,
}

impl FollowedFile {
    /// Describes a file.
    pub(super) fn new(found: &Metadata) -> Self {
        Self { modified: found.modified().ok(), ..Self::of_identity(identity(found), found.len()) }
    }

    pub(super) fn of_identity((device, number): (u64, u64), bytes: u64) -> Self {
        Self { device, number, bytes, modified: None }
    }

    /// Finds the files of a data stream, up to a limit. Others are left out.
    pub(super) fn of_stream(trace: &dyn OpenedTrace, summary: &StreamSummary) -> Vec<(PathBuf, Self)> {
        let root = Path::new(trace.path());
        let find = |file: &String| {
            let candidates = [Path::new(file).to_owned(), root.join(file), root.to_owned()];
            candidates.into_iter().find_map(|path| {
                let found = fs::metadata(&path).ok().filter(Metadata::is_file)?;
                Some((path, Self::new(&found)))
            })
        };
        summary.files.iter().take(MOST_FILES).filter_map(find).collect()
    }

    /// Returns the device and the number.
    pub(super) fn identity(&self) -> (u64, u64) {
        (self.device, self.number)
    }

    /// Returns `true` if the system identifies files.
    pub(super) fn is_identified(&self) -> bool {
        self.number != 0
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Describes the first bytes of a file. Returns `None` if they cannot be read, or if another file has the path.
fn print_of(path: &Path, followed: &FollowedFile, length: usize) -> Option<FilePrint> {
    let part = FilePrint::part_length(length);
    let (mut first, mut last) = (vec![0; part], vec![0; part]);
    let mut file = File::open(path).ok()?;
    if FollowedFile::new(&file.metadata().ok()?).identity() != followed.identity() {
        return None;
    }
    file.read_exact(&mut first).ok()?;
    file.seek(SeekFrom::Start((length - part) as u64)).ok()?;
    file.read_exact(&mut last).ok()?;
    Some(FilePrint::of_parts(length, &first, &last))
}

/// Maximum number of files by which a data stream is recognized.
const MOST_FILES: usize = 64;

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;

    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

impl StreamKey {
    pub(super) fn new(trace: &dyn OpenedTrace, summary: &StreamSummary, file: Option<&FollowedFile>) -> Self {
        let stream: &DataStream = &summary.stream;
        let has_packets = summary.packets > 0 || stream.class().packet_context.is_some();
        // The name of an only data stream changes when the file gets another one.
        let is_name_of = |file: &String| file.ends_with(&*stream.name) || stream.name.starts_with(&**file);
        let is_of_file = summary.files.first().is_some_and(is_name_of);
        let (place, is_named) = match file.filter(|file| file.is_identified() && !has_packets) {
            Some(file) => (StreamPlace::File(file.device, file.number), is_of_file),
            None => {
                let class = &trace.trace().class;
                let uid = class.uid.clone().or_else(|| class.uuid.map(|uuid| uuid.to_string()));
                (StreamPlace::Trace(trace.path().to_owned(), uid), stream.id.is_some())
            }
        };
        let name = (!is_named).then(|| Arc::clone(&stream.name));
        Self { place, class: stream.class().id, id: stream.id, name, ordinal: 0 }
    }
}

impl StreamKey {
    /// Returns `true` if the file determines the data stream, whatever its path is.
    pub(super) fn is_of_file(&self) -> bool {
        matches!(self.place, StreamPlace::File(..))
    }

    /// Returns `true` if this can be another data stream under a new path.
    pub(super) fn can_be_moved(&self, before: &Self) -> bool {
        let (StreamPlace::Trace(_, uid), StreamPlace::Trace(_, former)) = (&self.place, &before.place) else {
            return false;
        };
        let parts = |key: &Self| (key.class, key.id, key.name.clone(), key.ordinal);
        uid == former && parts(self) == parts(before)
    }
}

/// Returns `true` if a data stream has an event at `begin` or later.
fn has_event_from(trace: &dyn OpenedTrace, stream: usize, begin: i128) -> bool {
    let Some(mut cursor) = trace.cursor_from(stream, Window::default(), begin) else { return false };
    while let Some(head) = cursor.head() {
        if head.kind == MessageKind::Event {
            return true;
        }
        cursor.advance();
    }
    false
}

/// Position after the last delivered event of a data stream.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamPosition {
    /// Number of delivered events.
    pub(super) events: u64,
    /// Time of the last delivered event, and number of delivered events at this time. `None` without a time, and if
    /// times go back.
    pub(super) last: Option<(i128, u64)>,
    /// `true` if times go back or are missing.
    pub(super) is_unordered: bool,
    /// Number of events before the last damage of the previous look, plus 1.
    pub(super) seen_damage: u64,
    pub(super) file: Option<FollowedFile>,
    /// Place at or before the position, with its number of events.
    pub(super) place: Option<(ResumePoint, u64)>,
    /// Content of `file`.
    pub(super) print: Option<FilePrint>,
    /// Devices and numbers of its files.
    pub(super) files: Vec<(u64, u64)>,
}

impl StreamPosition {
    /// Returns `true` if it shares a file with the given files, or if no files are known.
    pub(super) fn is_in(&self, files: &[(u64, u64)]) -> bool {
        self.files.is_empty() && files.is_empty() || self.files.iter().any(|file| files.contains(file))
    }

    /// Returns the time of the last event and the number of events at this time, if a cursor can start there.
    pub(super) fn time(&self, trace: &dyn OpenedTrace, stream: usize) -> Option<(i128, u64)> {
        self.last.filter(|_| trace.split_points(stream, u64::MAX).is_some())
    }

    /// Returns a cursor after the last event, if reading can continue from a place in the same trace.
    pub(super) fn cursor(&self, trace: &dyn OpenedTrace, stream: usize, sorts: bool) -> Option<BoxedCursor> {
        let (place, events) = self.place.as_ref()?;
        trace.cursor_at(stream, place, self.events.checked_sub(*events)?, sorts)
    }

    /// Notes the content of the only file, which is not compressed. Returns `true` if other content has replaced it.
    pub(super) fn note_content(&mut self, path: &Path, now: &FollowedFile) -> bool {
        // Other content can have the same length.
        let is_same = |before: FollowedFile| (before.bytes, before.modified) == (now.bytes, now.modified);
        let is_changed = self.file.is_some_and(|before| before.bytes <= now.bytes && !is_same(before));
        let is_replaced = self.print.is_some_and(|print| {
            is_changed && print_of(path, now, print.length()).is_some_and(|found| found != print)
        });
        if self.print.is_none() || self.file.is_none_or(|before| !is_same(before)) {
            self.print = usize::try_from(now.bytes).ok().and_then(|length| print_of(path, now, length));
        }
        is_replaced
    }

    /// Returns `true` if the data stream must be read from its start: its file was replaced or has shrunk, or it ends
    /// before the position.
    pub(super) fn is_obsolete(
        &self,
        trace: &dyn OpenedTrace,
        stream: usize,
        summary: &StreamSummary,
        file: Option<FollowedFile>,
    ) -> bool {
        if let Some((time, _)) = self.time(trace, stream) {
            // The time range can lack the events of the last packet.
            let ends_before = summary.time_range.is_some_and(|(_, end)| end < time);
            return ends_before && !has_event_from(trace, stream, time);
        }
        self.file.zip(file).is_some_and(|(before, now)| {
            (before.device, before.number) != (now.device, now.number) || now.bytes < before.bytes
        })
    }

    /// Moves to the start of the data stream.
    pub(super) fn begin_again(&mut self) {
        *self = Self { print: self.print, ..Self::default() };
    }

    /// Keeps a place at this position.
    pub(super) fn keep(&mut self, place: Option<ResumePoint>) {
        if let Some(place) = place {
            self.place = Some((place, self.events));
        }
    }

    /// Adds an event.
    pub(super) fn add(&mut self, time: Option<i128>) {
        self.events += 1;
        let before = self.last.map(|(before, _)| before);
        self.is_unordered |= time.is_none() || time < before;
        self.last = match (time, self.last) {
            _ if self.is_unordered => None,
            (Some(time), Some((before, count))) if time == before => Some((time, count + 1)),
            (time, _) => time.map(|time| (time, 1)),
        };
    }
}
