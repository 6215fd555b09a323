//! Queue between the receiving thread and the feed.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::ctf::live::LostPacket;
use ichnos_model::locks::IgnorePoison as _;

/// Packet bytes that wait, in total, from which data streams are paused. Each gets an equal share.
const SHARED_BYTES: usize = 64 << 20;

/// Bytes that may wait in total. More wait only if single packets are very large.
const MOST_BYTES: usize = 512 << 20;

/// Memory of an item without its bytes.
const ITEM_BYTES: usize = 256;

/// What the receiving thread passes on. Traces and data streams have keys of their own.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    TraceBegin {
        trace: u64,
        path: String,
    },
    Metadata {
        trace: u64,
        bytes: Vec<u8>,
    },
    TraceEnd {
        trace: u64,
    },
    StreamBegin {
        stream: u64,
        trace: u64,
        file: String,
        /// Number in the relay daemon.
        number: u64,
    },
    Packet {
        stream: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
    PacketLost {
        stream: u64,
        place: LostPacket,
        reason: String,
    },
    Inactive {
        stream: u64,
        class_id: u64,
        time: u64,
    },
    StreamEnd {
        stream: u64,
    },
    /// The end of everything, with the error that caused it.
    End(Option<String>),
}

impl Received {
    /// Returns its size, and the data stream that it belongs to.
    fn size(&self) -> (usize, Option<u64>) {
        let (bytes, stream) = match self {
            Self::Packet { stream, bytes, .. } => (bytes.len(), Some(*stream)),
            Self::PacketLost { stream, .. } => (LostPacket::MEMORY, Some(*stream)),
            Self::Metadata { bytes, .. } => (bytes.len(), None),
            _ => (0, None),
        };
        (bytes.saturating_add(ITEM_BYTES), stream)
    }
}

/// Queue of a limited size. It never blocks the feed.
#[derive(Debug, Default)]
pub(super) struct ReceivedQueue {
    state: Mutex<ReceivedItems>,
    /// Signals that data was read.
    was_read: Condvar,
}

#[derive(Debug, Default)]
struct ReceivedItems {
    items: VecDeque<Received>,
    /// Bytes in the items, and bytes of packets and losses that were taken but not read yet.
    bytes: usize,
    /// Bytes of packets and losses that were not read yet, by data stream.
    unread: HashMap<u64, usize>,
    is_stopped: bool,
    /// Since when the thread is connected. It stays so after its end.
    connected: Option<Instant>,
    live_timer: Duration,
}

impl ReceivedQueue {
    fn lock(&self) -> MutexGuard<'_, ReceivedItems> {
        self.state.lock().ignore_poison()
    }

    /// Appends an item.
    pub(super) fn push(&self, item: Received) {
        let mut state = self.lock();
        if let Received::Inactive { stream, .. } = item {
            // Of several times in succession, only the last counts.
            let is_time = |other: &&mut Received| matches!(other, Received::Inactive { .. });
            let is_same = |other: &&mut Received| matches!(other, Received::Inactive { stream: own, .. } if *own == stream);
            if let Some(same) = state.items.iter_mut().rev().take_while(is_time).find(is_same) {
                *same = item;
                return;
            }
        }
        let (bytes, stream) = item.size();
        state.bytes = state.bytes.saturating_add(bytes);
        if let Some(stream) = stream {
            let unread = state.unread.entry(stream).or_default();
            *unread = unread.saturating_add(bytes);
        }
        state.items.push_back(item);
    }

    /// Takes all items.
    pub(super) fn take(&self) -> VecDeque<Received> {
        let mut state = self.lock();
        let items = std::mem::take(&mut state.items);
        let sizes = items.iter().map(Received::size).filter(|(_, stream)| stream.is_none());
        let bytes = sizes.fold(0, |sum: usize, (bytes, _)| sum.saturating_add(bytes));
        state.bytes = state.bytes.saturating_sub(bytes);
        items
    }

    /// Notes that packets and losses of data streams were read, with their sizes.
    pub(super) fn note_read(&self, read: &[(u64, usize)]) {
        let mut state = self.lock();
        for (stream, bytes) in read {
            let bytes = bytes.saturating_add(ITEM_BYTES);
            state.bytes = state.bytes.saturating_sub(bytes);
            if let Some(unread) = state.unread.get_mut(stream) {
                *unread = unread.saturating_sub(bytes);
                if *unread == 0 {
                    state.unread.remove(stream);
                }
            }
        }
        self.was_read.notify_all();
    }

    /// Returns the data streams that are so far ahead of others that they should be paused. There are `streams` data
    /// streams.
    pub(super) fn ahead(&self, streams: usize) -> BTreeSet<u64> {
        let share = SHARED_BYTES / streams.max(1);
        let state = self.lock();
        state.unread.iter().filter(|(_, unread)| **unread >= share).map(|(stream, _)| *stream).collect()
    }

    /// Waits until there is room. Returns `false` if nothing was read for `timeout`.
    pub(super) fn wait_for_room(&self, timeout: Duration) -> bool {
        let mut state = self.lock();
        let mut before = usize::MAX;
        while state.bytes > MOST_BYTES && !state.is_stopped {
            if state.bytes >= before {
                return false;
            }
            before = state.bytes;
            let bytes = before;
            let waiting = self
                .was_read
                .wait_timeout_while(state, timeout, |state| state.bytes >= bytes && !state.is_stopped);
            state = waiting.ignore_poison().0;
        }
        true
    }

    /// Notes that the thread is connected, and the time between two signs of life of the session.
    pub(super) fn connect(&self, live_timer: Duration) {
        let mut state = self.lock();
        (state.connected, state.live_timer) = (Some(Instant::now()), live_timer);
    }

    /// Notes that the thread tries to connect.
    pub(super) fn disconnect(&self) {
        self.lock().connected = None;
    }

    /// Returns how long the thread has been connected.
    pub(super) fn connected_for(&self) -> Option<Duration> {
        Some(self.lock().connected?.elapsed())
    }

    pub(super) fn live_timer(&self) -> Duration {
        self.lock().live_timer
    }

    /// Returns `true` if nothing more will be received, although the thread has not ended.
    pub(super) fn is_given_up(&self) -> bool {
        let state = self.lock();
        state.is_stopped && state.connected.is_none()
    }

    /// Asks the receiving thread to end.
    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
        self.was_read.notify_all();
    }

    /// Returns `true` if the receiving thread should end.
    pub(super) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(stream: u64, bytes: usize) -> Received {
        Received::Packet { stream, offset: 0, bytes: vec![0; bytes] }
    }

    #[test]
    fn what_is_ahead_waits_for_its_reader() {
        let queue = ReceivedQueue::default();
        queue.push(packet(1, SHARED_BYTES / 2));
        queue.push(packet(2, 1));
        assert_eq!(queue.ahead(2), BTreeSet::from([1]));
        assert!(queue.ahead(1).is_empty());
        assert_eq!(queue.take().len(), 2);
        // What was taken still takes memory.
        assert_eq!(queue.ahead(2), BTreeSet::from([1]));
        queue.note_read(&[(1, SHARED_BYTES / 2), (2, 1)]);
        assert!(queue.ahead(2).is_empty());
        let state = queue.lock();
        assert_eq!((state.bytes, state.unread.len()), (0, 0));
    }

    /// A relay daemon could report losses without end, while nothing is read.
    #[test]
    fn losses_count_until_they_are_read() {
        let queue = ReceivedQueue::default();
        let lost = SHARED_BYTES / LostPacket::MEMORY;
        for _ in 0..lost {
            let place = LostPacket { offset: 0, bytes: 1, class_id: 0, end: 0 };
            queue.push(Received::PacketLost { stream: 1, place, reason: String::new() });
        }
        assert_eq!(queue.take().len(), lost);
        assert_eq!(queue.ahead(1), BTreeSet::from([1]));
        (0..lost).for_each(|_| queue.note_read(&[(1, LostPacket::MEMORY)]));
        assert!(queue.ahead(1).is_empty() && queue.lock().bytes == 0);
    }

    #[test]
    fn too_much_is_waited_for_and_refused() {
        let queue = ReceivedQueue::default();
        let short = Duration::from_millis(1);
        assert!(queue.wait_for_room(short));
        (0..9).for_each(|stream| queue.push(packet(stream, SHARED_BYTES)));
        assert!(!queue.wait_for_room(short));
        queue.note_read(&[(0, SHARED_BYTES), (1, SHARED_BYTES)]);
        assert!(queue.wait_for_room(short));
        queue.push(packet(0, SHARED_BYTES));
        queue.push(packet(1, SHARED_BYTES));
        queue.stop();
        assert!(queue.wait_for_room(short) && queue.is_stopped());
    }

    #[test]
    fn attempts_to_connect_are_not_waited_for() {
        let queue = ReceivedQueue::default();
        assert!(!queue.is_given_up());
        queue.connect(Duration::from_secs(1));
        queue.stop();
        assert!(!queue.is_given_up() && queue.live_timer() == Duration::from_secs(1));
        queue.disconnect();
        assert!(queue.is_given_up());
    }

    #[test]
    fn times_do_not_pile_up() {
        let queue = ReceivedQueue::default();
        for time in 0..1000 {
            queue.push(Received::Inactive { stream: time % 3, class_id: 0, time });
        }
        queue.push(packet(0, 1));
        queue.push(Received::Inactive { stream: 0, class_id: 0, time: 1000 });
        assert_eq!(queue.take().len(), 5);
    }
}
