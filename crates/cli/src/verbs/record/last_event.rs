//! Events that end a recording.

use ichnos::live::dotnet::DotnetSearch;
use ichnos::{Expression, Selection};

use crate::exit::Failure;
use crate::progress::Console;
use crate::select::filters;

/// Search for the event that ends a recording.
pub(super) struct LastEvent {
    expression: Expression,
    search: DotnetSearch,
    /// Events that end the recording, after the start of the stream.
    selection: Option<Selection>,
    console: Console,
    has_come: bool,
}

impl LastEvent {
    pub(super) fn new(expression: Expression, console: Console) -> Self {
        Self { expression, search: DotnetSearch::new(), selection: None, console, has_come: false }
    }

    /// Returns `true` if the event has come.
    pub(super) fn has_come(&self) -> bool {
        self.has_come
    }

    /// Reads the next bytes of the stream.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.has_come {
            return Ok(());
        }
        self.search.feed(bytes);
        if self.selection.is_none()
            && let Some(session) = self.search.session()
        {
            let selection = filters::selection(&self.expression, session, "--until", false, self.console)?;
            self.selection = Some(selection);
        }
        if let Some(selection) = &mut self.selection {
            self.has_come = self.search.find(|event| selection.wants_event(event));
        }
        Ok(())
    }

    /// Reports that the event has not come.
    pub(super) fn report(&self) {
        self.console.notice("--until: no event matched");
        if let Some(selector) = self.selection.as_ref().and_then(Selection::selector) {
            filters::review(&selector.filter(), "--until", self.console);
        }
    }
}
