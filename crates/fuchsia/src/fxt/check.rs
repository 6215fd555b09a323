//! Checks for broken rules that do not prevent reading.

use super::argument::{ArgumentValue, Arguments};
use super::error::{FxtError, Rule};
use super::metadata::MetadataRecord;
use super::object::BlobMetadata;
use super::profiler::Profiler;
use super::record::{Record, reserved_bits};
use super::reference::StringRef;
use super::scheduling::Scheduling;

impl<'a> Record<'a> {
    /// Reports all broken rules that do not prevent reading the record: reserved bits, padding, trailing words, unknown
    /// argument types, and invalid UTF-8.
    pub fn check(frame: &'a [u8], offset: u64, report: &mut dyn FnMut(FxtError)) {
        let Ok((record, rest)) = Self::read_all(frame, offset) else { return };
        check(&record, frame, offset, rest.rest().len(), report);
    }
}

/// Reports the broken rules of a record. `unread` bytes follow its known content.
fn check(record: &Record<'_>, frame: &[u8], offset: u64, unread: usize, report: &mut dyn FnMut(FxtError)) {
    if matches!(record, Record::Unknown(_)) {
        return;
    }
    let header = frame.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
    let reserved = header & reserved_bits(header);
    if reserved != 0 {
        report(FxtError::new(Rule::RecordReserved, offset, 0, reserved));
    }
    let mut checker = Checker { frame, offset, report };
    checker.record(record);
    if unread > 0 {
        let at = offset + (frame.len() - unread) as u64;
        (checker.report)(FxtError::new(Rule::RecordExtra, at, 0, unread as u64));
    }
}

struct Checker<'a, 'r> {
    frame: &'a [u8],
    offset: u64,
    report: &'r mut dyn FnMut(FxtError),
}

impl Checker<'_, '_> {
    fn record(&mut self, record: &Record<'_>) {
        match record {
            Record::Metadata(MetadataRecord::ProviderInfo { name, .. }) => self.text(name),
            Record::String(record) => {
                self.text(record.string);
                if record.index == 0 {
                    (self.report)(FxtError::new(Rule::StringZero, self.offset, 1, 0));
                }
            }
            Record::Thread(record) if record.index == 0 => {
                (self.report)(FxtError::new(Rule::ThreadZero, self.offset, 1, 0));
            }
            Record::Event(event) => {
                self.string(event.category);
                self.string(event.name);
                self.arguments(event.arguments);
            }
            Record::Blob(blob) => {
                self.string(blob.name);
                self.padding(blob.data);
            }
            Record::UserspaceObject(object) => {
                self.string(object.name);
                self.arguments(object.arguments);
            }
            Record::KernelObject(object) => {
                // Kernel object names need not be UTF-8.
                if let StringRef::Inline(name) = object.name {
                    self.padding(name);
                }
                self.arguments(object.arguments);
            }
            Record::Scheduling(Scheduling::Switch(switch)) => self.arguments(switch.arguments),
            Record::Scheduling(Scheduling::Wakeup(wakeup)) => self.arguments(wakeup.arguments),
            Record::Log(log) => self.text(log.message),
            Record::Profiler(Profiler::Module(module)) => {
                self.text(module.name);
                self.padding(module.build_id);
            }
            Record::LargeBlob(blob) => {
                self.string(blob.category);
                self.string(blob.name);
                if let Some(BlobMetadata { arguments, .. }) = blob.metadata {
                    self.arguments(arguments);
                }
                self.padding(blob.data);
            }
            _ => {}
        }
    }

    fn arguments(&mut self, arguments: Arguments<'_>) {
        for argument in arguments.map_while(Result::ok) {
            self.string(argument.name);
            match argument.value {
                ArgumentValue::String(string) => self.string(string),
                ArgumentValue::Blob(data) => self.padding(data),
                ArgumentValue::Unknown { kind, .. } => {
                    (self.report)(FxtError::new(Rule::ArgumentType, self.offset, 10, kind.into()));
                }
                _ => {}
            }
        }
    }

    fn string(&mut self, string: StringRef<'_>) {
        if let StringRef::Inline(text) = string {
            self.text(text);
        }
    }

    fn text(&mut self, text: &[u8]) {
        if let Err(error) = core::str::from_utf8(text) {
            let at = self.position(text) + error.valid_up_to();
            let byte = self.frame.get(at).copied().unwrap_or(0);
            (self.report)(FxtError::new(Rule::TextUtf8, self.offset + at as u64, 0, byte.into()));
        }
        self.padding(text);
    }

    /// Checks the padding after `data`.
    fn padding(&mut self, data: &[u8]) {
        let end = self.position(data) + data.len();
        let padding = self.frame.get(end..end.next_multiple_of(8)).unwrap_or_default();
        if data.is_empty() || padding.iter().all(|byte| *byte == 0) {
            return;
        }
        let found = padding.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        (self.report)(FxtError::new(Rule::Padding, self.offset + end as u64, 0, found));
    }

    /// Returns the offset of `data` in the record.
    fn position(&self, data: &[u8]) -> usize {
        let at = data.as_ptr().addr().wrapping_sub(self.frame.as_ptr().addr());
        at.min(self.frame.len())
    }
}
