//! Tables of a trace.

use std::sync::Arc;

use ichnos_model::running_thread::RunningParts;
use ichnos_table::arrow_schema::{Field, Schema, SchemaRef};

use super::row_source::RowColumns;
use super::{class_rows, info_rows, loss_rows, span_rows, stack_rows, task_rows};
use crate::query::{QueryError, QueryTexts, TraceQuery};

/// Table of a trace, other than its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TraceTable {
    /// Event record classes and the numbers of their events.
    Classes,
    /// Edges between operations, from causes to effects.
    Edges,
    /// Frames of call stacks.
    Frames,
    /// Data streams.
    Info,
    /// Discarded events and packets, and unreadable data.
    Losses,
    /// Times between a start event and an end event.
    Spans,
    /// Call stacks.
    Stacks,
    /// Tasks: operations that cause each other.
    Tasks,
}

impl TraceTable {
    /// All tables.
    pub const ALL: [Self; 8] = [
        Self::Classes,
        Self::Edges,
        Self::Frames,
        Self::Info,
        Self::Losses,
        Self::Spans,
        Self::Stacks,
        Self::Tasks,
    ];

    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classes => "classes",
            Self::Edges => "edges",
            Self::Frames => "frames",
            Self::Info => "info",
            Self::Losses => "losses",
            Self::Spans => "spans",
            Self::Stacks => "stacks",
            Self::Tasks => "tasks",
        }
    }

    /// Returns the names and types of the columns.
    #[must_use]
    pub fn columns(self) -> RowColumns {
        match self {
            Self::Classes => class_rows::COLUMNS,
            Self::Edges => task_rows::EDGE_COLUMNS,
            Self::Frames => stack_rows::FRAME_COLUMNS,
            Self::Info => info_rows::COLUMNS,
            Self::Losses => loss_rows::COLUMNS,
            Self::Spans => span_rows::COLUMNS,
            Self::Stacks => stack_rows::STACK_COLUMNS,
            Self::Tasks => task_rows::TASK_COLUMNS,
        }
    }

    /// Returns the columns as a schema.
    #[must_use]
    pub fn schema(self) -> SchemaRef {
        let fields = self.columns().iter().map(|(name, of)| Field::new(*name, of.clone(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Returns `true` if the rows depend on the selected events. The other tables are of all events.
    #[must_use]
    pub const fn has_selection(self) -> bool {
        matches!(self, Self::Spans)
    }

    /// Opens traces for this table.
    ///
    /// # Errors
    /// If a text is invalid, or a trace cannot be read. The tables of data streams, classes and losses need only one
    /// readable trace.
    pub fn open(self, texts: QueryTexts) -> Result<TraceQuery, QueryError> {
        match self {
            Self::Spans => TraceQuery::open(texts, RunningParts::ThreadAndProcess),
            Self::Classes | Self::Info | Self::Losses => {
                TraceQuery::open_readable(texts.without_selection(), RunningParts::Nothing)
            }
            _ => TraceQuery::open(texts.without_selection(), RunningParts::Nothing),
        }
    }
}
