//! Check for texts with an invalid encoding.

use ichnos::model::class::FieldKind;
use ichnos::model::event::Packet;
use ichnos::model::field::{Field, Text};
use ichnos::model::plan::Plan;
use ichnos::model::{Event, Scope, Visitor};

/// Check for invalid texts in a data stream.
#[derive(Default)]
pub(crate) struct TextCheck {
    /// Number of invalid texts.
    pub(crate) count: u64,
    /// First invalid text.
    pub(crate) first: Option<InvalidText>,
    /// By event record class: `true` if the header contains texts, and `true` if other scopes do.
    classes: Vec<Option<[bool; 2]>>,
}

/// An invalid text.
pub(crate) struct InvalidText {
    /// Name of the packet scope or the event.
    pub(crate) within: String,
    /// Field name, or empty for an unnamed field.
    pub(crate) field: String,
    /// Encoding name.
    pub(crate) encoding: &'static str,
}

impl TextCheck {
    /// Checks the texts in a packet's header and context.
    pub(crate) fn packet(&mut self, packet: &Packet<'_>) {
        for scope in [Scope::PacketHeader, Scope::PacketContext] {
            let mut finder = TextFinder { check: self, within: &|| scope.to_string() };
            // Errors are ignored: packets from a cursor are readable.
            let _ = packet.visit(scope, &mut finder);
        }
    }

    /// Checks the texts in an event.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        let [header, body] = self.scopes_with_texts(event);
        if !header && !body {
            return;
        }
        let name = || {
            let unnamed = || format!("event record class {}", event.class.id);
            event.class.name.clone().unwrap_or_else(unnamed)
        };
        let mut finder = TextFinder { check: self, within: &name };
        if header {
            let _ = event.visit(Scope::EventRecordHeader, &mut finder);
        }
        if body {
            let _ = event.visit_all(&mut finder);
        }
    }

    fn scopes_with_texts(&mut self, event: &Event<'_>) -> [bool; 2] {
        let known = event.class_index().and_then(|index| self.classes.get(index).copied().flatten());
        if let Some(known) = known {
            return known;
        }
        let has_texts = |plan: &Option<Plan>| {
            let is_text = |kind: &FieldKind| matches!(kind, FieldKind::String { .. });
            plan.as_ref().is_some_and(|plan| plan.nodes().any(|node| is_text(&node.class.kind)))
        };
        let (shared, own) = (event.stream.plans(), event.plans());
        let body = [&shared.common_context, &own.specific_context, &own.payload].into_iter().any(has_texts);
        let found = [has_texts(&shared.event_record_header), body];
        if let Some(index) = event.class_index() {
            if index >= self.classes.len() {
                self.classes.resize(index + 1, None);
            }
            self.classes[index] = Some(found);
        }
        found
    }
}

struct TextFinder<'a> {
    check: &'a mut TextCheck,
    within: &'a dyn Fn() -> String,
}

impl Visitor for TextFinder<'_> {
    fn text(&mut self, field: Field<'_>, value: Text<'_>) {
        if value.is_valid() {
            return;
        }
        self.check.count += 1;
        if self.check.first.is_none() {
            self.check.first = Some(InvalidText {
                within: (self.within)(),
                field: field.name().unwrap_or_default().to_owned(),
                encoding: value.encoding.name(),
            });
        }
    }
}
