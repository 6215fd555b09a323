//! Event tracks.

use ichnos_analysis::events::class::EventPlace;
use ichnos_analysis::events::tracks::{TrackKind, track_id};

/// Returns the track of the thread, or else of the process, processor or data stream, with its kind. `stream`
/// identifies the data stream, and `trace` is the trace number.
pub(super) fn event_track(stream: u32, place: &EventPlace<'_>, trace: u32) -> (TrackKind, u64) {
    let (kind, numbers) = match (place.thread, place.process, place.processor) {
        (Some(thread), Some(process), _) => (TrackKind::Thread, [process, thread]),
        (Some(thread), None, _) => (TrackKind::LoneThread, [0, thread]),
        (None, Some(process), _) => (TrackKind::Process, [process, 0]),
        (None, None, Some(processor)) => (TrackKind::Processor, [trace.into(), processor]),
        (None, None, None) => (TrackKind::Stream, [stream.into(), 0]),
    };
    (kind, track_id(kind, numbers))
}

/// Value for the last place of a data stream. Successive events often have the same place.
#[derive(Debug)]
pub(super) struct LastPlace<T> {
    process: Option<u64>,
    thread: Option<u64>,
    processor: Option<u64>,
    process_name: LastName,
    thread_name: LastName,
    /// Number of track changes so far, and the value, once there is a place.
    entry: Option<(u64, T)>,
}

impl<T> Default for LastPlace<T> {
    fn default() -> Self {
        let [process_name, thread_name] = <[LastName; 2]>::default();
        Self { process: None, thread: None, processor: None, process_name, thread_name, entry: None }
    }
}

impl<T> LastPlace<T> {
    /// Returns the value for a place, if it is the last place and if no track changed since.
    #[inline]
    pub(super) fn get(&self, place: &EventPlace<'_>, changes: u64) -> Option<&T> {
        let (at, value) = self.entry.as_ref()?;
        let is_last = *at == changes
            && self.thread == place.thread
            && self.process == place.process
            && self.processor == place.processor
            && self.process_name.is(place.process_name)
            && self.thread_name.is(place.thread_name);
        is_last.then_some(value)
    }

    /// Returns the value for the last place.
    #[inline]
    pub(super) fn last(&self) -> Option<&T> {
        self.entry.as_ref().map(|(_, value)| value)
    }

    /// Removes the value for the last place.
    #[inline]
    pub(super) fn take(&mut self) -> Option<T> {
        self.entry.take().map(|(_, value)| value)
    }

    /// Replaces the place and its value.
    #[inline(never)]
    pub(super) fn set(&mut self, place: &EventPlace<'_>, changes: u64, value: T) {
        (self.process, self.thread, self.processor) = (place.process, place.thread, place.processor);
        self.process_name.set(place.process_name);
        self.thread_name.set(place.thread_name);
        self.entry = Some((changes, value));
    }
}

/// Last name. The buffer is reused.
#[derive(Debug, Default)]
pub(super) struct LastName {
    is_known: bool,
    name: String,
}

impl LastName {
    /// Returns `true` for the last name.
    #[inline]
    pub(super) fn is(&self, name: Option<&str>) -> bool {
        match name {
            Some(name) => self.is_known && self.name == name,
            None => !self.is_known,
        }
    }

    /// Replaces the name.
    pub(super) fn set(&mut self, name: Option<&str>) {
        self.is_known = name.is_some();
        self.name.clear();
        self.name.push_str(name.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_last_one_until_tracks_change() {
        let place =
            EventPlace { process: Some(1), thread: Some(2), thread_name: Some("a"), ..EventPlace::default() };
        let mut last = LastPlace::default();
        assert_eq!((last.get(&EventPlace::default(), 0), last.last()), (None, None));
        last.set(&place, 0, 'x');
        assert_eq!((last.get(&place, 0), last.get(&place, 1), last.last()), (Some(&'x'), None, Some(&'x')));
        for other in [
            EventPlace { process: None, ..place },
            EventPlace { process: Some(2), ..place },
            EventPlace { thread: Some(1), ..place },
            EventPlace { processor: Some(0), ..place },
            EventPlace { process_name: Some(""), ..place },
            EventPlace { thread_name: Some("b"), ..place },
            EventPlace { thread_name: None, ..place },
        ] {
            assert_eq!(last.get(&other, 0), None, "{other:?}");
            last.set(&other, 0, 'y');
            assert_eq!((last.get(&other, 0), last.get(&place, 0)), (Some(&'y'), None));
            last.set(&place, 0, 'x');
            assert_eq!(last.get(&place, 0), Some(&'x'));
        }
    }
}
