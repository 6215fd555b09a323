//! Event fields as arguments.

use std::io::Write as _;

use ichnos_model::field::{Field, FieldValue, Text};
use ichnos_model::plan::Plan;
use ichnos_model::{Event, Scope, Visitor};

use ichnos_analysis::events::class::{SCOPES, ViewerClass};
use ichnos_analysis::events::names::NumberedNames;

/// Name prefix of an argument whose field has no name. A number follows.
pub(super) const UNNAMED: &str = "argument";

/// Writer of arguments. A name is its number, or 0 without a name and for array elements.
///
/// # For implementations
/// `enter` and `leave` calls nest.
pub(super) trait ArgumentSink {
    fn unsigned(&mut self, name: u32, value: u64);
    fn signed(&mut self, name: u32, value: i64);
    fn boolean(&mut self, name: u32, value: bool);
    fn double(&mut self, name: u32, value: f64);
    /// Writes a UTF-8 text.
    fn text(&mut self, name: u32, text: &[u8]);
    /// Starts an array, or a dictionary if `is_array` is `false`.
    fn enter(&mut self, name: u32, is_array: bool);
    /// Ends the innermost array or dictionary.
    fn leave(&mut self);
}

/// Argument names of a scope.
#[derive(Debug)]
pub(super) struct ScopeNames {
    pub(super) scope: Scope,
    /// Name number of each node: 0 without a name, `None` for hidden fields.
    nodes: Box<[Option<u32>]>,
}

impl ScopeNames {
    /// Returns the argument names of a class, scope by scope.
    pub(super) fn all(event: &Event<'_>, class: &ViewerClass, names: &mut NumberedNames) -> Vec<Self> {
        Self::all_with_prefix(event, class, "", names)
    }

    /// Returns the argument names of all scopes of a class, each with `prefix` in front.
    pub(super) fn all_with_prefix(
        event: &Event<'_>,
        class: &ViewerClass,
        prefix: &str,
        names: &mut NumberedNames,
    ) -> Vec<Self> {
        SCOPES.into_iter().filter_map(|scope| Self::for_scope(event, class, scope, prefix, names)).collect()
    }

    fn for_scope(
        event: &Event<'_>,
        class: &ViewerClass,
        scope: Scope,
        prefix: &str,
        names: &mut NumberedNames,
    ) -> Option<Self> {
        let plan = event.plan(scope)?;
        let members: Vec<usize> = (0..).map_while(|index| plan.member(index)).collect();
        let mut nodes: Vec<Option<u32>> = Vec::new();
        for node in plan.nodes() {
            let name = node.name.as_deref().unwrap_or_default();
            nodes.push(Some(if name.is_empty() { 0 } else { names.number(name) }));
        }
        for member in members {
            if class.is_hidden(event, scope, member) {
                nodes.get_mut(plan.within(member)).unwrap_or_default().fill(None);
            } else if let Some(Some(node)) = nodes.get_mut(member) {
                let name = match scope {
                    Scope::Payload if prefix.is_empty() => continue,
                    Scope::Payload => format!("{prefix}{}", names.name(*node)),
                    _ => format!("{prefix}{}.{}", scope.short_name(), names.name(*node)),
                };
                *node = names.number(&name);
            }
        }
        Some(Self { scope, nodes: nodes.into() })
    }

    /// Returns the plan nodes and name numbers of the visible members.
    #[cfg(feature = "firefox")]
    pub(super) fn members<'n>(&'n self, plan: &'n Plan) -> impl Iterator<Item = (usize, u32)> + 'n {
        let members = (0..).map_while(|index| plan.member(index));
        members.filter_map(|member| Some((member, self.nodes.get(member).copied().flatten()?)))
    }

    /// Returns the name numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().flatten().copied().filter(|number| *number != 0)
    }
}

/// Visitor that passes the fields of a scope to an argument writer.
pub(super) struct ScopeArguments<'v, A> {
    pub(super) arguments: A,
    names: &'v ScopeNames,
    /// Buffer for generated texts.
    text: &'v mut Vec<u8>,
    /// Name of the optional or variant that contains the next field.
    around: u32,
}

impl<'v, A: ArgumentSink> ScopeArguments<'v, A> {
    pub(super) fn new(arguments: A, names: &'v ScopeNames, text: &'v mut Vec<u8>) -> Self {
        Self { arguments, names, text, around: 0 }
    }

    /// Returns the name number of a field, or `None` if the field is hidden.
    fn name(&self, field: Field<'_>) -> Option<u32> {
        self.names.nodes.get(field.index()).copied().flatten()
    }

    /// Returns the name for the next argument.
    #[inline]
    fn next(&mut self, field: Field<'_>) -> Option<u32> {
        let own = self.name(field)?;
        Some(match std::mem::take(&mut self.around) {
            0 => own,
            name => name,
        })
    }

    #[inline]
    fn argument(&mut self, field: Field<'_>, write: impl FnOnce(&mut A, u32)) {
        if let Some(name) = self.next(field) {
            write(&mut self.arguments, name);
        }
    }

    /// Writes the labels of a value instead of its number. Returns `false` without labels.
    #[inline]
    fn label(&mut self, field: Field<'_>, value: i128) -> bool {
        field.class().mappings().is_some() && self.names_of(field, value)
    }

    fn names_of(&mut self, field: Field<'_>, value: i128) -> bool {
        self.text.clear();
        for name in field.class().labels(FieldValue::Integer(value)) {
            if !self.text.is_empty() {
                self.text.extend_from_slice(b" | ");
            }
            self.text.extend_from_slice(name.as_bytes());
        }
        let has_name = !self.text.is_empty();
        if has_name {
            self.push_text(field);
        }
        has_name
    }

    /// Writes the text from the buffer.
    fn push_text(&mut self, field: Field<'_>) {
        if let Some(name) = self.next(field) {
            self.arguments.text(name, self.text);
        }
    }

    /// Writes the text that `make` appends to a buffer.
    fn generated_text(&mut self, field: Field<'_>, make: impl FnOnce(&mut Vec<u8>)) {
        self.text.clear();
        make(self.text);
        self.push_text(field);
    }

    fn display(&mut self, field: Field<'_>, value: impl std::fmt::Display) {
        self.generated_text(field, |text| {
            // Writing into memory cannot fail.
            let _ = write!(text, "{value}");
        });
    }

    /// Keeps the name of an optional or variant for the field inside it.
    fn wrap(&mut self, field: Field<'_>) {
        if self.around == 0 {
            self.around = self.name(field).unwrap_or(0);
        }
    }
}

impl<A: ArgumentSink> Visitor for ScopeArguments<'_, A> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        if !self.label(field, value.into()) {
            self.argument(field, |arguments, name| arguments.unsigned(name, value));
        }
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        if !self.label(field, value.into()) {
            self.argument(field, |arguments, name| arguments.signed(name, value));
        }
    }

    fn value(&mut self, field: Field<'_>, value: FieldValue<'_>) {
        match value {
            FieldValue::Boolean(value) => {
                self.argument(field, |arguments, name| arguments.boolean(name, value));
            }
            FieldValue::Bits(bits) => self.argument(field, |arguments, name| arguments.unsigned(name, bits)),
            FieldValue::Real(value) => {
                self.argument(field, |arguments, name| arguments.double(name, value.to_f64()));
            }
            FieldValue::Wide(value) => self.generated_text(field, |text| value.write_decimal(text)),
            FieldValue::Blob(bytes) => {
                self.generated_text(field, |text| ichnos_export::number::push_hex_bytes(text, bytes));
            }
            FieldValue::Guid(value) => self.display(field, value),
            FieldValue::Null => self.display(field, "null"),
            _ => {}
        }
    }

    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        if let Some(text) = value.as_str() {
            return self.argument(field, |arguments, name| arguments.text(name, text.as_bytes()));
        }
        self.text.clear();
        value.write_utf8(self.text);
        self.push_text(field);
    }

    fn begin_structure(&mut self, field: Field<'_>) {
        // The root structure is the event.
        if field.index() != 0 {
            self.argument(field, |arguments, name| arguments.enter(name, false));
        }
    }

    fn end_structure(&mut self, field: Field<'_>) {
        if field.index() != 0 && self.name(field).is_some() {
            self.arguments.leave();
        }
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.argument(field, |arguments, name| arguments.enter(name, true));
    }

    fn end_array(&mut self, field: Field<'_>) {
        if self.name(field).is_some() {
            self.arguments.leave();
        }
    }

    fn begin_optional(&mut self, field: Field<'_>, present: bool, _: i128) {
        if present {
            self.wrap(field);
        }
    }

    fn end_optional(&mut self, _: Field<'_>) {
        self.around = 0;
    }

    fn begin_variant(&mut self, field: Field<'_>, _: usize, _: i128) {
        self.wrap(field);
    }

    fn end_variant(&mut self, _: Field<'_>) {
        self.around = 0;
    }
}
