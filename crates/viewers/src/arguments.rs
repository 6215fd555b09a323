//! Event fields as arguments.

use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;

use ichnos_model::field::{Field, FieldValue, StringEncoding, Text};
#[cfg(feature = "firefox")]
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
    /// Writes a value that is null.
    fn null(&mut self, name: u32) {
        self.text(name, b"null");
    }
    /// `true` if [`Self::bytes`] writes bytes. Otherwise, they are hexadecimal digits.
    const HAS_BYTES: bool = false;
    /// Writes bytes.
    fn bytes(&mut self, name: u32, bytes: &[u8]) {
        let _ = (name, bytes);
    }
    /// Starts an array, or a dictionary if `is_array` is `false`.
    fn enter(&mut self, name: u32, is_array: bool);
    /// Ends the innermost array or dictionary.
    fn leave(&mut self);
}

/// Argument names of a viewer, each with its encoded key.
pub(super) struct ArgumentNames {
    names: NumberedNames,
    /// Appends the key of a name.
    encode: fn(&str, &mut Vec<u8>),
    /// Keys by name number, from 1 on.
    keys: Vec<Box<[u8]>>,
    /// Numbers of the distinct lists of names for common contexts.
    contexts: HashMap<Box<[NodeName]>, u32>,
}

impl fmt::Debug for ArgumentNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArgumentNames").field("names", &self.names).finish_non_exhaustive()
    }
}

impl ArgumentNames {
    /// Creates an empty list. `encode` appends the key of a name.
    pub(super) fn new(encode: fn(&str, &mut Vec<u8>)) -> Self {
        Self { names: NumberedNames::default(), encode, keys: Vec::new(), contexts: HashMap::new() }
    }

    /// Returns a name's number.
    fn number(&mut self, name: &str) -> u32 {
        let number = self.names.number(name);
        if self.names.count() > self.keys.len() {
            let mut key = Vec::new();
            (self.encode)(name, &mut key);
            self.keys.push(key.into());
        }
        number
    }

    /// Returns the name with a number.
    pub(super) fn name(&self, number: u32) -> &str {
        self.names.name(number)
    }

    /// Returns the key of the name with a number.
    #[inline]
    pub(super) fn key(&self, number: u32) -> &[u8] {
        (number as usize).checked_sub(1).and_then(|index| self.keys.get(index)).map_or(&[], |key| key)
    }

    /// Returns the number of a list of names for a common context.
    fn context(&mut self, nodes: &[NodeName]) -> u32 {
        let next = self.contexts.len() as u32 + 1;
        match self.contexts.get(nodes) {
            Some(number) => *number,
            None => *self.contexts.entry(nodes.into()).or_insert(next),
        }
    }
}

/// Name of a plan node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct NodeName {
    /// Name number, 0 without a name.
    number: u32,
    is_hidden: bool,
    /// `true` if values can have labels.
    has_labels: bool,
}

/// Argument names of a scope.
#[derive(Debug)]
pub(super) struct ScopeNames {
    pub(super) scope: Scope,
    /// Number that common contexts with the same names share. 0 for other scopes.
    context: u32,
    /// Name of each plan node.
    nodes: Box<[NodeName]>,
}

impl ScopeNames {
    /// Returns the argument names of a class, scope by scope.
    pub(super) fn all(event: &Event<'_>, class: &ViewerClass, names: &mut ArgumentNames) -> Vec<Self> {
        Self::all_with_prefix(event, class, "", names)
    }

    /// Returns the argument names of all scopes of a class, each with `prefix` in front.
    pub(super) fn all_with_prefix(
        event: &Event<'_>,
        class: &ViewerClass,
        prefix: &str,
        names: &mut ArgumentNames,
    ) -> Vec<Self> {
        SCOPES.into_iter().filter_map(|scope| Self::for_scope(event, class, scope, prefix, names)).collect()
    }

    fn for_scope(
        event: &Event<'_>,
        class: &ViewerClass,
        scope: Scope,
        prefix: &str,
        names: &mut ArgumentNames,
    ) -> Option<Self> {
        let plan = event.plan(scope)?;
        let members: Vec<usize> = (0..).map_while(|index| plan.member(index)).collect();
        let mut nodes: Vec<NodeName> = Vec::new();
        for node in plan.nodes() {
            let name = node.name.as_deref().unwrap_or_default();
            let number = if name.is_empty() { 0 } else { names.number(name) };
            let has_labels = node.class.mappings().is_some();
            nodes.push(NodeName { number, is_hidden: false, has_labels });
        }
        for member in members {
            if class.is_hidden(event, scope, member) {
                let hidden = NodeName { is_hidden: true, ..NodeName::default() };
                nodes.get_mut(plan.within(member)).unwrap_or_default().fill(hidden);
            } else if let Some(node) = nodes.get_mut(member).filter(|node| !node.is_hidden) {
                let name = match scope {
                    Scope::Payload if prefix.is_empty() => continue,
                    Scope::Payload => format!("{prefix}{}", names.name(node.number)),
                    _ => format!("{prefix}{}.{}", scope.short_name(), names.name(node.number)),
                };
                node.number = names.number(&name);
            }
        }
        let context = if scope == Scope::CommonContext { names.context(&nodes) } else { 0 };
        Some(Self { scope, context, nodes: nodes.into() })
    }

    /// Returns the argument names for some members in a scope. `select` returns the name of a member with an index and a
    /// name, or `None` if it is hidden.
    pub(super) fn selected(
        event: &Event<'_>,
        scope: Scope,
        names: &mut ArgumentNames,
        select: impl Fn(usize, &str) -> Option<String>,
    ) -> Option<Self> {
        let plan = event.plan(scope)?;
        let mut nodes: Vec<NodeName> = Vec::new();
        for node in plan.nodes() {
            // Empty names are names.
            let number = node.name.as_deref().map_or(0, |name| names.number(name));
            let has_labels = node.class.mappings().is_some();
            nodes.push(NodeName { number, is_hidden: false, has_labels });
        }
        for (index, member) in (0..).map_while(|index| Some((index, plan.member(index)?))) {
            let name = plan.get(member).and_then(|node| node.name.as_deref()).unwrap_or_default();
            match select(index, name) {
                None => {
                    let hidden = NodeName { is_hidden: true, ..NodeName::default() };
                    nodes.get_mut(plan.within(member)).unwrap_or_default().fill(hidden);
                }
                Some(name) => {
                    let number = names.number(&name);
                    nodes.get_mut(member).into_iter().for_each(|node| node.number = number);
                }
            }
        }
        Some(Self { scope, context: 0, nodes: nodes.into() })
    }

    /// Returns the plan nodes and name numbers of the visible members.
    #[cfg(feature = "firefox")]
    pub(super) fn members<'n>(&'n self, plan: &'n Plan) -> impl Iterator<Item = (usize, u32)> + 'n {
        let members = (0..).map_while(|index| plan.member(index));
        let shown = members.map(|member| (member, self.nodes.get(member).copied().unwrap_or_default()));
        shown.filter(|(_, node)| !node.is_hidden).map(|(member, node)| (member, node.number))
    }

    /// Returns the name numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().map(|node| node.number).filter(|number| *number != 0)
    }
}

/// Arguments of the last common context of a data stream, as bytes or other elements.
#[derive(Debug)]
pub(super) struct ContextArguments<T = u8> {
    /// Number of the context.
    context: u64,
    /// Number of its names, 0 before the first.
    names: u32,
    elements: Vec<T>,
}

/// Maximum number of kept elements. They can be much longer than the context itself.
const MOST_KEPT: usize = 1 << 12;

impl<T> Default for ContextArguments<T> {
    fn default() -> Self {
        Self { context: 0, names: 0, elements: Vec::new() }
    }
}

impl<T: Copy> ContextArguments<T> {
    /// Returns the arguments in a scope, if it is the last common context. `context` is the number of the event's
    /// common context, if known.
    #[inline]
    pub(super) fn get(&self, scope: &ScopeNames, context: Option<u64>) -> Option<&[T]> {
        let is_last = scope.context != 0 && scope.context == self.names && context == Some(self.context);
        is_last.then_some(&*self.elements)
    }

    /// Replaces the arguments, if the scope is a common context with a number, and there are not too many.
    #[inline]
    pub(super) fn keep(&mut self, scope: &ScopeNames, context: Option<u64>, elements: &[T]) {
        if let Some(context) = context.filter(|_| scope.context != 0 && elements.len() <= MOST_KEPT) {
            (self.context, self.names) = (context, scope.context);
            self.elements.clear();
            self.elements.extend_from_slice(elements);
        }
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

    /// Returns the name of a field.
    #[inline]
    fn node(&self, field: Field<'_>) -> NodeName {
        const HIDDEN: NodeName = NodeName { number: 0, is_hidden: true, has_labels: false };
        self.names.nodes.get(field.index()).copied().unwrap_or(HIDDEN)
    }

    /// Returns the name number for the next argument, or `None` if its field is hidden.
    #[inline]
    fn next(&mut self, node: NodeName) -> Option<u32> {
        if node.is_hidden {
            return None;
        }
        Some(match std::mem::take(&mut self.around) {
            0 => node.number,
            name => name,
        })
    }

    #[inline]
    fn argument(&mut self, field: Field<'_>, write: impl FnOnce(&mut A, u32)) {
        if let Some(name) = self.next(self.node(field)) {
            write(&mut self.arguments, name);
        }
    }

    /// Writes an integer, or its labels instead.
    #[inline]
    fn integer(&mut self, field: Field<'_>, value: impl Into<i128>, write: impl FnOnce(&mut A, u32)) {
        let node = self.node(field);
        if node.has_labels && self.labels(field, value.into()) {
            return;
        }
        if let Some(name) = self.next(node) {
            write(&mut self.arguments, name);
        }
    }

    /// Writes the labels of a value. Returns `false` without labels.
    #[inline(never)]
    fn labels(&mut self, field: Field<'_>, value: i128) -> bool {
        self.text.clear();
        let Some(mappings) = field.class().mappings() else { return false };
        for name in mappings.names_of(value) {
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
        if let Some(name) = self.next(self.node(field)) {
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
            self.around = self.node(field).number;
        }
    }
}

impl<A: ArgumentSink> Visitor for ScopeArguments<'_, A> {
    #[inline]
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        self.integer(field, value, |arguments, name| arguments.unsigned(name, value));
    }

    #[inline]
    fn signed(&mut self, field: Field<'_>, value: i64) {
        self.integer(field, value, |arguments, name| arguments.signed(name, value));
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
            FieldValue::Blob(bytes) if A::HAS_BYTES => {
                self.argument(field, |arguments, name| arguments.bytes(name, bytes));
            }
            FieldValue::Blob(bytes) => {
                self.generated_text(field, |text| ichnos_export::number::push_hex_bytes(text, bytes));
            }
            FieldValue::Guid(value) => self.display(field, value),
            FieldValue::Null => self.argument(field, |arguments, name| arguments.null(name)),
            _ => {}
        }
    }

    #[inline]
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        // Most texts are ASCII, which is checked faster than UTF-8.
        let is_ascii = value.encoding == StringEncoding::Utf8 && value.bytes.is_ascii();
        if is_ascii || value.as_str().is_some() {
            return self.argument(field, |arguments, name| arguments.text(name, value.bytes));
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
        if field.index() != 0 && !self.node(field).is_hidden {
            self.arguments.leave();
        }
    }

    fn begin_array(&mut self, field: Field<'_>, _: u64) {
        self.argument(field, |arguments, name| arguments.enter(name, true));
    }

    fn end_array(&mut self, field: Field<'_>) {
        if !self.node(field).is_hidden {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_the_last_context_have_its_number_and_names() {
        let scope = |context| ScopeNames { scope: Scope::CommonContext, context, nodes: [].into() };
        let mut last = ContextArguments::default();
        assert_eq!((last.get(&scope(1), Some(0)), last.get(&scope(0), Some(0))), (None, None));
        last.keep(&scope(1), Some(7), b"a");
        assert_eq!(last.get(&scope(1), Some(7)), Some(&b"a"[..]));
        assert_eq!(
            [last.get(&scope(2), Some(7)), last.get(&scope(1), Some(8)), last.get(&scope(1), None)],
            [None; 3]
        );
        // Other scopes and contexts without a number are not kept.
        last.keep(&scope(0), Some(8), b"b");
        last.keep(&scope(1), None, b"c");
        assert_eq!(last.get(&scope(1), Some(7)), Some(&b"a"[..]));
        last.keep(&scope(1), Some(8), b"");
        assert_eq!((last.get(&scope(1), Some(8)), last.get(&scope(1), Some(7))), (Some(&b""[..]), None));
    }
}
