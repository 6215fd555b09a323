//! Digests: event counts and checksums, to compare written traces with the data read back.

mod value_hash;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::class::Scope;
use crate::decode::DecodeError;
use crate::event::{Event, Packet};
use crate::field::{Field, FieldValue, Real, StringEncoding, Text, Visitor};
use crate::message::Message;

pub use self::value_hash::ValueHash;

/// Returns an event's time as stored in the file, and the hash of its values.
pub type EventHashFn = fn(&Event<'_>) -> (Option<u64>, u64);

/// Event counts and checksums by class name, for one or several traces. They do not depend on the event order, so
/// digests from several data streams can be added.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TraceDigest {
    /// Events by class name.
    pub classes: BTreeMap<String, ClassDigest>,
    /// Event records that the producers discarded, as far as their number is known. `None`: not compared.
    pub discarded_events: Option<u64>,
    /// Number of places that cannot be decoded.
    pub damages: u64,
    /// Format-specific time and hash of an event, if they are not computed from the clock and the scope values. Then
    /// only totals are compared, because the format's classes may differ from the written ones.
    pub event_hash: Option<EventHashFn>,
    /// First damaged place, for messages.
    pub first_damage: Option<String>,
}

/// Event counts and checksums for a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassDigest {
    /// Number of events.
    pub events: u64,
    /// Event time checksum.
    pub times: u64,
    /// Event value checksum.
    pub values: u64,
}

impl Default for TraceDigest {
    fn default() -> Self {
        Self {
            classes: BTreeMap::new(),
            discarded_events: Some(0),
            damages: 0,
            event_hash: None,
            first_damage: None,
        }
    }
}

impl ClassDigest {
    /// Adds an event by its time in cycles and its value hash.
    #[inline]
    pub fn add(&mut self, cycles: Option<u64>, values: u64) {
        let mut time = ValueHash::new(u64::from(cycles.is_some()));
        time.add(cycles.unwrap_or(0));
        self.events += 1;
        self.times = self.times.wrapping_add(time.finish());
        self.values = self.values.wrapping_add(values);
    }
}

impl std::ops::AddAssign for ClassDigest {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.times = self.times.wrapping_add(other.times);
        self.values = self.values.wrapping_add(other.values);
    }
}

impl TraceDigest {
    /// Creates a digest for events with a format-specific [hash](Self::event_hash). Discarded events are not compared.
    #[must_use]
    pub fn from_hashed(event_hash: EventHashFn, events: ClassDigest) -> Self {
        let (classes, event_hash) = (BTreeMap::from([(String::new(), events)]), Some(event_hash));
        Self { classes, event_hash, discarded_events: None, ..Self::default() }
    }

    /// Adds events in a class.
    pub fn add_class(&mut self, name: &str, events: ClassDigest) {
        match self.classes.get_mut(name) {
            Some(known) => *known += events,
            None => drop(self.classes.insert(name.to_owned(), events)),
        }
    }

    /// Adds discarded events, if they are compared.
    pub fn add_discarded(&mut self, count: u64) {
        self.discarded_events = sum(self.discarded_events, Some(count));
    }

    /// Returns the sum over all classes.
    #[must_use]
    pub fn total(&self) -> ClassDigest {
        self.classes.values().fold(ClassDigest::default(), |mut sum, class| {
            sum += *class;
            sum
        })
    }

    /// Adds another digest.
    pub fn merge(&mut self, other: Self) {
        for (name, events) in other.classes {
            self.add_class(&name, events);
        }
        self.discarded_events = sum(self.discarded_events, other.discarded_events);
        self.damages += other.damages;
        self.event_hash = self.event_hash.or(other.event_hash);
        self.first_damage = self.first_damage.take().or(other.first_damage);
    }

    /// Returns the first difference between this (written) digest and `read`: a sentence without the full stop.
    #[must_use]
    pub fn difference(&self, read: &Self) -> Option<String> {
        if read.damages > self.damages {
            // A missing place is only an empty text in the message: code that counts damage in read data stores the
            // first place.
            let place = read.first_damage.as_deref().unwrap_or_default();
            return Some(format!("it cannot be read: {place}"));
        }
        if self.event_hash.is_some() {
            let (written, read) = (self.total(), read.total());
            if written.events != read.events {
                return Some(format!("wrote {} events, read {}", written.events, read.events));
            }
            if written.times != read.times {
                return Some("event times differ".to_owned());
            }
            if written.values != read.values {
                return Some("event values differ".to_owned());
            }
        }
        let names = self.classes.keys().chain(read.classes.keys());
        for name in names.filter(|_| self.event_hash.is_none()) {
            // A missing class has the digest of no events.
            let of = |digest: &Self| digest.classes.get(name).copied().unwrap_or_default();
            let (written, read) = (of(self), of(read));
            if written.events != read.events {
                let (written, read) = (written.events, read.events);
                return Some(format!("events `{name}`: wrote {written}, read {read}"));
            }
            if written.times != read.times {
                return Some(format!("events `{name}`: the times differ"));
            }
            if written.values != read.values {
                return Some(format!("events `{name}`: the values differ"));
            }
        }
        let (written, read) = self.discarded_events.zip(read.discarded_events)?;
        (written != read).then(|| format!("wrote {written} discarded events, read {read}"))
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a.wrapping_add(b))
}

/// Computes a [`TraceDigest`] from a data stream's messages.
#[derive(Debug)]
pub struct StreamDigest {
    /// Class names and digests, by index in the data stream class.
    classes: Vec<Option<(String, ClassDigest)>>,
    digest: TraceDigest,
    /// Hash of the values in the open packet, except those with roles.
    packet: u64,
}

impl Default for StreamDigest {
    fn default() -> Self {
        Self::new(None)
    }
}

impl StreamDigest {
    /// Starts a digest. `event_hash` is the format-specific [hash](TraceDigest::event_hash), if any.
    #[must_use]
    pub fn new(event_hash: Option<EventHashFn>) -> Self {
        let digest = TraceDigest { event_hash, ..TraceDigest::default() };
        Self { classes: Vec::new(), digest, packet: ValueHash::new(0).finish() }
    }

    /// Processes the next message.
    pub fn message(&mut self, message: &Message<'_>) {
        match message {
            Message::PacketBegin(packet) => self.packet = hash_of_packet(packet),
            Message::Event(event) => self.event(event),
            Message::DiscardedEvents(discarded) => {
                self.digest.add_discarded(discarded.count.unwrap_or(0));
            }
            Message::Damage(damage) => {
                self.digest.damages += 1;
                self.digest.first_damage.get_or_insert_with(|| damage.to_string());
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        let (cycles, values) = match self.digest.event_hash {
            Some(hash) => hash(event),
            None => {
                let mut hash = EventHash::new(self.packet);
                // Readers deliver only events that can be decoded.
                let _ = EventHash::SCOPES
                    .iter()
                    .try_for_each(|scope| hash.scope(*scope, |visitor| event.visit(*scope, visitor)));
                (event.clock.map(|clock| clock.cycles), hash.finish())
            }
        };
        let Some(index) = event.class_index() else {
            let mut class = ClassDigest::default();
            class.add(cycles, values);
            return self.digest.add_class(event.name(), class);
        };
        if self.classes.len() <= index {
            self.classes.resize_with(index + 1, || None);
        }
        let class =
            self.classes[index].get_or_insert_with(|| (event.name().to_owned(), ClassDigest::default()));
        class.1.add(cycles, values);
    }

    /// Ends the data stream.
    #[must_use]
    pub fn finish(mut self) -> TraceDigest {
        for (name, class) in self.classes.into_iter().flatten() {
            self.digest.add_class(&name, class);
        }
        self.digest
    }
}

/// Hashes the packet context values without roles. Values with roles, such as sizes, times and counters, may differ
/// between a packet and its copies.
#[must_use]
pub fn hash_of_packet(packet: &Packet<'_>) -> u64 {
    let mut hash = ValueHash::new(0);
    // A packet is delivered only if its context was decoded.
    let _ = packet.visit(Scope::PacketContext, &mut ScopeVisitor::for_packet(&mut hash));
    hash.finish()
}

/// Event hash, built scope by scope.
#[derive(Debug)]
pub struct EventHash(ValueHash);

impl EventHash {
    /// Scopes that count, in order.
    pub const SCOPES: [Scope; 4] =
        [Scope::EventRecordHeader, Scope::CommonContext, Scope::SpecificContext, Scope::Payload];

    /// Starts the hash of an event. `packet` is the [hash](hash_of_packet) of its packet.
    #[must_use]
    pub fn new(packet: u64) -> Self {
        Self(ValueHash::new(packet))
    }

    /// Returns an event's clock value, and the hash of its name and of the values that text preserves. All NaNs are
    /// equal, and variant options are known only by their values.
    #[must_use]
    pub fn for_text(event: &Event<'_>) -> (Option<u64>, u64) {
        let mut hash = Self::new(0);
        hash.0.bytes(event.name().as_bytes());
        for scope in Self::SCOPES {
            // Readers deliver only events that can be decoded.
            let _ = hash.scope(scope, |visitor| {
                visitor.of_text = true;
                event.visit(scope, visitor)
            });
        }
        (event.clock.map(|clock| clock.cycles), hash.finish())
    }

    /// Adds a scope, which `visit` visits. In event record headers, only values without roles count.
    ///
    /// # Errors
    /// Returns errors from `visit`.
    pub fn scope(
        &mut self,
        scope: Scope,
        visit: impl FnOnce(&mut ScopeVisitor<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let only_without_roles = scope == Scope::EventRecordHeader;
        visit(&mut ScopeVisitor {
            hash: &mut self.0,
            only_without_roles,
            unions_of_roles: 0,
            of_text: false,
            change_text: None,
        })
    }

    /// Returns the hash.
    #[must_use]
    pub fn finish(self) -> u64 {
        self.0.finish()
    }
}

impl Visitor for ValueHash {
    // Inlined into the method for each kind, where only the lines for that kind remain.
    #[inline(always)]
    fn value(&mut self, _: Field<'_>, value: FieldValue<'_>) {
        match value {
            FieldValue::Null => {}
            FieldValue::Unsigned(value) | FieldValue::Bits(value) => self.add(value),
            FieldValue::Signed(value) => self.add(value as u64),
            FieldValue::Boolean(value) => self.add(u64::from(value)),
            FieldValue::Integer(value) => self.bytes(&value.to_le_bytes()),
            FieldValue::Real(Real::Half(bits)) => self.add(u64::from(bits)),
            FieldValue::Real(Real::Single(value)) => self.add(u64::from(value.to_bits())),
            FieldValue::Real(Real::Double(value)) => self.add(value.to_bits()),
            FieldValue::Wide(wide) | FieldValue::Real(Real::Wide(wide)) => {
                wide.words.iter().for_each(|word| self.add(*word));
            }
            FieldValue::Text(bytes) | FieldValue::Blob(bytes) => self.add_bytes(bytes, bytes),
            FieldValue::Guid(value) => {
                let (high, low) = value.as_u64_pair();
                self.add(high);
                self.add(low);
            }
        }
    }

    // With two callers, it would not be inlined otherwise.
    #[inline(always)]
    fn text(&mut self, _: Field<'_>, value: Text<'_>) {
        self.add_bytes(value.bytes, value.raw);
    }

    fn begin_array(&mut self, _: Field<'_>, length: u64) {
        self.add(length);
    }

    fn begin_optional(&mut self, _: Field<'_>, present: bool, _: i128) {
        self.add(u64::from(present));
    }

    fn begin_variant(&mut self, _: Field<'_>, option: usize, _: i128) {
        self.add(option as u64);
    }
}

/// Adds a scope's values to a hash.
#[derive(Debug)]
pub struct ScopeVisitor<'h> {
    hash: &'h mut ValueHash,
    /// Counts only single values without roles.
    only_without_roles: bool,
    /// Number of open unions with a role, whose bits can change with the value of the role.
    unions_of_roles: u32,
    /// Counts only values that text preserves.
    of_text: bool,
    change_text: Option<ChangeText>,
}

/// Converts the bytes of a UTF-8 text to the written bytes.
pub type ChangeText = fn(&[u8]) -> Cow<'_, [u8]>;

impl ScopeVisitor<'_> {
    /// Creates a visitor for the packet context, as in [`hash_of_packet`].
    #[must_use]
    pub fn for_packet(hash: &mut ValueHash) -> ScopeVisitor<'_> {
        ScopeVisitor { hash, only_without_roles: true, unions_of_roles: 0, of_text: false, change_text: None }
    }

    /// Hashes UTF-8 texts as they are written.
    pub fn change_texts(&mut self, change: ChangeText) {
        self.change_text = Some(change);
    }

    #[inline]
    fn take(&mut self, field: Field<'_>) -> Option<&mut ValueHash> {
        let has_value = field.node().roles.is_empty() && self.unions_of_roles == 0;
        (!self.only_without_roles || has_value).then_some(&mut *self.hash)
    }

    #[inline]
    fn mark(&mut self, value: u64) {
        if !self.only_without_roles {
            self.hash.add(value);
        }
    }
}

impl Visitor for ScopeVisitor<'_> {
    // Inlined into the method for each kind, as in the hash.
    #[inline(always)]
    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        self.take(field).into_iter().for_each(|hash| hash.value(field, value));
    }

    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        let value = match value {
            Real::Half(_) | Real::Single(_) | Real::Double(_) if self.of_text && value.to_f64().is_nan() => {
                Real::Double(f64::NAN)
            }
            value => value,
        };
        self.value(field, FieldValue::Real(value));
    }

    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        let change = self.change_text.filter(|_| value.encoding == StringEncoding::Utf8);
        let Some(hash) = self.take(field) else { return };
        let bytes = change.map_or(Cow::Borrowed(value.bytes), |change| change(value.bytes));
        // CTF readers end a text at its first U+0000.
        let unit = value.encoding.unit();
        let end = bytes.chunks(unit).position(|unit| unit.iter().all(|byte| *byte == 0));
        let bytes = &bytes[..end.map_or(bytes.len(), |end| end * unit)];
        hash.bytes(bytes);
    }

    fn begin_array(&mut self, _: Field<'_>, length: u64) {
        self.mark(length);
    }

    fn begin_optional(&mut self, _: Field<'_>, present: bool, _: i128) {
        self.mark(u64::from(present));
    }

    fn begin_variant(&mut self, _: Field<'_>, option: usize, _: i128) {
        if !self.of_text {
            self.mark(option as u64);
        }
    }

    fn begin_union(&mut self, field: Field<'_>) {
        let has_role = || field.class().exists(&mut |class| !class.roles.is_empty());
        if self.only_without_roles && (self.unions_of_roles > 0 || has_role()) {
            self.unions_of_roles += 1;
        }
    }

    fn end_union(&mut self, _: Field<'_>) {
        self.unions_of_roles = self.unions_of_roles.saturating_sub(1);
    }
}
