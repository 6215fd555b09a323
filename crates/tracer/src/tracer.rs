//! Tracer for programs without an operating system.

use core::marker::PhantomData;

use crate::event_set::{EventSet, InEventSet};
use crate::packet_queue::{EventRoom, PacketQueue};
use crate::stream_options::StreamOptions;

/// What a tracer needs from the system.
///
/// # For implementations
///
/// Both methods are called while an event is recorded, so they must not wait for long.
pub trait Platform {
    /// Returns the time, in cycles of the clock that the metadata describes. A time before the previous one counts as
    /// the previous one.
    fn now(&mut self) -> u64;

    /// Takes a packet, or returns `false` to be asked again later. The packet must not be taken in part.
    fn take(&mut self, packet: &[u8]) -> bool;
}

/// Records events of a set `S` in packets, in a buffer of the caller.
///
/// A tracer is one data stream. Code that can interrupt an event needs its own tracer, or a critical section around
/// [`record`](Self::record): each processor and each interrupt priority, for example, has a tracer.
///
/// ```
/// use ichnos_tracer::{Platform, StreamOptions, TraceEvent, Tracer};
///
/// #[derive(TraceEvent)]
/// struct Tick { number: u32, load: f32 }
/// ichnos_tracer::event_set! { struct Events { Tick } }
///
/// struct Serial { cycles: u64, sent: usize }
/// impl Platform for Serial {
///     fn now(&mut self) -> u64 { self.cycles += 1; self.cycles }
///     fn take(&mut self, packet: &[u8]) -> bool { self.sent += packet.len(); true }
/// }
///
/// let mut buffer = [0; 512];
/// let serial = Serial { cycles: 0, sent: 0 };
/// let mut tracer = Tracer::<_, Events>::new(serial, &mut buffer, 256, StreamOptions::new(0));
/// assert!(tracer.record(&Tick { number: 1, load: 0.5 }));
/// tracer.flush();
/// assert_eq!(tracer.platform().sent, 40 + 6 + 8 + 2);
/// ```
#[derive(Debug)]
pub struct Tracer<'b, P, S> {
    platform: P,
    queue: PacketQueue<'b>,
    set: PhantomData<fn() -> S>,
}

impl<'b, P: Platform, S: EventSet> Tracer<'b, P, S> {
    /// Creates a tracer with as many packets as the buffer has room for. With a single packet, events are discarded
    /// while the platform does not take it. A packet of less than 64 bytes is too small, and takes no event.
    pub fn new(platform: P, buffer: &'b mut [u8], packet_size: usize, options: StreamOptions) -> Self {
        Self { platform, queue: PacketQueue::new(buffer, packet_size, options), set: PhantomData }
    }

    /// Records an event. Returns `false` if it was discarded, because it is larger than a packet or no packet is free.
    #[inline]
    pub fn record<E: InEventSet<S>>(&mut self, event: &E) -> bool {
        let now = self.queue.not_earlier(self.platform.now());
        let room = EventRoom {
            id: E::ID,
            alignment: E::ALIGNMENT,
            size: E::FIXED.saturating_add(event.variable_size()),
        };
        if !self.queue.has_room(now, room) && !self.make_room(now, room) {
            return false;
        }
        event.write(self.queue.begin_event(now, room));
        self.queue.end_event(now, room);
        true
    }

    /// Begins a packet for an event, unless there is none.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, now: u64, room: EventRoom) -> bool {
        if self.queue.takes(room) {
            self.queue.close();
            self.poll();
            if self.queue.open(now) {
                return true;
            }
        }
        self.queue.discard();
        false
    }

    /// Offers packets to the platform again that it did not take before.
    pub fn poll(&mut self) {
        while let Some(packet) = self.queue.oldest() {
            if !self.platform.take(packet) {
                return;
            }
            self.queue.remove_oldest();
        }
    }

    /// Offers all packets to the platform, also the one that is not full. Returns `true` if it has taken all of them.
    ///
    /// If events were discarded since the last packet began, an empty packet tells how many, unless no packet is free.
    pub fn flush(&mut self) -> bool {
        self.queue.close();
        self.poll();
        if self.queue.can_tell_discarded() {
            let now = self.queue.not_earlier(self.platform.now());
            self.queue.open(now);
            self.queue.close();
            self.poll();
        }
        self.queue.oldest().is_none()
    }

    /// Returns the number of discarded events.
    #[must_use]
    pub fn discarded(&self) -> u32 {
        self.queue.discarded()
    }

    /// Returns the platform.
    #[must_use]
    pub fn platform(&self) -> &P {
        &self.platform
    }

    /// Returns the platform.
    pub fn platform_mut(&mut self) -> &mut P {
        &mut self.platform
    }
}
