//! Packets in a buffer: one that grows, and full ones that wait for the platform.

use crate::packet::{
    CONTENT, DISCARDED, END_TIME, EVENT_HEAD, HEAD, LARGEST, MOST_CYCLES, PacketHead, TOTAL, aligned, bits,
    event_head, put,
};
use crate::stream_options::{FullPolicy, StreamOptions};

/// What an event needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventRoom {
    pub(crate) id: u16,
    /// Alignment of the payload in bytes.
    pub(crate) alignment: usize,
    /// Bytes of the payload.
    pub(crate) size: usize,
}

impl EventRoom {
    /// Returns where the payload begins and ends if the event record begins at a byte of its packet.
    #[inline]
    fn payload(&self, begin: usize) -> (usize, usize) {
        let begin = aligned(begin + EVENT_HEAD, self.alignment);
        (begin, begin.saturating_add(self.size))
    }
}

/// Packets in a buffer.
#[derive(Debug)]
pub(crate) struct PacketQueue<'b> {
    buffer: &'b mut [u8],
    /// Bytes of a packet: a multiple of 8.
    packet_size: usize,
    /// Number of packets.
    count: usize,
    /// Byte of the oldest packet.
    oldest: usize,
    /// Number of packets that wait.
    waiting: usize,
    /// Byte of the growing packet, or of the next one.
    current: usize,
    /// Bytes in the growing packet, or 0 if there is none.
    filled: usize,
    /// Time of the last event.
    last: u64,
    sequence: u32,
    discarded: u32,
    /// Number of discarded events in the last packet.
    told: u32,
    options: StreamOptions,
}

impl<'b> PacketQueue<'b> {
    pub(crate) fn new(buffer: &'b mut [u8], packet_size: usize, options: StreamOptions) -> Self {
        let packet_size = packet_size.min(LARGEST).min(buffer.len()) & !7;
        // Without a division: `packet_size` need not be a power of 2.
        let mut count = 0;
        let mut left = buffer.len();
        while packet_size > HEAD && left >= packet_size {
            left -= packet_size;
            count += 1;
        }
        Self {
            buffer,
            packet_size,
            count,
            oldest: 0,
            waiting: 0,
            current: 0,
            filled: 0,
            last: 0,
            sequence: 0,
            discarded: 0,
            told: 0,
            options,
        }
    }

    /// Returns a time that is not before the previous one.
    #[inline]
    pub(crate) fn not_earlier(&self, now: u64) -> u64 {
        now.max(self.last)
    }

    /// Returns `true` if an event fits into the growing packet.
    #[inline]
    pub(crate) fn has_room(&self, now: u64, room: EventRoom) -> bool {
        self.filled != 0 && room.payload(self.filled).1 <= self.packet_size && now - self.last < MOST_CYCLES
    }

    /// Writes the header of an event, and returns the place for its payload.
    #[inline]
    pub(crate) fn begin_event(&mut self, now: u64, room: EventRoom) -> &mut [u8] {
        let begin = self.current + self.filled;
        put(self.buffer, begin, event_head(room.id, now));
        let (from, to) = room.payload(self.filled);
        self.buffer.get_mut(self.current + from..self.current + to).unwrap_or_default()
    }

    /// Makes the event part of the packet. So a buffer that survives a reset is a trace.
    #[inline]
    pub(crate) fn end_event(&mut self, now: u64, room: EventRoom) {
        self.filled = room.payload(self.filled).1;
        self.last = now;
        let filled = self.filled;
        if let Some(head) = self.head() {
            put(head, END_TIME, now.to_le_bytes());
            put(head, CONTENT, bits(filled).to_le_bytes());
        }
    }

    /// Returns the packet that grows.
    #[inline]
    fn head(&mut self) -> Option<&mut [u8]> {
        self.buffer.get_mut(self.current..)
    }

    /// Ends the growing packet, if there is one, so that it waits.
    pub(crate) fn close(&mut self) {
        if self.filled == 0 {
            return;
        }
        let size = if self.options.has_whole_packets { self.packet_size } else { aligned(self.filled, 8) };
        if let Some(head) = self.head() {
            put(head, TOTAL, bits(size).to_le_bytes());
        }
        self.filled = 0;
        self.waiting += 1;
        self.current = self.after(self.current);
    }

    /// Returns `true` if an event fits into an empty packet.
    pub(crate) fn takes(&self, room: EventRoom) -> bool {
        self.count > 0 && room.payload(HEAD).1 <= self.packet_size
    }

    /// Begins a packet. Returns `false` if none is free.
    pub(crate) fn open(&mut self, now: u64) -> bool {
        if self.waiting == self.count {
            match self.options.policy {
                FullPolicy::Discard => return false,
                FullPolicy::Overwrite => self.remove_oldest(),
            }
        }
        let head = PacketHead {
            stream: self.options.stream,
            total: self.packet_size,
            begin: now,
            sequence: self.sequence,
            discarded: self.discarded,
        };
        if let Some(out) = self.head() {
            put(out, 0, head.bytes());
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.told = self.discarded;
        self.filled = HEAD;
        self.last = now;
        true
    }

    /// Counts a discarded event.
    pub(crate) fn discard(&mut self) {
        self.discarded = self.discarded.wrapping_add(1);
        let discarded = self.discarded;
        if self.filled != 0
            && let Some(head) = self.head()
        {
            put(head, DISCARDED, discarded.to_le_bytes());
            self.told = discarded;
        }
    }

    /// Returns `true` if no packet has all discarded events, and one is free.
    pub(crate) fn can_tell_discarded(&self) -> bool {
        self.told != self.discarded && self.waiting < self.count
    }

    pub(crate) fn discarded(&self) -> u32 {
        self.discarded
    }

    /// Returns the oldest packet that waits.
    pub(crate) fn oldest(&self) -> Option<&[u8]> {
        let packet = self.buffer.get(self.oldest..)?.get(..self.packet_size)?;
        let total = packet.get(TOTAL..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) >> 3)?;
        (self.waiting > 0).then(|| packet.get(..total as usize)).flatten()
    }

    /// Removes the oldest packet that waits.
    pub(crate) fn remove_oldest(&mut self) {
        if self.waiting > 0 {
            self.waiting -= 1;
            self.oldest = self.after(self.oldest);
        }
    }

    /// Returns the byte of the packet after another one.
    fn after(&self, packet: usize) -> usize {
        let next = packet + self.packet_size;
        if next + self.packet_size <= self.buffer.len() { next } else { 0 }
    }
}
