//! Trace messages as text.

use ichnos_fuchsia::fxt_reader::{FxtOptions, FxtTrace};
use ichnos_model::field::{Field, Real, Text};
use ichnos_model::{Cursor, Event, Message, OpenedTrace, Scope, Visitor, Window};

#[derive(Default)]
struct Values(
    String,
    /// Name of the enclosing field.
    Option<String>,
    /// Structure depth.
    usize,
);

impl Values {
    fn push(&mut self, field: Field<'_>, value: &str) {
        let space = if self.0.is_empty() || self.0.ends_with(['[', '{']) { "" } else { " " };
        let name = self.1.take().or_else(|| field.name().map(str::to_owned));
        let name = name.map(|name| format!("{name}=")).unwrap_or_default();
        self.0 += &format!("{space}{name}{value}");
    }
}

impl Visitor for Values {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        let names = field.class().mappings().into_iter().flat_map(|names| names.names_of(value.into()));
        let name = names.map(|name| format!("({name})")).collect::<String>();
        self.push(field, &format!("{value}{name}"));
    }
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.push(field, &format!("{value:+}"));
    }
    fn boolean(&mut self, field: Field<'_>, value: bool, _: u64) {
        self.push(field, &value.to_string());
    }
    fn real(&mut self, field: Field<'_>, value: Real<'_>) {
        let Real::Double(value) = value else { panic!("{value:?}") };
        self.push(field, &format!("{value:?}"));
    }
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        self.push(field, &format!("'{}'", value.bytes.escape_ascii()));
    }
    fn blob(&mut self, field: Field<'_>, bytes: &[u8]) {
        self.push(field, &format!("x'{}'", bytes.escape_ascii()));
    }
    fn null(&mut self, field: Field<'_>) {
        self.push(field, "null");
    }
    fn begin_structure(&mut self, field: Field<'_>) {
        self.2 += 1;
        if self.2 > 1 {
            self.push(field, "{");
        }
    }
    fn end_structure(&mut self, _: Field<'_>) {
        self.2 -= 1;
        if self.2 > 0 {
            self.0.push('}');
        }
    }
    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        self.1 = field.name().map(str::to_owned).filter(|_| present);
    }
    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.1 = field.name().map(str::to_owned);
    }
    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.push(field, "[");
    }
    fn end_array(&mut self, _: Field<'_>) {
        self.0.push(']');
    }
}

pub fn values(event: &Event<'_>, scope: Scope) -> String {
    let mut values = Values::default();
    event.visit(scope, &mut values).unwrap();
    values.0
}

/// Returns an event as `TICKS NAME | COMMON | CONTEXT | PAYLOAD | RESOURCE`, without trailing empty scopes.
pub fn line(event: &Event<'_>) -> String {
    let time = event.clock.map_or_else(|| "-".to_owned(), |clock| clock.cycles.to_string());
    let mut scopes = [Scope::CommonContext, Scope::SpecificContext, Scope::Payload, Scope::Resource]
        .map(|scope| values(event, scope))
        .to_vec();
    if scopes.last().is_some_and(String::is_empty) {
        scopes.pop();
    }
    let scopes = scopes.join(" | ");
    format!("{time} {} | {scopes}", event.name()).trim_end_matches([' ', '|']).to_owned()
}

pub fn open(bytes: &[u8]) -> FxtTrace {
    open_with(bytes, &FxtOptions::default())
}

pub fn open_with(bytes: &[u8], options: &FxtOptions) -> FxtTrace {
    FxtTrace::open("a.fxt", bytes.to_vec().into(), options).unwrap()
}

pub fn checked() -> FxtOptions {
    let mut options = FxtOptions::default();
    options.check = true;
    options
}

/// Returns the events and the damage, data stream by data stream.
pub fn messages(trace: &FxtTrace) -> Vec<String> {
    let mut lines = Vec::new();
    for mut cursor in trace.cursors(Window::default()) {
        while cursor.advance() {
            match cursor.current().unwrap() {
                Message::Event(event) => lines.push(line(&event)),
                Message::DiscardedEvents(_) => lines.push("discarded".to_owned()),
                Message::Damage(damage) => lines.push(damage.to_string()),
                _ => {}
            }
        }
    }
    lines
}

pub fn read(bytes: &[u8]) -> Vec<String> {
    messages(&open(bytes))
}
