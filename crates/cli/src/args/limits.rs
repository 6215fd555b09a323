//! Limits against hostile input, set with `--resource-limit NAME=VALUE`.
//!
//! The command line, `ichnos help limits` and the advice in messages are generated from the table in this file. A
//! test compares it with docs/limits.md.

use std::fmt::Write as _;

use ichnos::io::IoLimits;
use ichnos::{OpenError, model};

use crate::args::{number, size};
use crate::suggestions::nearest;

/// Values of all limits.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Limits for reading traces.
    pub(crate) model: model::trace::Limits,
    /// Limits for reading files and archives.
    pub(crate) io: IoLimits,
    pub(crate) report: ReportLimits,
}

/// Limits for reports.
#[derive(Clone, Debug)]
pub(crate) struct ReportLimits {
    /// Maximum number of damaged places to list.
    pub(crate) damage: u64,
    /// Maximum number of event groups to count exactly.
    pub(crate) groups: u64,
    /// Maximum number of unfinished pairs.
    pub(crate) open_pairs: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            model: model::trace::Limits::default(),
            io: IoLimits::default(),
            report: ReportLimits { damage: 10_000, groups: 1 << 16, open_pairs: 1 << 20 },
        }
    }
}

/// Struct that contains a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// A member of [`model::trace::Limits`].
    Model,
    /// A member of [`IoLimits`].
    Io,
    /// A member of [`ReportLimits`].
    Report,
}

/// A limit that `--resource-limit` sets.
#[derive(Debug)]
pub(crate) struct Limit {
    /// Name in `--resource-limit NAME=VALUE`.
    name: &'static str,
    family: Family,
    is_bytes: bool,
    /// Description of the limited quantity.
    about: &'static str,
    /// Remark about the default, after its number.
    default_note: &'static str,
    /// Names of the struct members that the limit sets or describes.
    members: &'static [&'static str],
    /// Advice for input that reached the limit.
    remedy: &'static str,
    get: fn(&Limits) -> u64,
    set: fn(&mut Limits, u64),
}

/// Type of a struct member that stores a limit.
trait LimitValue: Copy {
    fn widen(self) -> u64;
    /// Converts a value, at most to the maximum of the type.
    fn narrow(value: u64) -> Self;
}

macro_rules! values {
    ($($type:ty),*) => {
        $(impl LimitValue for $type {
            fn widen(self) -> u64 {
                u64::try_from(self).unwrap_or(u64::MAX)
            }

            fn narrow(value: u64) -> Self {
                value.try_into().unwrap_or(Self::MAX)
            }
        })*
    };
}

values!(u32, u64, usize);

/// Generates the limit table from rows of: family, member group, name, `true` for bytes, members that the limit sets,
/// further members that it describes, description, note about the default.
macro_rules! limits {
    ($($family:ident $of:ident $name:literal $is_bytes:literal
        [$first:ident $(, $member:ident)*] [$($further:literal)*] $about:literal $note:literal;)*) => {
        &[$(Limit {
            name: $name,
            family: Family::$family,
            is_bytes: $is_bytes,
            about: $about,
            default_note: $note,
            members: &[stringify!($first) $(, stringify!($member))* $(, $further)*],
            remedy: concat!("if you trust the input, raise the limit with --resource-limit ", $name, "=VALUE"),
            get: |limits| limits.$of.$first.widen(),
            set: |limits, value| {
                limits.$of.$first = LimitValue::narrow(value);
                $(limits.$of.$member = LimitValue::narrow(value);)*
            },
        }),*]
    };
}

/// All limits, in display order. A value from the command line also applies to short metadata and small archives,
/// which have lower defaults.
pub(crate) const LIMITS: &[Limit] = limits! {
    Model model "metadata" true [metadata_bytes] []
        "size of a metadata text" "";
    Model model "description" true [description_bytes, few_description_bytes] []
        "memory for a trace description" ", for short metadata 32M or ten times its size";
    Model model "depth" false [depth] []
        "levels of nested field classes, blocks and JSON" "";
    Model model "field-classes" false [field_classes, few_field_classes] []
        "field classes per trace" ", for short metadata 4096 and four for each byte";
    Model model "event-classes" false [event_record_classes, dynamic_event_record_classes] []
        "event record classes per trace" ", 65536 for dynamic classes";
    Model model "integer" false [integer_bits] []
        "bits per integer" "";
    Model model "empty-fields" false [empty_fields] []
        "fields per structure that can be empty" "";
    Model model "fields-per-bit" false [fields_per_bit] ["few_fields"]
        "fields per bit of trace data" ", after the first 1048576";
    Model model "empty-elements" false [zero_size_elements] []
        "zero-size array elements per packet" ", and one for each bit";
    Model model "packets" false [packets] []
        "packets per trace" "";
    Model model "problems" false [diagnostics] []
        "problems listed for a metadata text" "";
    Report report "damage" false [damage] []
        "listed damaged places" "";
    Report report "groups" false [groups] []
        "groups that `stats` counts exactly" "";
    Report report "open-pairs" false [open_pairs] []
        "events waiting for the end of their pair in `stats`" "";
    Io io "unpacked" true [decompressed_bytes] []
        "unpacked bytes per archive or compressed file" "";
    Io io "ratio" false [ratio] []
        "unpacked bytes per packed byte" " if more than 64 MiB are unpacked";
    Io io "files" false [entries] []
        "files per directory or archive" "";
    Io io "directories" false [depth] []
        "levels of nested directories" "";
};

impl Limit {
    /// Returns the default as written on the command line.
    fn default_text(&self) -> String {
        let value = (self.get)(&Limits::default());
        let text = match value {
            _ if !self.is_bytes => value.to_string(),
            _ if value >= 1 << 30 && value % (1 << 30) == 0 => format!("{}G", value >> 30),
            _ => format!("{}M", value >> 20),
        };
        format!("{text}{}", self.default_note)
    }
}

/// A limit with its value from `--resource-limit`.
#[derive(Clone, Debug)]
pub(crate) struct Maximum {
    limit: &'static Limit,
    value: u64,
}

impl Maximum {
    /// Parses `NAME=VALUE`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or("expected NAME=VALUE, for example unpacked=32G; `ichnos help limits` lists the names")?;
        let Some(limit) = LIMITS.iter().find(|limit| limit.name == name.trim()) else {
            let similar = nearest(name, LIMITS.iter().map(|limit| limit.name));
            let similar = similar.first().map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
            return Err(format!("unknown limit `{name}`; {similar}`ichnos help limits` lists them"));
        };
        let value = if limit.is_bytes { size::parse(value)? } else { number::parse(value.trim())? };
        if limit.family == Family::Report && value == 0 {
            return Err(format!("`{name}` is at least 1"));
        }
        Ok(Self { limit, value })
    }

    /// Sets this limit.
    pub(crate) fn apply(&self, limits: &mut Limits) {
        (self.limit.set)(limits, self.value);
    }
}

/// Returns the text of `ichnos help limits`.
pub(crate) fn help() -> String {
    let mut text =
        "Limits that protect against hostile input. Anything beyond a limit is refused or skipped, and\nreported.\n\n\
                    Set them with --resource-limit NAME=VALUE in any command that reads traces, for example\n\
                    --resource-limit unpacked=32G. K, M, G and T are powers of 1024.\n\n"
            .to_owned();
    let width = LIMITS.iter().map(|limit| limit.name.len()).max().unwrap_or_default();
    for limit in LIMITS {
        let _ =
            writeln!(text, "  {:width$}  {} [default: {}]", limit.name, limit.about, limit.default_text());
    }
    text
}

fn find(family: Family, member: Option<&str>) -> Option<&'static str> {
    let member = member?;
    let found = LIMITS.iter().find(|limit| limit.family == family && limit.members.contains(&member));
    found.map(|limit| limit.remedy)
}

/// Returns advice for a metadata problem or damage caused by a limit for traces.
pub(crate) fn model_remedy(limit: Option<&str>) -> Option<&'static str> {
    find(Family::Model, limit)
}

/// Returns advice for a problem caused by a limit for files and archives.
pub(crate) fn io_remedy(limit: Option<&str>) -> Option<&'static str> {
    find(Family::Io, limit)
}

/// Returns advice for traces that cannot be opened because of a limit.
pub(crate) fn remedy_for_opening(error: &OpenError) -> Option<&'static str> {
    match error {
        OpenError::Io(error) => io_remedy(error.limit()),
        OpenError::Refused(refused) => {
            let mut diagnostics = refused.iter().flat_map(|trace| &trace.diagnostics);
            diagnostics.find_map(|problem| model_remedy(problem.diagnostic.limit))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the rows of a table in docs/limits.md: member names and option names.
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
    fn limits_are_those_of_the_page() {
        for (page, family) in [("model", Family::Model), ("io", Family::Io)] {
            let of_family = LIMITS.iter().filter(|limit| limit.family == family);
            let rows = of_family.flat_map(|limit| {
                limit.members.iter().map(|member| ((*member).to_owned(), limit.name.to_owned()))
            });
            assert_eq!(rows.collect::<BTreeSet<_>>(), documented(page));
        }
    }

    #[test]
    fn reads_what_is_given() {
        let set = |text: &str| {
            let mut limits = Limits::default();
            Maximum::parse(text).map(|maximum| maximum.apply(&mut limits)).map(|()| limits)
        };
        assert_eq!(set("unpacked=32G").unwrap().io.decompressed_bytes, 32 << 30);
        let limits = set("field-classes=7").unwrap().model;
        assert_eq!((limits.field_classes, limits.few_field_classes), (7, 7));
        assert_eq!(set("depth=99999999999").unwrap().model.depth, u32::MAX);
        assert!(set("depht=3").unwrap_err().contains("did you mean `depth`?"));
        assert!(set("depth").unwrap_err().contains("expected NAME=VALUE"));
        assert!(set("depth=x").unwrap_err().contains("expected a number"));
        assert!(set("damage=0").unwrap_err().contains("at least 1"));
    }

    /// Every limit must set a member.
    #[test]
    fn every_limit_sets_something() {
        for limit in LIMITS {
            let mut limits = Limits::default();
            (limit.set)(&mut limits, 3);
            assert_eq!((limit.get)(&limits), 3, "{}", limit.name);
            assert!(help().contains(&format!("  {} ", limit.name)));
        }
        assert!(help().lines().all(|line| line.len() <= 120), "{}", help());
    }
}
