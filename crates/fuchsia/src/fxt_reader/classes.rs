//! Classes of the records that a source has read lately.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use ichnos_model::{DataStream, DynamicClass};

use super::key::{RecordForm, RecordKind, push_name};
use super::tables::Tables;
use crate::fxt::{Argument, Arguments, EventKind, EventRecord, StringRef, bits};

/// A class in use.
#[derive(Clone, Debug)]
pub(super) struct KnownClass {
    pub(super) class: Arc<DynamicClass>,
    pub(super) is_any: bool,
}

/// Class of events with the same header and the same references to names.
#[derive(Debug)]
struct Shape {
    known: KnownClass,
    /// Types of the arguments and references to their names.
    arguments: Box<[u32]>,
}

/// Classes in use; all are dropped when there are too many.
#[derive(Debug)]
pub(super) struct Classes {
    stream: Arc<DataStream>,
    shapes: Vec<Shape>,
    /// Indexes of the shapes.
    by_header: HashMap<u64, usize, BuildHasherDefault<HeaderHasher>>,
    by_key: HashMap<Box<[u8]>, KnownClass>,
    key: Vec<u8>,
    most: usize,
}

/// Bits of the header of an event that determine its class, with the types of its arguments: type, number of
/// arguments, category and name.
const CLASS_BITS: u64 = 0xffff_ffff_00ff_0000;

/// Bits of a header whose category or name is in the record.
const INLINE_NAMES: u64 = 1 << 63 | 1 << 47;

/// Bit of an argument whose name is in the record.
const INLINE_NAME: u32 = 1 << 31;

impl Classes {
    /// Makes the empty table of at most `most` classes.
    pub(super) fn new(stream: &Arc<DataStream>, most: usize) -> Self {
        Self {
            stream: Arc::clone(stream),
            shapes: Vec::new(),
            by_header: HashMap::default(),
            by_key: HashMap::new(),
            key: Vec::new(),
            most,
        }
    }

    /// Forgets classes by references, because one of these has changed.
    pub(super) fn forget_references(&mut self) {
        self.shapes.clear();
        self.by_header.clear();
    }

    /// Returns the class of an event, or `None` if the limits are too low for any class.
    #[inline(always)]
    pub(super) fn of_event(
        &mut self,
        event: &EventRecord<'_>,
        names: &RecordNames<'_>,
    ) -> Option<&KnownClass> {
        let has_scope = matches!(event.kind, EventKind::Instant { scope: Some(_) });
        let header = event.header & CLASS_BITS | u64::from(has_scope);
        let known = self.by_header.get(&header).copied().filter(|known| {
            let shape = self.shapes.get(*known);
            event.header & INLINE_NAMES == 0
                && shape.is_some_and(|shape| shape.arguments.iter().copied().eq(event.arguments.shapes()))
        });
        let known = match known {
            Some(known) => known,
            None => self.add_shape(event, header, has_scope, names)?,
        };
        self.shapes.get(known).map(|shape| &shape.known)
    }

    /// Adds the class of an event by its header; returns its index.
    #[inline(never)]
    fn add_shape(
        &mut self,
        event: &EventRecord<'_>,
        header: u64,
        has_scope: bool,
        names: &RecordNames<'_>,
    ) -> Option<usize> {
        let known = self.find_event(event, has_scope, names)?;
        let arguments: Box<[u32]> = event.arguments.shapes().collect();
        let is_inline = |argument: &u32| argument & INLINE_NAME != 0;
        // Names in the record are not part of the header.
        let header = match event.header & INLINE_NAMES != 0 || arguments.iter().any(is_inline) {
            true => INLINE_SHAPE,
            false => header,
        };
        if self.shapes.len() >= self.most {
            self.forget_references();
        }
        let shape = Shape { known, arguments };
        let index = *self.by_header.entry(header).or_insert(self.shapes.len());
        match self.shapes.get_mut(index) {
            Some(place) => *place = shape,
            None => self.shapes.push(shape),
        }
        Some(index)
    }

    /// Returns the class of an event with the arguments before the first one whose content does not fit. Events of the
    /// same shape whose arguments fit have another class.
    #[cold]
    pub(super) fn of_damaged_event(
        &mut self,
        event: &EventRecord<'_>,
        names: &RecordNames<'_>,
    ) -> Option<KnownClass> {
        self.find_event(event, matches!(event.kind, EventKind::Instant { scope: Some(_) }), names)
    }

    fn find_event(
        &mut self,
        event: &EventRecord<'_>,
        has_scope: bool,
        names: &RecordNames<'_>,
    ) -> Option<KnownClass> {
        let form = RecordForm { event: event.kind.number(), has_scope, ..RecordForm::new(RecordKind::Event) };
        self.find(form, Some([event.category, event.name]), event.arguments, names)
    }

    /// Returns the class of a record with arguments, or `None` if the limits are too low for any class.
    #[inline(never)]
    pub(super) fn find(
        &mut self,
        form: RecordForm,
        event_names: Option<[StringRef<'_>; 2]>,
        arguments: Arguments<'_>,
        names: &RecordNames<'_>,
    ) -> Option<KnownClass> {
        let mut key = std::mem::take(&mut self.key);
        form.write(&mut key);
        for name in event_names.into_iter().flatten() {
            names.push(&mut key, name);
        }
        for Argument { name, value } in arguments.map_while(Result::ok) {
            key.push(value.kind());
            names.push(&mut key, name);
        }
        let known = self.of_key(&key).or_else(|| self.any(form));
        self.key = key;
        known
    }

    /// Returns the class of a record without arguments.
    pub(super) fn of_form(&mut self, form: RecordForm) -> Option<KnownClass> {
        let mut key = std::mem::take(&mut self.key);
        form.write(&mut key);
        // One for each form, so the limit does not matter.
        let known = self.of_key(&key).or_else(|| self.last(&key, false));
        self.key = key;
        known
    }

    fn of_key(&mut self, key: &[u8]) -> Option<KnownClass> {
        if let Some(known) = self.by_key.get(key) {
            return Some(known.clone());
        }
        let classes = self.stream.trace.dynamic_classes(self.stream.class_index)?;
        let class = classes.get(classes.index(key, false)?).ok().flatten()?;
        let known = KnownClass { class, is_any: false };
        if self.by_key.len() >= self.most {
            self.by_key.clear();
        }
        self.by_key.insert(key.into(), known.clone());
        Some(known)
    }

    /// Returns the class of records of a form beyond the limit of classes.
    fn any(&self, form: RecordForm) -> Option<KnownClass> {
        let mut key = Vec::new();
        form.any().write(&mut key);
        self.last(&key, true)
    }

    fn last(&self, key: &[u8], is_any: bool) -> Option<KnownClass> {
        let classes = self.stream.trace.dynamic_classes(self.stream.class_index)?;
        let class = classes.get(classes.index(key, true)?).ok().flatten()?;
        Some(KnownClass { class, is_any })
    }
}

/// Place among the shapes of the last event with names in its record. No header has it: it has bits that are not in
/// [`CLASS_BITS`].
const INLINE_SHAPE: u64 = 2;

/// RecordNames of records.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordNames<'a> {
    pub(super) tables: &'a Tables,
    pub(super) bytes: &'a [u8],
}

impl<'a> RecordNames<'a> {
    /// Passes the text of a reference to `take`; that of an unknown index says so.
    #[inline(always)]
    pub(super) fn with<R>(&self, reference: StringRef<'_>, take: impl FnOnce(&[u8]) -> R) -> R {
        match (self.tables.string(reference, self.bytes), reference) {
            (Some(text), _) | (None, StringRef::Inline(text)) => take(text),
            (None, StringRef::Index(index)) => take(format!("<unknown string {index}>").as_bytes()),
        }
    }

    fn push(&self, key: &mut Vec<u8>, reference: StringRef<'_>) {
        self.with(reference, |text| push_name(key, text));
    }
}

/// Hasher for headers.
#[derive(Clone, Copy, Debug, Default)]
struct HeaderHasher(u64);

impl Hasher for HeaderHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let product = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ bits(product, 32, 63);
    }
}
