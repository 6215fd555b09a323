//! Table of text formats. The command knows nothing else about a text format.

use std::io::Write;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ichnos::export::{Csv, CsvForm, Details, Log, LogForm, Null, Pretty, TerminalText};
use ichnos::io::Output;
use ichnos::jsonl::JsonLines;
use ichnos::model::clock::ClockArithmetic;
use ichnos::{BlockWriter, TextOutput};

use super::settings::TextSettings;
use crate::args::time;

/// Function that starts a text in a format.
type StartText = for<'o> fn(&TextSettings, Box<dyn Write + Send + 'o>) -> Box<dyn Output + 'o>;

/// A text format.
#[derive(Debug)]
pub(crate) struct TextFormat {
    /// Name in `cat --format` and `convert --to`.
    pub(crate) name: &'static str,
    /// Description for the help.
    pub(crate) about: &'static str,
    /// Options that apply to this format, but not to all others.
    options: &'static [&'static str],
    /// `true` if the option `stacks` applies.
    has_stacks: bool,
    /// File name extensions.
    pub(crate) extensions: &'static [&'static str],
    /// `true` if `convert` recognizes the format from the output's extension.
    pub(crate) is_by_extension: bool,
    /// Default clock arithmetic.
    pub(crate) arithmetic: ClockArithmetic,
    /// `true` if all events have the same columns.
    pub(crate) has_columns: bool,
    /// `true` if the text can be read as a trace.
    pub(crate) is_trace: bool,
    /// `true` if the text contains losses.
    pub(crate) has_losses: bool,
    /// `true` unless the format only reads events.
    pub(crate) is_printed: bool,
    /// Returns `true` if the text has local times.
    has_local_times: fn(&TextSettings) -> bool,
    /// Returns the kind of text for a terminal, with or without colors.
    pub(crate) terminal_text: fn(bool) -> TerminalText,
    start: StartText,
}

/// Properties shared by most formats.
const COMMON: TextFormat = TextFormat {
    name: "",
    about: "",
    options: &[],
    has_stacks: true,
    extensions: &[],
    is_by_extension: false,
    arithmetic: ClockArithmetic::Exact,
    has_columns: false,
    is_trace: false,
    has_losses: false,
    is_printed: true,
    has_local_times: |_| false,
    terminal_text: |colors| TerminalText::Lines { colors },
    start: |_, writer| Box::new(TextOutput::new(writer, |_| Null::new()).without_damage()),
};

static PRETTY: TextFormat = TextFormat {
    name: "pretty",
    about: "One line per event, as printed by `babeltrace2`",
    options: &["clock_cycles", "clock_date", "clock_gmt", "clock_seconds", "no_delta", "fields", "names"],
    extensions: &["txt"],
    is_by_extension: true,
    arithmetic: ClockArithmetic::Double,
    // As in `babeltrace2`.
    has_losses: true,
    has_local_times: |text| !(text.clock_gmt || text.options.clock_seconds || text.options.clock_cycles),
    start: start_pretty,
    ..COMMON
};

static DETAILS: TextFormat = TextFormat {
    name: "details",
    about: "All properties of each message on several lines, as in the `details` sink of `babeltrace2`",
    options: &["details"],
    arithmetic: ClockArithmetic::Double,
    start: start_details,
    ..COMMON
};

static JSON_LINES: TextFormat = TextFormat {
    name: "jsonl",
    about: "One JSON object per line and event",
    options: &["packets", "integers", "time"],
    is_trace: true,
    terminal_text: |_| TerminalText::Json,
    start: start_json_lines,
    ..COMMON
};

static LOG: TextFormat = TextFormat {
    name: "log",
    about: "Log lines: time, process, thread, component, tags, severity, message. Events without a severity \
        become lines with their name and fields",
    options: &["clock_date", "clock_gmt"],
    extensions: &["txt"],
    has_losses: true,
    has_local_times: |text| text.options.clock_date && !text.clock_gmt,
    start: |text, writer| start_log(LogForm::Text, text, writer),
    ..COMMON
};

static LOG_JSON: TextFormat = TextFormat {
    name: "log-json",
    about: "Log lines as JSON, one object per line",
    options: &["integers", "time"],
    extensions: &["json"],
    has_losses: true,
    terminal_text: |_| TerminalText::Json,
    start: |text, writer| start_log(LogForm::Json, text, writer),
    ..COMMON
};

static CSV: TextFormat = TextFormat {
    name: "csv",
    about: "A table: one line per event, with cells separated by commas",
    options: &["fields", "time"],
    has_stacks: false,
    extensions: &["csv"],
    is_by_extension: true,
    has_columns: true,
    terminal_text: |_| TerminalText::Lines { colors: false },
    start: |text, writer| start_table(CsvForm::Comma, text, writer),
    ..COMMON
};

static TSV: TextFormat = TextFormat {
    name: "tsv",
    about: "A table with cells separated by tabs",
    options: &["fields", "time"],
    has_stacks: false,
    extensions: &["tsv"],
    is_by_extension: true,
    has_columns: true,
    terminal_text: |_| TerminalText::Tabs,
    start: |text, writer| start_table(CsvForm::Tab, text, writer),
    ..COMMON
};

static NULL: TextFormat = TextFormat {
    name: "null",
    about: "No output: decode all events, for checks and measurements",
    has_stacks: false,
    is_printed: false,
    ..COMMON
};

/// All formats, in help order.
static ALL: [&TextFormat; 8] = [&PRETTY, &DETAILS, &JSON_LINES, &LOG, &LOG_JSON, &CSV, &TSV, &NULL];

/// Formats that `convert` and similar verbs also write. The first format with an extension is its default.
static WRITTEN: [&TextFormat; 5] = [&CSV, &TSV, &PRETTY, &LOG, &LOG_JSON];

impl TextFormat {
    /// Returns JSON Lines, for `cat --json`.
    pub(crate) fn json_lines() -> &'static Self {
        &JSON_LINES
    }

    /// Returns all formats.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        ALL.into_iter()
    }

    /// Returns the formats that `convert` and similar verbs also write.
    pub(crate) fn written() -> impl Iterator<Item = &'static Self> {
        WRITTEN.into_iter()
    }

    /// Returns `true` if a `cat` option applies to this format. `id` is its name with `_` for each `-`.
    pub(crate) fn has_option(&self, id: &str) -> bool {
        match id {
            "stacks" => self.has_stacks,
            "output" => self.is_printed,
            id => self.options.contains(&id),
        }
    }

    /// Returns the `cat` options that do not apply to all formats.
    pub(crate) fn limited_options() -> Vec<&'static str> {
        let mut options = Vec::new();
        for option in Self::all().flat_map(|format| format.options).chain(&["stacks", "output"]) {
            if !options.contains(option) {
                options.push(*option);
            }
        }
        options
    }

    /// Warns about an unknown time zone if the text has local times.
    pub(crate) fn warn_of_zone(&self, text: &TextSettings) {
        if (self.has_local_times)(text) {
            time::warn_of_zone();
        }
    }

    /// Starts a text in this format.
    pub(crate) fn start<'o>(
        &self,
        text: &TextSettings,
        writer: Box<dyn Write + Send + 'o>,
    ) -> Box<dyn Output + 'o> {
        (self.start)(text, writer)
    }
}

/// Returns the parser for format names.
pub(crate) fn parser() -> impl TypedValueParser<Value = &'static TextFormat> {
    let values = TextFormat::all().map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(values)
        .try_map(|name| TextFormat::all().find(|format| format.name == name).ok_or("unknown format"))
}

fn start_pretty<'o>(text: &TextSettings, writer: Box<dyn Write + Send + 'o>) -> Box<dyn Output + 'o> {
    let options = text.pretty();
    let make = move |writer: BlockWriter| {
        let warnings = writer.warnings();
        Pretty::new(writer, options.clone()).warnings_to(warnings)
    };
    Box::new(TextOutput::new(writer, make).warnings_to(text.warnings()).without_damage())
}

fn start_details<'o>(text: &TextSettings, writer: Box<dyn Write + Send + 'o>) -> Box<dyn Output + 'o> {
    let options = text.details();
    let make = move |writer: BlockWriter| {
        let warnings = writer.warnings();
        Details::new(writer, options.clone()).warnings_to(warnings)
    };
    Box::new(TextOutput::new(writer, make).warnings_to(text.warnings()).without_damage())
}

fn start_json_lines<'o>(text: &TextSettings, writer: Box<dyn Write + Send + 'o>) -> Box<dyn Output + 'o> {
    let options = text.json_lines();
    Box::new(TextOutput::new(writer, move |writer| JsonLines::new(writer, options.clone())))
}

fn start_log<'o>(
    form: LogForm,
    text: &TextSettings,
    writer: Box<dyn Write + Send + 'o>,
) -> Box<dyn Output + 'o> {
    let options = text.log(form);
    Box::new(TextOutput::new(writer, move |writer| Log::new(writer, options.clone())))
}

fn start_table<'o>(
    form: CsvForm,
    text: &TextSettings,
    writer: Box<dyn Write + Send + 'o>,
) -> Box<dyn Output + 'o> {
    let options = text.table(form);
    Box::new(TextOutput::new(writer, move |writer| Csv::new(writer, options.clone())).without_damage())
}
