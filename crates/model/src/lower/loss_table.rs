//! Conversion losses: items without an exact equivalent.

use std::collections::BTreeMap;

use crate::class::{Role, Scope, TraceClass};
use crate::event::Event;
use crate::message::Damage;
use crate::plan::Plan;
use crate::trace::DataStream;

crate::named_enum! {
    /// Treatment of an item that the target format cannot represent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LossKind {
        /// Simplified: the value is kept, but its class may change.
        Lowered = "lowered",
        /// Renamed.
        Renamed = "renamed",
        /// Moved to another place.
        Moved = "moved",
        /// Rounded: the value is not exactly the same.
        Rounded = "rounded",
        /// Dropped.
        Dropped = "dropped",
    }
}

/// A line in a [`LossTable`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LossEntry {
    /// Loss kind.
    pub kind: LossKind,
    /// Class, for example the name of the event record class. Empty for the trace.
    pub class: String,
    /// Field in the class, for example `payload.flags`. Empty for the class itself.
    pub field: String,
    /// Change, for instance `boolean -> unsigned integer`.
    pub what: String,
}

/// All losses by class and field, with counts.
///
/// Losses caused by classes count classes. Losses that depend on data count values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossTable {
    lines: BTreeMap<LossEntry, u64>,
    /// Counts beyond the maximum number of lines.
    omitted: BTreeMap<LossKind, u64>,
}

/// Maximum number of lines. Without a limit, the content of a trace would determine it.
const MOST_LINES: usize = 100_000;

impl LossTable {
    /// Adds 1 to the count of a line; see [`LossEntry`] for the arguments.
    pub fn note(
        &mut self,
        kind: LossKind,
        class: impl Into<String>,
        field: impl Into<String>,
        what: impl Into<String>,
    ) {
        self.note_times(kind, class, field, what, 1);
    }

    /// Adds to the count of a line; see [`LossEntry`] for the arguments.
    pub fn note_times(
        &mut self,
        kind: LossKind,
        class: impl Into<String>,
        field: impl Into<String>,
        what: impl Into<String>,
        count: u64,
    ) {
        self.add(LossEntry { kind, class: class.into(), field: field.into(), what: what.into() }, count);
    }

    /// Adds to a line's count.
    pub fn add(&mut self, loss: LossEntry, count: u64) {
        if self.lines.len() >= MOST_LINES && !self.lines.contains_key(&loss) {
            let omitted = self.omitted.entry(loss.kind).or_default();
            *omitted = omitted.saturating_add(count);
            return;
        }
        let sum = self.lines.entry(loss).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Returns a recorder for a class's losses. An empty name stands for the trace.
    pub fn for_class<'t>(&'t mut self, class: &'t str) -> LossRecorder<'t> {
        LossRecorder { table: self, class }
    }

    /// Adds the trace's environment entries, except those that are kept.
    pub fn add_environment(&mut self, class: &TraceClass, is_kept: impl Fn(&str) -> bool) {
        for (name, _) in class.environment.iter().filter(|(name, _)| !is_kept(name)) {
            self.note(LossKind::Dropped, "", format!("environment.{name}"), "environment entry");
        }
    }

    /// Adds the members of a data stream's packet headers and contexts, except those that only serve decoding and are
    /// not written.
    pub fn add_packets(&mut self, stream: &DataStream) {
        self.add_members(Scope::PacketHeader, stream.trace.plans.packet_header.as_ref());
        self.add_members(Scope::PacketContext, stream.plans().packet_context.as_ref());
    }

    /// Adds the members of a scope outside of events, except those that only serve decoding and are not written.
    pub fn add_members(&mut self, scope: Scope, plan: Option<&Plan>) {
        let Some(plan) = plan else { return };
        plan.fields().for_each(|member| self.add_member(scope, plan, member));
    }

    /// Adds a member of a scope outside of events, unless it only serves decoding and is not written.
    pub fn add_member(&mut self, scope: Scope, plan: &Plan, member: usize) {
        let mut within = plan.within(member).filter_map(|node| plan.get(node));
        let has_roles = plan.get(member).is_none_or(|first| !first.roles.is_empty());
        if has_roles || within.all(|node| node.only_serves_decoding() || node.is_needed()) {
            return;
        }
        let field = format!("{}.{}", scope.short_name(), plan.field_name(member));
        let what = "data outside events";
        self.note(LossKind::Dropped, "", field, what);
    }

    /// Adds damaged data that the output lacks. The output may still mention the damage.
    pub fn add_damage(&mut self, damage: &Damage) {
        let what = format!("damaged data: {}", damage.kind);
        self.note(LossKind::Dropped, "", "", what);
    }

    /// Adds the date fields of a class, for formats that store them as plain numbers.
    pub fn add_dates(&mut self, event: &Event<'_>) {
        for scope in [Scope::CommonContext, Scope::SpecificContext, Scope::Payload, Scope::Resource] {
            let nodes = event.plan(scope).into_iter().flat_map(Plan::nodes);
            for node in nodes.filter(|node| node.class.integer().is_some_and(|it| it.date_clock().is_some()))
            {
                let field = format!("{}.{}", scope.short_name(), node.name.as_deref().unwrap_or_default());
                self.note(LossKind::Lowered, event.name(), field, "date -> integer");
            }
        }
    }

    /// Adds the times on other clocks for a class, for formats with a single time per event.
    pub fn add_other_clocks(&mut self, event: &Event<'_>) {
        if event.stream.class().other_clocks.is_empty() {
            return;
        }
        let (class, field) = (event.name().to_owned(), "clock".to_owned());
        let what = "times from clocks other than the default clock";
        self.note(LossKind::Dropped, class, field, what);
    }

    /// Adds the fields of a class that update a clock, for formats with only an event time.
    pub fn add_clock_updates(&mut self, event: &Event<'_>) {
        for scope in [Scope::CommonContext, Scope::SpecificContext, Scope::Payload] {
            let nodes = event.plan(scope).into_iter().flat_map(Plan::nodes);
            for node in nodes.filter(|node| node.roles.has(Role::Timestamp) && node.only_serves_decoding()) {
                let field = format!("{}.{}", scope.short_name(), node.name.as_deref().unwrap_or_default());
                self.note(LossKind::Dropped, event.name(), field, "field that updates the clock");
            }
        }
    }

    /// Adds the losses from another table.
    pub fn merge(&mut self, other: Self) {
        for (loss, count) in other.lines {
            self.add(loss, count);
        }
        for (kind, count) in other.omitted {
            let omitted = self.omitted.entry(kind).or_default();
            *omitted = omitted.saturating_add(count);
        }
    }

    /// Returns `true` if there are no losses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.omitted.is_empty()
    }

    /// Returns the lines with their counts, sorted by kind, class and field.
    pub fn iter(&self) -> impl Iterator<Item = (&LossEntry, u64)> {
        self.lines.iter().map(|(loss, count)| (loss, *count))
    }

    /// Returns the count for a kind beyond the kept lines.
    #[must_use]
    pub fn omitted(&self, kind: LossKind) -> u64 {
        self.omitted.get(&kind).copied().unwrap_or(0)
    }

    /// Returns `true` if event times or values are rounded. Packets do not count, since they only summarize events.
    #[must_use]
    pub fn rounds_events(&self) -> bool {
        let is_of_packets = |field: &str| {
            [Scope::PacketHeader, Scope::PacketContext]
                .iter()
                .any(|scope| field.starts_with(scope.short_name()))
        };
        let rounds = |loss: &LossEntry| loss.kind == LossKind::Rounded && !is_of_packets(&loss.field);
        self.iter().any(|(loss, _)| rounds(loss)) || self.omitted(LossKind::Rounded) > 0
    }

    /// Returns the total count for a kind.
    #[must_use]
    pub fn count(&self, kind: LossKind) -> u64 {
        let lines = self.iter().filter(|(loss, _)| loss.kind == kind).map(|(_, count)| count);
        lines.fold(self.omitted(kind), u64::saturating_add)
    }
}

/// Records a class's losses.
#[derive(Debug)]
pub struct LossRecorder<'t> {
    table: &'t mut LossTable,
    class: &'t str,
}

impl LossRecorder<'_> {
    /// Adds 1 to the count of a line. See [`LossEntry`] for the arguments.
    pub fn record_loss(&mut self, kind: LossKind, field: impl Into<String>, what: impl Into<String>) {
        self.table.note(kind, self.class, field, what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(kind: LossKind, field: impl ToString) -> LossEntry {
        let (class, what) = ("open".to_owned(), "boolean -> unsigned integer".to_owned());
        LossEntry { kind, class, field: field.to_string(), what }
    }

    #[test]
    fn equal_lines_are_one() {
        let mut table = LossTable::default();
        assert!(table.is_empty());
        table.add(loss(LossKind::Lowered, "a"), 1);
        let mut other = LossTable::default();
        other.add(loss(LossKind::Lowered, "a"), 2);
        other.add(loss(LossKind::Dropped, "a"), 5);
        table.merge(other);
        assert_eq!(table.iter().map(|(_, count)| count).collect::<Vec<_>>(), [3, 5]);
        assert_eq!((table.count(LossKind::Lowered), table.count(LossKind::Renamed)), (3, 0));
    }

    #[test]
    fn lines_are_bounded_and_counts_are_not() {
        let mut table = LossTable::default();
        for field in 0..MOST_LINES + 10 {
            table.add(loss(LossKind::Dropped, field), 1);
        }
        table.add(loss(LossKind::Dropped, 0), 1);
        assert_eq!(table.iter().count(), MOST_LINES);
        assert_eq!(table.omitted(LossKind::Dropped), 10);
        assert_eq!(table.count(LossKind::Dropped), MOST_LINES as u64 + 11);
    }
}
