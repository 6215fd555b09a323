//! Packets of one thread at a time: a data stream.
//!
//! Memory is taken from the allocator only where a thread gets a ring: a signal handler that interrupts the allocator can
//! record.

use std::sync::Arc;

use super::earlier_file::EarlierFile;
use super::earlier_files::EarlierFiles;
use super::file_name::FileName;
use super::packet_file::PacketFile;
use super::recording_clock::RecordingClock;
use super::thread_name::ThreadName;
use super::trace_directory::TraceDirectory;
use crate::packet::{
    CONTENT, DISCARDED, END_TIME, EVENT_HEAD, HEAD, MOST_CYCLES, PacketHead, TOTAL, aligned, bits,
    event_head, put,
};

/// Bytes before the payload: the event record header and the thread id.
const BEFORE: usize = EVENT_HEAD + 4;

/// Bytes of the shortest file that ends after a time: a packet with the name of a thread.
const SHORTEST: usize = HEAD + BEFORE + 8;

/// What an event needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventPlace {
    pub(super) id: u16,
    /// Alignment of the payload in bytes.
    pub(super) alignment: usize,
    /// Bytes of the payload.
    pub(super) size: usize,
}

/// A data stream, which belongs to one thread at a time.
#[derive(Debug)]
pub(super) struct ThreadRing {
    directory: Arc<TraceDirectory>,
    clock: RecordingClock,
    stream: u16,
    thread: u32,
    name: ThreadName,
    file: Option<PacketFile>,
    earlier: EarlierFiles,
    /// Number of files so far.
    files: u32,
    /// Byte of the current packet in the file.
    packet: usize,
    /// Byte after the last event.
    position: usize,
    /// Byte where the current packet must end.
    limit: usize,
    /// Time of the last event.
    last: u64,
    /// Time when [`ThreadRing::make_room`] must be called.
    next_look: u64,
    /// Time when a file is tried again that could not be created.
    retry: u64,
    /// Cycles between two looks.
    interval: u64,
    /// Cycles of a file, if there is a limit.
    duration: Option<u64>,
    /// Time when the current file ends.
    file_end: u64,
    /// `true` if the current file names the thread.
    is_named: bool,
    sequence: u32,
    discarded: u32,
}

impl ThreadRing {
    pub(super) fn new(directory: Arc<TraceDirectory>, stream: u16) -> Self {
        let clock = directory.clock;
        let duration = directory.options.file_duration.map(|duration| clock.cycles(duration).max(1));
        // A file that ends after a time has at least the name of the thread.
        let smallest = if duration.is_some() { SHORTEST } else { directory.file_size(0, 0) };
        Self {
            earlier: EarlierFiles::new(directory.options.limit.kept(), smallest as u64),
            clock,
            directory,
            stream,
            thread: 0,
            name: ThreadName::default(),
            file: None,
            files: 0,
            packet: 0,
            position: 0,
            limit: 0,
            last: 0,
            next_look: 0,
            retry: 0,
            // A quarter of a second. Events must not be further apart than that without a look.
            interval: (clock.frequency() / 4).min(MOST_CYCLES / 2),
            duration,
            file_end: u64::MAX,
            is_named: false,
            sequence: 0,
            discarded: 0,
        }
    }

    /// Gives the ring to this thread.
    pub(super) fn assign(&mut self, thread: u32) {
        self.thread = thread;
        self.name = ThreadName::of_this_thread();
        (self.is_named, self.next_look) = (false, 0);
    }

    /// Returns where the payload of the next event begins and ends.
    #[inline]
    fn payload(&self, place: EventPlace) -> (usize, usize) {
        let begin = aligned(self.position + BEFORE, place.alignment);
        (begin, begin.saturating_add(place.size))
    }

    /// Records an event, whose payload `write` writes. Returns `false` if it was discarded.
    #[inline]
    pub(super) fn record(&mut self, place: EventPlace, write: impl FnOnce(&mut [u8])) -> bool {
        // Time does not go back within a data stream.
        let now = self.clock.now().max(self.last);
        let mut payload = self.payload(place);
        if payload.1 > self.limit || now >= self.next_look {
            if !self.make_room(now, place) {
                return false;
            }
            payload = self.payload(place);
        }
        self.put_event(now, place.id, payload, write)
    }

    /// Writes an event at `position`, whose payload begins and ends at two bytes of the file.
    #[inline]
    fn put_event(
        &mut self,
        now: u64,
        id: u16,
        (payload, end): (usize, usize),
        write: impl FnOnce(&mut [u8]),
    ) -> bool {
        let begin = self.position;
        let Some(file) = &mut self.file else { return false };
        let Some(out) = file.bytes(begin, end) else { return false };
        put(out, 0, event_head(id, now));
        put(out, EVENT_HEAD, self.thread.to_le_bytes());
        write(out.get_mut(payload - begin..).unwrap_or_default());
        // The end comes first: it is never before the last event.
        file.store_u64(self.packet + END_TIME, now);
        file.store_u32(self.packet + CONTENT, bits(end - self.packet));
        self.position = end;
        self.last = now;
        true
    }

    /// Makes room for an event at `position`, or counts it as discarded.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: u64, place: EventPlace) -> bool {
        if needed(place) > self.directory.options.packet_size {
            return self.discard();
        }
        if now >= self.next_look {
            if let Some(file) = &self.file {
                file.touch();
            }
            self.next_look = now.saturating_add(self.interval);
        }
        // Names are written before the first event of a file, or before the second one if the first one is large.
        let mut has_room = self.find_room(now, place);
        if has_room && !self.is_named {
            self.write_name(now);
            has_room = self.find_room(now, place);
        }
        self.next_look = if self.is_named { self.next_look.min(self.file_end) } else { 0 };
        has_room || self.discard()
    }

    /// Makes room for an event at `position`: in the current packet, in the next one, or in a new file.
    fn find_room(&mut self, now: u64, place: EventPlace) -> bool {
        let needed = needed(place);
        if now >= self.file_end {
            if self.open_file(now, needed) {
                return true;
            }
            // Until then, the old file has to do.
            self.file_end = self.retry;
        }
        if self.payload(place).1 <= self.limit && now - self.last < MOST_CYCLES {
            return true;
        }
        let next = aligned(self.position, 8);
        let length = self.file.as_ref().map_or(0, PacketFile::len);
        if next.saturating_add(needed) <= length {
            self.open_packet(next, now);
            return true;
        }
        now >= self.retry && self.open_file(now, needed)
    }

    /// Writes the name of the thread, so that each file has it.
    fn write_name(&mut self, now: u64) {
        self.name.update();
        let name = self.name;
        let place = EventPlace { id: self.directory.name_class, alignment: 1, size: name.payload_size() };
        if self.find_room(now, place) {
            let thread = self.thread;
            self.put_event(now, place.id, self.payload(place), |out| {
                name.write_payload(thread, out);
            });
        }
        self.is_named = true;
    }

    /// Counts a discarded event. Returns `false`.
    fn discard(&mut self) -> bool {
        self.discarded = self.discarded.wrapping_add(1);
        if let Some(file) = &mut self.file {
            file.store_u32(self.packet + DISCARDED, self.discarded);
        }
        false
    }

    /// Begins a packet at a byte of the file. At first, it reaches to the end of the file.
    fn open_packet(&mut self, at: usize, now: u64) {
        self.put_head(at, now, self.sequence);
        let Some(file) = &self.file else { return };
        self.sequence = self.sequence.wrapping_add(1);
        self.packet = at;
        self.position = at + HEAD;
        self.limit = (at + self.directory.options.packet_size).min(file.len());
        self.last = now;
    }

    /// Writes the head of an empty packet into the padding of the current one, and then ends the current one before it.
    fn put_head(&mut self, at: usize, now: u64, sequence: u32) {
        let Some(file) = &mut self.file else { return };
        let total = file.len() - at;
        let head = PacketHead { stream: self.stream, total, begin: now, sequence, discarded: self.discarded };
        if let Some(out) = file.bytes(at, at + HEAD) {
            out.copy_from_slice(&head.bytes());
        }
        if at > 0 {
            file.store_u32(self.packet + TOTAL, bits(at - self.packet));
        }
    }

    /// Goes on in a new file.
    fn open_file(&mut self, now: u64, needed: usize) -> bool {
        let name = FileName::new(self.stream, self.files);
        self.retry = now.saturating_add(self.interval / 4);
        let size = self.directory.file_size(self.files, needed);
        let file = self.reuse_oldest(name, size).or_else(|| self.directory.create_file(name, size, needed));
        let Some(file) = file else { return false };
        if now >= self.file_end {
            self.close_early();
        }
        let before = self.file.replace(file);
        let (packet, position, limit) = (self.packet, self.position, self.limit);
        self.open_packet(0, now);
        let published = self.file.as_ref().map(|file| file.publish(self.directory.descriptor()));
        if !matches!(published, Some(Ok(()))) {
            // The number is used again, and the old file goes on being the last one.
            self.sequence = self.sequence.wrapping_sub(1);
            if let Some(failed) = std::mem::replace(&mut self.file, before) {
                self.directory.remove_file(failed.name().hidden(), failed.len() as u64);
            }
            (self.packet, self.position, self.limit) = (packet, position, limit);
            return false;
        }
        self.files += 1;
        self.retry = now;
        self.file_end = self.duration.map_or(u64::MAX, |duration| now.saturating_add(duration));
        self.is_named = false;
        if let Some(before) = before {
            self.keep(before.close());
        }
        self.remove_earlier();
        true
    }

    /// Ends the current file, which has room left, after its last event.
    fn close_early(&mut self) {
        let Some((length, file)) = self.end_packet() else { return };
        let (name, size) = (file.name(), file.len());
        file.truncate(length);
        self.directory.shrink_file((size - length) as u64);
        self.keep(EarlierFile::new(name, length as u64, None));
        (self.position, self.limit) = (0, 0);
    }

    /// Takes the current file, and returns where it must end.
    fn end_packet(&mut self) -> Option<(usize, PacketFile)> {
        let at = aligned(self.position, 8);
        let has_room = self.file.as_ref().is_some_and(|file| at + HEAD <= file.len());
        if has_room {
            // With an empty packet in place of the padding, the file is valid before and after it is truncated.
            self.put_head(at, self.last, self.sequence);
        }
        let file = self.file.take()?;
        Some((if has_room { at } else { file.len() }, file))
    }

    /// Keeps a full file, as long as it is one of the last ones.
    fn keep(&mut self, file: EarlierFile) {
        if let Some(oldest) = self.earlier.add(file) {
            self.directory.remove_file(oldest.name.shown(), oldest.size);
        }
    }

    /// Takes the oldest file for new packets, if a file of a size would replace it, and nobody reads it. That takes less
    /// time than creating a file.
    fn reuse_oldest(&mut self, name: FileName, size: usize) -> Option<PacketFile> {
        let current = self.file.as_ref().map_or(0, PacketFile::len);
        let is_fit = |oldest: &EarlierFile| oldest.size == size as u64;
        if !self.earlier.is_too_much((current + size) as u64) || !self.earlier.oldest().is_some_and(is_fit) {
            return None;
        }
        self.directory.reuse_file(&self.earlier.take_oldest()?, name)
    }

    /// Removes the oldest files that are not kept.
    fn remove_earlier(&mut self) {
        let current = self.file.as_ref().map_or(0, |file| file.len() as u64);
        while self.earlier.is_too_much(current)
            && let Some(oldest) = self.earlier.take_oldest()
        {
            self.directory.remove_file(oldest.name.shown(), oldest.size);
        }
    }

    /// Ends the file after its last event. The ring must not be used after that.
    pub(super) fn finish(mut self) -> u32 {
        if let Some((length, file)) = self.end_packet() {
            file.truncate(length);
        }
        self.discarded
    }
}

/// Returns the number of bytes of a packet with one event.
fn needed(place: EventPlace) -> usize {
    aligned(HEAD + BEFORE, place.alignment).saturating_add(place.size)
}
