//! Text format options.

use clap::Args;
use ichnos::export::{DetailsOptions, Integers, JsonTime, PrettyFields, PrettyNames};

use crate::args::choice::{self, Choice};
use crate::args::json;

/// Options that apply only to some text formats.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TextOptions {
    /// Print times in clock cycles (pretty)
    #[arg(long, hide_short_help = true)]
    pub(crate) clock_cycles: bool,
    /// Print the date before the time (pretty, log)
    #[arg(long)]
    pub(crate) clock_date: bool,
    /// Print times in seconds since the clock's origin (pretty)
    #[arg(long, hide_short_help = true)]
    pub(crate) clock_seconds: bool,
    /// Do not print the time since the previous event (pretty)
    #[arg(long)]
    pub(crate) no_delta: bool,
    /// Columns, comma-separated (csv, tsv), or properties before an event (pretty)
    ///
    /// In the formats csv and tsv: `time`, `ts`, `cycles`, `event`, `id`, `log_level`, `host`,
    /// `stream`, `trace`, or field paths such as next_comm, ctx.vpid or args.0; docs/csv.md describes them.
    /// Default: time, event, host, stream and all fields. In the format pretty: trace, trace:hostname,
    /// trace:domain, trace:procname, trace:vpid, loglevel, emf, callsite, all or none; default: host name, process
    /// name and process id.
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Scopes in which to print names, comma-separated (pretty)
    #[arg(long, value_name = "SCOPE", value_parser = choice::parser(SCOPES), value_delimiter = ',',
          hide_short_help = true)]
    pub(crate) names: Vec<ScopeSwitch>,

    /// Properties to print, comma-separated (details)
    ///
    /// The parameters of babeltrace2's sink.text.details: compact, with-data, with-metadata, with-stream-class-name,
    /// with-stream-name, with-time, with-trace-name, with-uid or with-uuid.
    #[arg(long, value_name = "NAME=YES|NO", value_delimiter = ',', value_parser = detail, hide_short_help = true)]
    pub(crate) details: Vec<(DetailSwitch, bool)>,

    /// Also print packets, with their headers and contexts (jsonl)
    #[arg(long, hide_short_help = true)]
    pub(crate) packets: bool,
    // Applies to the formats `jsonl` and `log-json`.
    /// Form of integers (jsonl, log-json)
    ///
    /// Some readers, such as jq 1.6 and JavaScript, keep only 53 bits of a number.
    #[arg(long, value_parser = choice::parser(json::INTEGERS), value_name = "FORM", default_value = "number",
          hide_short_help = true)]
    pub(crate) integers: Integers,
    // Applies to the formats `jsonl`, `log-json`, `csv` and `tsv`.
    /// Form of times since the Unix epoch (jsonl, log-json, csv, tsv)
    ///
    /// Times from other clocks are always in nanoseconds.
    #[arg(long, value_parser = choice::parser(json::TIMES), value_name = "FORM", default_value = "ns",
          hide_short_help = true)]
    pub(crate) time: JsonTime,
}

impl TextOptions {
    /// Returns the properties to print before each event in the format pretty.
    ///
    /// # Errors
    /// The first invalid name.
    pub(crate) fn properties(&self) -> Result<Vec<PropertySwitch>, &str> {
        let switch =
            |name: &str| PROPERTIES.iter().find(|(known, _)| *known == name).map(|(_, switch)| *switch);
        self.fields.iter().map(|name| switch(name).ok_or(&**name)).collect()
    }
}

/// Switch for a property that the format pretty can print before an event.
pub(crate) type PropertySwitch = fn(&mut PrettyFields);

/// Switches for properties before an event, by name.
pub(crate) const PROPERTIES: &[(&str, PropertySwitch)] = &[
    ("trace", |fields| fields.trace = true),
    ("trace:hostname", |fields| fields.hostname = true),
    ("trace:domain", |fields| fields.domain = true),
    ("trace:procname", |fields| fields.procname = true),
    ("trace:vpid", |fields| fields.vpid = true),
    ("loglevel", |fields| fields.log_level = true),
    ("emf", |fields| fields.emf = true),
    ("callsite", |fields| fields.call_site = true),
    ("all", |fields| *fields = PrettyFields::ALL),
    ("none", |_| {}),
];

/// Switch for the names in a scope.
pub(crate) type ScopeSwitch = fn(&mut PrettyNames);

/// Switches for the scopes in which names are printed.
pub(crate) const SCOPES: &[Choice<ScopeSwitch>] = &[
    ("payload", "Payload fields (default)", |names| names.payload = true),
    ("arg", "", |names| names.payload = true),
    ("args", "", |names| names.payload = true),
    ("context", "Context fields (default)", |names| names.context = true),
    ("ctx", "", |names| names.context = true),
    ("scope", "Scopes", |names| names.scope = true),
    ("header", "Header: timestamp, delta and so on", |names| names.header = true),
    ("all", "All of them", |names| *names = PrettyNames::ALL),
    ("none", "None of them", |_| {}),
];

/// Switch for a property that the details format can print or omit.
pub(crate) type DetailSwitch = fn(&mut DetailsOptions) -> &mut bool;

/// Switches of the details format, by name.
const DETAILS: &[(&str, DetailSwitch)] = &[
    ("compact", |options| &mut options.compact),
    ("with-data", |options| &mut options.data),
    ("with-metadata", |options| &mut options.metadata),
    ("with-stream-class-name", |options| &mut options.stream_class_name),
    ("with-stream-name", |options| &mut options.stream_name),
    ("with-time", |options| &mut options.time),
    ("with-trace-name", |options| &mut options.trace_name),
    ("with-uid", |options| &mut options.uid),
    ("with-uuid", |options| &mut options.uuid),
];

fn detail(text: &str) -> Result<(DetailSwitch, bool), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "yes"));
    let name = name.trim();
    let detail = DETAILS.iter().find(|(known, _)| *known == name);
    let (_, switch) =
        detail.ok_or_else(|| format!("unknown property `{name}`; `ichnos cat --help` lists them"))?;
    match value.trim() {
        "yes" | "true" | "TRUE" | "1" => Ok((*switch, true)),
        "no" | "false" | "FALSE" | "0" => Ok((*switch, false)),
        value => Err(format!("expected yes or no, found `{value}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_details() {
        let mut options = DetailsOptions::default();
        for (text, expected) in [("compact", true), ("with-uuid=no", false)] {
            let (switch, value) = detail(text).unwrap();
            *switch(&mut options) = value;
            assert_eq!(value, expected);
        }
        assert!(options.compact && !options.uuid);
        assert!(detail("x=yes").is_err());
        assert!(detail("compact=maybe").is_err());
    }
}
