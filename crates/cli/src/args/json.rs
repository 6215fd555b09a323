//! Options for JSON output.

use clap::Args;
use ichnos::export::{Integers, JsonTime};

use super::choice::{self, Choice};

/// Options for a report in JSON.
#[derive(Args, Debug)]
pub(crate) struct JsonReport {
    /// Print JSON; docs/cli-json.md describes it
    #[arg(long)]
    pub(crate) json: bool,
    // Applies to --json.
    /// Form of integers
    ///
    /// Some readers, such as jq 1.6 and JavaScript, keep only 53 bits of a number.
    #[arg(long, value_parser = choice::parser(INTEGERS), value_name = "FORM", default_value = "number",
          requires = "json", hide_short_help = true)]
    pub(crate) integers: Integers,
}

/// Forms of integers in JSON.
pub(crate) const INTEGERS: &[Choice<Integers>] = &[
    ("auto", "As strings if a reader could round them: below -(2^53 - 1) or above 2^53 - 1", Integers::Auto),
    ("number", "As numbers with all their digits", Integers::Number),
    ("string", "All as strings", Integers::String),
];

/// Forms of times in JSON.
pub(crate) const TIMES: &[Choice<JsonTime>] = &[
    ("ns", "In nanoseconds", JsonTime::Nanoseconds),
    (
        "iso",
        "As a date and a time of day in UTC, with nanoseconds: 2019-08-16T12:08:20.948091100Z",
        JsonTime::Iso,
    ),
    ("both", "In nanoseconds, and as a date in a separate member", JsonTime::Both),
];
