//! Names of threads, as events of their own.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::read;

use crate::description::{EventDescription, FieldDescription, MemberDescription};
use crate::field::TraceField;
use crate::field_order::FieldOrder;
use crate::variable_part::VariablePart;

/// Longest name in bytes.
const LONGEST: usize = 64;

/// Class of the events that name a thread. Viewers show the name for all events of the thread.
pub(super) const THREAD_NAME: EventDescription<'static> = EventDescription::new(
    "thread_name",
    &[
        MemberDescription::new("thread", FieldDescription::unsigned(32)).with_meaning("target-thread"),
        MemberDescription::new("name", FieldDescription::String).with_meaning("target-thread-name"),
    ],
)
.with_namespace("ichnos-tracer");

/// Longest name that the system keeps. It cuts off longer ones.
const LONGEST_OF_SYSTEM: usize = 15;

/// Name of a thread: the system's, which is the program's name for the main thread. If it is cut off, this is the name that
/// the program has given the thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreadName {
    shown: NameText,
    /// Name from the program, if the system's was cut off at first.
    own: NameText,
}

/// Text without memory from the allocator.
#[derive(Clone, Copy, Debug)]
struct NameText {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Default for NameText {
    fn default() -> Self {
        Self { bytes: [0; LONGEST], length: 0 }
    }
}

impl NameText {
    fn new(text: &str) -> Self {
        let mut name = Self::default();
        name.push(text);
        name
    }

    /// Replaces bytes that are not UTF-8.
    fn lossy(bytes: &[u8]) -> Self {
        let mut name = Self::default();
        for chunk in bytes.utf8_chunks() {
            name.push(chunk.valid());
            if !chunk.invalid().is_empty() {
                name.push("\u{fffd}");
            }
        }
        name
    }

    /// Adds the characters that have room.
    fn push(&mut self, text: &str) {
        let length = text.floor_char_boundary(LONGEST - self.length);
        let room = self.bytes.get_mut(self.length..).and_then(|room| room.get_mut(..length));
        if let (Some(room), Some(text)) = (room, text.as_bytes().get(..length)) {
            room.copy_from_slice(text);
            self.length += length;
        }
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl ThreadName {
    /// Returns the name of this thread. It takes memory from the allocator.
    pub(super) fn of_this_thread() -> Self {
        let system = rustix::thread::name().unwrap_or_default();
        let system = system.to_bytes();
        // A thread that is just starting has no `Thread` yet, and must not get one from a signal handler: the process
        // would end. So only threads with a long name are asked for it.
        let own = (system.len() == LONGEST_OF_SYSTEM).then(std::thread::current);
        let own = own.as_ref().and_then(|own| own.name()).map(NameText::new).unwrap_or_default();
        let mut name = Self { shown: NameText::default(), own };
        name.set_system(system);
        name
    }

    /// Asks for the name of this thread again: it may have changed. It takes no memory, so it reads a file. Without that
    /// file, the name stays.
    pub(super) fn update(&mut self) {
        // The system's name, and the end of the line.
        let mut bytes = [0; LONGEST];
        let Ok(file) = open(c"/proc/thread-self/comm", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        else {
            return;
        };
        let length = read(&file, &mut bytes).unwrap_or_default();
        if let Some(system) = bytes.get(..length).and_then(|line| line.strip_suffix(b"\n")) {
            self.set_system(system);
        }
    }

    fn set_system(&mut self, system: &[u8]) {
        let is_cut_off = system.len() == LONGEST_OF_SYSTEM && self.own.as_bytes().starts_with(system);
        self.shown = if is_cut_off { self.own } else { NameText::lossy(system) };
    }

    pub(super) fn shown(&self) -> &str {
        self.shown.as_str()
    }

    /// Returns the number of bytes in the payload of the event.
    pub(super) fn payload_size(&self) -> usize {
        u32::FIXED + str::FIXED + self.shown().len()
    }

    /// Writes the payload of the event.
    pub(super) fn write_payload(&self, thread: u32, out: &mut [u8]) {
        let order = FieldOrder::Little;
        let mut out = VariablePart::new(out);
        thread.write_fixed(order, out.take(u32::FIXED));
        self.shown().write_fixed(order, out.take(str::FIXED));
        self.shown().write_variable(order, &mut out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_change() {
        let long = format!("{}ä", "x".repeat(63));
        let check = || {
            let mut name = ThreadName::of_this_thread();
            assert_eq!(name.shown(), "x".repeat(63));
            let mut rename = |system: &[u8]| {
                std::fs::write("/proc/thread-self/comm", system).unwrap();
                name.update();
                assert_eq!(name.shown(), ThreadName::of_this_thread().shown());
                name.shown().to_owned()
            };
            assert_eq!(rename(b"baker"), "baker");
            assert_eq!(rename(b"fifteen letters"), "fifteen letters");
            assert_eq!(rename(b"two\nlines\n"), "two\nlines\n");
            assert_eq!(rename(b"a\xffb\xc3"), "a\u{fffd}b\u{fffd}");
            assert_eq!(rename(&[b'x'; 15]), "x".repeat(63));
            assert_eq!(rename(&[0xff; 15]), "\u{fffd}".repeat(15));
        };
        std::thread::Builder::new().name(long).spawn(check).unwrap().join().unwrap();
    }
}
