//! A backend for the crate `log`.

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};

use crate::description::{EventDescription, EventLevel, MemberDescription};
use crate::dynamic_event::{DynamicMember, EventOrigin, record_dynamic};
use crate::recording::{describe_class, is_recording, recording_number};

/// Records messages of the crate `log`, as one class for each level.
///
/// ```
/// ichnos_tracer::LogBackend::install(log::LevelFilter::Info)?;
/// log::info!("recorded while there is a recording");
/// # Ok::<(), log::SetLoggerError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LogBackend {
    _private: (),
}

impl LogBackend {
    /// Makes it the logger of this program.
    ///
    /// # Errors
    /// If there is a logger already.
    pub fn install(most: LevelFilter) -> Result<(), SetLoggerError> {
        log::set_logger(&Self { _private: () })?;
        log::set_max_level(most);
        Ok(())
    }
}

impl Log for LogBackend {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        is_recording()
    }

    fn log(&self, record: &Record<'_>) {
        let Some(recording) = recording_number() else { return };
        // No place is at an address this small.
        let origin = EventOrigin { recording, kind: u8::MAX, place: record.level() as usize };
        record_dynamic(
            origin,
            |event| {
                event.text("target", 0, record.target());
                event.meaning("tag");
                event.text("file", 1, record.file().unwrap_or_default());
                event.meaning("file");
                event.unsigned("line", 2, record.line().unwrap_or_default().into());
                event.meaning("line");
                event.debug("message", 3, record.args());
                event.meaning("message");
            },
            |members| describe(recording, record.level(), members),
        );
    }

    fn flush(&self) {}
}

fn describe(recording: u16, level: log::Level, members: &[DynamicMember]) -> u16 {
    let members: Vec<MemberDescription<'_>> =
        members.iter().map(|member| member.description(member.name)).collect();
    let level = match level {
        log::Level::Error => EventLevel::Error,
        log::Level::Warn => EventLevel::Warning,
        log::Level::Info => EventLevel::Info,
        log::Level::Debug | log::Level::Trace => EventLevel::Debug,
    };
    describe_class(recording, &EventDescription::new("log", &members).with_level(level))
}
