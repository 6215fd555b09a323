//! Registry entry for Fuchsia logs.

use ichnos_io::{
    Datagrams, Format, FormatInfo, FormatOption, OpenedTraces, OptionValue, ReadFiles, ReadOptions, Tree,
};
use ichnos_model::OpenedTrace;
use ichnos_model::plan::PlanError;

use super::{FuchsiaLogOptions, LogTrace, RecordClock, own_files, probe};
use crate::log::SeverityScale;
use crate::log_writer::FuchsiaLogWriter;

/// The format of Fuchsia logs.
#[derive(Clone, Copy, Debug)]
pub struct FuchsiaLog;

const OPTIONS: &[FormatOption] = &[
    FormatOption::choice(
        "clock",
        "record clock (not stored in the records)",
        &[
            OptionValue::new("monotonic", "stops while the system is suspended (before API level 24)"),
            OptionValue::new("boot", "includes the time while the system is suspended (since API level 24)"),
        ],
    ),
    FormatOption::choice(
        "severity-scale",
        "severity scale of legacy packets",
        &[
            OptionValue::new("current", "the scale of records"),
            OptionValue::new("original", "the scale of 2019 to 2021, with INFO as 0"),
        ],
    ),
];

static INFO: FormatInfo = FormatInfo {
    versions: "structured log records, also tagged and extended; legacy log packets",
    detection: "files with log records, or with datagrams after their lengths",
    writer: Some(&FuchsiaLogWriter),
    options: OPTIONS,
    listen: Some(listen),
    ..FormatInfo::new("fuchsia-log", "Fuchsia logs")
};

fn listen(datagrams: Datagrams, options: &ReadOptions) -> Result<Box<dyn OpenedTrace>, PlanError> {
    Ok(Box::new(LogTrace::listen(datagrams, &options.into())?))
}

impl Format for FuchsiaLog {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn probe(&self, tree: &Tree, options: &ReadOptions) -> bool {
        probe(tree, &options.into())
    }

    fn own_files(&self, tree: &Tree, files: &[usize], options: &ReadOptions) -> Vec<usize> {
        own_files(tree, files, &options.into())
    }

    fn open(&self, trees: &[&Tree], options: &ReadOptions) -> OpenedTraces {
        let options = FuchsiaLogOptions::from(options);
        let mut opened = OpenedTraces::default();
        let mut read = ReadFiles::default();
        for tree in trees {
            if let Some(trace) = LogTrace::open_unread(tree, &options, &mut read).transpose() {
                opened.add(&tree.name, trace);
            }
        }
        opened.notices = read.notices;
        opened
    }
}

impl From<&ReadOptions> for FuchsiaLogOptions {
    fn from(options: &ReadOptions) -> Self {
        Self {
            clock: match options.formats.choice(INFO.name, "clock") {
                Some("boot") => RecordClock::Boot,
                _ => RecordClock::Monotonic,
            },
            severity_scale: match options.formats.choice(INFO.name, "severity-scale") {
                Some("original") => SeverityScale::Original,
                _ => SeverityScale::Current,
            },
            clock_offsets: options.clock_offsets.clone(),
            class_map: options.class_map.clone(),
            check: options.check,
            force: options.force,
            kept: options.kept.clone(),
            limits: options.limits,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    /// The first value of an option is its default, and all other values are understood.
    #[test]
    fn every_value_can_be_set() {
        let shown = |options: &ReadOptions| {
            let options = FuchsiaLogOptions::from(options);
            (options.clock, options.severity_scale)
        };
        let default = shown(&ReadOptions::default());
        for option in OPTIONS {
            for (i, value) in option.values().iter().enumerate() {
                let mut options = ReadOptions::default();
                options.formats.set(INFO.name, OPTIONS, option.name, OsStr::new(value.name)).unwrap();
                assert_eq!(shown(&options) == default, i == 0, "{}={}", option.name, value.name);
            }
        }
        let mut options = ReadOptions::default();
        let error =
            options.formats.set(INFO.name, OPTIONS, "clock", OsStr::new("sun")).unwrap_err().to_string();
        assert_eq!(error, "invalid value `sun` for the option `fuchsia-log.clock`; expected monotonic, boot");
        let error =
            options.formats.set(INFO.name, OPTIONS, "moon", OsStr::new("boot")).unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown option `fuchsia-log.moon`; expected one of fuchsia-log.clock, fuchsia-log.severity-scale"
        );
    }
}
