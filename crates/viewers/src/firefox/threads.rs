//! Processes and threads of a profile.

use std::collections::HashMap;

use fxprof_processed_profile as fx;
use ichnos_model::DataStream;

use crate::event_track::{LastPlace, event_track};
use ichnos_analysis::events::class::EventPlace;
use ichnos_analysis::events::tracks::{TrackKind, Tracks, track_id};

/// Maximum number of threads. Viewers show each thread as a row.
const MOST: usize = 10_000;

/// Processes and threads by track.
#[derive(Debug, Default)]
pub(super) struct ProfileThreads {
    processes: HashMap<u64, fx::ProcessHandle>,
    /// First process.
    first: Option<fx::ProcessHandle>,
    threads: HashMap<u64, fx::ThreadHandle>,
    names: Tracks,
}

/// Returns a process or thread number, or 0 if it is unknown or needs more than 32 bits.
fn short(number: Option<u64>) -> u32 {
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

impl ProfileThreads {
    /// Returns the process and thread of an event, or `None` if there are too many threads. `last` is the last place of
    /// its data stream.
    #[inline]
    pub(super) fn of_event(
        &mut self,
        profile: &mut fx::Profile,
        stream: &DataStream,
        (place, last): (&EventPlace<'_>, &mut LastPlace<(fx::ProcessHandle, fx::ThreadHandle)>),
        trace: u32,
        time: fx::Timestamp,
    ) -> Option<(fx::ProcessHandle, fx::ThreadHandle)> {
        if let Some(found) = last.get(place, self.names.changes()) {
            return Some(*found);
        }
        let found = self.of_place(profile, stream, place, trace, time)?;
        last.set(place, self.names.changes(), found);
        Some(found)
    }

    #[inline(never)]
    fn of_place(
        &mut self,
        profile: &mut fx::Profile,
        stream: &DataStream,
        place: &EventPlace<'_>,
        trace: u32,
        time: fx::Timestamp,
    ) -> Option<(fx::ProcessHandle, fx::ThreadHandle)> {
        let process = self.process(profile, place, time);
        let (kind, track) = event_track(stream.key, place, trace);
        let thread = match self.threads.get(&track) {
            Some(thread) => *thread,
            None => {
                // The main thread has the number of its process.
                let is_main =
                    kind == TrackKind::Process || place.thread.is_some() && place.thread == place.process;
                let number = short(place.thread.or(place.process));
                let thread = self.add(profile, track, process, number, time, is_main)?;
                let name = match (kind, place.thread, place.processor) {
                    (TrackKind::Processor, _, Some(processor)) => format!("CPU {processor}"),
                    (TrackKind::Stream, ..) => stream.name.to_string(),
                    (_, Some(number), _) => format!("thread {number}"),
                    _ => "events of the process".to_owned(),
                };
                profile.set_thread_name(thread, &name);
                thread
            }
        };
        if let Some(name) = place.thread_name.filter(|name| !name.is_empty())
            && self.names.is_changed(track, name)
        {
            profile.set_thread_name(thread, name);
        }
        Some((process, thread))
    }

    /// Returns the thread of a named track without a process.
    pub(super) fn named(
        &mut self,
        profile: &mut fx::Profile,
        track: u64,
        name: &str,
        time: fx::Timestamp,
    ) -> Option<fx::ThreadHandle> {
        if let Some(thread) = self.threads.get(&track) {
            return Some(*thread);
        }
        let process = self.process(profile, &EventPlace::default(), time);
        let thread = self.add(profile, track, process, 0, time, false)?;
        profile.set_thread_name(thread, name);
        Some(thread)
    }

    fn add(
        &mut self,
        profile: &mut fx::Profile,
        track: u64,
        process: fx::ProcessHandle,
        number: u32,
        time: fx::Timestamp,
        is_main: bool,
    ) -> Option<fx::ThreadHandle> {
        if self.threads.len() >= MOST {
            return None;
        }
        let thread = profile.add_thread(process, number, time, is_main);
        // By default, viewers show markers only in the timelines of main threads.
        profile.set_thread_show_markers_in_timeline(thread, true);
        self.threads.insert(track, thread);
        Some(thread)
    }

    /// Returns the process of an event, with its name.
    fn process(
        &mut self,
        profile: &mut fx::Profile,
        place: &EventPlace<'_>,
        time: fx::Timestamp,
    ) -> fx::ProcessHandle {
        let number = place.process.map_or(0, |process| process.wrapping_add(1));
        let track = track_id(TrackKind::Process, [number, 1]);
        // Processes have the same limit as threads. Further events lack a thread and are lost.
        let common = self.first.filter(|_| self.processes.len() >= MOST);
        let known = self.processes.get(&track).copied().or(common);
        let process = known.unwrap_or_else(|| {
            let name = place.process.map_or("events".to_owned(), |process| format!("process {process}"));
            let process = profile.add_process(&name, short(place.process), time);
            self.processes.insert(track, process);
            self.first.get_or_insert(process);
            process
        });
        if let Some(name) = place.process_name.filter(|name| !name.is_empty())
            && self.names.is_changed(track, name)
        {
            profile.set_process_name(process, name);
        }
        process
    }
}
