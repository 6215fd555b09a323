//! Event maps: files that assign roles to events and meanings to fields.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use globset::{Glob, GlobMatcher};
use ichnos::model::class::{DataStreamClass, EventRecordClass};
use ichnos::model::locks::IgnorePoison as _;
use ichnos::model::meaning::{CauseKind, ClassMap, EventDisplay, EventRole, EventRule, EventTrack, Meaning};
use toml::de::DeTable;

use crate::exit::Failure;
use crate::input::toml_text::{TomlText, TomlValue};
use crate::progress::Console;
use crate::suggestions::{alternatives, did_you_mean};

/// Keys at the top level of the file, and in an event's table.
const KEYS: [&str; 1] = ["event"];
const KEYS_OF_EVENT: [&str; 8] = ["match", "role", "track", "name", "category", "color", "unit", "fields"];

/// Short names for meanings.
const SHORT: [(&str, Meaning); 5] = [
    ("name", Meaning::EventName),
    ("key", Meaning::PairKey),
    ("value", Meaning::CounterValue),
    ("cpu", Meaning::Processor),
    ("cause", Meaning::Cause(CauseKind::Predecessor)),
];

/// Maximum number of problems to report.
const MOST_PROBLEMS: usize = 20;

/// Map that is applied to the traces.
static LOADED: OnceLock<Arc<EventMap>> = OnceLock::new();

/// Rules from one or more files.
#[derive(Debug, Default)]
struct EventMap {
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

/// Reads map files. Rules apply in file order, then in table order.
pub(crate) fn load(paths: &[PathBuf]) -> Result<Option<ClassMap>, Failure> {
    if paths.is_empty() {
        return Ok(None);
    }
    let mut map = EventMap::default();
    for path in paths {
        map.rules.extend(read(path)?);
    }
    let map = Arc::clone(LOADED.get_or_init(|| Arc::new(map)));
    Ok(Some(ClassMap::new(move |class, stream| map.apply(class, stream))))
}

/// Reports rules that no event matched, and fields that events lack.
pub(crate) fn report_problems(console: Console) {
    let Some(map) = LOADED.get() else { return };
    let unused = map.rules.iter().filter(|rule| !rule.is_used.load(Ordering::Relaxed));
    let unused = unused.map(|rule| format!("{}: no event matches `{}`", rule.place, rule.events.glob()));
    let missing = map.problems.lock().ignore_poison();
    let all: Vec<String> = missing.iter().cloned().chain(unused).collect();
    for problem in all.iter().take(MOST_PROBLEMS) {
        console.warning(problem);
    }
    if all.len() > MOST_PROBLEMS {
        console.warning(&format!("{} further map problems", all.len() - MOST_PROBLEMS));
    }
}

/// Returns the text of `ichnos help map`.
pub(crate) fn help() -> String {
    let mut text = "\
A map assigns roles to events and meanings to fields, for viewers, statistics and filters. Any command that reads
traces accepts --map FILE. A map is a TOML file with a table for each pattern of event names:

  [[event]]
  match = \"app:request_*\"       # * is any text, ? a character, [a-z] one of them, {a,b} a or b
  role = \"begin\"
  track = \"thread\"              # or process, processor, trace
  name = \"request\"              # instead of the name of the event; also category, color, counter unit
  fields = { key = \"id\", name = \"path\", thread = \"ctx.vtid\" }

All tables that match an event apply, in their order. `ichnos schema --propose-map` drafts a map.

Roles:
"
    .to_owned();
    let column = |text: &mut String, name: &str, about: &str| {
        let _ = writeln!(text, "  {name:20}  {about}");
    };
    EventRole::ALL.into_iter().for_each(|role| column(&mut text, role.name(), about_role(role)));
    text.push_str("\nField meanings, by their short names:\n");
    SHORT.into_iter().for_each(|(short, meaning)| column(&mut text, short, meaning.name()));
    text.push_str("\nAll meanings:\n");
    let names = Meaning::ALL.map(Meaning::name);
    for line in names.chunks(5) {
        let _ = writeln!(text, "  {}", line.join(", "));
    }
    text
}

fn about_role(role: EventRole) -> &'static str {
    match role {
        EventRole::Begin => "starts a span, nested in its track or identified by `key`",
        EventRole::End => "ends the span in its track, or the span with the same `key`",
        EventRole::Sample => "samples the call stack in the field `stack`",
        EventRole::Counter => "has counter values in the fields `value`",
        EventRole::Send => "sends the message with this `key`",
        EventRole::Receive => "receives the message with this `key`",
        EventRole::Switch => "switches the processor from `previous-thread` to `target-thread`",
        EventRole::Wakeup => "makes the thread `target-thread` runnable",
        EventRole::ThreadStart => "starts the thread `target-thread`, which is then runnable",
        EventRole::Frame => "ends a frame and starts the next frame",
        _ => "any other event",
    }
}

impl EventMap {
    fn apply(&self, class: &mut EventRecordClass, stream: &DataStreamClass) {
        let name = class.name.clone().unwrap_or_default();
        for rule in self.rules.iter().filter(|rule| rule.events.is_match(&name)) {
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
                if problems.len() < 10 * MOST_PROBLEMS && !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }
}

/// Reads the rules in a file.
fn read(path: &Path) -> Result<Vec<MapRule>, Failure> {
    let text = TomlText::read(path, "maps")?;
    let table = text.parse()?;
    text.check_keys(table.get_ref(), &KEYS)?;
    text.tables(table.get_ref(), "event")?.into_iter().map(|event| rule(&text, event)).collect()
}

/// Converts a table to a rule.
fn rule(text: &TomlText, event: &TomlValue<'_>) -> Result<MapRule, Failure> {
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
    let string = |key| -> Result<Option<String>, Failure> {
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
) -> Result<Option<&'t str>, Failure> {
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
) -> Result<(), Failure> {
    for (key, value) in fields {
        let name = &**key.get_ref();
        let short = SHORT.iter().find(|(short, _)| *short == name).map(|(_, meaning)| *meaning);
        let Some(meaning) = short.or_else(|| name.parse().ok()) else {
            let names = SHORT.map(|(short, _)| short).into_iter().chain(Meaning::ALL.map(Meaning::name));
            let failure = text.failure(key.span().start, &format!("unknown meaning `{name}`"));
            return Err(failure
                .help("`ichnos help map` lists the meanings")
                .maybe_help(did_you_mean(name, names)));
        };
        let mut add = |value: &TomlValue<'_>| -> Result<(), Failure> {
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
