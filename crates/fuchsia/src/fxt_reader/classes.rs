//! Recently used classes of a source.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;

use ichnos_model::DataStream;
use ichnos_model::class::DynamicClass;
use ichnos_model::key_hash::KeyState;

use super::key::{RecordForm, RecordKind, push_name};
use super::tables::Tables;
use crate::fxt::{Argument, Arguments, EventKind, EventRecord, EventWords, MAX_ARGUMENTS, StringRef, bits};

/// A class in use.
#[derive(Clone, Debug)]
pub(super) struct SourceClass {
    pub(super) class: Arc<DynamicClass>,
    pub(super) is_any: bool,
}

/// Class for events with the same header and the same name references.
#[derive(Debug)]
pub(super) struct FxtShape {
    pub(super) known: SourceClass,
    /// Argument types and name references.
    arguments: [u32; MAX_ARGUMENTS],
    count: u8,
}

impl FxtShape {
    /// Returns the argument [shapes](Arguments::shapes).
    #[inline(always)]
    pub(super) fn arguments(&self) -> &[u32] {
        self.arguments.get(..usize::from(self.count)).unwrap_or_default()
    }
}

/// Classes in use. All are dropped when there are too many.
#[derive(Debug)]
pub(super) struct SourceClasses {
    stream: Arc<DataStream>,
    shapes: Vec<FxtShape>,
    /// Shape indexes by header.
    by_header: HashMap<u64, usize, KeyState>,
    /// Strings that shapes refer to: one bit for each index.
    used_strings: Vec<u64>,
    /// Shape of the current event, if any.
    current: Option<usize>,
    by_key: HashMap<Box<[u8]>, SourceClass, KeyState>,
    key: Vec<u8>,
    most: usize,
}

/// Header bits that determine the class of an event, together with the argument types: event type, argument count,
/// category and name.
const CLASS_BITS: u64 = 0xffff_ffff_00ff_0000;

/// Header bits for an inline category or name.
const INLINE_NAMES: u64 = 1 << 63 | 1 << 47;

/// Argument bit for an inline name.
const INLINE_NAME: u32 = 1 << 31;

/// Returns the header bits that determine the class of an event, together with its arguments.
#[inline(always)]
fn class_bits(header: u64, has_scope: bool) -> u64 {
    header & CLASS_BITS | u64::from(has_scope)
}

#[inline(always)]
fn has_scope(event: &EventRecord<'_>) -> bool {
    matches!(event.kind, EventKind::Instant { scope: Some(_) })
}

impl SourceClasses {
    /// Creates an empty table for at most `most` classes.
    pub(super) fn new(stream: &Arc<DataStream>, most: usize) -> Self {
        Self {
            stream: Arc::clone(stream),
            shapes: Vec::new(),
            by_header: HashMap::default(),
            used_strings: Vec::new(),
            current: None,
            by_key: HashMap::default(),
            key: Vec::new(),
            most,
        }
    }

    /// Forgets all shapes, because a table entry has changed.
    pub(super) fn forget_references(&mut self) {
        self.shapes.clear();
        self.by_header.clear();
        self.used_strings.clear();
        self.current = None;
    }

    /// Returns `true` if a shape refers to a string.
    #[inline(always)]
    pub(super) fn refers_to(&self, string: u16) -> bool {
        let word = self.used_strings.get(usize::from(string / 64));
        word.is_some_and(|word| word & 1 << (string % 64) != 0)
    }

    fn add_string_use(&mut self, string: u16) {
        let word = usize::from(string / 64);
        if self.used_strings.len() <= word {
            self.used_strings.resize(word + 1, 0);
        }
        if let Some(word) = self.used_strings.get_mut(word) {
            *word |= 1 << (string % 64);
        }
    }

    /// Returns the shape of an earlier event with the same references and argument count, and the shape index. The
    /// argument types and names can differ.
    #[inline(always)]
    pub(super) fn shape(&self, event: EventWords<'_>) -> Option<(usize, &FxtShape)> {
        let is_instant = bits(event.header, 16, 19) == 0;
        let has_scope = is_instant && event.extent()?.has_word;
        let index = *self.by_header.get(&class_bits(event.header, has_scope))?;
        Some((index, self.shapes.get(index)?))
    }

    /// Selects the class of a shape for the current event.
    #[inline(always)]
    pub(super) fn enter(&mut self, index: usize) {
        self.current = Some(index);
    }

    /// Ends the current event.
    #[inline(always)]
    pub(super) fn leave(&mut self) {
        self.current = None;
    }

    /// Returns the class that was [entered](Self::enter).
    #[inline(always)]
    pub(super) fn current(&self) -> Option<&DynamicClass> {
        self.shapes.get(self.current?).map(|shape| &*shape.known.class)
    }

    /// Returns the class of an event, or `None` if the limits are too low for any class. If not all arguments fit, the
    /// class has those before the first that does not fit.
    pub(super) fn for_event(
        &mut self,
        event: &EventRecord<'_>,
        names: &RecordNames<'_>,
        is_whole: bool,
    ) -> Option<&SourceClass> {
        let form = RecordForm {
            event: event.kind.number(),
            has_scope: has_scope(event),
            ..RecordForm::new(RecordKind::Event)
        };
        let (mut arguments, mut count) = ([0; MAX_ARGUMENTS], 0u8);
        for (place, shape) in arguments.iter_mut().zip(event.arguments.shapes()) {
            *place = shape;
            count += 1;
        }
        // A shape does not cover inline names.
        let is_inline =
            event.header & INLINE_NAMES != 0 || arguments.iter().any(|argument| argument & INLINE_NAME != 0);
        if is_inline || !is_whole {
            return self.find(form, Some([event.category, event.name]), event.arguments, names);
        }
        let known = self.find(form, Some([event.category, event.name]), event.arguments, names)?.clone();
        if self.shapes.len() >= self.most {
            self.forget_references();
        }
        // Names that are not inline are indexes.
        let names = [event.header >> 32, event.header >> 48].map(|name| name as u16);
        let argument_names = arguments.iter().take(count.into()).map(|argument| (argument >> 16) as u16);
        names.into_iter().chain(argument_names).for_each(|name| self.add_string_use(name));
        let shape = FxtShape { known, arguments, count };
        let index =
            *self.by_header.entry(class_bits(event.header, has_scope(event))).or_insert(self.shapes.len());
        match self.shapes.get_mut(index) {
            Some(place) => *place = shape,
            None => self.shapes.push(shape),
        }
        self.shapes.get(index).map(|shape| &shape.known)
    }

    /// Returns the class of a record with arguments, or `None` if the limits are too low for any class.
    #[inline(never)]
    pub(super) fn find(
        &mut self,
        form: RecordForm,
        event_names: Option<[StringRef<'_>; 2]>,
        arguments: Arguments<'_>,
        names: &RecordNames<'_>,
    ) -> Option<&SourceClass> {
        let mut key = std::mem::take(&mut self.key);
        form.write(&mut key);
        for name in event_names.into_iter().flatten() {
            names.push(&mut key, name);
        }
        for Argument { name, value } in arguments.map_while(Result::ok) {
            key.push(value.kind());
            names.push(&mut key, name);
        }
        self.key = key;
        self.for_key(form)
    }

    /// Returns the class of a record without arguments.
    pub(super) fn for_form(&mut self, form: RecordForm) -> Option<&SourceClass> {
        form.write(&mut self.key);
        self.for_key(form)
    }

    /// Returns the class for [`Self::key`], which starts with a form.
    fn for_key(&mut self, form: RecordForm) -> Option<&SourceClass> {
        if !self.by_key.contains_key(&*self.key) {
            let known = self.class_of_key(form)?;
            if self.by_key.len() >= self.most {
                self.by_key.clear();
            }
            self.by_key.insert(self.key.as_slice().into(), known);
        }
        self.by_key.get(&*self.key)
    }

    fn class_of_key(&self, form: RecordForm) -> Option<SourceClass> {
        let classes = self.stream.trace.dynamic_classes(self.stream.class_index)?;
        match classes.index(&self.key, false) {
            Some(index) => Some(SourceClass { class: classes.get(index).ok().flatten()?, is_any: false }),
            // Each form without arguments has one class, so the limit does not apply.
            None if !form.kind.has_arguments() => self.last(&self.key, false),
            None => self.any(form),
        }
    }

    /// Returns the shared class for records of a form beyond the class limit.
    fn any(&self, form: RecordForm) -> Option<SourceClass> {
        let mut key = Vec::new();
        form.any().write(&mut key);
        self.last(&key, true)
    }

    fn last(&self, key: &[u8], is_any: bool) -> Option<SourceClass> {
        let classes = self.stream.trace.dynamic_classes(self.stream.class_index)?;
        let class = classes.get(classes.index(key, true)?).ok().flatten()?;
        Some(SourceClass { class, is_any })
    }
}

/// Resolves record names.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordNames<'a> {
    pub(super) tables: &'a Tables,
    pub(super) bytes: &'a [u8],
}

impl<'a> RecordNames<'a> {
    /// Passes the referenced text to `take`, or a placeholder for an unknown index.
    #[inline(always)]
    pub(super) fn with<R>(&self, reference: StringRef<'_>, take: impl FnOnce(&[u8]) -> R) -> R {
        match (self.tables.string(reference, self.bytes), reference) {
            (Some(text), _) | (None, StringRef::Inline(text)) => take(text),
            (None, StringRef::Index(index)) => {
                let mut text = [0; 32];
                let mut rest = &mut text[..];
                // Cannot fail: an index has at most five digits.
                let _ = write!(rest, "<unknown string {index}>");
                let length = 32 - rest.len();
                take(text.get(..length).unwrap_or_default())
            }
        }
    }

    fn push(&self, key: &mut Vec<u8>, reference: StringRef<'_>) {
        self.with(reference, |text| push_name(key, text));
    }
}
