//! Known tracer bugs that readers must work around.

use std::sync::atomic::{AtomicU8, Ordering};

use ichnos_model::TraceClass;
use ichnos_model::class::Value;
use ichnos_model::clock::ClockOrigin;
use ichnos_model::trace::TracerQuirk;

use crate::metadata::Dialect;

ichnos_model::named_enum! {
    /// A known tracer bug that changes how its traces are read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Quirk {
        /// LTTng-UST before 2.11.0 and LTTng-modules before 2.9.13 and from 2.10.0 to 2.10.9 write events after their
        /// packet's end time. Such a packet ends with its last event.
        LttngEventAfterPacket = "lttng-event-after-packet",
        /// A packet that LTTng recovered after a crash has an end time of 0. It ends with its last event.
        LttngCrashPacketEnd = "lttng-crash-packet-end",
        /// The LTTng clock `monotonic`, including its offset, counts from the Unix epoch, but CTF 1.8 metadata cannot
        /// express this.
        LttngMonotonicClock = "lttng-monotonic-clock",
        /// barectf before 2.3.1 writes events before their packet's begin time. Such a packet begins with its first
        /// event.
        BarectfEventBeforePacket = "barectf-event-before-packet",
    }
}

impl Quirk {
    /// Returns a one-sentence description for users.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::LttngEventAfterPacket => {
                "this LTTng version can write events after the end time of their packet; the packet is \
                extended to its last event"
            }
            Self::LttngCrashPacketEnd => {
                "packets that LTTng recovered after a crash can lack an end time; they end with their last \
                event"
            }
            Self::LttngMonotonicClock => {
                "the LTTng clock `monotonic` counts from the Unix epoch, but the metadata does not say so"
            }
            Self::BarectfEventBeforePacket => {
                "this barectf version can write events before the begin time of their packet; the packet is \
                extended to its first event"
            }
        }
    }

    const fn description(self) -> TracerQuirk {
        let relates_clocks = matches!(self, Self::LttngMonotonicClock);
        TracerQuirk { name: self.name(), message: self.describe(), relates_clocks }
    }

    /// Returns the bugs of the tracer that wrote a trace, identified by name and version in its environment.
    #[must_use]
    pub fn for_trace(trace: &TraceClass) -> Vec<Self> {
        Self::ALL.into_iter().filter(|quirk| quirk.is_of(trace)).collect()
    }

    fn is_of(self, trace: &TraceClass) -> bool {
        let Some(tracer) = trace.environment("tracer_name").and_then(Value::as_text) else { return false };
        let version = version(trace);
        let is_before = |end| version.is_some_and(|version| version < end);
        match (self, tracer) {
            (Self::LttngEventAfterPacket, "lttng-ust") => is_before((2, 11, 0)),
            (Self::LttngEventAfterPacket, "lttng-modules") => {
                is_before((2, 9, 13)) || (is_before((2, 10, 10)) && !is_before((2, 10, 0)))
            }
            (Self::LttngCrashPacketEnd, "lttng-ust" | "lttng-modules") => version.is_some(),
            (Self::LttngMonotonicClock, tracer) if tracer.starts_with("lttng") => {
                trace.dialect == Dialect::Ctf18.title()
                    && trace.clocks.iter().any(|clock| clock.name.as_deref() == Some(MONOTONIC))
            }
            (Self::BarectfEventBeforePacket, "barectf") => is_before((2, 3, 1)),
            _ => false,
        }
    }

    /// Corrects the trace class if this bug affects it.
    pub(crate) fn correct(self, trace: &mut TraceClass) {
        if self == Self::LttngMonotonicClock {
            for clock in trace.clocks.iter_mut().filter(|clock| clock.name.as_deref() == Some(MONOTONIC)) {
                clock.origin = ClockOrigin::UnixEpoch;
            }
        }
    }
}

impl From<Quirk> for TracerQuirk {
    fn from(quirk: Quirk) -> Self {
        quirk.description()
    }
}

/// Descriptions of all quirks.
pub(crate) const TRACER_QUIRKS: [TracerQuirk; Quirk::ALL.len()] = {
    let mut all = [Quirk::ALL[0].description(); Quirk::ALL.len()];
    let mut at = 1;
    while at < all.len() {
        all[at] = Quirk::ALL[at].description();
        at += 1;
    }
    all
};

/// Quirks that have changed a result. Cursors in several threads can record them.
#[derive(Debug, Default)]
pub(crate) struct AppliedQuirks(AtomicU8);

impl AppliedQuirks {
    /// Records that a quirk has changed a result.
    pub(crate) fn record(&self, quirk: Quirk) {
        self.0.fetch_or(1 << quirk as u8, Ordering::Relaxed);
    }

    /// Returns `true` if a quirk has changed a result so far.
    pub(crate) fn contains(&self, quirk: Quirk) -> bool {
        self.0.load(Ordering::Relaxed) & (1 << quirk as u8) != 0
    }
}

const MONOTONIC: &str = "monotonic";

/// Returns the tracer version.
fn version(trace: &TraceClass) -> Option<(i128, i128, i128)> {
    let number = |name| trace.environment(name).and_then(Value::as_integer);
    let patch = number("tracer_patch").or_else(|| number("tracer_patchlevel")).unwrap_or(0);
    Some((number("tracer_major")?, number("tracer_minor").unwrap_or(0), patch))
}

#[cfg(test)]
mod tests {
    use ichnos_model::clock::ClockClass;

    use super::*;

    fn trace(tracer: &str, version: [i128; 3]) -> TraceClass {
        let names = ["tracer_major", "tracer_minor", "tracer_patchlevel"];
        let mut environment = vec![("tracer_name".to_owned(), Value::Text(tracer.to_owned()))];
        environment
            .extend(names.iter().zip(version).map(|(name, v)| ((*name).to_owned(), Value::Integer(v))));
        TraceClass { environment, dialect: Dialect::Ctf18.title().to_owned(), ..TraceClass::default() }
    }

    #[test]
    fn by_version() {
        use Quirk::{BarectfEventBeforePacket, LttngCrashPacketEnd, LttngEventAfterPacket};
        let quirks = |tracer, version| Quirk::for_trace(&trace(tracer, version));
        assert_eq!(quirks("lttng-ust", [2, 10, 9]), [LttngEventAfterPacket, LttngCrashPacketEnd]);
        assert_eq!(quirks("lttng-ust", [2, 11, 0]), [LttngCrashPacketEnd]);
        assert_eq!(quirks("lttng-modules", [2, 9, 12]), [LttngEventAfterPacket, LttngCrashPacketEnd]);
        assert_eq!(quirks("lttng-modules", [2, 9, 13]), [LttngCrashPacketEnd]);
        assert_eq!(quirks("lttng-modules", [2, 10, 9]), [LttngEventAfterPacket, LttngCrashPacketEnd]);
        assert_eq!(quirks("lttng-modules", [2, 10, 10]), [LttngCrashPacketEnd]);
        assert_eq!(quirks("barectf", [2, 3, 0]), [BarectfEventBeforePacket]);
        assert_eq!(quirks("barectf", [2, 3, 1]), []);
    }

    #[test]
    fn clocks_of_lttng() {
        let with = |tracer: &str, dialect: &str, clock: &str| {
            let mut clock = ClockClass { name: Some(clock.to_owned()), ..ClockClass::new("c", 1) };
            clock.origin = ClockOrigin::Unknown;
            let dialect = dialect.to_owned();
            let mut trace = TraceClass { clocks: vec![clock], dialect, ..trace(tracer, [2, 11, 0]) };
            Quirk::for_trace(&trace).into_iter().for_each(|quirk| quirk.correct(&mut trace));
            trace.clocks[0].origin == ClockOrigin::UnixEpoch
        };
        let ctf18 = Dialect::Ctf18.title();
        assert!(with("lttng-ust", ctf18, "monotonic"));
        assert!(with("lttng-modules", ctf18, "monotonic"));
        assert!(!with("lttng-ust", ctf18, "other"));
        assert!(!with("barectf", ctf18, "monotonic"));
        // CTF 2 can express this.
        assert!(!with("lttng-ust", Dialect::Spec2.title(), "monotonic"));
    }

    #[test]
    fn names_are_unique() {
        for quirk in Quirk::ALL {
            assert_eq!(Quirk::ALL.iter().filter(|other| other.name() == quirk.name()).count(), 1);
        }
    }
}
