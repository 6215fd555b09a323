//! Copies Fuchsia log messages.

use ichnos_model::field::{Field, Text};
use ichnos_model::{Event, Scope, Visitor};

use super::components::{ComponentName, ComponentTags};
use super::losses::{Change, ClassNumber, LossPlace, Losses};
use crate::log::{
    Attribution, CheckOptions, Framing, MAX_RECORD_WORDS, Message, Packet, Record, add_dropped_count,
};

/// Maximum datagram size in bytes that readers accept.
const MOST_DATAGRAM: usize = 65_536;

/// A copied message with its changes.
#[derive(Debug)]
pub(super) struct Copy {
    /// Bytes of the message and its extension, if any.
    pub(super) bytes: Vec<u8>,
    /// Size of the message without its extension in bytes.
    pub(super) size: usize,
    /// Component that a control record must name first.
    pub(super) component: ComponentName,
    /// Record tag, which refers to the component.
    pub(super) tag: u32,
    /// Number of dropped records added to the message's own count.
    pub(super) added: u64,
    resource: ResourceReader,
}

impl Default for Copy {
    fn default() -> Self {
        Self {
            bytes: Vec::with_capacity(MAX_RECORD_WORDS * 8),
            size: 0,
            component: ComponentName::default(),
            tag: 0,
            added: 0,
            resource: ResourceReader::default(),
        }
    }
}

/// Class name for legacy packets.
pub(super) const PACKET: &str = "log_packet";

impl Copy {
    /// Copies the message of an event. Returns `false` if the framing cannot hold it unchanged. `pending` is the number
    /// of discarded events before it.
    pub(super) fn take(
        &mut self,
        event: &Event<'_>,
        framing: Framing,
        pending: &mut u64,
        tags: &mut ComponentTags,
        losses: &mut Losses,
        class: ClassNumber,
    ) -> bool {
        self.component.clear();
        self.bytes.clear();
        (self.tag, self.added) = (0, 0);
        let Some(bytes) = message_bytes(event) else { return false };
        let is_packet = event.class.name.as_deref() == Some(PACKET);
        if framing == Framing::Datagrams && bytes.len() > MOST_DATAGRAM {
            return false;
        }
        let time = event.clock.and_then(|clock| i64::try_from(clock.nanoseconds).ok());
        let Some(time) = time else { return false };
        if is_packet {
            if framing != Framing::Datagrams {
                return false;
            }
            return self.take_packet(bytes, time, pending);
        }
        let Ok((record, behind)) = Record::read(bytes, 0) else { return false };
        let is_extended = || Message::Record { record, behind }.attribution().is_some();
        let fits = match framing {
            Framing::Datagrams => true,
            Framing::ExtendedRecords => behind.is_empty() || is_extended(),
            Framing::Records => behind.is_empty(),
        };
        if !fits {
            return false;
        }
        self.bytes.extend_from_slice(record.as_bytes());
        self.size = self.bytes.len();
        self.tag = record.tag();
        self.set_word(1, time.to_le_bytes());
        self.set_tag(event, &record, tags, losses, class);
        if *pending > 0 {
            let recorded = dropped(&record, behind);
            let left = pending.saturating_sub(recorded);
            *pending = 0;
            if left == 0 || self.add_dropped(left) {
                self.added = left;
            } else {
                losses.add_many(LossPlace::event(class), Change::DroppedCount, left);
            }
        }
        self.bytes.extend_from_slice(behind);
        true
    }

    fn take_packet(&mut self, bytes: &[u8], time: i64, pending: &mut u64) -> bool {
        let Ok(packet) = Packet::read(bytes, 0) else { return false };
        self.bytes.extend_from_slice(bytes);
        self.size = bytes.len();
        self.set_word(2, time.to_le_bytes());
        let recorded = packet.dropped();
        let more = u64::from(u32::MAX - recorded).min(pending.saturating_sub(recorded.into()));
        if more > 0 {
            let sum = u64::from(recorded) + more;
            let severity = u64::from(packet.raw_severity() as u32);
            self.set_word(3, (sum << 32 | severity).to_le_bytes());
            self.added = more;
        }
        // A later record contains the rest.
        *pending = pending.saturating_sub(u64::from(recorded) + more);
        true
    }

    fn set_word(&mut self, index: usize, word: [u8; 8]) {
        if let Some(place) = self.bytes.as_chunks_mut::<8>().0.get_mut(index) {
            *place = word;
        }
    }

    /// Sets the output tag for the same component.
    fn set_tag(
        &mut self,
        event: &Event<'_>,
        record: &Record<'_>,
        tags: &mut ComponentTags,
        losses: &mut Losses,
        class: ClassNumber,
    ) {
        let names = record.control().filter(|control| control.rolled_out.is_none());
        if record.tag() == 0 && names.is_none() && !event.has_resource() {
            return;
        }
        let stream = event.stream.key;
        let tag = tags.for_stream(stream, record.tag()).unwrap_or_else(|| {
            losses.add(LossPlace::event(class), Change::Tag);
            0
        });
        self.tag = tag;
        if tag != record.tag() {
            let bits = u64::from(u32::MAX >> 1) << 16;
            let header = record.header() & !bits | u64::from(tag) << 16;
            self.set_word(0, header.to_le_bytes());
        }
        if let Some(control) = names {
            let text =
                |text: Option<crate::log::Text<'_>>| text.map(|text| text.to_string()).unwrap_or_default();
            self.component.set(&text(control.moniker), &text(control.url));
            tags.name(tag, &self.component);
            self.component.clear();
        } else if event.has_resource() {
            self.resource.clear();
            // Visiting values cannot fail.
            let _ = event.visit(Scope::Resource, &mut self.resource);
            self.component.set(&self.resource.moniker, &self.resource.url);
            if self.component.is_empty() || tags.is_named(tag, &self.component) {
                self.component.clear();
            }
        }
    }

    /// Adds to the count of dropped records. Returns `false` if the record is full.
    fn add_dropped(&mut self, count: u64) -> bool {
        self.bytes.resize(self.size + 32, 0);
        match add_dropped_count(&mut self.bytes, self.size, count) {
            Ok(size) => self.size = size,
            Err(_) => {
                self.bytes.truncate(self.size);
                return false;
            }
        }
        self.bytes.truncate(self.size);
        true
    }
}

/// Returns the message bytes of an event.
pub(super) fn message_bytes<'a>(event: &Event<'a>) -> Option<&'a [u8]> {
    let end = usize::try_from(event.scopes.end / 8).ok().filter(|end| *end > 0)?;
    event.scopes.bits.data.get(..end)
}

/// Returns `true` if the message of an event breaks a rule.
pub(super) fn breaks_rule(event: &Event<'_>) -> bool {
    let Some(bytes) = message_bytes(event) else { return false };
    if event.class.name.as_deref() == Some(PACKET) {
        return false;
    }
    let Ok((record, behind)) = Record::read(bytes, 0) else { return true };
    let mut breaks = false;
    Message::Record { record, behind }.check(CheckOptions::default(), &mut |_| breaks = true);
    breaks
}

/// Returns the number of records dropped or deleted before a record, from its arguments.
fn dropped(record: &Record<'_>, behind: &[u8]) -> u64 {
    let rolled_out = match record.control() {
        Some(control) => control.rolled_out,
        None => record.appended().map(|(attribution, _)| attribution.rolled_out),
    };
    let extension = Attribution::read_extended(behind, 0, 0, &mut |_| {}).ok();
    let behind = extension.map_or(0, |(attribution, _)| attribution.rolled_out);
    record.known().dropped.saturating_add(rolled_out.unwrap_or(0)).saturating_add(behind)
}

/// Reads the component from the resource of an event, in the form that the log reader provides.
#[derive(Debug, Default)]
struct ResourceReader {
    moniker: String,
    url: String,
    is_url: bool,
}

impl ResourceReader {
    fn clear(&mut self) {
        self.moniker.clear();
        self.url.clear();
    }
}

impl Visitor for ResourceReader {
    fn begin_optional(&mut self, field: Field<'_>, _: bool, _: i128) {
        self.is_url = field.name() == Some("url");
    }

    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        let to = if self.is_url { &mut self.url } else { &mut self.moniker };
        to.push_str(&value.to_str_lossy());
    }
}
