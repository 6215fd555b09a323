//! Summary of a message, without borrowing it.

/// Kinds of messages.
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
}

/// Data of a message that the merge needs, without borrowing the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    // Halves of the time, each stored and loaded by itself: a load right after a store of another width is
    // slow, and a head is loaded right after it was stored.
    low: u64,
    high: u64,
    has_time: bool,
    /// Kind of the message.
    pub kind: MessageKind,
    class: u32,
}

impl Head {
    /// Makes the head of a message of this time, in nanoseconds from the origin of the stream's clock;
    /// `None`: immediately.
    #[inline(always)]
    #[must_use]
    pub fn new(kind: MessageKind, nanoseconds: Option<i128>) -> Self {
        let time = nanoseconds.unwrap_or_default();
        let has_time = nanoseconds.is_some();
        Self { low: time as u64, high: (time >> 64) as u64, has_time, kind, class: Self::NO_CLASS }
    }

    /// Makes the head of an event record of the class with this index in its data stream class.
    #[inline(always)]
    #[must_use]
    pub fn event(class: usize, nanoseconds: Option<i128>) -> Self {
        let class = u32::try_from(class).unwrap_or(Self::NO_CLASS);
        Self { class, ..Self::new(MessageKind::Event, nanoseconds) }
    }

    /// Returns this head with another time.
    #[must_use]
    pub fn at(self, nanoseconds: Option<i128>) -> Self {
        Self { class: self.class, ..Self::new(self.kind, nanoseconds) }
    }

    const NO_CLASS: u32 = u32::MAX;

    /// Returns the index of an event record's class in its data stream class, if the cursor knows it, so that
    /// counting needs no event.
    #[inline(always)]
    #[must_use]
    pub fn class_index(&self) -> Option<usize> {
        (self.class != Self::NO_CLASS).then_some(self.class as usize)
    }

    /// Returns a number that orders messages by their times cut to 64 bits: of two different numbers, the
    /// smaller one comes first.
    #[inline(always)]
    #[must_use]
    pub fn sort_key(&self) -> u64 {
        sort_key(self.nanoseconds())
    }

    /// Returns the time in nanoseconds from the origin of the stream's clock; `None`: immediately. An event
    /// recorded later than the end of its packet has the time of that end.
    #[inline(always)]
    #[must_use]
    pub fn nanoseconds(&self) -> Option<i128> {
        let time = (u128::from(self.high) << 64 | u128::from(self.low)) as i128;
        self.has_time.then_some(time)
    }
}

const SIGN: u64 = 1 << 63;

/// Returns the earliest time of messages whose [`Head::sort_key`] is at least this one; messages without a time come
/// before all others.
#[inline(never)] // Inlined, it would be computed anew for each message.
pub(crate) fn first_time(key: u64) -> i128 {
    match key {
        0 => i128::MIN,
        key => i128::from((key ^ SIGN) as i64),
    }
}

/// Returns the [`Head::sort_key`] of messages of this time.
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
