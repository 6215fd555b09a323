//! Clocks: classes, and exact integer conversion between cycles and nanoseconds.

mod wall_clock;

use uuid::Uuid;

use crate::class::Attributes;
use crate::trace::DeclaredAt;

pub use self::wall_clock::WallClock;

/// Nanoseconds in a second.
const BILLION: i128 = 1_000_000_000;

/// Clock origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum ClockOrigin {
    /// 1970-01-01 00:00:00 UTC.
    UnixEpoch,
    /// A point in time known only by its name. Clocks with the same named origin share a timeline.
    Named {
        /// Namespace for the name.
        namespace: Option<String>,
        /// Origin name.
        name: String,
        /// Identifier within origins with that name, for example of one boot of a machine.
        uid: String,
    },
    /// Unknown.
    #[default]
    Unknown,
}

/// Conversion from cycles to nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ClockArithmetic {
    /// Exactly, rounded down.
    #[default]
    Exact,
    /// Like Babeltrace 2: in binary64 numbers, separately for the offset and the value. A clock that does not run at
    /// exactly 1 GHz is off by some nanoseconds. Only for text that must equal Babeltrace's byte for byte.
    Double,
}

/// Nanoseconds to add to clock times.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ClockOffsets {
    /// Offset for all clocks.
    pub all: i128,
    /// Nanoseconds from 1970 to the origin of clocks that do not count from 1970. Added to `all` for these clocks.
    pub origin: i128,
    /// Additional offsets for clocks with these names or ids, added to `all`.
    pub by_name: Vec<(String, i128)>,
    /// `true` if all clocks count from 1970, whatever their classes say.
    pub from_unix_epoch: bool,
}

impl ClockOffsets {
    /// Creates offsets that are equal for all clocks.
    #[must_use]
    pub fn for_all(nanoseconds: i128) -> Self {
        Self { all: nanoseconds, ..Self::default() }
    }

    /// Returns the sum of both offsets.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.all = self.all.saturating_add(others.all);
        self.origin = self.origin.saturating_add(others.origin);
        self.by_name.extend(others.by_name.iter().cloned());
        self.from_unix_epoch |= others.from_unix_epoch;
        self
    }

    /// Returns the nanoseconds to add to the times of one clock.
    ///
    /// ```
    /// use ichnos_model::clock::{ClockClass, ClockOffsets};
    /// let mut offsets = ClockOffsets::for_all(5);
    /// offsets.by_name.push(("monotonic".to_owned(), -2));
    /// assert_eq!(offsets.for_clock(&ClockClass::new("monotonic", 1_000)), 3);
    /// assert_eq!(offsets.for_clock(&ClockClass::new("wall", 1_000)), 5);
    /// offsets.origin = 100;
    /// assert_eq!(offsets.for_clock(&ClockClass::new("wall", 1_000)), 105);
    /// assert_eq!(offsets.for_clock(&ClockClass::since_unix_epoch("wall")), 5);
    /// ```
    #[must_use]
    pub fn for_clock(&self, clock: &ClockClass) -> i128 {
        let named = self.by_name.iter().filter(|(name, _)| clock.is_called(name));
        let origin = if clock.origin == ClockOrigin::UnixEpoch { 0 } else { self.origin };
        named.fold(self.all.saturating_add(origin), |sum, (_, offset)| sum.saturating_add(*offset))
    }

    /// Adds the offset to a clock, and changes its origin if needed; see [`ClockClass::add_offset`].
    #[must_use]
    pub fn add_to(&self, clock: &mut ClockClass) -> bool {
        if self.from_unix_epoch {
            clock.origin = ClockOrigin::UnixEpoch;
        }
        clock.add_offset(self.for_clock(clock))
    }
}

/// A clock class (CTF2-SPEC-2.0, "Clock class fragment"; CTF 1.8, section 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockClass {
    /// Id that the metadata refers to. Same as the name in CTF 1.8 and the proposals.
    pub id: String,
    /// Namespace for the name.
    pub namespace: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Unique identifier within namespace and name (SPEC-2.0).
    pub uid: Option<String>,
    /// UUID (CTF 1.8, PROP-1.0, PROP-2.0).
    pub uuid: Option<Uuid>,
    /// Description for readers.
    pub description: Option<String>,
    /// Cycles per second, greater than 0.
    pub frequency: u64,
    /// Value uncertainty in cycles.
    pub precision: Option<u64>,
    /// Deviation from the clock's origin in cycles.
    pub accuracy: Option<u64>,
    /// Whole seconds from the origin; may be negative.
    pub offset_seconds: i64,
    /// Remaining offset in cycles.
    pub offset_cycles: u64,
    /// Origin from which it counts.
    pub origin: ClockOrigin,
    /// Attributes from the producer.
    pub attributes: Attributes,
    /// Declaration position.
    pub declared_at: DeclaredAt,
}

impl ClockClass {
    /// A clock with `frequency` cycles per second and an unknown origin.
    pub fn new(id: impl Into<String>, frequency: u64) -> Self {
        Self {
            id: id.into(),
            namespace: None,
            name: None,
            uid: None,
            uuid: None,
            description: None,
            frequency,
            precision: None,
            accuracy: None,
            offset_seconds: 0,
            offset_cycles: 0,
            origin: ClockOrigin::Unknown,
            attributes: Attributes::default(),
            declared_at: DeclaredAt::default(),
        }
    }

    /// A clock that counts nanoseconds from the Unix epoch.
    #[must_use]
    pub fn since_unix_epoch(id: impl Into<String>) -> Self {
        Self { origin: ClockOrigin::UnixEpoch, ..Self::new(id, 1_000_000_000) }
    }

    /// Returns `true` if `name` is its name or its id.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.name.as_deref() == Some(name)
    }

    /// Returns the nanoseconds from the clock's origin at `cycles`, rounded down. The largest values of all parts fit
    /// in 128 bits, so this cannot overflow.
    ///
    /// ```
    /// use ichnos_model::clock::ClockClass;
    /// let mut clock = ClockClass::new("monotonic", 3);
    /// clock.offset_seconds = -1;
    /// assert_eq!(clock.nanoseconds(4), 333_333_333);
    /// ```
    #[inline]
    #[must_use]
    pub fn nanoseconds(&self, cycles: u64) -> i128 {
        let seconds = i128::from(self.offset_seconds) * BILLION;
        if self.frequency == 1_000_000_000 {
            return seconds + i128::from(self.offset_cycles) + i128::from(cycles);
        }
        seconds + self.nanoseconds_of(cycles)
    }

    /// Returns the last value at a time in nanoseconds from the clock's origin. `None` if the clock has no value then.
    ///
    /// ```
    /// use ichnos_model::clock::ClockClass;
    /// let mut clock = ClockClass::new("monotonic", 1_000);
    /// clock.offset_cycles = 250;
    /// assert_eq!(clock.cycles_at(3_000_999_999), Some(2_750));
    /// assert_eq!(clock.cycles_at(249_999_999), None);
    /// ```
    #[must_use]
    pub fn cycles_at(&self, nanoseconds: i128) -> Option<u64> {
        let since = nanoseconds.checked_sub(i128::from(self.offset_seconds) * BILLION)?;
        let cycles = since.checked_mul(i128::from(self.frequency))?.div_euclid(BILLION);
        u64::try_from(cycles - i128::from(self.offset_cycles)).ok()
    }

    /// Returns the nanoseconds from `offset_seconds` at `cycles`.
    fn nanoseconds_of(&self, cycles: u64) -> i128 {
        let frequency = self.frequency.max(1);
        // Avoids 128-bit divisions for all but unusual clocks.
        if frequency <= u64::MAX / 1_000_000_000
            && let Some(cycles) = self.offset_cycles.checked_add(cycles)
        {
            let rest = cycles % frequency * 1_000_000_000 / frequency;
            return i128::from(cycles / frequency) * BILLION + i128::from(rest);
        }
        (i128::from(self.offset_cycles) + i128::from(cycles)) * BILLION / i128::from(frequency)
    }

    /// Adds nanoseconds to the offset, rounded down to whole cycles. Returns `false` and changes nothing if the offset
    /// would be out of range.
    ///
    /// ```
    /// use ichnos_model::clock::ClockClass;
    /// let mut clock = ClockClass::new("monotonic", 1_000);
    /// assert!(clock.add_offset(-1_500_000_000));
    /// assert_eq!((clock.offset_seconds, clock.offset_cycles), (-2, 500));
    /// assert_eq!(clock.nanoseconds(0), -1_500_000_000);
    /// ```
    #[must_use]
    pub fn add_offset(&mut self, nanoseconds: i128) -> bool {
        let seconds = i64::try_from(nanoseconds.div_euclid(BILLION)).ok();
        let cycles = nanoseconds.rem_euclid(BILLION) * i128::from(self.frequency) / BILLION;
        let seconds = seconds.and_then(|seconds| self.offset_seconds.checked_add(seconds));
        let cycles = u64::try_from(cycles).ok().and_then(|cycles| self.offset_cycles.checked_add(cycles));
        let (Some(seconds), Some(cycles)) = (seconds, cycles) else { return false };
        (self.offset_seconds, self.offset_cycles) = (seconds, cycles);
        true
    }

    /// Returns the cycles from the clock's origin to its value 0.
    #[must_use]
    pub fn origin_cycles(&self) -> i128 {
        i128::from(self.offset_seconds) * i128::from(self.frequency) + i128::from(self.offset_cycles)
    }

    /// Returns the nanoseconds from the clock's origin at `cycles`, in the given arithmetic.
    #[must_use]
    pub fn nanoseconds_in(&self, arithmetic: ClockArithmetic, cycles: u64) -> i128 {
        match arithmetic {
            ClockArithmetic::Double if self.frequency != 1_000_000_000 => {
                let convert = |cycles: u64| (1e9 * cycles as f64 / self.frequency as f64) as i128;
                i128::from(self.offset_seconds) * 1_000_000_000
                    + convert(self.offset_cycles)
                    + convert(cycles)
            }
            _ => self.nanoseconds(cycles),
        }
    }

    /// Returns `true` if both clocks share a timeline (CTF2-SPEC-2.0, "Clock class fragment": same identity, or the
    /// same known origin).
    #[must_use]
    pub fn correlates_with(&self, other: &Self) -> bool {
        let same_origin = match (&self.origin, &other.origin) {
            (ClockOrigin::Unknown, _) | (_, ClockOrigin::Unknown) => false,
            (a, b) => a == b,
        };
        let same_identity = match (&self.uuid, &other.uuid) {
            (Some(a), Some(b)) => a == b,
            _ => {
                self.name.is_some()
                    && self.uid.is_some()
                    && (&self.namespace, &self.name, &self.uid) == (&other.namespace, &other.name, &other.uid)
            }
        };
        same_origin || same_identity
    }
}

/// Clock value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClockValue {
    /// Nanoseconds from the clock's origin.
    pub nanoseconds: i128,
    /// Cycles as recorded, without the clock class offset.
    pub cycles: u64,
}
