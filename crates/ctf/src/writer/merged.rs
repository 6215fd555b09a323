//! Merges trace classes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ichnos_model::TraceClass;
use ichnos_model::class::{
    ClockUpdate, DataStreamClass, EventRecordClass, FieldClass, FieldKind, Role, Value,
};
use ichnos_model::clock::{ClockClass, ClockOrigin};
use ichnos_model::lower::{Capabilities, LossKind, LossTable};

use super::frame;
use super::names::derived_uuid;

/// A trace to be merged with others.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergePart<'a> {
    /// Trace path.
    pub(super) path: &'a str,
    /// Lowered trace class.
    pub(super) class: &'a TraceClass,
    /// `true` if its packets are created from source packets.
    pub(super) mirrors: bool,
    /// `true` if other traces can share its data stream classes, if they are equal.
    pub(super) shares_classes: bool,
    /// `true` if fields after the packet header depend on packet header fields.
    pub(super) needs_header: bool,
}

/// Class of a trace merged from several traces.
#[derive(Debug)]
pub(super) struct MergedClass {
    pub(super) class: TraceClass,
    /// `true` if packets have the header from [`frame::packet_header`] instead of their own.
    pub(super) has_common_header: bool,
    /// Merged data stream class index, by part and the part's data stream class.
    pub(super) data_streams: Vec<Vec<usize>>,
    /// Changes caused by merging.
    pub(super) changes: LossTable,
}

/// Reason why a trace cannot be merged with the others.
#[derive(Debug)]
pub(super) struct MergeProblem {
    /// Part index.
    pub(super) part: usize,
    pub(super) problem: String,
}

/// Merges several classes. `correlated`: all clocks share a timeline, even if their classes do not show it.
/// `replaces_header`: the original packet headers can never be kept.
pub(super) fn merge(
    parts: &[MergePart<'_>],
    capabilities: &Capabilities,
    correlated: bool,
    replaces_header: bool,
) -> Result<MergedClass, MergeProblem> {
    let mut merger = Merger { correlated, class: TraceClass::default(), changes: LossTable::default() };
    merger.describe(parts);
    let data_streams = merger.add_data_streams(parts)?;
    if correlated {
        merger.relate_clocks();
    }
    let has_common_header = replaces_header || !merger.keeps_header(parts);
    if has_common_header {
        merger.replace_header(parts, capabilities)?;
    }
    let Merger { class, changes, .. } = merger;
    Ok(MergedClass { class, has_common_header, data_streams, changes })
}

struct Merger {
    correlated: bool,
    class: TraceClass,
    changes: LossTable,
}

impl Merger {
    fn change(&mut self, kind: LossKind, field: &str, what: impl Into<String>) {
        self.changes.note(kind, "", field, what);
    }

    /// Sets the trace name and environment.
    fn describe(&mut self, parts: &[MergePart<'_>]) {
        let Some(first) = parts.first() else { return };
        let mut class = TraceClass {
            packet_header: first.class.packet_header.clone(),
            data_streams: Vec::new(),
            clocks: Vec::new(),
            environment: Vec::new(),
            ..first.class.clone()
        };
        let classes = || parts.iter().map(|part| part.class);
        let identity = |class: &TraceClass| (class.namespace.clone(), class.name.clone(), class.uid.clone());
        if classes().any(|other| identity(other) != identity(&class)) {
            (class.namespace, class.name, class.uid) = (None, None, None);
            self.change(LossKind::Dropped, "name", "different trace names".to_owned());
        }
        if classes().any(|other| other.uuid != class.uuid) {
            let uuid = derived_uuid(classes().filter_map(|class| class.uuid), &[]);
            class.uuid = Some(uuid);
            self.change(LossKind::Renamed, "uuid", format!("different UUIDs -> {uuid}"));
        }
        if classes().any(|other| other.default_clock_precision != class.default_clock_precision) {
            // Each clock has its own precision.
            class.default_clock_precision = None;
        }
        let differs = |other: &&TraceClass| other.attributes != class.attributes;
        let differing = classes().filter(differs).count();
        if differing > 0 {
            self.changes.note_times(
                LossKind::Dropped,
                "",
                "attributes",
                "different attributes of later traces",
                differing as u64,
            );
        }
        let streams = |other: &TraceClass| other.unmodeled.aux_streams != class.unmodeled.aux_streams;
        if classes().any(streams) {
            let what = "different auxiliary streams of later traces";
            self.change(LossKind::Dropped, "attributes", what);
        }
        for other in classes().skip(1) {
            let new = other.call_sites.iter().filter(|site| !class.call_sites.contains(site));
            let new: Vec<Value> = new.cloned().collect();
            class.call_sites.extend(new);
        }
        self.class = class;
        for (number, part) in parts.iter().enumerate() {
            self.add_environment(number, &part.class.environment);
        }
    }

    /// Adds environment entries. If a later trace has a different value for the same entry, the entry is renamed.
    fn add_environment(&mut self, number: usize, environment: &[(String, Value)]) {
        let mut known: HashMap<String, Value> = self.class.environment.iter().cloned().collect();
        for (name, value) in environment {
            match known.get(name) {
                Some(same) if same == value => continue,
                None => {
                    known.insert(name.clone(), value.clone());
                    self.class.environment.push((name.clone(), value.clone()));
                }
                Some(_) => {
                    let is_taken = |other: &str| known.contains_key(other);
                    let other = (number + 1..).map(|n| format!("{name}_{n}")).find(|name| !is_taken(name));
                    let Some(other) = other else { continue };
                    self.change(LossKind::Renamed, "environment", format!("{name} -> {other}"));
                    known.insert(other.clone(), value.clone());
                    self.class.environment.push((other, value.clone()));
                }
            }
        }
    }

    fn add_data_streams(&mut self, parts: &[MergePart<'_>]) -> Result<Vec<Vec<usize>>, MergeProblem> {
        // Ids are kept if possible.
        let mut taken: HashSet<u128> =
            parts.iter().flat_map(|part| &part.class.data_streams).map(|class| class.id).collect();
        let mut used = HashSet::new();
        let mut next = 0u128;
        let mut shared: Vec<bool> = Vec::new();
        let mut all = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let clocks = self.add_clocks(number, part.class)?;
            let first = self.class.data_streams.len();
            let mut own = Vec::new();
            for class in &part.class.data_streams {
                let mut class = with_clocks_of_stream(class, &clocks);
                let id = class.id;
                // Several traces from the same tracer mostly have the same classes.
                let same = (0..first).find(|index| {
                    let known = &self.class.data_streams[*index];
                    class.id = known.id;
                    part.shares_classes && shared[*index] && *known == class
                });
                if let Some(same) = same {
                    own.push(same);
                    continue;
                }
                class.id = id;
                if !used.insert(id) {
                    while taken.contains(&next) {
                        next += 1;
                    }
                    taken.insert(next);
                    used.insert(next);
                    class.id = next;
                    let what = format!("{}: data stream class {id} -> {next}", part.path);
                    self.change(LossKind::Renamed, "data stream class", what);
                }
                own.push(self.class.data_streams.len());
                self.class.data_streams.push(class);
                shared.push(part.shares_classes);
            }
            all.push(own);
        }
        Ok(all)
    }

    /// Adds new clocks. Returns the indexes of the part's clocks.
    fn add_clocks(&mut self, number: usize, part: &TraceClass) -> Result<Vec<u16>, MergeProblem> {
        let mut indexes = Vec::new();
        for clock in &part.clocks {
            let mut clock = clock.clone();
            if self.class.default_clock_precision.is_none() {
                clock.precision = clock.precision.or(part.default_clock_precision);
            }
            let same = self.class.clocks.iter().position(|known| {
                let renamed = ClockClass { id: known.id.clone(), name: known.name.clone(), ..clock.clone() };
                renamed == *known && (self.correlated || clock.correlates_with(known))
            });
            let index = same.unwrap_or(self.class.clocks.len());
            let problem = "all traces together have too many clocks".to_owned();
            indexes.push(u16::try_from(index).map_err(|_| MergeProblem { part: number, problem })?);
            if same.is_some() {
                continue;
            }
            let is_taken = |id: &str| self.class.clocks.iter().any(|known| known.id == id);
            if is_taken(&clock.id) {
                let id = clock.id.clone();
                let other = (number + 1..).map(|n| format!("{id}_{n}")).find(|id| !is_taken(id));
                let Some(other) = other else { continue };
                self.change(LossKind::Renamed, "clock", format!("{id} -> {other}"));
                if clock.name.as_ref() == Some(&id) {
                    clock.name = Some(other.clone());
                }
                clock.id = other;
            }
            self.class.clocks.push(clock);
        }
        Ok(indexes)
    }

    /// Sets the origin of clocks with an unknown origin to the other clocks' origin, or to the Unix epoch if all are
    /// unknown.
    fn relate_clocks(&mut self) {
        let clocks = &self.class.clocks;
        let Some(first) = clocks.first() else { return };
        if clocks.iter().all(|clock| clock == first || clock.correlates_with(first)) {
            return;
        }
        let known = clocks.iter().map(|clock| &clock.origin).find(|origin| **origin != ClockOrigin::Unknown);
        let origin = known.cloned().unwrap_or(ClockOrigin::UnixEpoch);
        let mut changed = Vec::new();
        for clock in &mut self.class.clocks {
            if clock.origin != origin {
                changed.push(clock.id.clone());
                clock.origin = origin.clone();
            }
        }
        for clock in changed {
            let what = "clock with another or unknown origin -> origin of the other clocks";
            self.change(LossKind::Moved, &format!("clock {clock}"), what.to_owned());
        }
    }

    /// Returns `true` if packets can keep their headers.
    fn keeps_header(&self, parts: &[MergePart<'_>]) -> bool {
        let header = &self.class.packet_header;
        if !parts.iter().all(|part| part.mirrors && part.class.packet_header == *header) {
            return false;
        }
        let role = |role| header.as_deref().and_then(|header| bits_of_role(header, role));
        match (role(Role::DataStreamClassId), self.class.data_streams.len()) {
            (Some(bits), _) => self.class.data_streams.iter().all(|class| fits(class.id, bits)),
            (None, count) => count <= 1,
        }
    }

    fn replace_header(
        &mut self,
        parts: &[MergePart<'_>],
        capabilities: &Capabilities,
    ) -> Result<(), MergeProblem> {
        for (number, part) in parts.iter().enumerate() {
            let Some(header) = part.class.packet_header.as_deref().filter(|_| part.mirrors) else { continue };
            let refuse = |problem: &str| {
                let problem = format!("{problem}, and its packet headers differ from the other traces");
                Err(MergeProblem { part: number, problem })
            };
            if part.needs_header {
                return refuse("fields depend on fields in the packet header");
            }
            for role in [Role::Timestamp, Role::PacketEndTimestamp, Role::DiscardedEventCounter] {
                if bits_of_role(header, role).is_some() {
                    return refuse("packet headers have times, or discarded event counters");
                }
            }
            if has_other_fields(header) {
                let what = format!("{}: packet header fields without a role", part.path);
                self.change(LossKind::Dropped, "packet header", what);
            }
        }
        if let Some(class) = self.class.data_streams.iter().find(|class| u64::try_from(class.id).is_err()) {
            let problem = format!("the data stream class id {} has more than 64 bits", class.id);
            return Err(MergeProblem { part: 0, problem });
        }
        let header = frame::packet_header(self.class.uuid.is_some(), capabilities);
        self.class.packet_header = Some(Arc::new(header));
        self.change(LossKind::Lowered, "packet header", "different headers -> a common header".to_owned());
        Ok(())
    }
}

/// Returns `true` if an id fits a field with this number of bits.
pub(super) fn fits(id: u128, bits: u64) -> bool {
    bits >= 128 || id >> bits == 0
}

/// Returns the minimum size in bits of a packet header field with a role, if it exists.
pub(super) fn bits_of_role(class: &FieldClass, role: Role) -> Option<u64> {
    let bits = match &class.kind {
        FieldKind::Integer { bits, .. } => bits.length,
        // It keeps its size, because a longer field would move all data after it.
        FieldKind::VariableLength { .. } => 7,
        _ => 64,
    };
    let own = class.roles.has(role).then_some(bits);
    match &class.kind {
        FieldKind::Structure { members, .. } => {
            members.iter().filter_map(|member| bits_of_role(&member.class, role)).chain(own).min()
        }
        _ => own,
    }
}

/// Returns `true` if a packet header has fields that a common header lacks.
fn has_other_fields(class: &FieldClass) -> bool {
    match &class.kind {
        FieldKind::Structure { members, .. } => members.iter().any(|member| has_other_fields(&member.class)),
        FieldKind::Padding(_) => false,
        _ => class.roles.is_empty(),
    }
}

/// Returns a data stream class with replaced clock indexes.
fn with_clocks_of_stream(class: &DataStreamClass, clocks: &[u16]) -> DataStreamClass {
    if (0u16..).zip(clocks).all(|(before, now)| before == *now) {
        return class.clone();
    }
    let mut known = HashMap::new();
    let moved = |clock: u16| clocks.get(usize::from(clock)).copied().unwrap_or(clock);
    let mut of =
        |class: &Option<Arc<FieldClass>>| class.as_ref().map(|class| with_clocks(class, &moved, &mut known));
    let (packet_context, header) = (of(&class.packet_context), of(&class.event_record_header));
    let (common_context, resource) = (of(&class.common_context), of(&class.resource));
    let event_records = class.event_records.iter().map(|event| {
        let (specific_context, payload) = (of(&event.specific_context), of(&event.payload));
        Arc::new(EventRecordClass { specific_context, payload, ..(**event).clone() })
    });
    DataStreamClass {
        event_records: event_records.collect(),
        default_clock: class.default_clock.map(moved),
        other_clocks: class.other_clocks.iter().copied().map(moved).collect(),
        packet_context,
        event_record_header: header,
        common_context,
        resource,
        ..class.clone()
    }
}

/// Returns a field class with replaced clock indexes. Classes may be shared, so each is visited only once.
fn with_clocks(
    class: &Arc<FieldClass>,
    moved: &impl Fn(u16) -> u16,
    known: &mut HashMap<*const FieldClass, Arc<FieldClass>>,
) -> Arc<FieldClass> {
    if let Some(known) = known.get(&Arc::as_ptr(class)) {
        return Arc::clone(known);
    }
    let mut new = (**class).clone();
    new.roles.clock = new.roles.clock.map(moved);
    if let Some(updates) = &new.clock_updates {
        let moved = |update: &ClockUpdate| ClockUpdate { clock: moved(update.clock), ..*update };
        new.clock_updates = Some(updates.iter().map(moved).collect());
    }
    let new = Arc::new(new.map_children(|class| with_clocks(class, moved, known)));
    known.insert(Arc::as_ptr(class), Arc::clone(&new));
    new
}

#[cfg(test)]
mod tests {
    use ichnos_model::class::{Member, Uuid};

    use super::*;
    use crate::metadata::Dialect;

    fn part(class: &TraceClass) -> MergePart<'_> {
        MergePart { path: "t", class, mirrors: true, shares_classes: true, needs_header: false }
    }

    fn class(clock: ClockClass, payload_bits: u64) -> TraceClass {
        let event = EventRecordClass::new("e", [Member::new("x", FieldClass::unsigned(payload_bits))]);
        TraceClass::new("CTF 1.8", [clock], [DataStreamClass::new(Some(0), [event])])
    }

    fn merged(parts: &[&TraceClass], correlated: bool) -> MergedClass {
        let parts: Vec<_> = parts.iter().map(|class| part(class)).collect();
        merge(&parts, &super::super::capabilities::capabilities(Dialect::Ctf18), correlated, false).unwrap()
    }

    #[test]
    fn what_is_the_same_is_there_once() {
        let class = class(ClockClass::since_unix_epoch("c"), 8);
        let merged = merged(&[&class, &class], false);
        assert_eq!((merged.class.clocks.len(), merged.class.data_streams.len()), (1, 1));
        assert_eq!(merged.data_streams, [[0], [0]]);
        assert!(merged.changes.is_empty() && !merged.has_common_header);
    }

    #[test]
    fn ids_and_clocks_that_collide_get_other_ones() {
        let first = class(ClockClass::since_unix_epoch("c"), 8);
        let mut clock = ClockClass::since_unix_epoch("c");
        clock.offset_seconds = 5;
        let second = class(clock, 16);
        let merged = merged(&[&first, &second], false);
        let ids: Vec<u128> = merged.class.data_streams.iter().map(|class| class.id).collect();
        assert_eq!(ids, [0, 1]);
        assert_eq!(merged.class.clocks[1].id, "c_2");
        assert_eq!(merged.class.data_streams[1].default_clock, Some(1));
        // Without headers, packets would not have a class id.
        assert!(merged.has_common_header);
        assert_eq!(merged.changes.count(LossKind::Renamed), 2);
    }

    #[test]
    fn clocks_are_related_if_that_is_assumed() {
        let [first, second] = [1, 2].map(|frequency| class(ClockClass::new("c", frequency), 8));
        let merged = merged(&[&first, &second], true);
        assert!(merged.class.clocks[0].correlates_with(&merged.class.clocks[1]));
        assert_eq!(merged.changes.count(LossKind::Moved), 2);
    }

    #[test]
    fn environments_and_uuids() {
        let mut first = class(ClockClass::since_unix_epoch("c"), 8);
        let mut second = first.clone();
        let entry = |name: &str, value: &str| (name.to_owned(), Value::Text(value.to_owned()));
        first.environment = vec![entry("hostname", "a"), entry("domain", "ust")];
        second.environment = vec![entry("hostname", "b"), entry("domain", "ust"), entry("pid", "1")];
        (first.uuid, second.uuid) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        let merged = merged(&[&first, &second], false);
        let names: Vec<&str> = merged.class.environment.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["hostname", "domain", "hostname_2", "pid"]);
        let uuid = merged.class.uuid.unwrap();
        assert_eq!(uuid.get_version_num(), 8);
        assert!(![first.uuid, second.uuid].contains(&Some(uuid)));
    }
}
