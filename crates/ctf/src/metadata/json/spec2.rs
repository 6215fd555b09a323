//! Parts specific to SPEC-2.0: text sequences, clock origins, the environment.

use ichnos_model::TraceClass;
use ichnos_model::class::Value;
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::trace::{Diagnostic, Limits, TextPosition};

use super::object::{Object, UnknownProperties, properties, refuse, refuse_duplicates, text, unsigned, uuid};
use super::stream::StreamReader;
use super::text::{Json, JsonNode, Parser, RECORD_SEPARATOR};
use super::vocabulary::Vocabulary;
use crate::metadata::{Problems, memory};

/// Reads a CTF2-SPEC-2.0 metadata stream ("Metadata stream"): an RFC 7464 JSON text sequence with fragments as texts.
/// Missing record separators between fragments only cause a warning. An incomplete last fragment is ignored with a
/// warning.
///
/// Adds problems to `problems`, and returns `None` if any is an error.
pub fn parse_spec2(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<TraceClass> {
    if text.len() as u64 > limits.metadata_bytes {
        let message = format!("the metadata is longer than {} bytes, the limit", limits.metadata_bytes);
        problems.limit(TextPosition::default(), "metadata_bytes", message);
        return None;
    }
    let mut parser = Parser::new(text, limits);
    let mut reader = StreamReader::new(Vocabulary::Spec2, limits, problems);
    // Text before the first record separator.
    parser.stop_at_separator();
    let mut separated = false;
    let mut reported = false;
    loop {
        while !parser.at_end() {
            if !separated && !reported {
                reported = true;
                let byte = format!("the record separator 0x{RECORD_SEPARATOR:02x}");
                let warning =
                    Diagnostic::warning(parser.position(), "a fragment must begin with a record separator");
                reader.classes.problems.add(warning.expected(byte, "none"));
            }
            separated = false;
            // After text that is not JSON, reading continues at the next record separator.
            let Some(node) = parser.value_or_cut_off(reader.classes.problems) else { break };
            reader.fragment(&node);
            drop(node);
            parser.release(reader.classes.problems);
        }
        if reader.classes.problems.is_exhausted() || !parser.next_record() {
            break;
        }
        separated = true;
    }
    reader.finish(text)
}

impl StreamReader<'_> {
    /// Reads a trace class (CTF2-SPEC-2.0, "Trace class fragment"). Release candidates put the UUID here.
    pub(super) fn spec2_trace_class(&mut self, object: &mut Object<'_>) {
        let problems = &mut *self.classes.problems;
        self.trace.namespace = object.text("namespace", problems);
        self.trace.name = object.text("name", problems);
        self.trace.uid = object.text("uid", problems);
        if let Some(node) = object.get("environment") {
            // A value of another kind was already reported.
            let properties = properties(node, problems).unwrap_or_default();
            refuse_duplicates(properties, problems);
            for property in properties {
                match &property.value.json {
                    Json::Integer(_) | Json::BigInteger(_) | Json::Text(_) => {
                        let entry: (String, Value) = (property.name.to_string(), property.value.to_value());
                        if !problems.charge(memory::of_entry(&entry.0, &entry.1), property.name_position) {
                            return;
                        }
                        self.trace.environment.push(entry);
                    }
                    _ => refuse(&property.value, "an integer or a string", problems),
                }
            }
        }
        if object.has("uuid")
            && let Some(node) = object.get("uuid")
        {
            let position = object.name_position("uuid");
            let uuid = uuid(node, problems);
            self.trace.uuid = self.trace.uuid.or(uuid);
            self.classes.report_release_candidate(position);
        }
    }

    /// Reads a clock class (CTF2-SPEC-2.0, "Clock class fragment").
    pub(super) fn spec2_clock_class(&mut self, object: &mut Object<'_>) -> Option<ClockClass> {
        // Release candidates used the name as the key.
        let by_name = !object.has("id") && object.has("name");
        let id_node = match by_name {
            true => {
                self.classes.report_release_candidate(object.name_position("name"));
                object.get("name")
            }
            false => object.require("id", self.classes.problems),
        };
        let id = id_node.and_then(|node| text(node, self.classes.problems));
        let frequency = self.frequency(object);
        // A missing id or frequency was already reported.
        let mut clock = ClockClass::new(id.unwrap_or_default(), frequency.unwrap_or(u64::MAX));
        self.offset("offset-from-origin", &mut clock, object);
        if object.has("uuid")
            && let Some(node) = object.get("uuid")
        {
            clock.uuid = uuid(node, self.classes.problems);
            self.classes.report_release_candidate(object.name_position("uuid"));
        }
        let problems = &mut *self.classes.problems;
        clock.namespace = object.text("namespace", problems);
        clock.name = object.text("name", problems);
        clock.uid = object.text("uid", problems);
        clock.description = object.text("description", problems);
        clock.precision = object.get("precision").and_then(|node| unsigned(node, problems));
        clock.accuracy = object.get("accuracy").and_then(|node| unsigned(node, problems));
        if let Some(node) = object.get("origin") {
            // An invalid origin was already reported.
            clock.origin = origin(node, problems).unwrap_or_default();
        }
        let id = id?;
        if self.clocks.contains_key(id) {
            let position = object.position_of(id_node);
            problems.error(position, format!("duplicate clock class `{id}`"));
            return None;
        }
        // Clock classes with the same identity are the same clock.
        let index = u16::try_from(self.trace.clocks.len()).unwrap_or(u16::MAX);
        let same = match (&clock.name, &clock.uid) {
            (Some(name), Some(uid)) => {
                let identity = (clock.namespace.clone(), name.clone(), uid.clone());
                Some(*self.clock_identities.entry(identity).or_insert(index))
            }
            _ => None,
        };
        let same = same.and_then(|index| self.trace.clocks.get(usize::from(index)));
        let differ = |a: Option<u64>, b: Option<u64>| a.is_some() && b.is_some() && a != b;
        if let Some(same) = same
            && (clock.frequency != same.frequency
                || differ(clock.precision, same.precision)
                || differ(clock.accuracy, same.accuracy)
                || (clock.origin != same.origin
                    && clock.origin != ClockOrigin::Unknown
                    && same.origin != ClockOrigin::Unknown))
        {
            let message = format!(
                "the clock class `{}` has the same identity, but not the same frequency, precision, accuracy and origin",
                same.id
            );
            problems.warning(object.position, message);
        }
        Some(clock)
    }
}

/// Reads a clock origin (CTF2-SPEC-2.0, "Clock origin").
fn origin(node: &JsonNode, problems: &mut Problems) -> Option<ClockOrigin> {
    match &node.json {
        Json::Text(name) if name == "unix-epoch" => Some(ClockOrigin::UnixEpoch),
        Json::Object(_) => {
            let mut object = Object::open(node, problems)?;
            let namespace = object.text("namespace", problems);
            let name = object.require("name", problems).and_then(|node| text(node, problems));
            let uid = object.require("uid", problems).and_then(|node| text(node, problems));
            object.finish(UnknownProperties::Refuse, problems);
            Some(ClockOrigin::Named { namespace, name: name?.to_owned(), uid: uid?.to_owned() })
        }
        _ => {
            refuse(node, "`unix-epoch` or an object", problems);
            None
        }
    }
}
