//! JSON Lines that resume in the middle of a timeline.
//!
//! Data streams are numbered by their start. Event record classes and call stacks have a line before their first event.
//! Each chunk writes such a line for the classes and stacks that are new in the chunk. If an earlier chunk has the same
//! line, the later line is removed.

use std::collections::HashSet;

use ichnos_export::parts::TextBuffer;
use ichnos_export::{Fixup, Resolution, ResumableSink, SinkState, StreamOrder, TextWriter};
use ichnos_model::DataStream;

use super::{JsonLines, LineStreamState};
use crate::number_set::NumberSet;

/// Introduced classes and stacks in a data stream.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamIntroductions {
    /// One bit for each of the first 64 event record classes.
    classes: u64,
    more: Option<Box<OtherIntroductions>>,
}

#[derive(Clone, Debug, Default)]
struct OtherIntroductions {
    /// Indexes for other event record classes.
    classes: HashSet<usize>,
    /// Call stack numbers.
    stacks: NumberSet,
}

impl StreamIntroductions {
    /// Adds an event record class. Returns `true` if it is new.
    #[inline]
    pub(super) fn add_class(&mut self, class: usize) -> bool {
        if class >= 64 {
            return self.more.get_or_insert_default().classes.insert(class);
        }
        let is_new = self.classes & 1 << class == 0;
        self.classes |= 1 << class;
        is_new
    }

    /// Adds a call stack. Returns `true` if it is new.
    pub(super) fn add_stack(&mut self, stack: u32) -> bool {
        self.more.get_or_insert_default().stacks.insert(stack)
    }
}

/// State of [`JsonLines`] that later lines depend on.
#[derive(Clone, Debug, Default)]
pub struct JsonLinesState {
    /// Introductions by data stream number.
    streams: Vec<StreamIntroductions>,
}

/// Class or call stack that a line of [`JsonLines`] introduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Introduction {
    /// Data stream number.
    stream: u64,
    subject: Subject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Event record class index.
    EventClass(usize),
    /// Call stack number.
    Stack(u32),
}

impl JsonLinesState {
    fn stream_mut(&mut self, number: u64) -> &mut StreamIntroductions {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        if self.streams.len() <= index {
            self.streams.resize_with(index + 1, StreamIntroductions::default);
        }
        &mut self.streams[index]
    }
}

impl SinkState for JsonLinesState {
    type Cause = Introduction;

    fn resolve(&mut self, cause: &Introduction, _: &mut Vec<u8>) -> Resolution {
        let stream = self.stream_mut(cause.stream);
        let is_new = match cause.subject {
            Subject::EventClass(class) => stream.add_class(class),
            Subject::Stack(stack) => stream.add_stack(stack),
        };
        if is_new { Resolution::Keep } else { Resolution::Remove }
    }

    fn then(self, later: Self) -> Self {
        // If a sink was resumed without a state, all its fixups are resolved.
        if later.streams.is_empty() { self } else { later }
    }
}

/// State of a resumed sink.
#[derive(Debug)]
pub(super) struct ResumptionState {
    order: StreamOrder,
    /// `None` if the earlier introductions are unknown.
    state: Option<JsonLinesState>,
    fixups: Vec<Fixup<Introduction>>,
    must_rewrite: bool,
}

impl ResumptionState {
    /// Returns the number of a data stream that has already started, and its introductions.
    pub(super) fn resume_stream(&mut self, stream: &DataStream) -> (u64, StreamIntroductions) {
        let Some(rank) = self.order.rank(stream) else {
            self.must_rewrite = true;
            return (0, StreamIntroductions::default());
        };
        let number = u64::from(rank.number);
        let introduced = self.state.as_mut().map(|state| std::mem::take(state.stream_mut(number)));
        // Without a state, nothing is introduced yet.
        (number, introduced.unwrap_or_default())
    }
}

/// Writes a line that introduces a class or a call stack.
#[cold]
pub(super) fn introduce<W: TextWriter>(
    output: &mut TextBuffer<W>,
    resumed: &mut Option<ResumptionState>,
    stream: u64,
    subject: Subject,
    push: impl FnOnce(&mut Vec<u8>),
) {
    let Some(resumed) = resumed.as_mut().filter(|resumed| resumed.state.is_none()) else {
        push(&mut output.buffer);
        return;
    };
    output.settle();
    let offset = output.position();
    push(&mut output.buffer);
    output.settle();
    let length = output.position() - offset;
    resumed.fixups.push(Fixup { offset, length, cause: Introduction { stream, subject } });
}

impl<W: TextWriter> ResumableSink for JsonLines<W> {
    type State = JsonLinesState;

    const NEEDS_ORDER: bool = true;

    fn resume(&mut self, order: &StreamOrder, state: Option<JsonLinesState>) {
        let order = order.clone();
        self.resumed = Some(ResumptionState { order, state, fixups: Vec::new(), must_rewrite: false });
    }

    #[inline]
    fn next_fixup(&mut self) -> Option<Fixup<Introduction>> {
        let fixups = &mut self.resumed.as_mut()?.fixups;
        if fixups.is_empty() { None } else { Some(fixups.remove(0)) }
    }

    #[inline]
    fn must_rewrite(&self) -> bool {
        self.resumed.as_ref().is_some_and(|resumed| resumed.must_rewrite)
    }

    fn state(&self) -> JsonLinesState {
        let mut state = match &self.resumed {
            Some(ResumptionState { state: None, .. }) => return JsonLinesState::default(),
            Some(ResumptionState { state: Some(state), .. }) => state.clone(),
            None => JsonLinesState::default(),
        };
        for LineStreamState { number, introduced, .. } in self.streams.states() {
            *state.stream_mut(*number) = introduced.clone();
        }
        state
    }
}
