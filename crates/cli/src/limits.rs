//! Which option raises which limit. This is the only table of it: messages take their advice from here, and
//! a test compares it with the options and with docs/limits.md.

use ichnos::model::{DamageKind, Diagnostic};
use ichnos::{OpenError, io::IoError};

/// An option that sets a limit of the library.
pub(crate) struct LimitOption {
    /// Name of the member of `Limits`, or of `IoLimits`.
    pub(crate) limit: &'static str,
    /// What helps if the limit was reached.
    pub(crate) remedy: &'static str,
}

macro_rules! options {
    ($($limit:literal: $option:literal,)*) => {
        [$(LimitOption {
            limit: $limit,
            remedy: concat!("if you trust the input, raise the limit with ", $option),
        }),*]
    };
}

/// Options for members of `Limits`.
pub(crate) const MODEL: [LimitOption; 15] = options! {
    "metadata_bytes": "--limit-metadata",
    "description_bytes": "--limit-description",
    "few_description_bytes": "--limit-description",
    "depth": "--limit-depth",
    "field_classes": "--limit-field-classes",
    "few_field_classes": "--limit-field-classes",
    "event_record_classes": "--limit-event-classes",
    "late_event_record_classes": "--limit-event-classes",
    "integer_bits": "--limit-integer",
    "empty_fields": "--limit-empty-fields",
    "fields_per_bit": "--limit-fields-per-bit",
    "few_fields": "--limit-fields-per-bit",
    "zero_size_elements": "--limit-empty-elements",
    "packets": "--limit-packets",
    "diagnostics": "--limit-problems",
};

/// Options for members of `IoLimits`.
pub(crate) const IO: [LimitOption; 5] = options! {
    "decompressed_bytes": "--limit-unpacked",
    "ratio": "--limit-ratio",
    "small_ratio": "--limit-ratio",
    "entries": "--limit-files",
    "depth": "--limit-folders",
};

fn find(options: &'static [LimitOption], limit: &str) -> Option<&'static str> {
    options.iter().find(|option| option.limit == limit).map(|option| option.remedy)
}

/// What helps if a problem of metadata is a limit that was reached.
pub(crate) fn of_diagnostic(diagnostic: &Diagnostic) -> Option<&'static str> {
    find(&MODEL, diagnostic.limit?)
}

/// What helps if damage is a limit that was reached.
pub(crate) fn of_damage(kind: &DamageKind) -> Option<&'static str> {
    find(&MODEL, kind.limit()?)
}

/// What helps if the input was refused because of a limit.
pub(crate) fn of_io(error: &IoError) -> Option<&'static str> {
    find(&IO, error.limit()?)
}

/// What helps if something of a tree of files was left out because of a limit.
pub(crate) fn of_problem(problem: &str) -> Option<&'static str> {
    problem.ends_with(" folders deep").then(|| find(&IO, "depth")).flatten()
}

/// What helps if nothing could be opened because of a limit.
pub(crate) fn of_opening(error: &OpenError) -> Option<&'static str> {
    match error {
        OpenError::Io(error) => of_io(error),
        OpenError::Refused(refused) => {
            let mut diagnostics = refused.iter().flat_map(|trace| &trace.diagnostics);
            diagnostics.find_map(|problem| of_diagnostic(&problem.diagnostic))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::args::LowArgs;

    /// Rows of a table of docs/limits.md: names of limits and their options.
    fn documented(name: &str) -> BTreeSet<(String, String)> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/limits.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (_, table) = text.split_once(&format!("<!-- table: {name} -->\n")).unwrap();
        let (table, _) = table.split_once("<!-- end of table -->").unwrap();
        let cell = |cell: &str| cell.trim().trim_matches('`').to_owned();
        let rows = table.lines().skip(2).map(|row| {
            let mut cells = row.split('|').skip(1).map(cell);
            (cells.next().unwrap(), cells.next().unwrap())
        });
        rows.collect()
    }

    #[test]
    fn options_are_those_of_the_command_line_and_of_the_page() {
        let command = LowArgs::command();
        let info = command.find_subcommand("info").unwrap();
        let flags: BTreeSet<String> =
            info.get_arguments().filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect();
        for (name, options) in [("model", &MODEL[..]), ("io", &IO[..])] {
            let split = |option: &LimitOption| {
                let (_, flag) = option.remedy.rsplit_once(' ').unwrap();
                assert!(flags.contains(flag), "{flag}");
                (option.limit.to_owned(), flag.to_owned())
            };
            assert_eq!(options.iter().map(split).collect::<BTreeSet<_>>(), documented(name));
        }
    }
}
