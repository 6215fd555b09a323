//! Backend for the crate `log`.

use ::log::kv::{Error, Key, Value, VisitSource, VisitValue};
use ::log::{Level, Log, Metadata, Record};

use super::Logger;
use crate::log::{self, EncodeError, Event, RecordEncoder, Severity};

impl Log for Logger {
    /// Always `true`: [`log::set_max_level`](::log::set_max_level) sets the level.
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let severity = match record.level() {
            Level::Error => Severity::Error,
            Level::Warn => Severity::Warn,
            Level::Info => Severity::Info,
            Level::Debug => Severity::Debug,
            Level::Trace => Severity::Trace,
        };
        let event = Event {
            severity: severity.raw(),
            target: Some(record.target()),
            file: record.file(),
            line: record.line().map(u64::from),
            ..Event::default()
        };
        self.write(&event, |encoder| {
            encoder.formatted("message", *record.args())?;
            let mut pairs = PairSource { encoder, result: Ok(()) };
            // The error is in `result`.
            let _ = record.key_values().visit(&mut pairs);
            pairs.result
        });
    }

    fn flush(&self) {
        // The trait cannot report the error.
        let _ = Self::flush(self);
    }
}

/// Appends names and values to a record.
struct PairSource<'r, 'e> {
    encoder: &'r mut RecordEncoder<'e>,
    result: Result<(), EncodeError>,
}

impl<'kvs> VisitSource<'kvs> for PairSource<'_, '_> {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        value.visit(PairVisitor { name: key.as_str(), pairs: self })
    }
}

/// Appends a pair to a record.
struct PairVisitor<'p, 'r, 'e> {
    name: &'p str,
    pairs: &'p mut PairSource<'r, 'e>,
}

impl PairVisitor<'_, '_, '_> {
    fn store_result(&mut self, result: Result<(), EncodeError>) -> Result<(), Error> {
        self.pairs.result = result;
        result.map_err(|_| Error::msg("the record is full"))
    }

    fn value<'a>(&mut self, value: impl Into<log::Value<'a>>) -> Result<(), Error> {
        let result = self.pairs.encoder.argument(self.name, value);
        self.store_result(result)
    }

    fn text(&mut self, text: std::fmt::Arguments<'_>) -> Result<(), Error> {
        let result = self.pairs.encoder.formatted(self.name, text);
        self.store_result(result)
    }
}

impl<'v> VisitValue<'v> for PairVisitor<'_, '_, '_> {
    fn visit_any(&mut self, value: Value<'_>) -> Result<(), Error> {
        self.text(format_args!("{value}"))
    }

    fn visit_u64(&mut self, value: u64) -> Result<(), Error> {
        self.value(value)
    }

    fn visit_i64(&mut self, value: i64) -> Result<(), Error> {
        self.value(value)
    }

    fn visit_f64(&mut self, value: f64) -> Result<(), Error> {
        self.value(value)
    }

    fn visit_bool(&mut self, value: bool) -> Result<(), Error> {
        self.value(value)
    }

    fn visit_str(&mut self, value: &str) -> Result<(), Error> {
        self.value(value)
    }
}
