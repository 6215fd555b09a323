//! Losses: data that lines cannot contain.

use ichnos_export::parts::has_plain_field;
use ichnos_model::class::FieldClass;
use ichnos_model::event::StreamTable;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{DataStream, Event, Scope};

/// Records a class's losses when its first event is written, and counts lost values.
#[derive(Debug, Default)]
pub(super) struct LineLosses {
    /// Data streams, their classes, and event record classes with recorded losses.
    recorded: StreamTable<(), MissingScopes, ()>,
    table: LossTable,
}

/// Scopes that are missing in the lines of a data stream class.
#[derive(Clone, Copy, Debug)]
struct MissingScopes {
    header: bool,
}

impl MissingScopes {
    fn has(self, scope: Scope) -> bool {
        match scope {
            Scope::PacketHeader | Scope::PacketContext => true,
            Scope::EventRecordHeader => self.header,
            _ => false,
        }
    }
}

impl LineLosses {
    #[inline]
    pub(super) fn event(&mut self, event: &Event<'_>) {
        if !self.recorded.has(event.stream) {
            self.add_stream(event.stream);
        }
        let Some((_, lacking, classes)) = self.recorded.get_mut(event.stream) else { return };
        let table = &mut self.table;
        classes.for_event(event, || {
            let scopes = [
                (Scope::SpecificContext, &event.class.specific_context),
                (Scope::Payload, &event.class.payload),
            ];
            for (scope, class) in scopes {
                record_members(table, event.name(), scope, class.as_deref(), *lacking);
            }
        });
    }

    #[cold]
    fn add_stream(&mut self, stream: &DataStream) {
        let (class, plans, table) = (stream.class(), stream.plans(), &mut self.table);
        self.recorded.insert(stream, (), || {
            let has_header = plans.event_record_header.as_ref().is_some_and(has_plain_field);
            let lacking = MissingScopes { header: !has_header };
            let header = class.event_record_header.as_deref().filter(|_| has_header);
            record_members(table, "", Scope::EventRecordHeader, header, lacking);
            record_members(table, "", Scope::CommonContext, class.common_context.as_deref(), lacking);
            lacking
        });
    }

    pub(super) fn end_stream(&mut self, stream: &DataStream) {
        self.recorded.remove(stream);
    }

    /// Moves all losses to another table.
    pub(super) fn move_to(&mut self, table: &mut LossTable, inexact_nans: u64) {
        if inexact_nans > 0 {
            let what = "sign and payload bits of NaN";
            self.table.note_times(LossKind::Rounded, "", "", what, inexact_nans);
        }
        table.merge(std::mem::take(&mut self.table));
    }
}

/// Records scope members whose selector or length is in a scope that lines lack.
fn record_members(
    table: &mut LossTable,
    name: &str,
    scope: Scope,
    class: Option<&FieldClass>,
    lacking: MissingScopes,
) {
    let mut is_lacking = |class: &FieldClass| {
        let origin = class.needed_location().and_then(|location| location.origin);
        origin.is_some_and(|origin| lacking.has(origin))
    };
    for member in class.into_iter().flat_map(FieldClass::children) {
        if member.class().exists(&mut is_lacking) {
            let what = "selector or length in a scope that lines lack";
            let field = format!("{}.{}", scope.short_name(), member.name().unwrap_or_default());
            table.note(LossKind::Dropped, name, field, what);
        }
    }
}
