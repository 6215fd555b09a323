//! Options for JSON output.

use clap::{Args, ValueEnum};
use ichnos::export::{Integers, JsonTime};

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
    #[arg(long, value_enum, value_name = "FORM", default_value_t = IntegerForm::Number, requires = "json", hide_short_help = true)]
    pub(crate) integers: IntegerForm,
}

/// Form of integers in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum IntegerForm {
    /// As strings if a reader could round them: below -(2^53 - 1) or above 2^53 - 1.
    Auto,
    /// As numbers with all their digits.
    #[default]
    Number,
    /// All as strings.
    String,
}

impl From<IntegerForm> for Integers {
    fn from(form: IntegerForm) -> Self {
        match form {
            IntegerForm::Auto => Self::Auto,
            IntegerForm::Number => Self::Number,
            IntegerForm::String => Self::String,
        }
    }
}

/// Form of times in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeForm {
    /// In nanoseconds.
    #[default]
    Ns,
    /// As a date and a time of day in UTC, with nanoseconds: 2019-08-16T12:08:20.948091100Z.
    Iso,
    /// In nanoseconds, and as a date in a separate member.
    Both,
}

impl From<TimeForm> for JsonTime {
    fn from(form: TimeForm) -> Self {
        match form {
            TimeForm::Ns => Self::Nanoseconds,
            TimeForm::Iso => Self::Iso,
            TimeForm::Both => Self::Both,
        }
    }
}
