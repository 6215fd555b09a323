//! Spans of events whose roles say that they begin or end one.

use std::collections::HashMap;

use ichnos_model::{DataStream, Event, EventRole, EventTrack, Meaning};

use super::does;
use super::key::KeyField;
use crate::span_name::has_span_name;

/// Number of open spans of a track among which that of an end is searched.
const SEARCHED: u32 = 64;

/// What events of a class have to do with spans.
#[derive(Debug)]
pub(super) struct SpanPart {
    pub(super) does: u16,
    kind: u8,
    /// Fields that identify the span, or its track.
    pub(super) keys: Box<[Option<KeyField>]>,
    /// Thread that the processor runs after an event with the role to switch.
    next: Option<KeyField>,
}

impl SpanPart {
    /// Makes the part of the class of an event.
    pub(super) fn new(event: &Event<'_>) -> Self {
        let class = event.class;
        let mut does = match class.role {
            EventRole::Begin => does::BEGIN,
            EventRole::End => does::END,
            EventRole::Switch => does::SWITCH,
            _ => return Self { does: 0, kind: kind::TRACE, keys: Box::default(), next: None },
        };
        let field = |meaning| KeyField::of_meaning(event, meaning);
        let track = class.display.as_deref().map_or(EventTrack::default(), |display| display.track);
        let keys: Vec<_> = class.meanings.members(Meaning::PairKey).collect();
        let mut fields = Vec::new();
        let kind;
        if does & does::SWITCH != 0 {
            kind = kind::SWITCH;
            fields.extend(KeyField::of_processor(event).map(Some));
        } else if !keys.is_empty() {
            kind = kind::KEYED;
            let process = field(Meaning::Process).filter(|_| track != EventTrack::Trace);
            fields.extend(process.map(Some));
            fields.extend(keys.into_iter().map(|key| KeyField::of_member(event, key)));
        } else {
            does |= does::NESTED;
            let (process, thread) = (field(Meaning::Process), field(Meaning::Thread));
            kind = match track {
                EventTrack::Thread if thread.is_some() => {
                    fields.extend([process, thread].into_iter().flatten().map(Some));
                    kind::THREAD
                }
                EventTrack::Thread | EventTrack::Process if process.is_some() => {
                    fields.push(process);
                    kind::PROCESS
                }
                EventTrack::Trace => kind::TRACE,
                track => {
                    fields.extend(KeyField::of_processor(event).map(Some));
                    if track == EventTrack::Thread {
                        does |= does::OF_RUNNING;
                    }
                    kind::PROCESSOR
                }
            };
        }
        if does & does::END != 0 && !has_span_name(event) {
            does |= does::UNNAMED;
        }
        let next = field(Meaning::TargetThread).or_else(|| field(Meaning::Thread));
        Self { does, kind, keys: fields.into(), next }
    }

    /// Appends what distinguishes the span, or its track, from those of other traces and data streams.
    pub(super) fn push_place(&self, key: &mut Vec<u8>, stream: &DataStream, trace: u64) {
        key.extend_from_slice(&trace.to_le_bytes());
        // Spans of events that name nothing are nested in their data stream.
        let is_of_stream = self.kind == kind::PROCESSOR && self.keys.is_empty();
        key.extend_from_slice(&if is_of_stream { u64::from(stream.key) + 1 } else { 0 }.to_le_bytes());
        key.push(self.kind);
        key.extend_from_slice(&[0; 4]);
    }

    /// Appends the thread that the processor runs after an event.
    pub(super) fn push_next(&self, out: &mut Vec<u8>, event: &Event<'_>) {
        if let Some(next) = &self.next {
            next.push(out, event);
        }
    }
}

/// Kinds of places: their keys have nothing in common.
mod kind {
    pub(super) const KEYED: u8 = 0;
    pub(super) const THREAD: u8 = 1;
    pub(super) const PROCESS: u8 = 2;
    pub(super) const PROCESSOR: u8 = 3;
    pub(super) const TRACE: u8 = 4;
    /// Processor that runs another thread.
    pub(super) const SWITCH: u8 = 5;
    /// Thread that a processor runs.
    pub(super) const RUNNING: u8 = 6;
}

/// Returns `true` if a key is that of a track of a thread: values behind the place end with the thread.
pub(super) fn is_of_thread(key: &[u8]) -> bool {
    key.get(KIND).is_some_and(|kind| matches!(*kind, kind::THREAD | kind::RUNNING))
}

/// Size of what [`SpanPart::push_place`] appends, in bytes: trace, data stream, kind of the place, and how deep the span is
/// nested, or the number of the name of a span with a key.
pub(super) const PLACE: usize = DEPTH + 4;
const STREAM: usize = 8;
const KIND: usize = 16;
const DEPTH: usize = KIND + 1;

/// Maximum number of names of spans with keys that are distinguished.
const MOST_NAMES: usize = 1 << 12;

/// Names of spans with keys. Spans of several names can have the same key at a time.
#[derive(Debug, Default)]
pub(super) struct SpanNames {
    numbers: HashMap<Box<[u8]>, u32>,
    /// By number of the name: `true` if events begin such spans, and end them.
    uses: Vec<[bool; 2]>,
    /// Key of the span of a record.
    key: Vec<u8>,
}

impl SpanNames {
    /// Returns the number of a name, which is used for begins, or else for ends.
    fn number(&mut self, name: &[u8], is_begin: bool) -> u32 {
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None if self.uses.len() >= MOST_NAMES => return u32::MAX,
            None => {
                let number = self.uses.len() as u32;
                self.numbers.insert(name.into(), number);
                self.uses.push([false; 2]);
                number
            }
        };
        if let Some([begins, ends]) = self.uses.get_mut(number as usize) {
            *if is_begin { begins } else { ends } = true;
        }
        number
    }

    /// Returns the key of the span that begins with a key.
    pub(super) fn begin(&mut self, key: &[u8], name: &[u8]) -> &[u8] {
        let number = self.number(name, true);
        set_number(&mut self.key, key, number)
    }

    /// Returns the key of the span that ends with a key: that with the same name. For an end without a name of its own, and
    /// for one whose name no begin has, it is the last span whose name no other end has; for an end without a name, else the
    /// last one. `opened` returns the number of an open span, by which those that began later are greater.
    pub(super) fn end(
        &mut self,
        key: &[u8],
        name: &[u8],
        is_unnamed: bool,
        opened: impl Fn(&[u8]) -> Option<u64>,
    ) -> Option<&[u8]> {
        let number = match self.numbers.get(name) {
            Some(number) if is_unnamed => *number,
            None if is_unnamed => u32::MAX,
            _ => self.number(name, false),
        };
        let own = set_number(&mut self.key, key, number);
        let begins = self.uses.get(number as usize).is_some_and(|[begins, _]| *begins);
        if opened(own).is_some() || begins && !is_unnamed {
            return Some(&self.key);
        }
        let mut found: Option<(bool, u64, u32)> = None;
        for (number, [_, ends]) in (0..SEARCHED).zip(&self.uses) {
            let open = opened(set_number(&mut self.key, key, number));
            let open = open.filter(|_| !ends || is_unnamed);
            found = found.max(open.map(|open| (!ends, open, number)));
        }
        let (.., number) = found?;
        Some(set_number(&mut self.key, key, number))
    }
}

/// Makes a key with a number in the place of its depth.
fn set_number<'k>(out: &'k mut Vec<u8>, key: &[u8], number: u32) -> &'k [u8] {
    out.clear();
    out.extend_from_slice(key);
    if let Some(place) = out.get_mut(DEPTH..PLACE) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    out
}

/// Open spans of tracks, and threads of processors.
#[derive(Debug, Default)]
pub(super) struct NestedSpans {
    /// Number of open spans by track.
    depths: HashMap<Box<[u8]>, u32>,
    /// Thread that a processor runs, by the trace and the processor.
    running: HashMap<Box<[u8]>, Box<[u8]>>,
    /// Key of the span of a record.
    key: Vec<u8>,
}

impl NestedSpans {
    /// Notes the thread that a processor runs.
    pub(super) fn switch(&mut self, processor: &[u8], thread: &[u8], most: usize) {
        if self.running.len() >= most {
            self.running.clear();
        }
        self.running.insert(processor.into(), thread.into());
    }

    /// Returns the track of a record: that of the thread that runs on its processor, if it is known.
    pub(super) fn track(&mut self, does: u16, key: &[u8]) -> Vec<u8> {
        if does & does::OF_RUNNING == 0 {
            return key.to_vec();
        }
        let mut switched = key.to_vec();
        if let Some(place) = switched.get_mut(STREAM..KIND) {
            place.fill(0);
        }
        if let Some(place) = switched.get_mut(KIND) {
            *place = kind::SWITCH;
        }
        // Thread 0 is that of each idle processor.
        let is_idle = |thread: &[u8]| thread.iter().skip(1).all(|byte| *byte == 0);
        let Some(thread) = self.running.get(&*switched).filter(|thread| !is_idle(thread)) else {
            return key.to_vec();
        };
        switched.truncate(PLACE);
        if let Some(place) = switched.get_mut(KIND) {
            *place = kind::RUNNING;
        }
        switched.extend_from_slice(thread);
        switched
    }

    /// Returns the key of the span that begins on a track.
    pub(super) fn begin(&mut self, track: &[u8], most: usize) -> &[u8] {
        if self.depths.len() >= most && !self.depths.contains_key(track) {
            self.depths.clear();
        }
        let depth = self.depths.entry(track.into()).or_default();
        *depth = depth.saturating_add(1);
        let depth = *depth;
        self.span(track, depth)
    }

    /// Returns the key of the open span that ends on a track: the innermost one for which `is_it` returns `true`. Those
    /// in it have no end.
    pub(super) fn end(&mut self, track: &[u8], mut is_it: impl FnMut(&[u8]) -> bool) -> Option<&[u8]> {
        let open = *self.depths.get(track)?;
        for depth in (open.saturating_sub(SEARCHED) + 1..=open).rev() {
            if is_it(self.span(track, depth)) {
                match depth {
                    1 => self.depths.remove(track),
                    _ => self.depths.insert(track.into(), depth - 1),
                };
                return Some(&self.key);
            }
        }
        None
    }

    /// Makes the key of the span around one with a key; `None` for the outermost one.
    pub(super) fn around(key: &[u8]) -> Option<Vec<u8>> {
        let depth = u32::from_le_bytes(key.get(DEPTH..PLACE)?.try_into().ok()?);
        let outer = depth.checked_sub(1).filter(|outer| *outer > 0)?;
        let mut around = Vec::new();
        set_number(&mut around, key, outer);
        Some(around)
    }

    fn span(&mut self, track: &[u8], depth: u32) -> &[u8] {
        set_number(&mut self.key, track, depth)
    }
}
