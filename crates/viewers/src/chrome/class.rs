//! Event classes for Chrome traces.

use std::sync::Arc;

use ichnos_json::write::push_string;
use ichnos_model::Event;
use ichnos_model::lower::{LossKind, LossTable};

use crate::arguments::{ArgumentNames, ScopeNames};
use ichnos_analysis::events::class::{EventForm, ViewerClass};
use ichnos_analysis::events::losses::{record_class_losses, record_loss};

/// Event record class with the data that all its events share.
#[derive(Debug)]
pub(super) struct ChromeClass {
    pub(super) class: ViewerClass,
    pub(super) scopes: Vec<ScopeNames>,
    pub(super) prefix: Arc<ChromePrefix>,
}

/// Name and category of a class as JSON object members.
#[derive(Debug)]
pub(super) struct ChromePrefix {
    pub(super) text: Vec<u8>,
    /// Start position of the category.
    pub(super) category_at: usize,
}

impl ChromeClass {
    /// Creates the class of an event.
    pub(super) fn for_event(event: &Event<'_>, names: &mut ArgumentNames, losses: &mut LossTable) -> Self {
        let class = ViewerClass::from_event(event);
        record_class_losses(losses, event, &class);
        if class.has_stacks() {
            record_loss(losses, event, LossKind::Dropped, "stack", "call stack");
        }
        if class.form == EventForm::Sample {
            record_loss(losses, event, LossKind::Lowered, "", "sample -> instant event");
        }
        let mut text = b"{\"name\":".to_vec();
        push_string(&mut text, &class.name);
        // Viewers match spans with keys by category, so it must not be empty.
        let category = if class.category.is_empty() { "events" } else { &class.category };
        let category_at = text.len();
        text.extend_from_slice(b",\"cat\":");
        push_string(&mut text, category);
        let scopes = ScopeNames::all(event, &class, names);
        Self { class, scopes, prefix: Arc::new(ChromePrefix { text, category_at }) }
    }
}
