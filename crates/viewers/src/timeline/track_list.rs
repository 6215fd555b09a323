//! Timeline tracks in order of occurrence.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use ichnos_model::DataStream;

use crate::event_track::event_track;
use ichnos_analysis::events::class::{EventPlace, is_named_process};
use ichnos_analysis::events::tracks::{TrackKind, track_id};

/// Maximum number of tracks. Events of further tracks are on their trace track.
const MOST_TRACKS: usize = 1 << 16;

/// Maximum length of track names in bytes.
const MOST_NAME: usize = 256;

ichnos_model::named_enum! {
    /// Kind of a [`Timeline`](super::Timeline) track.
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum TimelineTrackKind {
        /// A trace. It is the parent of the other tracks.
        Trace = "trace",
        /// A process.
        Process = "process",
        /// A thread.
        Thread = "thread",
        /// A processor: its events without a thread, or the threads that it ran.
        Processor = "processor",
        /// A data stream: events without a thread, process or processor.
        Stream = "stream",
        /// Keyed spans with the same name.
        Spans = "spans",
        /// States of the parent thread: *running*, *runnable* and others of
        /// [`ThreadState`](ichnos_analysis::events::ThreadState).
        States = "states",
        /// Running threads of the parent process, with a lane for each processor.
        Runs = "runs",
        /// Counter values.
        Counter = "counter",
        /// Losses and damage.
        Losses = "losses",
    }
}

/// A track of a [`Timeline`](super::Timeline).
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TimelineTrack {
    /// Kind of the track.
    pub kind: TimelineTrackKind,
    /// Number of the parent track, which is smaller than the track's own number.
    pub parent: Option<u32>,
    /// Displayed name.
    pub name: Arc<str>,
    /// Unit of counter values.
    pub unit: Option<Arc<str>>,
    /// Name in the trace, without the number. For a trace, its path.
    own_name: Arc<str>,
    /// Trace and processor whose running threads are on the track.
    pub(super) runs_on: Option<(u32, Option<u64>)>,
}

impl TimelineTrack {
    /// Returns `true` if the track shows the running threads of a processor.
    #[must_use]
    pub fn is_of_running_threads(&self) -> bool {
        self.runs_on.is_some()
    }
}

/// Tracks by id.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Debug, Default)]
pub(super) struct TrackList {
    pub(super) tracks: Vec<TimelineTrack>,
    numbers: HashMap<u64, u32>,
    /// Trace tracks by trace number. `None` for traces without an event so far.
    traces: Vec<Option<u32>>,
    /// Threads with a new track: trace, number and process.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) new_threads: Vec<(u32, u64, u64)>,
    /// Trace track by name. `None` if several traces have this name.
    trace_names: HashMap<Arc<str>, Option<u32>>,
}

fn short(name: &str) -> &str {
    name.get(..name.floor_char_boundary(MOST_NAME)).unwrap_or_default()
}

impl TrackList {
    /// Returns the track of a trace, and adds it if it is new.
    pub(super) fn add_trace(&mut self, trace: u32, stream: &DataStream) -> u32 {
        let index = trace as usize;
        if let Some(track) = self.traces.get(index).copied().flatten() {
            return track;
        }
        let trace = &stream.trace;
        let name = short(if trace.name.is_empty() { &trace.path } else { &trace.name });
        let with_path = |path: &str| Arc::from(short(&format!("{name} ({path})")));
        // Traces of the same host have the same name.
        let name = match self.trace_names.entry(name.into()) {
            Entry::Vacant(place) => {
                let name = Arc::clone(place.key());
                place.insert(Some(self.tracks.len() as u32));
                name
            }
            Entry::Occupied(mut place) => {
                let first = place.get_mut().take().and_then(|first| self.tracks.get_mut(first as usize));
                if let Some(first) = first {
                    first.name = with_path(&first.own_name);
                }
                with_path(&trace.path)
            }
        };
        let track = self.push(TimelineTrackKind::Trace, None, name);
        if let Some(track) = self.tracks.last_mut() {
            track.own_name = short(&trace.path).into();
        }
        // The trace of the first event can have any number.
        self.traces.resize(self.traces.len().max(index + 1), None);
        if let Some(known) = self.traces.get_mut(index) {
            *known = Some(track);
        }
        track
    }

    fn of_trace(&self, trace: u32) -> u32 {
        self.traces.get(trace as usize).copied().flatten().unwrap_or(0)
    }

    /// Returns the trace number of a trace track.
    pub(super) fn trace_of(&self, track: u32) -> Option<u32> {
        self.traces.iter().position(|known| *known == Some(track)).map(|trace| trace as u32)
    }

    fn push(&mut self, kind: TimelineTrackKind, parent: Option<u32>, name: Arc<str>) -> u32 {
        let (unit, own_name, runs_on) = (None, Arc::from(""), None);
        self.tracks.push(TimelineTrack { kind, parent, name, unit, own_name, runs_on });
        (self.tracks.len() - 1) as u32
    }

    /// Returns the track with an id. A new track is added with the parent and the name that `describe` returns. If
    /// there are too many tracks, returns the trace track instead.
    fn find(
        &mut self,
        id: u64,
        kind: TimelineTrackKind,
        trace: u32,
        describe: impl FnOnce(&mut Self) -> (Option<u32>, String),
    ) -> u32 {
        if let Some(track) = self.numbers.get(&id) {
            return *track;
        }
        if self.tracks.len() >= MOST_TRACKS {
            return self.of_trace(trace);
        }
        let (parent, name) = describe(self);
        let track = self.push(kind, parent, short(&name).into());
        self.numbers.insert(id, track);
        track
    }

    /// Renames a track if its name in the trace has changed. Returns `true` if it has.
    fn rename(&mut self, track: u32, own_name: &str, name: impl FnOnce(&str) -> String) -> bool {
        let own_name = short(own_name);
        let Some(track) = self.tracks.get_mut(track as usize) else { return false };
        let is_named = matches!(track.kind, TimelineTrackKind::Process | TimelineTrackKind::Thread);
        if own_name.is_empty() || !is_named || &*track.own_name == own_name {
            return false;
        }
        track.own_name = own_name.into();
        track.name = name(own_name).into();
        true
    }

    fn process(&mut self, trace: u32, process: u64, name: Option<&str>) -> u32 {
        let id = track_id(TrackKind::Process, [u64::from(trace), process]);
        let track = self.find(id, TimelineTrackKind::Process, trace, |tracks| {
            (Some(tracks.of_trace(trace)), format!("process {process}"))
        });
        self.rename(track, name.unwrap_or_default(), |name| match is_named_process(process) {
            true => name.to_owned(),
            false => format!("{name} ({process})"),
        });
        track
    }

    /// Returns the track of an event. The data stream number is stable across openings of the trace.
    pub(super) fn of_event(
        &mut self,
        (stream, number): (&DataStream, u32),
        place: &EventPlace<'_>,
        trace: u32,
    ) -> u32 {
        let (kind, id) = event_track(number, place, trace);
        if kind == TrackKind::Process {
            return self.process(trace, place.process.unwrap_or_default(), place.process_name);
        }
        let id = track_id(kind, [u64::from(trace), id]);
        let (kind, number) = match kind {
            TrackKind::Thread | TrackKind::LoneThread => (TimelineTrackKind::Thread, place.thread),
            TrackKind::Processor => (TimelineTrackKind::Processor, place.processor),
            _ => (TimelineTrackKind::Stream, None),
        };
        let number = number.unwrap_or_default();
        let track = self.find(id, kind, trace, |tracks| {
            let parent = match place.process.filter(|_| kind == TimelineTrackKind::Thread) {
                Some(process) => {
                    tracks.new_threads.push((trace, number, process));
                    tracks.process(trace, process, place.process_name)
                }
                None => tracks.of_trace(trace),
            };
            let name = match kind {
                TimelineTrackKind::Thread => format!("thread {number}"),
                TimelineTrackKind::Processor => format!("CPU {number}"),
                _ => stream.name.to_string(),
            };
            (Some(parent), name)
        });
        if let Some(name) = place.thread_name
            && self.rename(track, name, |name| format!("{name} ({number})"))
            && let (TimelineTrackKind::Thread, Some(process)) = (kind, place.process)
        {
            // A process has the name of its first thread.
            self.process(trace, process, place.process_name);
        }
        track
    }

    /// Returns the track of a thread, if it has one.
    pub(super) fn thread(&self, trace: u32, place: &EventPlace<'_>) -> Option<u32> {
        let (kind, id) = event_track(0, place, trace);
        self.numbers.get(&track_id(kind, [u64::from(trace), id])).copied()
    }

    /// Returns the track for the running threads of a processor.
    pub(super) fn of_processor(&mut self, trace: u32, processor: Option<u64>) -> u32 {
        let number = processor.map_or(0, |processor| processor.wrapping_add(1));
        let id = track_id(TrackKind::Operation, [u64::from(trace), number]);
        let track = self.find(id, TimelineTrackKind::Processor, trace, |tracks| {
            let name = match processor {
                Some(processor) => format!("CPU {processor} threads"),
                None => "threads".to_owned(),
            };
            (Some(tracks.of_trace(trace)), name)
        });
        if let Some(track) = self.tracks.get_mut(track as usize)
            && track.kind == TimelineTrackKind::Processor
        {
            track.runs_on = Some((trace, processor));
        }
        track
    }

    /// Returns the state track of a thread. `parent` is the track of the thread. `None` if there are too many tracks.
    pub(super) fn of_states(&mut self, trace: u32, thread: u64, parent: u32) -> Option<u32> {
        let id = track_id(TrackKind::States, [u64::from(trace), thread]);
        let track = self.find(id, TimelineTrackKind::States, trace, |_| (Some(parent), "states".to_owned()));
        let kind = self.tracks.get(track as usize)?.kind;
        (kind == TimelineTrackKind::States).then_some(track)
    }

    /// Returns the track for the running threads of a process. `None` if `process` is not a process track, or there are
    /// too many tracks.
    pub(super) fn of_runs(&mut self, trace: u32, process: u32) -> Option<u32> {
        let parent = self.tracks.get(process as usize)?;
        if parent.kind != TimelineTrackKind::Process {
            return None;
        }
        let id = track_id(TrackKind::Runs, [u64::from(trace), process.into()]);
        let describe = |_: &mut Self| (Some(process), "processors".to_owned());
        let track = self.find(id, TimelineTrackKind::Runs, trace, describe);
        (self.tracks.get(track as usize)?.kind == TimelineTrackKind::Runs).then_some(track)
    }

    /// Returns the track for keyed spans with a name.
    pub(super) fn of_spans(&mut self, trace: u32, place: &EventPlace<'_>, key: u64, name: &str) -> u32 {
        let process = place.process.map_or(0, |process| process.wrapping_add(1));
        let owner = track_id(TrackKind::Process, [u64::from(trace), process]);
        let id = track_id(TrackKind::Slice, [owner, key]);
        self.find(id, TimelineTrackKind::Spans, trace, |tracks| {
            (Some(tracks.owner(trace, place)), name.to_owned())
        })
    }

    /// Returns the track of a counter.
    pub(super) fn of_counter(
        &mut self,
        trace: u32,
        place: &EventPlace<'_>,
        key: u64,
        unit: Option<&str>,
        name: impl FnOnce() -> String,
    ) -> u32 {
        let processor = place.processor.filter(|_| place.process.is_none());
        let owner =
            [place.process, processor].map(|number| number.map_or(0, |number| number.wrapping_add(1)));
        let owner = track_id(TrackKind::Counter, owner) ^ u64::from(trace);
        let id = track_id(TrackKind::Counter, [owner, key]);
        let known = self.tracks.len();
        let track = self.find(id, TimelineTrackKind::Counter, trace, |tracks| {
            let of = processor.map_or(String::new(), |processor| format!(" of CPU {processor}"));
            (Some(tracks.owner(trace, place)), name() + &of)
        });
        if self.tracks.len() > known
            && let Some(track) = self.tracks.get_mut(track as usize)
        {
            track.unit = unit.map(|unit| short(unit).into());
        }
        track
    }

    /// Returns the process track of a place, or the trace track.
    fn owner(&mut self, trace: u32, place: &EventPlace<'_>) -> u32 {
        match place.process {
            Some(process) => self.process(trace, process, place.process_name),
            None => self.of_trace(trace),
        }
    }

    /// Returns the track for losses and damage.
    pub(super) fn of_losses(&mut self) -> u32 {
        let id = track_id(TrackKind::Losses, [0, 0]);
        self.find(id, TimelineTrackKind::Losses, 0, |_| (None, "losses and damage".to_owned()))
    }
}
