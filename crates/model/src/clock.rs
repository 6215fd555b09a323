//! Clocks: cycles on one side, nanoseconds on the other, exact integers between them.

use uuid::Uuid;

use crate::{Attributes, DeclaredAt};

/// From where a clock counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum ClockOrigin {
    /// 1970-01-01 00:00:00 UTC.
    UnixEpoch,
    /// A point in time that only its name identifies: clocks of the same named origin can be put
    /// on one timeline.
    Named {
        /// Namespace of the name.
        namespace: Option<String>,
        /// Name of the origin.
        name: String,
        /// Which of the origins of that name, for instance which boot of a machine.
        uid: String,
    },
    /// It is not said.
    #[default]
    Unknown,
}

/// How cycles become nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ClockArithmetic {
    /// Exactly, rounded down.
    #[default]
    Exact,
    /// As Babeltrace 2 does, in binary64 numbers, the offset and the value each for itself: a
    /// clock that has not exactly 1 GHz is off by some nanoseconds. For text that has to be the
    /// same as Babeltrace's to the byte, and for nothing else.
    Double,
}

/// Nanoseconds to add to the times of clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ClockOffsets {
    /// To those of all clocks.
    pub all: i128,
    /// To those of clocks of these names or ids, beside that.
    pub by_name: Vec<(String, i128)>,
}

impl ClockOffsets {
    /// The same for all clocks, in nanoseconds.
    #[must_use]
    pub fn of_all(nanoseconds: i128) -> Self {
        Self { all: nanoseconds, by_name: Vec::new() }
    }

    /// These and others, one added to the other.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.all = self.all.saturating_add(others.all);
        self.by_name.extend(others.by_name.iter().cloned());
        self
    }

    /// Nanoseconds to add to the times of a clock.
    ///
    /// ```
    /// use ichnos_model::{ClockClass, ClockOffsets};
    /// let mut offsets = ClockOffsets::of_all(5);
    /// offsets.by_name.push(("monotonic".to_owned(), -2));
    /// assert_eq!(offsets.of(&ClockClass::new("monotonic", 1_000)), 3);
    /// assert_eq!(offsets.of(&ClockClass::new("wall", 1_000)), 5);
    /// ```
    #[must_use]
    pub fn of(&self, clock: &ClockClass) -> i128 {
        let named = self.by_name.iter().filter(|(name, _)| clock.is_called(name));
        named.fold(self.all, |sum, (_, offset)| sum.saturating_add(*offset))
    }

    /// Adds to the offset of a clock; see [`ClockClass::add_offset`].
    #[must_use]
    pub fn add_to(&self, clock: &mut ClockClass) -> bool {
        clock.add_offset(self.of(clock))
    }
}

/// What describes a clock (CTF2-SPEC-2.0, "Clock class fragment"; CTF 1.8, section 8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockClass {
    /// How the metadata refers to it; the same as the name in CTF 1.8 and the proposals.
    pub id: String,
    /// Namespace of the name.
    pub namespace: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// Unique identifier within namespace and name (SPEC-2.0).
    pub uid: Option<String>,
    /// UUID (CTF 1.8, PROP-1.0, PROP-2.0).
    pub uuid: Option<Uuid>,
    /// Text for people.
    pub description: Option<String>,
    /// Cycles per second, greater than 0.
    pub frequency: u64,
    /// Cycles by which a value may be off.
    pub precision: Option<u64>,
    /// Cycles by which the clock may be away from its origin.
    pub accuracy: Option<u64>,
    /// Whole seconds of the offset from the origin; may be negative.
    pub offset_seconds: i64,
    /// The rest of the offset in cycles.
    pub offset_cycles: u64,
    /// From where it counts.
    pub origin: ClockOrigin,
    /// What the producer adds.
    pub attributes: Attributes,
    /// Where it was declared.
    pub declared_at: DeclaredAt,
}

impl ClockClass {
    /// A clock of `frequency` cycles per second that counts from an unknown origin.
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

    /// Whether this is its name or its id.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.name.as_deref() == Some(name)
    }

    /// Nanoseconds from the clock's origin at `cycles`, rounded down. The widest values of all
    /// parts fit 128 bits, so this cannot overflow.
    ///
    /// ```
    /// use ichnos_model::ClockClass;
    /// let mut clock = ClockClass::new("monotonic", 3);
    /// clock.offset_seconds = -1;
    /// assert_eq!(clock.nanoseconds(4), 333_333_333);
    /// ```
    #[must_use]
    pub fn nanoseconds(&self, cycles: u64) -> i128 {
        const BILLION: i128 = 1_000_000_000;
        let seconds = i128::from(self.offset_seconds) * BILLION;
        let cycles = i128::from(self.offset_cycles) + i128::from(cycles);
        if self.frequency == 1_000_000_000 {
            return seconds + cycles;
        }
        seconds + cycles * BILLION / i128::from(self.frequency.max(1))
    }

    /// Adds nanoseconds to the offset, rounded down to whole cycles; false, and nothing is
    /// changed, if the offset gets out of range.
    ///
    /// ```
    /// use ichnos_model::ClockClass;
    /// let mut clock = ClockClass::new("monotonic", 1_000);
    /// assert!(clock.add_offset(-1_500_000_000));
    /// assert_eq!((clock.offset_seconds, clock.offset_cycles), (-2, 500));
    /// assert_eq!(clock.nanoseconds(0), -1_500_000_000);
    /// ```
    #[must_use]
    pub fn add_offset(&mut self, nanoseconds: i128) -> bool {
        const BILLION: i128 = 1_000_000_000;
        let seconds = i64::try_from(nanoseconds.div_euclid(BILLION)).ok();
        let cycles = nanoseconds.rem_euclid(BILLION) * i128::from(self.frequency) / BILLION;
        let seconds = seconds.and_then(|seconds| self.offset_seconds.checked_add(seconds));
        let cycles = u64::try_from(cycles).ok().and_then(|cycles| self.offset_cycles.checked_add(cycles));
        let (Some(seconds), Some(cycles)) = (seconds, cycles) else { return false };
        (self.offset_seconds, self.offset_cycles) = (seconds, cycles);
        true
    }

    /// Nanoseconds from the clock's origin at `cycles`, in the arithmetic that was chosen.
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

    /// Whether values of the two clocks can stand on one timeline (CTF2-SPEC-2.0, "Clock
    /// class fragment": same identity, or the same known origin).
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
