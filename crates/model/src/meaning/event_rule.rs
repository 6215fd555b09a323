//! Rules that tell viewers how to show a class's events.

use std::fmt;
use std::sync::Arc;

use crate::call_chain;
use crate::class::{DataStreamClass, EventRecordClass, FieldKind, Scope, TraceClass};
use crate::meaning::{EventDisplay, EventRole, EventTrack, Meaning, MemberIndex};
use crate::plan::scope_class;
use crate::running_thread;
use crate::running_thread::RunningParts;

/// Rule for a class's events in viewers: role, display details and field meanings, in addition to the class's own.
///
/// ```
/// use ichnos_model::class::{DataStreamClass, EventRecordClass, FieldClass, Member};
/// use ichnos_model::meaning::{EventRole, EventRule, Meaning};
///
/// let id = Member::new("id", FieldClass::unsigned(64));
/// let mut class = EventRecordClass::new("request_begin", [id]);
/// let rule = EventRule::new(EventRole::Begin).with("id", Meaning::PairKey).with("user", Meaning::EventName);
/// let missing = rule.apply(&mut class, &DataStreamClass::default());
/// assert_eq!((class.role, class.meanings.iter().count()), (EventRole::Begin, 1));
/// assert_eq!(missing, [1]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventRule {
    /// Role of the events; `None` keeps their role.
    pub role: Option<EventRole>,
    /// Details for viewers. Unset details stay unchanged.
    pub display: Option<Arc<EventDisplay>>,
    /// Track of the events. `None` takes the track in `display`, or keeps the current track.
    pub track: Option<EventTrack>,
    /// Meanings of root structure members, by name: `NAME` in the payload or else in the event contexts, or
    /// `payload.NAME`, `ctx.NAME`, `packet.NAME` and so on, as in [`FieldRef`](crate::field::FieldRef).
    pub members: Vec<(String, Meaning)>,
}

impl EventRule {
    /// Creates a rule for events with this role.
    #[must_use]
    pub fn new(role: EventRole) -> Self {
        Self { role: Some(role), ..Self::default() }
    }

    /// Adds a member's meaning.
    #[must_use]
    pub fn with(mut self, member: impl Into<String>, meaning: Meaning) -> Self {
        self.members.push((member.into(), meaning));
        self
    }

    /// Sets the details for viewers.
    #[must_use]
    pub fn shown(self, display: EventDisplay) -> Self {
        Self { display: Some(Arc::new(display)), ..self }
    }

    /// Applies the rule to a class in a data stream class. Returns the indexes of the rule's members that the class
    /// lacks.
    pub fn apply(&self, class: &mut EventRecordClass, stream: &DataStreamClass) -> Vec<usize> {
        class.role = self.role.unwrap_or(class.role);
        if self.display.is_some() || self.track.is_some() {
            let display = Arc::make_mut(class.display.get_or_insert_default());
            if let Some(own) = &self.display {
                display.update(own);
            }
            display.track = self.track.unwrap_or(display.track);
        }
        let (mut missing, mut found) = (Vec::new(), Vec::new());
        for (index, (path, meaning)) in self.members.iter().enumerate() {
            match find_member(class, stream, path) {
                Some(member) => found.push((member, *meaning)),
                None => missing.push(index),
            }
        }
        // For most meanings, the first of several members counts.
        found.iter().for_each(|(_, meaning)| class.meanings.remove(*meaning));
        for (member, meaning) in found {
            class.meanings.insert(member.scope, member.index as usize, meaning);
        }
        missing
    }
}

/// Finds a member in an event's root structures.
fn find_member(class: &EventRecordClass, stream: &DataStreamClass, path: &str) -> Option<MemberIndex> {
    let find = |scope: &Scope, name: &str| {
        let root = scope_class(*scope, None, stream, Some(class))?;
        let FieldKind::Structure { members, .. } = &root.kind else { return None };
        let index = members.iter().position(|member| member.name == name)?;
        Some(MemberIndex { scope: *scope, index: u32::try_from(index).ok()? })
    };
    Scope::SEARCHED.iter().find_map(|scope| find(scope, path)).or_else(|| {
        let (prefix, name) = path.split_once('.')?;
        Scope::with_prefix(prefix).iter().find_map(|scope| find(scope, name))
    })
}

/// Changes event record classes as soon as they are known: both declared classes and those discovered while reading.
/// The default changes nothing.
#[derive(Clone)]
pub struct ClassMap {
    map: Option<Arc<MapClass>>,
    running: RunningParts,
    streams: Option<Arc<MapStream>>,
}

impl Default for ClassMap {
    fn default() -> Self {
        Self { map: None, running: RunningParts::Nothing, streams: None }
    }
}

type MapClass = dyn Fn(&mut EventRecordClass, &DataStreamClass) + Send + Sync;
type MapStream = dyn Fn(&mut DataStreamClass) + Send + Sync;

impl ClassMap {
    /// Creates a class map. `map` also receives the data stream class of the events. It must not change the scopes of a
    /// class or use the trace, since it is called while a class is added to the trace.
    pub fn new(map: impl Fn(&mut EventRecordClass, &DataStreamClass) + Send + Sync + 'static) -> Self {
        Self { map: Some(Arc::new(map)), ..Self::default() }
    }

    /// Also adds the [running thread](crate::running_thread) to processor events.
    #[must_use]
    pub fn with_running(self, running: RunningParts) -> Self {
        Self { running, ..self }
    }

    /// Also passes each data stream class to `map`, which may add a [resource](Scope::Resource). It must not change
    /// scopes that are decoded.
    #[must_use]
    pub fn with_streams(self, map: impl Fn(&mut DataStreamClass) + Send + Sync + 'static) -> Self {
        Self { streams: Some(Arc::new(map)), ..self }
    }

    /// Returns `true` if it does more than add resources.
    pub(crate) fn changes_classes(&self) -> bool {
        self.map.is_some()
    }

    /// Changes a class.
    pub fn apply(&self, class: &mut EventRecordClass, stream: &DataStreamClass) {
        if let Some(map) = &self.map {
            map(class, stream);
        }
    }

    /// Changes all classes that a trace declares.
    pub(crate) fn apply_to_all(&self, trace: &mut TraceClass) {
        for stream in &mut trace.data_streams {
            let mut classes = std::mem::take(&mut stream.event_records);
            for class in &mut classes {
                self.apply(Arc::make_mut(class), stream);
            }
            stream.event_records = classes;
            running_thread::add_to(stream, self.running);
            call_chain::add_to(stream);
            if let Some(map) = &self.streams {
                map(stream);
            }
        }
    }
}

impl fmt::Debug for ClassMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClassMap")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{FieldClass, Member};
    use crate::trace::{Limits, Trace};

    #[test]
    fn members_are_found_where_fields_are() {
        let member = |name: &str| Member::new(name, FieldClass::unsigned(8));
        let mut stream = DataStreamClass {
            packet_context: Some(Arc::new(FieldClass::structure([member("cpu_id"), member("b")]))),
            common_context: Some(Arc::new(FieldClass::structure([member("a"), member("b")]))),
            ..DataStreamClass::default()
        };
        let mut class = EventRecordClass::new("e", [member("b")]);
        let at = |path: &str| find_member(&class, &stream, path).map(|found| (found.scope, found.index));
        assert_eq!(at("b"), Some((Scope::Payload, 0)));
        assert_eq!(at("ctx.b"), Some((Scope::CommonContext, 1)));
        assert_eq!(at("packet.b"), Some((Scope::PacketContext, 1)));
        assert_eq!(at("cpu_id"), Some((Scope::PacketContext, 0)));
        assert_eq!(at("ctx.cpu_id"), None);

        let rule = EventRule::default().with("a", Meaning::Thread).with("c", Meaning::Process);
        assert_eq!(rule.apply(&mut class, &stream), [1]);
        assert_eq!(class.meanings.get(Scope::CommonContext, 0), Some(Meaning::Thread));
        assert_eq!(class.role, EventRole::Instant);

        // Both declared and discovered classes.
        stream.event_records = vec![Arc::new(EventRecordClass::new("declared", []))];
        let trace = TraceClass { data_streams: vec![stream], ..TraceClass::default() };
        let map = ClassMap::new(move |class, stream| {
            rule.apply(class, stream);
        });
        let trace = Trace::with_class_map(trace, "t", &Limits::default(), Some(&map)).unwrap();
        let discovered = trace.dynamic_classes(0).unwrap();
        discovered.intern(b"key", || EventRecordClass::new("discovered", [])).unwrap();
        let meaning = |class: Arc<EventRecordClass>| class.meanings.get(Scope::CommonContext, 0);
        assert_eq!(trace.event_records(0).map(meaning).collect::<Vec<_>>(), [Some(Meaning::Thread); 2]);
    }
}
