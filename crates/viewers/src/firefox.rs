//! Firefox profiles.

mod intervals;
mod json_serializer;
mod marker_class;
mod marker_values;
mod markers;
mod profile_writer;
mod threads;

use std::io;

use ichnos_model::lower::LossTable;
use ichnos_model::{DataStream, Event};

use self::marker_class::MarkerClass;
use self::profile_writer::{EventAtPlace, FirefoxStream, ProfileWriter};
use crate::viewer_file::{EventAt, ShownEvent, Viewer, ViewerFile, ViewerStart, start_file};
use ichnos_analysis::events::class::{EventPlace, ViewerClass};
use ichnos_analysis::events::losses::LossNote;
use ichnos_analysis::events::scheduling::EventLocation;
use ichnos_analysis::tasks::EventContent;

/// Starts a profile for the Firefox Profiler: markers with fields, intervals, samples, counters.
///
/// The whole profile is in memory, with at most 16,777,216 values (8 for each event, and one for each field) and 256
/// MiB of text. Further events are losses. All bytes are written at the end.
#[must_use]
pub fn firefox(start: ViewerStart) -> Box<dyn ViewerFile> {
    start_file(Firefox::default(), start.first_time)
}

/// Viewer that adds events to a profile.
#[derive(Debug, Default)]
struct Firefox {
    out: Vec<u8>,
    writer: ProfileWriter,
    content: EventContent,
}

impl Viewer for Firefox {
    type Class = MarkerClass;
    type Stream = FirefoxStream;

    fn content(&self) -> (&Vec<u8>, &LossTable) {
        (&self.out, &self.writer.losses)
    }

    fn content_mut(&mut self) -> (&mut Vec<u8>, &mut LossTable) {
        (&mut self.out, &mut self.writer.losses)
    }

    fn class(&mut self, event: &Event<'_>) -> MarkerClass {
        self.writer.class(event)
    }

    fn viewer_class(class: &MarkerClass) -> &ViewerClass {
        &class.class
    }

    fn stream(&mut self, stream: &DataStream, trace: u32, _: u64) -> FirefoxStream {
        if trace == 0 {
            self.writer.set_title(&stream.trace);
        }
        FirefoxStream::default()
    }

    fn event(&mut self, shown: &ShownEvent<'_, '_, MarkerClass>, stream: &mut FirefoxStream) -> bool {
        let ShownEvent { at: EventAt { event, trace, time }, class, ref location } = *shown;
        if let Some(tasks) = &class.class.tasks {
            tasks.read(event, &[], &mut self.content);
            self.writer.record_lost_flow(event, &self.content);
        }
        let EventLocation { place, context, own_name: name, .. } = *location;
        self.writer.event(EventAtPlace { event, class, place, context, trace, name }, time, stream)
    }

    fn end_thread(&mut self, at: EventAt<'_, '_>, ended: &EventPlace<'_>, _: &mut FirefoxStream) {
        self.writer.end_thread(at.event, ended, at.trace);
    }

    fn loss(&mut self, note: &LossNote, time: u64) {
        self.writer.loss(note, time);
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer.finish(&mut self.out)
    }
}
