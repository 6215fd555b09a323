//! Message summary without a borrow.

/// Message kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum MessageKind {
    StreamBegin,
    StreamEnd,
    PacketBegin,
    PacketEnd,
    Event,
    DiscardedEvents,
    DiscardedPackets,
    Damage,
    Inactivity,
}

/// Message data for the merge, without borrowing the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    // Halves of the time, stored and loaded separately: a load right after a store with another width is slow, and a
    // head is loaded right after it was stored.
    low: u64,
    high: u64,
    has_time: bool,
    /// Message kind.
    pub kind: MessageKind,
    class: u32,
}

impl Head {
    /// Creates the head of a message at this time, in nanoseconds from the origin of the stream's clock; `None` means
    /// immediately.
    #[inline(always)]
    #[must_use]
    pub fn new(kind: MessageKind, nanoseconds: Option<i128>) -> Self {
        let time = nanoseconds.unwrap_or_default();
        let has_time = nanoseconds.is_some();
        Self { low: time as u64, high: (time >> 64) as u64, has_time, kind, class: Self::NO_CLASS }
    }

    /// Creates the head of an event record. `class` is the class index in the data stream class.
    #[inline(always)]
    #[must_use]
    pub fn event(class: usize, nanoseconds: Option<i128>) -> Self {
        let class = u32::try_from(class).unwrap_or(Self::NO_CLASS);
        Self { class, ..Self::new(MessageKind::Event, nanoseconds) }
    }

    /// Replaces the time.
    #[must_use]
    pub fn at(self, nanoseconds: Option<i128>) -> Self {
        Self { class: self.class, ..Self::new(self.kind, nanoseconds) }
    }

    const NO_CLASS: u32 = u32::MAX;

    /// Returns the class index of an event record in its data stream class, if the cursor knows it. Counting then needs
    /// no event.
    #[inline(always)]
    #[must_use]
    pub fn class_index(&self) -> Option<usize> {
        (self.class != Self::NO_CLASS).then_some(self.class as usize)
    }

    /// Returns a number that sorts messages by time, limited to 64 bits: the smaller number comes first.
    #[inline(always)]
    #[must_use]
    pub fn sort_key(&self) -> u64 {
        sort_key(self.nanoseconds())
    }

    /// Returns the time in nanoseconds from the origin of the stream's clock; `None` means immediately. An event
    /// recorded after the end of its packet has the packet's end time.
    #[inline(always)]
    #[must_use]
    pub fn nanoseconds(&self) -> Option<i128> {
        let time = (u128::from(self.high) << 64 | u128::from(self.low)) as i128;
        self.has_time.then_some(time)
    }
}

const SIGN: u64 = 1 << 63;

/// Returns the earliest time of messages with at least this [`Head::sort_key`]. Messages without a time come before all
/// others.
#[inline(never)] // Inlined, it would be computed anew for each message.
pub(crate) fn first_time(key: u64) -> i128 {
    match key {
        0 => i128::MIN,
        key => i128::from((key ^ SIGN) as i64),
    }
}

/// Returns the [`Head::sort_key`] for messages at this time.
#[inline(always)]
#[must_use]
pub fn sort_key(nanoseconds: Option<i128>) -> u64 {
    match nanoseconds {
        None => 0,
        Some(nanoseconds) => match i64::try_from(nanoseconds) {
            Ok(nanoseconds) => nanoseconds as u64 ^ SIGN,
            Err(_) if nanoseconds < 0 => 0,
            Err(_) => u64::MAX,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_of_a_key() {
        let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
        let times = [i128::MIN, least - 1, least, least + 1, -1, 0, 1, most - 1, most, most + 1, i128::MAX];
        let all: Vec<Option<i128>> = times.into_iter().map(Some).chain([None]).collect();
        for limit in all.iter().map(|time| sort_key(*time)) {
            for time in &all {
                let is_reached = time.unwrap_or(i128::MIN) >= first_time(limit);
                assert_eq!(is_reached, sort_key(*time) >= limit, "{time:?}, {limit}");
            }
        }
    }
}
