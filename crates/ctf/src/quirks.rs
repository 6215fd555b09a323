//! Faults of known tracers that readers have to know of.

use ichnos_model::{TraceClass, Value};

/// A known fault of a tracer that changes how packets are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quirk {
    /// LTTng-UST before 2.11.0 and LTTng-modules before 2.9.13 and from 2.10.0 to 2.10.9 write
    /// events after the end time of their packet: such a packet ends with its last event.
    LttngEventAfterPacket,
    /// barectf before 2.3.1 writes events before the begin time of their packet: such a packet
    /// begins with its first event.
    BarectfEventBeforePacket,
    /// A packet that LTTng recovered after a crash has an end time of 0: it ends with its last
    /// event.
    LttngCrash,
}

impl Quirk {
    /// One sentence for people.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::LttngEventAfterPacket => {
                "this version of LTTng may write events after the end time of their packet: then the packet ends with its last event"
            }
            Self::BarectfEventBeforePacket => {
                "this version of barectf may write events before the begin time of their packet: then the packet begins with its first event"
            }
            Self::LttngCrash => {
                "packets that LTTng recovered after a crash may have no end time: then they end with their last event"
            }
        }
    }

    /// The quirks of the tracer that wrote a trace, by the name and the version in its
    /// environment.
    #[must_use]
    pub fn of(trace: &TraceClass) -> Vec<Self> {
        let mut quirks = Vec::new();
        let Some(tracer) = trace.environment("tracer_name").and_then(Value::as_text) else { return quirks };
        let number = |name| trace.environment(name).and_then(Value::as_integer);
        let Some(major) = number("tracer_major") else { return quirks };
        let patch = number("tracer_patch").or_else(|| number("tracer_patchlevel")).unwrap_or(0);
        let version = (major, number("tracer_minor").unwrap_or(0), patch);
        match tracer {
            "lttng-ust" => {
                if version < (2, 11, 0) {
                    quirks.push(Self::LttngEventAfterPacket);
                }
                quirks.push(Self::LttngCrash);
            }
            "lttng-modules" => {
                if version < (2, 9, 13) || ((2, 10, 0)..(2, 10, 10)).contains(&version) {
                    quirks.push(Self::LttngEventAfterPacket);
                }
                quirks.push(Self::LttngCrash);
            }
            "barectf" if version < (2, 3, 1) => quirks.push(Self::BarectfEventBeforePacket),
            _ => {}
        }
        quirks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quirks(tracer: &str, version: [i128; 3]) -> Vec<Quirk> {
        let names = ["tracer_major", "tracer_minor", "tracer_patchlevel"];
        let mut environment = vec![("tracer_name".to_owned(), Value::Text(tracer.to_owned()))];
        environment
            .extend(names.iter().zip(version).map(|(name, v)| ((*name).to_owned(), Value::Integer(v))));
        Quirk::of(&TraceClass { environment, ..TraceClass::default() })
    }

    #[test]
    fn by_version() {
        use Quirk::{BarectfEventBeforePacket, LttngCrash, LttngEventAfterPacket};
        assert_eq!(quirks("lttng-ust", [2, 10, 9]), [LttngEventAfterPacket, LttngCrash]);
        assert_eq!(quirks("lttng-ust", [2, 11, 0]), [LttngCrash]);
        assert_eq!(quirks("lttng-modules", [2, 9, 12]), [LttngEventAfterPacket, LttngCrash]);
        assert_eq!(quirks("lttng-modules", [2, 9, 13]), [LttngCrash]);
        assert_eq!(quirks("lttng-modules", [2, 10, 9]), [LttngEventAfterPacket, LttngCrash]);
        assert_eq!(quirks("lttng-modules", [2, 10, 10]), [LttngCrash]);
        assert_eq!(quirks("barectf", [2, 3, 0]), [BarectfEventBeforePacket]);
        assert_eq!(quirks("barectf", [2, 3, 1]), []);
    }
}
