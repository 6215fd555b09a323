//! Comparison of what was encoded with what is read of a conversion, and with the table of losses.

use ichnos::model::lower::{LossEntry, LossKind, LossTable};
use ichnos_testing::constructs::{Datum, EncodedEvent, Lost};

use super::equivalence::is_equivalent;
use super::observation::Observation;

/// Conventions of what a trace is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The trace itself, or what came back to its format: only events count.
    Same,
    /// CTF.
    Ctf,
    /// JSON Lines, which have its classes but no packets.
    Lines,
    /// Another format: names and classes are its own.
    Other(&'static str),
}

/// A difference between a trace and its conversion.
#[derive(Clone, Debug)]
struct Difference {
    /// Name of the event record class; empty for all others.
    class: String,
    /// Path of the field as in loss tables, or what else differs.
    field: String,
    /// Word that a line about something else than a field contains.
    topic: String,
    /// The least severe loss that explains it; `None` for additions, which need no explanation.
    needs: Option<LossKind>,
    /// The difference in words.
    text: String,
}

/// Compares a conversion with what was encoded; returns what losses do not explain, and losses that did not happen.
pub(super) fn judge(
    expected: (&[EncodedEvent], &[Lost]),
    source: &Observation,
    found: &Observation,
    losses: &[&LossTable],
    target: Target,
) -> Vec<String> {
    let mut comparison = Comparison { options: &source.options, class: String::new(), differences: Vec::new(), target };
    comparison.events(expected.0, &found.events);
    comparison.lost(expected.1, &found.lost);
    comparison.facts(source, found);
    let lines: Vec<&LossEntry> = losses.iter().flat_map(|table| table.iter()).map(|(line, _)| line).collect();
    let explains = |line: &&&LossEntry, difference: &Difference| {
        difference.needs.is_none_or(|needs| line.kind >= needs) && comparison.is_about(line, difference)
    };
    let mut problems = Vec::new();
    for difference in comparison.differences.iter().filter(|difference| difference.needs.is_some()) {
        if !lines.iter().any(|line| explains(&line, difference)) {
            problems.push(format!("not listed: {}: {}", difference.field, difference.text));
        }
    }
    problems.dedup();
    // Tables of both directions list what one of them undoes.
    for line in lines.iter().filter(|_| losses.len() == 1) {
        if !comparison.differences.iter().any(|difference| comparison.is_about(line, difference)) {
            let LossEntry { kind, class, field, what } = line;
            problems.push(format!("listed, but not lost: {kind} {class} {field} {what}"));
        }
    }
    problems
}

struct Comparison<'o> {
    options: &'o [String],
    class: String,
    differences: Vec<Difference>,
    target: Target,
}

impl Comparison<'_> {
    fn differ(&mut self, field: &str, topic: &str, needs: LossKind, text: String) {
        let class = self.class.clone();
        let (field, topic) = (field.to_owned(), topic.to_owned());
        self.differences.push(Difference { class, field, topic, needs: Some(needs), text });
    }

    /// Returns `true` if a line of losses is about a difference.
    fn is_about(&self, line: &LossEntry, difference: &Difference) -> bool {
        let is_of_class = line.class.is_empty() || difference.class.is_empty() || line.class == difference.class;
        if !is_of_class {
            return false;
        }
        let has_topic = difference.topic.split('|').any(|topic| !topic.is_empty() && line.what.contains(topic));
        if line.field.is_empty() {
            // What a line says of all fields of a class.
            let is_of_fields = !line.class.is_empty() && difference.field.contains('.');
            let is_simplified = difference.needs.is_none_or(|needs| needs == LossKind::Lowered);
            return has_topic || (is_of_fields && (line.kind != LossKind::Lowered || is_simplified));
        }
        if has_topic {
            return true;
        }
        let (line, difference) = (self.segments(&line.field), self.segments(&difference.field));
        // Formats without scopes name only the member.
        let is_added = difference.len() > 1 && line.len() > 1;
        if (line.len() == 1 || is_added) && line.last() == difference.last() {
            return true;
        }
        let shared = line.iter().zip(&difference).take_while(|(a, b)| a == b).count();
        shared == line.len().min(difference.len())
    }

    /// Segments of a path without those of options and elements.
    fn segments(&self, path: &str) -> Vec<String> {
        let path = path.replace("specific ctx", "ctx");
        let segments = path.split('.').filter(|name| *name != "[]");
        segments.filter(|name| !self.options.iter().any(|option| option == name)).map(str::to_owned).collect()
    }

    fn events(&mut self, expected: &[EncodedEvent], found: &[EncodedEvent]) {
        if expected.len() != found.len() {
            let text = format!("{} events, found {}", expected.len(), found.len());
            return self.differ("event", "event|record", LossKind::Dropped, text);
        }
        for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
            self.class = expected.name.clone().or_else(|| found.name.clone()).unwrap_or_default();
            let name = self.name(found);
            if expected.name.as_deref().unwrap_or_default() != name {
                let text = format!("{:?}, found {name:?}", expected.name);
                self.differ("name", "name", LossKind::Renamed, text);
            }
            if expected.nanoseconds != found.nanoseconds {
                let text = format!("of event {number}: {:?}, found {:?}", expected.nanoseconds, found.nanoseconds);
                self.differ("time", "time|clock|offset", LossKind::Lowered, text);
            }
            for (scope, value) in &expected.scopes {
                self.scope(scope, value, &found.scopes);
            }
            for (scope, value) in &found.scopes {
                let Datum::Structure(members) = value else { continue };
                let own = expected.scopes.iter().find(|(name, _)| name == scope).map(|(_, value)| value);
                for (name, value) in members {
                    if own.is_none_or(|own| member(own, name).is_none()) {
                        self.add(&format!("{scope}.{name}"), value.to_string());
                    }
                }
            }
        }
        self.class.clear();
    }

    /// Notes what the conversion has beyond its source.
    fn add(&mut self, field: &str, text: String) {
        let (class, field) = (self.class.clone(), field.to_owned());
        self.differences.push(Difference { class, field, topic: String::new(), needs: None, text });
    }

    /// The name of an event without what the format adds to it.
    fn name<'e>(&self, event: &'e EncodedEvent) -> &'e str {
        let name = event.name.as_deref().unwrap_or_default();
        match self.target {
            // The provider.
            Target::Other("nettrace") | Target::Same => name.strip_prefix("Trace/").unwrap_or(name),
            Target::Other("xtrace") => event.scopes.iter().find_map(|(_, root)| match member(root, "Label") {
                Some(Datum::Text(label)) => Some(label.as_str()),
                _ => None,
            }).unwrap_or(name),
            _ => name,
        }
    }

    fn scope(&mut self, scope: &str, expected: &Datum, found: &[(&'static str, Datum)]) {
        let own = found.iter().find(|(name, _)| *name == scope).map(|(_, value)| value);
        if own == Some(expected) || expected.is_empty() {
            return;
        }
        let Datum::Structure(members) = expected else {
            // A root that is no structure can be a member.
            let is_there = |value: &Datum| is_equivalent(expected, value) || member(value, "value").is_some_and(|value| is_equivalent(expected, value));
            return match own.filter(|own| is_there(own)) {
                Some(_) => self.differ(scope, "root", LossKind::Lowered, format!("{expected} became a member")),
                None if found.iter().any(|(_, value)| any_member(value, expected)) => {
                    self.differ(scope, "root", LossKind::Moved, format!("{expected} is elsewhere"));
                }
                None => self.differ(scope, "root", LossKind::Dropped, format!("{expected}, found {}", all(found))),
            };
        };
        let count = members.len();
        for (index, (name, value)) in members.iter().enumerate() {
            let path = format!("{scope}.{name}");
            if value.is_empty() {
                continue;
            }
            if let Some(own) = own.and_then(|own| member(own, name)) {
                self.value(&path, value, own);
            } else if let Some(flat) = own.and_then(|own| flattened(own, name)) {
                self.differ(&path, "", LossKind::Lowered, format!("members of {path}"));
                self.value(&path, value, &flat);
            } else if let Some((place, elsewhere)) =
                found.iter().find_map(|(place, root)| Some((place, member(root, name)?)))
            {
                match self.target {
                    // Most formats have a single scope.
                    Target::Other(_) => self.add(&path, format!("{value} is in {place}")),
                    _ => self.differ(&path, scope, LossKind::Moved, format!("{value} is in {place}")),
                }
                self.value(&path, value, elsewhere);
            } else if let Some(Datum::Structure(others)) = own
                && let Some((other, renamed)) = others.get(others.len().wrapping_sub(count).wrapping_add(index))
                && is_equivalent(value, renamed)
            {
                self.differ(&path, name, LossKind::Renamed, format!("{name} is {other}"));
                self.value(&path, value, renamed);
            } else if let Some(root) = found.iter().find_map(|(_, root)| any_member(root, value).then_some(root)) {
                self.differ(&path, name, LossKind::Moved, format!("{value} is in {root}"));
            } else {
                self.differ(&path, "", LossKind::Dropped, format!("{value}, found {}", all(found)));
            }
        }
    }

    fn value(&mut self, path: &str, expected: &Datum, found: &Datum) {
        if expected == found || (expected.is_empty() && found.is_empty()) {
            return;
        }
        match (expected, found) {
            (Datum::Structure(expected), Datum::Structure(found)) if expected.len() == found.len() => {
                for ((name, expected), (other, found)) in expected.iter().zip(found) {
                    let path = format!("{path}.{name}");
                    if name != other {
                        self.differ(&path, name, LossKind::Renamed, format!("{name} is {other}"));
                    }
                    self.value(&path, expected, found);
                }
            }
            (Datum::Array(expected), Datum::Array(found)) if expected.len() == found.len() => {
                for (expected, found) in expected.iter().zip(found) {
                    self.value(&format!("{path}.[]"), expected, found);
                }
            }
            _ if is_equivalent(expected, found) => {
                self.differ(path, "", LossKind::Lowered, format!("{expected} is {found}"));
            }
            _ => self.differ(path, "", LossKind::Rounded, format!("{expected}, found {found}")),
        }
    }

    fn lost(&mut self, expected: &[Lost], found: &[Lost]) {
        if expected != found {
            let text = format!("{expected:?}, found {found:?}");
            self.differ("lost", "discarded|loss", LossKind::Rounded, text);
        }
    }

    fn facts(&mut self, source: &Observation, found: &Observation) {
        if self.target == Target::Same {
            return;
        }
        for ((class, field, property), value) in &source.facts {
            let other = found.facts.get(&(class.clone(), field.clone(), property.clone()));
            if other == Some(value) {
                continue;
            }
            // Layouts of packets and headers are CTF's own.
            let is_layout = ["packet.", "header"].iter().any(|scope| field.starts_with(scope));
            let is_like = matches!(self.target, Target::Ctf) || (self.target == Target::Lines && !is_layout);
            let needs = (is_like && property != "bit order").then_some(LossKind::Lowered);
            let text = format!("{property}: {value}, found {}", other.map_or("nothing", |other| other));
            let (class, field, topic) = (class.clone(), field.clone(), property.clone());
            self.differences.push(Difference { class, field, topic, needs, text });
        }
        for ((class, field, property), value) in &found.facts {
            if !source.facts.contains_key(&(class.clone(), field.clone(), property.clone())) {
                let (class, field, topic) = (class.clone(), field.clone(), property.clone());
                self.differences.push(Difference { class, field, topic, needs: None, text: value.clone() });
            }
        }
    }
}

/// The member of a structure.
fn member<'d>(value: &'d Datum, name: &str) -> Option<&'d Datum> {
    match value {
        Datum::Structure(members) => members.iter().find(|(own, _)| own == name).map(|(_, value)| value),
        _ => None,
    }
}

/// A structure or an array of the members whose names begin with a name, as formats without nested fields have them.
fn flattened(value: &Datum, name: &str) -> Option<Datum> {
    let Datum::Structure(members) = value else { return None };
    let inner = members.iter().filter_map(|(own, value)| {
        let rest = own.strip_prefix(name)?.strip_prefix(['.', '_', '/', '['])?;
        Some((rest.trim_end_matches(']').to_owned(), value.clone()))
    });
    let inner: Vec<(String, Datum)> = inner.collect();
    if inner.is_empty() {
        return None;
    }
    let is_array = inner.iter().enumerate().all(|(index, (name, _))| *name == index.to_string());
    Some(match is_array {
        true => Datum::Array(inner.into_iter().map(|(_, value)| value).collect()),
        false => Datum::Structure(inner),
    })
}

/// Returns `true` if a root or one of its members is a value.
fn any_member(root: &Datum, value: &Datum) -> bool {
    is_equivalent(value, root)
        || matches!(root, Datum::Structure(members) if members.iter().any(|(_, member)| is_equivalent(value, member)))
}

fn all(scopes: &[(&'static str, Datum)]) -> String {
    let scopes: Vec<String> = scopes.iter().map(|(name, value)| format!("{name} {value}")).collect();
    if scopes.is_empty() { "nothing".to_owned() } else { scopes.join(", ") }
}
