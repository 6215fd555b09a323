//! Spans between start and end events.

use std::collections::HashMap;

use ichnos_model::meaning::{EventRole, EventTrack, Meaning};
use ichnos_model::{DataStream, Event};

use super::key::KeyField;
use super::pair_flags;
use crate::span_name::has_span_name;

/// Maximum number of names that are searched for the span of an end event.
const SEARCHED: u32 = 64;

/// Span fields in an event record class.
#[derive(Debug)]
pub(super) struct SpanFields {
    pub(super) flags: u16,
    kind: u8,
    /// Fields that identify the span or its track.
    pub(super) keys: Box<[Option<KeyField>]>,
    /// Field with the thread that a processor runs after a switch event.
    next: Option<KeyField>,
}

impl SpanFields {
    /// Finds the span fields in the event's class.
    pub(super) fn new(event: &Event<'_>) -> Self {
        let class = event.class;
        let mut flags = match class.role {
            EventRole::Begin => pair_flags::BEGIN,
            EventRole::End => pair_flags::END,
            EventRole::Switch => pair_flags::SWITCH,
            _ => return Self { flags: 0, kind: kind::TRACE, keys: Box::default(), next: None },
        };
        let field = |meaning| KeyField::for_meaning(event, meaning);
        let track = class.display.as_deref().map_or(EventTrack::default(), |display| display.track);
        let keys: Vec<_> = class.meanings.members(Meaning::PairKey).collect();
        let mut fields = Vec::new();
        let kind;
        if flags & pair_flags::SWITCH != 0 {
            kind = kind::SWITCH;
            fields.extend(KeyField::for_processor(event).map(Some));
        } else if !keys.is_empty() {
            kind = kind::KEYED;
            let process = field(Meaning::Process).filter(|_| track != EventTrack::Trace);
            fields.extend(process.map(Some));
            fields.extend(keys.into_iter().map(|key| KeyField::for_member(event, key)));
        } else {
            flags |= pair_flags::NESTED;
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
                    fields.extend(KeyField::for_processor(event).map(Some));
                    if track == EventTrack::Thread {
                        flags |= pair_flags::OF_RUNNING;
                    }
                    kind::PROCESSOR
                }
            };
        }
        if flags & pair_flags::END != 0 && !has_span_name(event) {
            flags |= pair_flags::UNNAMED;
        }
        let next = field(Meaning::TargetThread).or_else(|| field(Meaning::Thread));
        Self { flags, kind, keys: fields.into(), next }
    }

    /// Appends the key prefix that distinguishes traces and data streams.
    pub(super) fn push_place(&self, key: &mut Vec<u8>, stream: &DataStream, trace: u64) {
        key.extend_from_slice(&trace.to_le_bytes());
        // Spans without a key or a thread are nested in their data stream.
        let is_of_stream = self.kind == kind::PROCESSOR && self.keys.is_empty();
        key.extend_from_slice(&if is_of_stream { u64::from(stream.key) + 1 } else { 0 }.to_le_bytes());
        key.push(self.kind);
        key.extend_from_slice(&[0; 4]);
    }

    /// Appends the thread that the processor runs after a switch event.
    pub(super) fn push_next(&self, out: &mut Vec<u8>, event: &Event<'_>) {
        if let Some(next) = &self.next {
            next.push(out, event);
        }
    }
}

/// Track kinds. Different kinds have different keys.
mod kind {
    pub(super) const KEYED: u8 = 0;
    pub(super) const THREAD: u8 = 1;
    pub(super) const PROCESS: u8 = 2;
    pub(super) const PROCESSOR: u8 = 3;
    pub(super) const TRACE: u8 = 4;
    /// Thread switch on a processor.
    pub(super) const SWITCH: u8 = 5;
    /// A processor's running thread.
    pub(super) const RUNNING: u8 = 6;
}

/// Returns `true` for a key of a thread's track. Its last values are the thread.
pub(super) fn is_of_thread(key: &[u8]) -> bool {
    key.get(KIND).is_some_and(|kind| matches!(*kind, kind::THREAD | kind::RUNNING))
}

/// Length of the key prefix from [`SpanFields::push_place`], in bytes: trace, data stream, track kind, and the nesting
/// depth, or the name number of a keyed span.
pub(super) const PLACE: usize = DEPTH + 4;
const STREAM: usize = 8;
const KIND: usize = 16;
const DEPTH: usize = KIND + 1;

/// Maximum number of keyed span names.
const MOST_NAMES: usize = 1 << 12;

/// Keyed span names. Open spans with different names can share a key.
#[derive(Debug, Default)]
pub(super) struct SpanNames {
    numbers: HashMap<Box<[u8]>, u32>,
    /// By name number: `true` if the name starts spans, and if it ends spans.
    uses: Vec<[bool; 2]>,
    /// Buffer for a span key.
    key: Vec<u8>,
}

impl SpanNames {
    /// Returns a name's number. Records that the name starts or ends spans.
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

    /// Returns the key of a span that starts, with its name number.
    pub(super) fn begin(&mut self, key: &[u8], name: &[u8]) -> &[u8] {
        let number = self.number(name, true);
        set_number(&mut self.key, key, number)
    }

    /// Returns the key of the span that an end event closes: the span with the same key and name.
    ///
    /// If the end is unnamed, or no span started with its name, it closes the last span whose name no end event uses.
    /// An unnamed end falls back to the last span with the key. `opened` returns the number of an open span. Later
    /// spans have greater numbers.
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

/// Replaces the depth in a key with a name number.
fn set_number<'k>(out: &'k mut Vec<u8>, key: &[u8], number: u32) -> &'k [u8] {
    out.clear();
    out.extend_from_slice(key);
    if let Some(place) = out.get_mut(DEPTH..PLACE) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    out
}

/// Open nested spans by track, and the running thread by processor.
#[derive(Debug, Default)]
pub(super) struct NestedSpanKeys {
    /// Nesting depth by track.
    depths: HashMap<Box<[u8]>, u32>,
    /// Running thread by processor. The key includes the trace.
    running: HashMap<Box<[u8]>, Box<[u8]>>,
    /// Buffer for a span key.
    key: Vec<u8>,
}

impl NestedSpanKeys {
    /// Records a processor's running thread.
    pub(super) fn switch(&mut self, processor: &[u8], thread: &[u8], most: usize) {
        if self.running.len() >= most {
            self.running.clear();
        }
        self.running.insert(processor.into(), thread.into());
    }

    /// Returns the track of a record: the running thread of its processor, if known.
    pub(super) fn track(&mut self, flags: u16, key: &[u8]) -> Vec<u8> {
        if flags & pair_flags::OF_RUNNING == 0 {
            return key.to_vec();
        }
        let mut switched = key.to_vec();
        if let Some(place) = switched.get_mut(STREAM..KIND) {
            place.fill(0);
        }
        if let Some(place) = switched.get_mut(KIND) {
            *place = kind::SWITCH;
        }
        // Thread 0 is the idle thread of each processor.
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

    /// Starts a span on a track and returns its key.
    pub(super) fn begin(&mut self, track: &[u8], most: usize) -> &[u8] {
        if self.depths.len() >= most && !self.depths.contains_key(track) {
            self.depths.clear();
        }
        let depth = self.depths.entry(track.into()).or_default();
        *depth = depth.saturating_add(1);
        let depth = *depth;
        self.span(track, depth)
    }

    /// Ends a span on a track and returns its key. The innermost span for which `is_it` returns `true` ends. Spans
    /// nested in it end without an end event.
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

    /// Returns the key of the enclosing span. `None` for the outermost span.
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
