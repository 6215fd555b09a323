//! Looks at growing files: finds what was not delivered yet.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_flow::{DamageCursor, Merge};
use ichnos_io::RefusedTrace;
use ichnos_model::cursor::BoxedCursor;
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::{Cursor as _, DataStream, OpenedTrace, Trace};

use super::delivery::{Delivery, HomeStream};
use super::follow_cursor::FollowCursor;
use super::known_stream::{FollowedFile, StreamKey, StreamPosition};
use super::new_events::NewEvents;
use crate::Session;

/// Everything that was delivered so far.
#[derive(Default)]
pub(super) struct Delivered {
    positions: HashMap<StreamKey, StreamPosition>,
    /// Traces of the delivered data streams, by path and number.
    traces: HashMap<(String, usize), Arc<Trace>>,
    streams: HashMap<StreamKey, Arc<DataStream>>,
    /// Former traces. Sinks identify classes by address, so none may be used twice.
    former: Vec<Arc<Trace>>,
}

/// New messages, and what a later look can still find in the same files.
pub(super) struct Found {
    pub(super) delivery: Delivery,
    /// `true` if there is a message.
    pub(super) has_messages: bool,
    /// `true` if events were held back, although the files may be complete.
    pub(super) has_more: bool,
}

/// Data stream of a session, and its key.
struct FoundStream {
    trace: usize,
    data: Arc<DataStream>,
    key: StreamKey,
    /// Cursor over new messages, if there are any.
    cursor: Option<BoxedCursor>,
}

impl Delivered {
    /// Finds the messages of a session that were not delivered yet. With `is_last`, nothing is held back.
    pub(super) fn look(&mut self, session: Session, is_last: bool) -> Found {
        let mut has_more = false;
        let mut found = Vec::new();
        let mut ordinals: HashMap<StreamKey, usize> = HashMap::new();
        for (index, trace) in session.traces().iter().enumerate() {
            let mut number = 0;
            trace.for_each_stream(&mut |summary| {
                let file = FollowedFile::of(trace.as_ref(), &summary);
                let mut key = StreamKey::new(trace.as_ref(), &summary, file.as_ref());
                let ordinal = ordinals.entry(key.clone()).or_default();
                key.ordinal = *ordinal;
                *ordinal += 1;
                let position = self.positions.entry(key.clone()).or_default();
                if position.is_obsolete(trace.as_ref(), number, &summary, file) {
                    *position = StreamPosition::default();
                }
                position.file = file;
                let (cursor, more) = new_messages(trace.as_ref(), number, position, is_last);
                has_more |= more;
                found.push(FoundStream { trace: index, data: Arc::clone(&summary.stream), key, cursor });
                number += 1;
            });
        }
        let damage = if is_last { damage_outside_streams(&session) } else { Vec::new() };
        let has_messages = !damage.is_empty() || found.iter().any(|stream| stream.cursor.is_some());
        let homes = self.homes(session.traces(), &found);
        let cursors = found.into_iter().filter_map(|stream| stream.cursor);
        let cursors = [DamageCursor::new(damage).boxed()].into_iter().chain(cursors).collect();
        let delivery = Delivery::new(Merge::new(cursors), homes, is_last, session);
        Found { delivery, has_messages, has_more }
    }

    /// Returns the delivered data streams.
    fn homes(&mut self, traces: &[Box<dyn OpenedTrace>], found: &[FoundStream]) -> Vec<HomeStream> {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut homes: Vec<Arc<Trace>> = Vec::new();
        for trace in traces {
            let number = numbers.entry(trace.path()).or_default();
            let key = (trace.path().to_owned(), *number);
            *number += 1;
            // Wrapped traces have data streams with other classes.
            let own = trace
                .data_streams()
                .first()
                .map_or_else(|| Arc::clone(trace.trace()), |stream| Arc::clone(&stream.trace));
            let home = self.traces.entry(key).or_insert_with(|| Arc::clone(&own));
            if !is_same(home, &own) {
                self.former.push(std::mem::replace(home, own));
            }
            homes.push(Arc::clone(home));
        }
        found
            .iter()
            .filter_map(|found| {
                let home = homes.get(found.trace)?;
                let source = &found.data;
                let make = || match Arc::ptr_eq(home, &source.trace) {
                    true => Some(Arc::clone(source)),
                    false => {
                        let (trace, name) = (Arc::clone(home), Arc::clone(&source.name));
                        DataStream::new(trace, source.class_index, source.id, name).map(Arc::new)
                    }
                };
                let known = self.streams.get(&found.key).filter(|known| Arc::ptr_eq(&known.trace, home));
                let stream = known.map(Arc::clone).or_else(make)?;
                self.streams.insert(found.key.clone(), Arc::clone(&stream));
                Some(HomeStream::new(stream, Arc::clone(source)))
            })
            .collect()
    }
}

/// Returns a cursor over the new messages of a data stream, if there are any, and moves the position after them. Also
/// returns `true` if more events are held back.
fn new_messages(
    trace: &dyn OpenedTrace,
    stream: usize,
    position: &mut StreamPosition,
    is_last: bool,
) -> (Option<BoxedCursor>, bool) {
    if is_last {
        return (FollowCursor::new(trace, stream, position, None).map(|cursor| cursor.boxed()), false);
    }
    let NewEvents { count, has_more, after } = NewEvents::find(trace, stream, position);
    let cursor = FollowCursor::new(trace, stream, position, Some(count)).filter(|_| count > 0);
    *position = after;
    (cursor.map(|cursor| cursor.boxed()), has_more)
}

/// Returns `true` if events of one trace can be delivered as events of the other. Stack numbers depend on the trace.
fn is_same(home: &Arc<Trace>, own: &Arc<Trace>) -> bool {
    let has_stacks = |trace: &Trace| {
        (0..trace.class.data_streams.len()).any(|class| !trace.stacks_of(class).table.is_empty())
    };
    Arc::ptr_eq(home, own) || (home.class == own.class && !has_stacks(home) && !has_stacks(own))
}

/// Returns unreadable data outside all data streams.
fn damage_outside_streams(session: &Session) -> Vec<Damage> {
    let unreadable = |path: &str, text: String| Damage::new(path, 0, DamageKind::Unreadable(text));
    let traces = session.traces().iter().flat_map(|trace| trace.damage().iter().cloned());
    let refused = session.refused().iter().map(|RefusedTrace { path, diagnostics, .. }| {
        let reasons: Vec<_> = diagnostics.iter().map(|reason| reason.diagnostic.message.clone()).collect();
        unreadable(path, reasons.join("; "))
    });
    traces.chain(refused).collect()
}
