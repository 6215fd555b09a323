//! Output-specific part of an encoder's state.

use super::StreamEncoder;
use crate::writer::class_set::ClassSet;
use crate::writer::packets::Packets;
use crate::writer::untimed::UntimedEvents;
use crate::writer::usage::{ExcessElements, LimitUsage};
use crate::writer::written_digest::WrittenDigest;
use ichnos_model::digest::TraceDigest;
use ichnos_model::lower::LossKind;
use std::sync::{Arc, Mutex};

/// State for a single output of an encoder that alternates between several parts.
#[derive(Debug)]
pub(in crate::writer) struct OutputState {
    pub(in crate::writer) lanes: Vec<Packets>,
    untimed: UntimedEvents,
    digest: Option<Box<WrittenDigest>>,
    most_elements: ExcessElements,
    written: ClassSet,
    moved_events: u64,
    has_copies: bool,
}

impl OutputState {
    /// Creates an empty state. `digest` receives the output's digest, if it is compared.
    pub(in crate::writer) fn new(digest: Option<&Arc<Mutex<TraceDigest>>>) -> Self {
        Self {
            lanes: vec![Packets::default()],
            untimed: UntimedEvents::default(),
            digest: digest.map(|all| Box::new(WrittenDigest::new(all))),
            most_elements: ExcessElements::default(),
            written: ClassSet::default(),
            moved_events: 0,
            has_copies: false,
        }
    }
}

impl StreamEncoder {
    /// Swaps the output state.
    pub(in crate::writer) fn swap_output(&mut self, other: &mut OutputState) {
        use std::mem::swap;
        swap(&mut self.lanes, &mut other.lanes);
        self.untimed.swap_times(&mut other.untimed);
        swap(&mut self.digest, &mut other.digest);
        swap(&mut self.most_elements, &mut other.most_elements);
        swap(&mut self.written, &mut other.written);
        swap(&mut self.moved_events, &mut other.moved_events);
        swap(&mut self.has_copies, &mut other.has_copies);
    }

    /// Ends the output, after all waiting data was written.
    pub(in crate::writer) fn end_output(&mut self, usage: &LimitUsage) {
        self.give_up_leading();
        if let Some(digest) = &mut self.digest {
            self.lanes
                .iter_mut()
                .flat_map(|packets| packets.uncertain.drain(..))
                .for_each(|event| digest.add(event));
            digest.finish(&self.classes);
        }
        if self.moved_events > 0 {
            let (count, field) = (self.moved_events, self.config.stream.name.to_string());
            let what = format!("events before earlier events -> {} data streams", self.lanes.len());
            self.config.lowered.record_losses(LossKind::Moved, "", &field, &what, count);
        }
        let written = self.written.iter().filter_map(|index| self.classes.get(index)?.as_ref());
        let written = written.map(|class| class.lowered.class().id);
        usage.add_events(self.config.header.class_id, written, self.has_copies, self.most_elements);
    }
}
