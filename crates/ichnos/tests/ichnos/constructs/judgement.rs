//! Comparison of a conversion with the encoded construct and with the loss table.

use ichnos::model::lower::{LossEntry, LossKind, LossTable};
use ichnos_testing::constructs::{Datum, EncodedEvent, Lost};

use super::equivalence::is_equivalent;
use super::observation::{FactKey, Observation};

/// Conventions for the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The trace itself: only events are compared.
    Same,
    /// A trace converted back to its format: only events are compared. `true` if the other format has a single scope.
    Back(bool),
    /// CTF.
    Ctf,
    /// JSON Lines: the classes stay, packets do not.
    Lines,
    /// Another format with its own names and classes.
    Other(&'static str),
}

/// Difference between a trace and its conversion.
#[derive(Clone, Debug)]
struct Difference {
    /// Name of the event record class. Empty for other items.
    class: String,
    /// Field path as in loss tables, or another subject.
    field: String,
    /// `true` if the class is unnamed.
    is_unnamed: bool,
    /// Word in loss lines about subjects other than fields.
    topic: String,
    /// Least severe loss that explains the difference. `None` for additions, which need no explanation.
    needs: Option<LossKind>,
    /// Description.
    text: String,
}

/// Compares a conversion with the encoded construct. Returns unexplained differences, and losses that did not happen.
pub(super) fn judge(
    expected: (&[EncodedEvent], &[Lost]),
    source: &Observation,
    found: &Observation,
    losses: &[&LossTable],
    target: Target,
) -> Vec<String> {
    let mut comparison = Comparison {
        options: &source.options,
        class: String::new(),
        is_unnamed: false,
        differences: Vec::new(),
        target,
    };
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
    // Each direction's table lists losses that the other direction undoes. Our readers drop added members, which they
    // recognize by annotations, and resolve aliases.
    let is_seen = |line: &&&LossEntry| {
        losses.len() == 1
            && !line.what.starts_with("added:")
            && !line.what.starts_with("field class alias")
            && !is_restored_name(line, &found.metadata)
    };
    for line in lines.iter().filter(is_seen) {
        if !comparison.differences.iter().any(|difference| comparison.is_about(line, difference)) {
            let LossEntry { kind, class, field, what } = line;
            problems.push(format!("listed, but not lost: {kind} {class} {field} {what}"));
        }
    }
    problems
}

/// Scope names in field paths.
const SCOPES: [&str; 7] = ["packet", "header", "ctx", "specific ctx", "payload", "resource", "clocks"];

struct Comparison<'o> {
    options: &'o [String],
    class: String,
    is_unnamed: bool,
    differences: Vec<Difference>,
    target: Target,
}

impl Comparison<'_> {
    fn differ(&mut self, field: &str, topic: &str, mut needs: LossKind, text: String) {
        // Formats with a single scope report that all fields are simplified.
        let has_scopes =
            matches!(self.target, Target::Same | Target::Ctf | Target::Lines | Target::Back(false));
        if needs == LossKind::Moved && !has_scopes {
            needs = LossKind::Lowered;
        }
        let (class, is_unnamed) = (self.class.clone(), self.is_unnamed);
        let (field, topic) = (field.to_owned(), topic.to_owned());
        self.differences.push(Difference { class, field, is_unnamed, topic, needs: Some(needs), text });
    }

    /// Returns `true` if a loss line is about a difference.
    fn is_about(&self, line: &LossEntry, difference: &Difference) -> bool {
        let is_back = matches!(self.target, Target::Back(_));
        let is_of_class =
            line.class.is_empty() || difference.class.is_empty() || line.class == difference.class;
        // In between, classes have names from another format.
        if !is_of_class && !is_back {
            return false;
        }
        if difference.field.starts_with("clocks.") && line.what.contains("clock") {
            return true;
        }
        let is_topic = |topic: &str| match topic.strip_prefix('=') {
            Some(exact) => line.field.is_empty() && line.what == exact,
            None => !topic.is_empty() && line.what.contains(topic),
        };
        let has_topic = difference.topic.split('|').any(is_topic);
        if line.field.is_empty() {
            // Some lines are about all fields of a class.
            let is_of_class = !line.class.is_empty() || difference.is_unnamed;
            let is_of_fields = is_of_class && (difference.field.contains('.') || difference.topic == "root");
            let is_simplified = difference.needs.is_none_or(|needs| needs == LossKind::Lowered);
            let is_by_values =
                ["arguments", "fields", "number", "text", "payload", "elements", "lines", "labels"]
                    .iter()
                    .any(|word| line.what.contains(word));
            let is_lossy = line.kind >= LossKind::Rounded && is_by_values;
            return has_topic
                || (is_of_fields && (is_lossy || line.kind < LossKind::Rounded && is_simplified));
        }
        // Lines name clocks by id.
        if has_topic || (line.field.starts_with("clock.") && difference.field.starts_with("clock.")) {
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

    /// Returns the path segments without options and elements.
    fn segments(&self, path: &str) -> Vec<String> {
        let path = path.replace("specific ctx", "ctx");
        let segments = path.split('.').filter(|name| *name != "[]" && !name.starts_with('#'));
        segments.filter(|name| !self.options.iter().any(|option| option == name)).map(str::to_owned).collect()
    }

    fn events(&mut self, expected: &[EncodedEvent], found: &[EncodedEvent]) {
        // FXT has separate records for call stacks.
        let is_stack = |event: &EncodedEvent| {
            let name = event.name.as_deref().unwrap_or_default();
            ["backtrace", "module", "mapping"].contains(&name.strip_prefix("Trace/").unwrap_or(name))
        };
        let has_stacks = expected.iter().any(is_stack);
        let (mut expected, mut found) = (expected.to_vec(), found.to_vec());
        if !has_stacks && found.iter().any(is_stack) {
            self.differ("stack", "call stack", LossKind::Lowered, "call stacks are events".to_owned());
            found.retain(|event| !is_stack(event));
        }
        if !expected.is_sorted_by_key(|event| event.nanoseconds)
            && found.is_sorted_by_key(|event| event.nanoseconds)
        {
            let text = "events are in the order of time".to_owned();
            match self.target {
                // Readers of these formats sort.
                Target::Other("fxt" | "nettrace") | Target::Back(true) => self.add("order", text),
                _ => self.differ("order", "order|earlier|before|stream", LossKind::Moved, text),
            }
            expected.sort_by_key(|event| event.nanoseconds);
        }
        if expected.len() != found.len() {
            let text = format!("{} events, found {}", expected.len(), found.len());
            return self.differ("event", "event|record", LossKind::Dropped, text);
        }
        for (number, (expected, found)) in expected.iter().zip(&found).enumerate() {
            self.class = expected.name.clone().or_else(|| found.name.clone()).unwrap_or_default();
            self.is_unnamed = expected.name.as_ref().is_none_or(String::is_empty);
            if !self.is_named(expected.name.as_deref(), found) {
                let text = format!("{:?}, found {:?}", expected.name, found.name);
                self.differ("name", "name", LossKind::Renamed, text);
            }
            if expected.nanoseconds != found.nanoseconds {
                let text =
                    format!("of event {number}: {:?}, found {:?}", expected.nanoseconds, found.nanoseconds);
                self.differ("time", "time|clock|offset", LossKind::Lowered, text);
            }
            for (scope, value) in &expected.scopes {
                // After a format with a single scope, contexts come back as payload fields.
                if self.target != Target::Back(true) || *scope == "payload" {
                    self.scope(scope, value, &found.scopes);
                }
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

    /// Returns `true` for members whose meaning has another name in other formats.
    fn is_meant(&self, name: &str) -> bool {
        const MEANT: [&str; 29] = [
            "thread",
            "capture_thread",
            "processor",
            "process",
            "pid",
            "tid",
            "cpu",
            "severity",
            "tag",
            "message",
            "file",
            "line",
            "thread_name",
            "process_name",
            "flow_id",
            "span_id",
            "trace_id",
            "activity",
            "related_activity",
            "stack",
            "task_id",
            "operation_id",
            "X-Trace",
            "Edge",
            "predecessors",
            "process_id",
            "thread_id",
            "parents",
            "cause_chains",
        ];
        matches!(self.target, Target::Other(_) | Target::Back(true)) && MEANT.contains(&name)
    }

    /// Returns `true` for report lines that other formats have as times, identifiers and names.
    fn is_derived(&self, name: &str) -> bool {
        const DERIVED: [&str; 10] = [
            "X-Trace",
            "Timestamp",
            "Edge",
            "ProcessID",
            "Severity",
            "ChainId",
            "Label",
            "Class",
            "Agent",
            "ThreadID",
        ];
        matches!(self.target, Target::Other(_) | Target::Back(true)) && DERIVED.contains(&name)
    }

    /// Records an addition in the conversion.
    fn add(&mut self, field: &str, text: String) {
        let (class, field, is_unnamed) = (self.class.clone(), field.to_owned(), self.is_unnamed);
        self.differences.push(Difference {
            class,
            field,
            is_unnamed,
            topic: String::new(),
            needs: None,
            text,
        });
    }

    /// Returns `true` if the found event name corresponds to the source's by the conventions of the format.
    fn is_named(&self, expected: Option<&str>, found: &EncodedEvent) -> bool {
        let (expected, name) = (expected.unwrap_or_default(), found.name.as_deref().unwrap_or_default());
        // Providers and categories come before names. FXT marks begin and end events.
        let bare = |name: &str| name.replace(':', "/");
        let ends = |name: &str, ending: &str| {
            bare(name).strip_suffix(ending).is_some_and(|name| name == bare(expected))
        };
        let is_converted = !matches!(self.target, Target::Same | Target::Ctf | Target::Lines);
        let line = |key: &str| found.scopes.iter().find_map(|(_, root)| member(root, key));
        let is_line = |key: &str| line(key) == Some(&Datum::text(expected));
        expected == name
            || is_converted
                && (bare(name) == bare(expected)
                    || matches!(self.target, Target::Back(_))
                        && bare(name) == format!("Trace/{}", bare(expected))
                    || ends(name, "/begin")
                    || ends(name, "/end")
                    || is_line("Label")
                    || is_line("Class")
                    // For unnamed classes.
                    || expected.is_empty() && ["Trace/Event", "report", "<unknown>"].contains(&name))
    }

    fn scope(&mut self, scope: &str, expected: &Datum, found: &[(&'static str, Datum)]) {
        let own = found.iter().find(|(name, _)| *name == scope).map(|(_, value)| value);
        if own == Some(expected)
            || matches!(expected, Datum::Absent)
            || *expected == Datum::Structure(Vec::new())
        {
            return;
        }
        let Datum::Structure(members) = expected else {
            // A root that is not a structure can become a member.
            let is_there = |value: &Datum| {
                is_equivalent(expected, value)
                    || member(value, "value").is_some_and(|value| is_equivalent(expected, value))
            };
            return match own.filter(|own| is_there(own)) {
                Some(_) => {
                    self.differ(scope, "root", LossKind::Lowered, format!("{expected} became a member"))
                }
                _ if found.iter().any(|(_, root)| has_parts(root, "value")) => {
                    self.differ(scope, "root", LossKind::Lowered, format!("{expected} became its parts"));
                    self.parts(scope, "value", expected, found);
                }
                _ if found.iter().any(|(_, value)| any_member(value, expected)) => {
                    self.differ(scope, "root", LossKind::Moved, format!("{expected} is elsewhere"));
                }
                _ => {
                    self.differ(scope, "root", LossKind::Dropped, format!("{expected}, found {}", all(found)))
                }
            };
        };
        let count = members.len();
        for (index, (name, value)) in members.iter().enumerate() {
            let path = format!("{scope}.{name}");
            if value.is_empty() {
                // A field without a value must not get one.
                let made_up = own
                    .and_then(|own| member(own, name))
                    .filter(|found| !found.is_empty() && !is_equivalent(value, found));
                if let Some(found) = made_up {
                    self.differ(
                        &path,
                        name,
                        LossKind::Lowered,
                        format!("{path} has no value, found {found}"),
                    );
                }
                continue;
            }
            if self.is_derived(name) {
                continue;
            }
            let others = own.map_or(&[][..], members_of);
            let at_place = others.get(others.len().wrapping_sub(count).wrapping_add(index));
            let dotted = if self.target == Target::Back(true) { with_dots(found) } else { Vec::new() };
            let twins: Vec<_> = members.iter().filter(|(twin, _)| twin == name).collect();
            if twins.len() > 1 && found.iter().any(|(_, root)| has_parts(root, name)) {
                // Members with the same name became elements.
                self.differ(&path, "", LossKind::Lowered, format!("{path} became elements"));
                let elements = Datum::array(twins.into_iter().map(|(_, value)| value.clone()));
                self.parts(&path, name, &elements, found);
            } else if let Some(own) = own.and_then(|own| member_like(own, name, value)) {
                self.value(&path, value, own);
            } else if self.is_meant(name) && found.iter().any(|(_, root)| any_member(root, value)) {
                self.add(&path, format!("{value} is elsewhere"));
            } else if found.iter().any(|(_, root)| has_parts(root, name)) {
                self.differ(&path, "", LossKind::Lowered, format!("{path} became its parts"));
                self.parts(&path, name, value, found);
            } else if dotted.iter().any(|(_, root)| has_parts(root, name)) {
                self.parts(&path, name, value, &dotted);
            } else if let Some((place, elsewhere)) = elsewhere(found, name, value) {
                match self.target {
                    // Most formats have a single scope.
                    Target::Other(_) | Target::Back(true) => {
                        self.add(&path, format!("{value} is in {place}"))
                    }
                    _ => self.differ(&path, scope, LossKind::Moved, format!("{value} is in {place}")),
                }
                self.value(&path, value, elsewhere);
            } else if let Some((other, renamed)) =
                at_place.into_iter().chain(others).find(|(_, renamed)| is_equivalent(value, renamed))
            {
                self.differ(&path, name, LossKind::Renamed, format!("{name} is {other}"));
                self.value(&path, value, renamed);
            } else if let Some(root) =
                found.iter().find_map(|(_, root)| any_member(root, value).then_some(root))
            {
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
            (Datum::Array(expected), Datum::Array(others))
                if expected.len() == others.len() && !is_flat(expected, others) =>
            {
                for (expected, found) in expected.iter().zip(others) {
                    self.value(&format!("{path}.[]"), expected, found);
                }
            }
            _ if is_equivalent(expected, found) => {
                self.differ(path, "", LossKind::Lowered, format!("{expected} is {found}"));
            }
            _ => self.differ(path, "", LossKind::Rounded, format!("{expected}, found {found}")),
        }
    }

    /// Compares a value with its parts, which became separate members.
    fn parts(&mut self, path: &str, name: &str, expected: &Datum, found: &[(&'static str, Datum)]) {
        let mut parts = Vec::new();
        parts_of(name.to_owned(), expected, &mut parts);
        for (part, value) in parts {
            // Option names may come between, and indexes may be missing.
            let is_index = |name: &&str| name.parse::<usize>().is_ok();
            let is_it = |own: &str| {
                let own = normalised(own);
                let own: Vec<&str> =
                    own.split('.').filter(|name| !self.options.iter().any(|option| option == name)).collect();
                let of_all: Vec<&str> = part.split('.').filter(|name| !is_index(name)).collect();
                own.iter().copied().eq(part.split('.')) || own == of_all
            };
            let members = found.iter().filter_map(|(_, root)| match root {
                Datum::Structure(members) => Some(members),
                _ => None,
            });
            let own = members.flatten().find(|(own, _)| is_it(own)).map(|(_, value)| value.clone());
            match own {
                Some(Datum::Array(elements)) => {
                    // Members with the same name: the last index in the path counts, or each has one element.
                    let index = part.rsplit('.').find_map(|name| name.parse::<usize>().ok());
                    let element = index.and_then(|index| elements.get(index)).or(match &elements[..] {
                        [element] => Some(element),
                        _ => None,
                    });
                    match element {
                        Some(element) => self.value(path, &value, element),
                        None => self.differ(
                            path,
                            "",
                            LossKind::Dropped,
                            format!("{part}: {value}, found {elements:?}"),
                        ),
                    }
                }
                Some(own) => self.value(path, &value, &own),
                None => {
                    self.differ(path, "", LossKind::Dropped, format!("{part}: {value}, found {}", all(found)))
                }
            }
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
        // Unnamed classes may have been named.
        let names: Vec<String> = source
            .classes
            .iter()
            .zip(&found.classes)
            .map(|(source, found)| if source.is_empty() { found.clone() } else { source.clone() })
            .collect();
        // Other formats have their own names.
        let has_own_names = matches!(self.target, Target::Other(_) | Target::Back(true));
        let found_class = |class: &str| {
            let index = source.classes.iter().position(|name| name == class);
            let renamed = index.filter(|_| source.classes.len() == found.classes.len() && has_own_names);
            let names = if renamed.is_some() { &found.classes } else { &names };
            index.and_then(|index| names.get(index).cloned()).unwrap_or_else(|| class.to_owned())
        };
        for (key, value) in &source.facts {
            let FactKey { class, field, property, .. } = key;
            let own_class = if key.is_of_event { found_class(class) } else { class.clone() };
            let other = found.facts.get(&FactKey { class: own_class, ..key.clone() });
            if other == Some(value) {
                continue;
            }
            // Packet and header layouts are specific to CTF.
            let is_layout = ["packet.", "header"].iter().any(|scope| field.starts_with(scope));
            let is_of_field = SCOPES.contains(&field.split('.').next().unwrap_or_default());
            let is_like = match self.target {
                Target::Ctf => true,
                Target::Lines | Target::Back(false) => !is_layout,
                // These formats have their own classes, ids and streams.
                Target::Other(_) | Target::Back(true) => {
                    !is_of_field && !property.starts_with("id ") && !property.starts_with("data streams")
                }
                Target::Same => false,
            };
            let is_free = ["bit order", "location", "role"].contains(&property.as_str());
            let needs = (is_like && !is_free).then_some(LossKind::Lowered);
            let text = format!("{property}: {value}, found {}", other.map_or("nothing", |other| other));
            let (class, field, topic) = (class.clone(), field.clone(), property.clone());
            let is_unnamed = key.is_of_event && class.is_empty();
            self.differences.push(Difference { class, field, is_unnamed, topic, needs, text });
        }
        for (key, value) in &found.facts {
            if !source.facts.contains_key(key) {
                let FactKey { class, field, property, is_of_event } = key.clone();
                let is_unnamed = is_of_event && class.is_empty();
                let text = value.clone();
                self.differences.push(Difference {
                    class,
                    field,
                    is_unnamed,
                    topic: property,
                    needs: None,
                    text,
                });
            }
        }
    }
}

/// Returns `true` for a line about a name that other readers see in the metadata, but our readers restore.
fn is_restored_name(line: &LossEntry, metadata: &str) -> bool {
    let renamed = line.what.split_once("` -> `").filter(|_| line.kind == LossKind::Renamed);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    renamed.is_some_and(|(_, name)| {
        let name = name.trim_end_matches('`');
        let is_declared = |at: usize| {
            // An underscore precedes such names, and readers remove it.
            let before = metadata[..at].strip_suffix('_').unwrap_or(&metadata[..at]);
            !before.ends_with(is_part) && metadata[at + name.len()..].starts_with([';', '['])
        };
        metadata.match_indices(name).any(|(at, _)| is_declared(at))
    })
}

/// Returns a structure member.
fn member<'d>(value: &'d Datum, name: &str) -> Option<&'d Datum> {
    match value {
        Datum::Structure(members) => members.iter().find(|(own, _)| own == name).map(|(_, value)| value),
        _ => None,
    }
}

/// Returns the structure member with this name and value, else the only member with this name.
fn member_like<'d>(root: &'d Datum, name: &str, value: &Datum) -> Option<&'d Datum> {
    let Datum::Structure(members) = root else { return None };
    let named = || members.iter().filter(|(own, _)| own == name).map(|(_, value)| value);
    let same = named().find(|found| is_equivalent(value, found));
    same.or_else(|| named().next().filter(|_| !any_member(root, value)))
}

/// Returns a member by name from any scope, with the same value if possible.
fn elsewhere<'f>(
    found: &'f [(&'static str, Datum)],
    name: &str,
    value: &Datum,
) -> Option<(&'static str, &'f Datum)> {
    let named =
        || found.iter().flat_map(|(place, root)| members_of(root).iter().map(move |member| (*place, member)));
    let named = || named().filter(|(_, (own, _))| own == name).map(|(place, (_, value))| (place, value));
    let is_anywhere = found.iter().any(|(_, root)| any_member(root, value));
    named().find(|(_, found)| is_equivalent(value, found)).or_else(|| named().next().filter(|_| !is_anywhere))
}

/// Returns `true` if arrays were replaced by their elements.
fn is_flat(expected: &[Datum], found: &[Datum]) -> bool {
    let is_array = |value: &Datum| matches!(value, Datum::Array(_));
    expected.iter().any(is_array) && !found.iter().any(is_array)
}

fn members_of(root: &Datum) -> &[(String, Datum)] {
    match root {
        Datum::Structure(members) => members,
        _ => &[],
    }
}

/// Normalizes the path of a part as formats without nested fields write it: `a.b.0`, `a[0].b`.
fn normalised(name: &str) -> String {
    name.replace(['[', '/'], ".").replace(']', "")
}

fn dotted(name: &str) -> String {
    name.replace('_', ".").replace("..", ".").trim_end_matches('.').to_owned()
}

/// Normalizes identifiers, which cannot contain dots.
fn with_dots(scopes: &[(&'static str, Datum)]) -> Vec<(&'static str, Datum)> {
    let dots = |(scope, root): &(&'static str, Datum)| match root {
        Datum::Structure(members) => {
            let members = members.iter().map(|(name, value)| (dotted(name), value.clone()));
            (*scope, Datum::Structure(members.collect()))
        }
        root => (*scope, root.clone()),
    };
    scopes.iter().map(dots).collect()
}

/// Returns `true` if a scope contains parts of a field as separate members.
fn has_parts(root: &Datum, name: &str) -> bool {
    let begin = format!("{}.", normalised(name));
    matches!(root, Datum::Structure(members) if members.iter().any(|(own, _)| normalised(own).starts_with(&begin)))
}

/// Appends nested values with their paths. A value without elements counts, too.
fn parts_of(path: String, value: &Datum, all: &mut Vec<(String, Datum)>) {
    match value {
        Datum::Structure(members) if !members.is_empty() => {
            members.iter().for_each(|(name, value)| parts_of(format!("{path}.{name}"), value, all));
        }
        Datum::Array(elements) if !elements.is_empty() => {
            elements
                .iter()
                .enumerate()
                .for_each(|(index, value)| parts_of(format!("{path}.{index}"), value, all));
        }
        Datum::Bytes(bytes) if !bytes.is_empty() => {
            let bytes = bytes.iter().enumerate();
            all.extend(bytes.map(|(index, byte)| (format!("{path}.{index}"), Datum::integer(byte))));
        }
        value if value.is_empty() => {}
        value => all.push((path, value.clone())),
    }
}

/// Returns `true` if a root or one of its members equals a value.
fn any_member(root: &Datum, value: &Datum) -> bool {
    is_equivalent(value, root)
        || matches!(root, Datum::Structure(members) if members.iter().any(|(_, member)| is_equivalent(value, member)))
}

fn all(scopes: &[(&'static str, Datum)]) -> String {
    let scopes: Vec<String> = scopes.iter().map(|(name, value)| format!("{name} {value}")).collect();
    if scopes.is_empty() { "nothing".to_owned() } else { scopes.join(", ") }
}
