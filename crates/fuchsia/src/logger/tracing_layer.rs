//! Layer for `tracing` events.

use std::error::Error;
use std::fmt;

use tracing_core::field::{Field, Visit};
use tracing_core::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::Logger;
use crate::log::{EncodeError, Event, RecordEncoder, Severity, Value};

/// Target of events that `tracing-log` creates from `log` records. The fields below replace their metadata.
const BRIDGE: &str = "log";
const BRIDGED_TARGET: &str = "log.target";
const BRIDGED_FILE: &str = "log.file";
const BRIDGED_LINE: &str = "log.line";
const BRIDGED_MODULE: &str = "log.module_path";

impl<S: Subscriber> Layer<S> for Logger {
    fn on_event(&self, event: &tracing_core::Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let severity = match *metadata.level() {
            Level::ERROR => Severity::Error,
            Level::WARN => Severity::Warn,
            Level::INFO => Severity::Info,
            Level::DEBUG => Severity::Debug,
            Level::TRACE => Severity::Trace,
        };
        let head = Event { severity: severity.raw(), ..Event::default() };
        let is_bridged = metadata.target() == BRIDGE && metadata.fields().field(BRIDGED_TARGET).is_some();
        let head = if is_bridged {
            head
        } else {
            let line = metadata.line().map(u64::from);
            Event { target: Some(metadata.target()), file: metadata.file(), line, ..head }
        };
        self.write(&head, |record| {
            let bridge = is_bridged.then(|| Bridge { has_place: self.has_place(severity) });
            let mut fields = Fields { record, bridge, result: Ok(()) };
            event.record(&mut fields);
            fields.result
        });
    }
}

/// Translates the fields of a `tracing-log` event.
#[derive(Clone, Copy)]
struct Bridge {
    /// `true` to write file and line.
    has_place: bool,
}

impl Bridge {
    /// Returns the argument name for a field, or `None` to drop it.
    fn name(self, name: &str) -> Option<&str> {
        match name {
            BRIDGED_TARGET => Some("tag"),
            BRIDGED_FILE => self.has_place.then_some("file"),
            BRIDGED_LINE => self.has_place.then_some("line"),
            BRIDGED_MODULE => None,
            _ => Some(name),
        }
    }
}

/// Appends fields to a record.
struct Fields<'r, 'e> {
    record: &'r mut RecordEncoder<'e>,
    bridge: Option<Bridge>,
    result: Result<(), EncodeError>,
}

impl Fields<'_, '_> {
    #[inline]
    fn append(
        &mut self,
        field: &Field,
        append: impl FnOnce(&mut RecordEncoder<'_>, &str) -> Result<(), EncodeError>,
    ) {
        let name = match self.bridge {
            None => Some(field.name()),
            Some(bridge) => bridge.name(field.name()),
        };
        if let (Some(name), Ok(())) = (name, self.result) {
            self.result = append(self.record, name);
        }
    }

    #[inline]
    fn value<'a>(&mut self, field: &Field, value: impl Into<Value<'a>>) {
        self.append(field, |record, name| record.argument(name, value));
    }

    fn text(&mut self, field: &Field, text: fmt::Arguments<'_>) {
        self.append(field, |record, name| record.formatted(name, text));
    }
}

impl Visit for Fields<'_, '_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.value(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.value(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.value(field, value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        match i64::try_from(value) {
            Ok(value) => self.value(field, value),
            Err(_) => self.text(field, format_args!("{value}")),
        }
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        match u64::try_from(value) {
            Ok(value) => self.value(field, value),
            Err(_) => self.text(field, format_args!("{value}")),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.value(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.value(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.text(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, format_args!("{value:?}"));
    }
}
