//! Event maps: files that assign roles to events and meanings to fields.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use globset::{Glob, GlobMatcher};
use ichnos_model::class::{DataStreamClass, EventRecordClass};
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::meaning::{CauseKind, ClassMap, EventDisplay, EventRole, EventRule, EventTrack, Meaning};
use toml::de::DeTable;

use super::QueryError;
use super::suggestions::{alternatives, did_you_mean};
use super::toml_text::{TomlText, TomlValue};

/// Keys at the top level of the file, and in an event's table.
const KEYS: [&str; 1] = ["event"];
const KEYS_OF_EVENT: [&str; 8] = ["match", "role", "track", "name", "category", "color", "unit", "fields"];

/// Short names for meanings.
pub const SHORT_MEANINGS: [(&str, Meaning); 5] = [
    ("name", Meaning::EventName),
    ("key", Meaning::PairKey),
    ("value", Meaning::CounterValue),
    ("cpu", Meaning::Processor),
    ("cause", Meaning::Cause(CauseKind::Predecessor)),
];

/// Maximum number of problems with fields to keep.
const MOST_PROBLEMS: usize = 200;

/// Event map: rules that assign roles to events and meanings to fields, from one or more files.
#[derive(Debug, Default)]
pub struct EventMap {
    rules: Vec<MapRule>,
    /// Messages about fields that events lack.
    problems: Mutex<Vec<String>>,
}

/// A table `[[event]]`.
#[derive(Debug)]
struct MapRule {
    events: GlobMatcher,
    rule: EventRule,
    /// Position in the file.
    place: String,
    /// Position of each field.
    field_places: Vec<String>,
    is_used: AtomicBool,
}

impl MapRule {
    /// Returns `true` if the pattern matches a name, or is spelled like it.
    fn matches(&self, name: &str) -> bool {
        self.events.is_match(name) || self.events.glob().glob() == name
    }
}

impl EventMap {
    /// Reads map files. Rules apply in file order, then in table order.
    ///
    /// # Errors
    /// If a file cannot be read, or is not a map.
    pub fn read(paths: &[PathBuf]) -> Result<Self, QueryError> {
        let mut map = Self::default();
        for path in paths {
            map.rules.extend(read(path)?);
        }
        Ok(map)
    }

    /// Returns the function that applies the map to classes.
    #[must_use]
    pub fn class_map(self: &Arc<Self>) -> ClassMap {
        let map = Arc::clone(self);
        ClassMap::new(move |class, stream| map.apply(class, stream))
    }

    /// Returns messages about fields that events lack, and about rules that no event matched so far.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let unused = self.rules.iter().filter(|rule| !rule.is_used.load(Ordering::Relaxed));
        let unused = unused.map(|rule| format!("{}: no event matches `{}`", rule.place, rule.events.glob()));
        self.problems.lock().ignore_poison().iter().cloned().chain(unused).collect()
    }

    fn apply(&self, class: &mut EventRecordClass, stream: &DataStreamClass) {
        let name = class.name.clone().unwrap_or_default();
        for rule in self.rules.iter().filter(|rule| rule.matches(&name)) {
            rule.is_used.store(true, Ordering::Relaxed);
            let missing = rule.rule.apply(class, stream);
            for index in missing {
                let (Some(place), Some((field, _))) =
                    (rule.field_places.get(index), rule.rule.members.get(index))
                else {
                    continue;
                };
                let mut problems = self.problems.lock().ignore_poison();
                let problem = format!("{place}: the event `{name}` lacks the field `{field}`");
                if problems.len() < MOST_PROBLEMS && !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }
}

/// Reads the rules in a file.
fn read(path: &Path) -> Result<Vec<MapRule>, QueryError> {
    let text = TomlText::read(path, "maps")?;
    let table = text.parse()?;
    text.check_keys(table.get_ref(), &KEYS)?;
    text.tables(table.get_ref(), "event")?.into_iter().map(|event| rule(&text, event)).collect()
}

/// Converts a table to a rule.
fn rule(text: &TomlText, event: &TomlValue<'_>) -> Result<MapRule, QueryError> {
    let table = event.get_ref().as_table().ok_or_else(|| text.wrong(event, "a table"))?;
    text.check_keys(table, &KEYS_OF_EVENT)?;
    let Some(pattern) = table.get("match") else {
        return Err(text.failure(event.span().start, "expected `match` in this table, found none"));
    };
    let at = pattern.span().start;
    let glob = pattern.get_ref().as_str().filter(|glob| !glob.is_empty());
    let glob = glob.ok_or_else(|| text.wrong(pattern, "an event name pattern as text"))?;
    let glob = Glob::new(glob).map_err(|error| text.failure(at, &format!("invalid pattern: {error}")))?;
    let roles = EventRole::ALL.map(EventRole::name);
    let role = named(text, table, "role", &roles)?.and_then(|role| role.parse().ok());
    let tracks = EventTrack::ALL.map(EventTrack::name);
    let track = named(text, table, "track", &tracks)?.and_then(|track| track.parse::<EventTrack>().ok());
    let string = |key| -> Result<Option<String>, QueryError> {
        let Some(value) = table.get(key) else { return Ok(None) };
        let string = value.get_ref().as_str().ok_or_else(|| text.wrong(value, "a text"))?;
        Ok(Some(string.to_owned()))
    };
    let display = EventDisplay {
        track: EventTrack::default(),
        name: string("name")?,
        category: string("category")?,
        color: string("color")?,
        unit: string("unit")?,
        ..EventDisplay::default()
    };
    let mut rule = EventRule::default();
    (rule.role, rule.track) = (role, track);
    rule.display = (display != EventDisplay::default()).then(|| Arc::new(display));
    let mut field_places = Vec::new();
    if let Some(fields) = table.get("fields") {
        let named = fields.get_ref().as_table();
        let named = named.ok_or_else(|| text.wrong(fields, "a table of fields by meaning"))?;
        add_fields(text, named, &mut rule, &mut field_places)?;
    }
    let place = text.place(at);
    Ok(MapRule { events: glob.compile_matcher(), rule, place, field_places, is_used: AtomicBool::new(false) })
}

/// Returns the value for a key that must have a known name as its value.
fn named<'t>(
    text: &TomlText,
    table: &'t DeTable<'_>,
    key: &str,
    known: &[&str],
) -> Result<Option<&'t str>, QueryError> {
    let Some(value) = table.get(key) else { return Ok(None) };
    let expected = alternatives(known.iter().copied());
    let name = value.get_ref().as_str().ok_or_else(|| text.wrong(value, &expected))?;
    if known.contains(&name) {
        return Ok(Some(name));
    }
    Err(text.wrong(value, &expected).maybe_help(did_you_mean(name, known.iter().copied())))
}

/// Adds fields by meaning. Each meaning has a field name, or a list of field names.
fn add_fields(
    text: &TomlText,
    fields: &DeTable<'_>,
    rule: &mut EventRule,
    places: &mut Vec<String>,
) -> Result<(), QueryError> {
    for (key, value) in fields {
        let name = &**key.get_ref();
        let short = SHORT_MEANINGS.iter().find(|(short, _)| *short == name).map(|(_, meaning)| *meaning);
        let Some(meaning) = short.or_else(|| name.parse().ok()) else {
            let names =
                SHORT_MEANINGS.map(|(short, _)| short).into_iter().chain(Meaning::ALL.map(Meaning::name));
            let failure = text.failure(key.span().start, &format!("unknown meaning `{name}`"));
            return Err(failure
                .help("`ichnos help map` lists the meanings")
                .maybe_help(did_you_mean(name, names)));
        };
        let mut add = |value: &TomlValue<'_>| -> Result<(), QueryError> {
            let field = value.get_ref().as_str().filter(|field| !field.is_empty());
            let field = field.ok_or_else(|| text.wrong(value, "a field name as text"))?;
            rule.members.push((field.to_owned(), meaning));
            places.push(text.place(value.span().start));
            Ok(())
        };
        match value.get_ref().as_array() {
            Some(several) => several.iter().try_for_each(&mut add)?,
            None => add(value)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Result<Vec<MapRule>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("m.toml");
        std::fs::write(&path, text).unwrap();
        let prefix = format!("{}/", directory.path().display());
        read(&path).map_err(|failure| {
            let help = failure.help.map_or_else(String::new, |help| format!("; {help}"));
            format!("{}{help}", failure.message).replace(&prefix, "")
        })
    }

    #[test]
    fn tables_are_rules() {
        let rules = rules(
            "[[event]]\nmatch = 'app:*_begin'\nrole = 'begin'\nname = 'request'\n\
            [event.fields]\nkey = ['id', 'ctx.vpid']\nthread = 'tid'\n\
            [[event]]\nmatch = 'app:load'\nrole = 'counter'\nunit = '%'\ntrack = 'processor'\n",
        )
        .unwrap();
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[0].rule.role, Some(EventRole::Begin));
        let expected = [("id", Meaning::PairKey), ("ctx.vpid", Meaning::PairKey), ("tid", Meaning::Thread)];
        assert_eq!(rules[0].rule.members, expected.map(|(name, meaning)| (name.to_owned(), meaning)));
        assert!(rules[0].field_places[1].ends_with("m.toml:6:14"));
        let display = rules[1].rule.display.as_deref().unwrap();
        assert_eq!((rules[1].rule.track, display.unit.as_deref()), (Some(EventTrack::Processor), Some("%")));
    }

    #[test]
    fn errors_have_positions() {
        for (text, expected) in [
            ("", "m.toml:1:1: expected at least one table `[[event]]`, found none"),
            ("[[event]]\nrole = 'begin'\n", "m.toml:1:1: expected `match` in this table, found none"),
            (
                "[[event]]\nmatch = 'x'\nrole = 'beginn'\n",
                "m.toml:3:8: expected `instant`, `begin`, `end`, `sample`, `counter`, `send`, `receive`, `switch`, \
                `wakeup`, `thread-start` or `frame`, found string `'beginn'`; did you mean `begin`?",
            ),
            (
                "[[event]]\nmatch = 'x'\nfields = { keys = 'a' }\n",
                "m.toml:3:12: unknown meaning `keys`; did you mean `key`?",
            ),
            (
                "[[event]]\nmatch = 'x'\nfields = { key = 1 }\n",
                "m.toml:3:18: expected a field name as text, found integer `1`",
            ),
            ("[[event]]\nmatch = 'x'\ncolour = 'red'\n", "m.toml:3:1: expected"),
        ] {
            let error = rules(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
