//! Looks at growing files: finds what was not delivered yet.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use ichnos_flow::{DamageCursor, Merge};
use ichnos_io::RefusedTrace;
use ichnos_model::cursor::BoxedCursor;
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::trace::StreamSummary;
use ichnos_model::{Cursor as _, DataStream, OpenedTrace, Trace};

use super::delivery::{Delivery, HomeStream, StreamChange};
use super::follow_cursor::FollowCursor;
use super::held_files::HeldFiles;
use super::known_stream::{FollowedFile, StreamKey, StreamPosition};
use super::new_events::NewEvents;
use crate::Session;

/// Everything that was delivered so far.
#[derive(Default)]
pub(super) struct Delivered {
    positions: HashMap<StreamKey, StreamPosition>,
    /// Traces of the delivered data streams, by path and number.
    traces: HashMap<(String, usize), Arc<Trace>>,
    /// Delivered data streams that have begun.
    streams: HashMap<StreamKey, Arc<DataStream>>,
    /// Former traces. Sinks identify classes by address, so none may be used twice.
    former: Vec<Arc<Trace>>,
    /// Files that are read if they are renamed or removed.
    pub(super) held: HeldFiles,
}

/// Session to look at.
#[derive(Clone, Copy, Debug)]
pub(super) enum LookAt {
    /// The paths, which grow.
    Growing,
    /// The paths, for the last time.
    Finished,
    /// A file that is gone from the paths. If `true`, for the last time.
    Gone(FollowedFile, bool),
}

impl LookAt {
    /// Returns `true` if nothing is held back.
    fn is_whole(self) -> bool {
        matches!(self, Self::Finished | Self::Gone(_, true))
    }
}

/// New messages, and what a later look can still find in the same files.
pub(super) struct FoundMessages {
    pub(super) delivery: Delivery,
    /// `true` if there is a message.
    pub(super) has_messages: bool,
    /// `true` if events were held back, although the files may be complete.
    pub(super) has_more: bool,
}

/// Data stream of a session that was not compared with the delivered ones yet.
struct SeenStream {
    trace: usize,
    /// Number in the trace.
    number: usize,
    summary: StreamSummary,
    key: StreamKey,
    /// Its only file.
    file: Option<FollowedFile>,
    /// Path of this file, if the file contains the data as they are.
    path: Option<PathBuf>,
    /// Devices and numbers of its files.
    files: Vec<(u64, u64)>,
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
    /// Finds the messages of a session that were not delivered yet.
    pub(super) fn look(&mut self, session: Session, at: LookAt) -> FoundMessages {
        let is_last = matches!(at, LookAt::Finished);
        let mut has_more = false;
        let (mut found, mut changes) = (Vec::new(), Vec::new());
        let seen = self.see(&session, at);
        self.take_moved(&seen, &mut changes);
        for SeenStream { trace: index, number, summary, key, file, path, files } in seen {
            let Some(trace) = session.traces().get(index) else { continue };
            let position = self.positions.entry(key.clone()).or_default();
            let is_replaced =
                path.zip(file.as_ref()).is_some_and(|(path, file)| position.note_content(&path, file));
            if is_replaced || position.is_obsolete(trace.as_ref(), number, &summary, file) {
                position.begin_again();
                // It begins again.
                changes.extend(self.streams.remove(&key).map(StreamChange::End));
            }
            // A file that was renamed a moment ago has none.
            position.file = file;
            if !files.is_empty() {
                position.files = files;
            }
            let (cursor, more) = new_messages(trace.as_ref(), number, position, at.is_whole());
            has_more |= more;
            found.push(FoundStream { trace: index, data: summary.stream, key, cursor });
        }
        let damage = if is_last { damage_outside_streams(&session) } else { Vec::new() };
        let homes = self.homes(session.traces(), &found, &mut changes);
        if is_last {
            let present: HashSet<&StreamKey> = found.iter().map(|stream| &stream.key).collect();
            let gone = self.streams.iter().filter(|(key, _)| !present.contains(key));
            changes.extend(gone.map(|(_, stream)| StreamChange::End(Arc::clone(stream))));
        }
        let cursors: Vec<_> = found.into_iter().filter_map(|stream| stream.cursor).collect();
        let has_messages = !(changes.is_empty() && damage.is_empty() && cursors.is_empty());
        let cursors = [DamageCursor::new(damage).boxed()].into_iter().chain(cursors).collect();
        let delivery = Delivery::new(changes, Merge::new(cursors), homes, is_last, session);
        FoundMessages { delivery, has_messages, has_more }
    }

    /// Lists the data streams of a session, and keeps their files open.
    fn see(&mut self, session: &Session, at: LookAt) -> Vec<SeenStream> {
        let mut seen = Vec::new();
        let mut ordinals: HashMap<StreamKey, usize> = HashMap::new();
        for (index, trace) in session.traces().iter().enumerate() {
            let mut number = 0;
            trace.for_each_stream(&mut |summary| {
                let all = match at {
                    LookAt::Gone(file, _) => vec![(PathBuf::new(), file)],
                    _ => FollowedFile::of_stream(trace.as_ref(), &summary),
                };
                let (path, first) = all.first().cloned().unzip();
                let file = first.filter(|_| summary.files.len() == 1 || matches!(at, LookAt::Gone(..)));
                let mut key = StreamKey::new(trace.as_ref(), &summary, file.as_ref());
                let is_held = key.is_of_file() && !matches!(at, LookAt::Gone(..));
                let held = path.zip(file).filter(|_| is_held);
                if let Some((path, file)) = &held {
                    self.held.hold(path, file);
                }
                let path = held.filter(|(_, file)| file.bytes() >= summary.bytes).map(|(path, _)| path);
                let ordinal = ordinals.entry(key.clone()).or_default();
                key.ordinal = *ordinal;
                *ordinal += 1;
                let identified = all.iter().filter(|(_, file)| file.is_identified());
                let files = identified.map(|(_, file)| file.identity()).collect();
                seen.push(SeenStream { trace: index, number, summary, key, file, path, files });
                number += 1;
            });
        }
        seen
    }

    /// Moves what is known about data streams whose directories were renamed to their new path. A data stream of LTTng can
    /// have files in several directories.
    fn take_moved(&mut self, seen: &[SeenStream], changes: &mut Vec<StreamChange>) {
        let is_new = |stream: &&SeenStream| {
            let position = self.positions.get(&stream.key);
            !stream.key.is_of_file() && position.is_none_or(|position| !position.is_in(&stream.files))
        };
        let new: Vec<_> = seen.iter().filter(is_new).map(|stream| (&stream.key, &stream.files)).collect();
        if new.is_empty() || self.positions.is_empty() {
            return;
        }
        let present: HashMap<_, _> = seen.iter().map(|stream| (&stream.key, &stream.files)).collect();
        let mut left: HashMap<(u64, u64), Vec<StreamKey>> = HashMap::new();
        for (key, position) in &self.positions {
            if present.get(key).is_none_or(|now| !position.is_in(now)) {
                position.files.iter().for_each(|file| left.entry(*file).or_default().push(key.clone()));
            }
        }
        let mut moved = Vec::new();
        for (key, files) in new {
            let mut former = files.iter().filter_map(|file| left.get(file)).flatten();
            let is_former =
                |before: &&StreamKey| key.can_be_moved(before) && self.positions.contains_key(*before);
            let Some(before) = former.find(is_former) else { continue };
            // All are removed first: two directories can have changed places.
            moved.push((key, self.positions.remove(before), self.streams.remove(before)));
        }
        for (key, position, stream) in moved {
            self.positions.extend(position.map(|position| (key.clone(), position)));
            changes.extend(self.streams.remove(key).map(StreamChange::End));
            self.streams.extend(stream.map(|stream| (key.clone(), stream)));
        }
    }

    /// Returns the trace to which each trace of a session is delivered.
    fn home_traces(&mut self, traces: &[Box<dyn OpenedTrace>]) -> Vec<Arc<Trace>> {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut homes = Vec::new();
        for trace in traces {
            let number = numbers.entry(trace.path()).or_default();
            let key = (trace.path().to_owned(), *number);
            *number += 1;
            // Wrapped traces have data streams with other classes.
            let streams = trace.data_streams();
            let own = streams.first().map_or_else(|| trace.trace(), |stream| &stream.trace);
            let home = self.traces.entry(key).or_insert_with(|| Arc::clone(own));
            if !is_same(home, own) {
                self.former.push(std::mem::replace(home, Arc::clone(own)));
            }
            homes.push(Arc::clone(home));
        }
        homes
    }

    /// Returns the delivered data streams. If the classes of a trace have grown, its data streams end, and go on as new
    /// data streams.
    fn homes(
        &mut self,
        traces: &[Box<dyn OpenedTrace>],
        found: &[FoundStream],
        changes: &mut Vec<StreamChange>,
    ) -> Vec<HomeStream> {
        let traces = self.home_traces(traces);
        let mut homes = Vec::new();
        for FoundStream { trace, data, key, cursor } in found {
            let Some(trace) = traces.get(*trace) else { continue };
            let known = self.streams.get(key);
            let stream = match known.filter(|known| Arc::ptr_eq(&known.trace, trace)) {
                Some(known) => Arc::clone(known),
                None if Arc::ptr_eq(trace, &data.trace) => Arc::clone(data),
                None => {
                    let name = Arc::clone(&data.name);
                    let Some(new) = DataStream::new(Arc::clone(trace), data.class_index, data.id, name)
                    else {
                        continue;
                    };
                    Arc::new(new)
                }
            };
            if cursor.is_some() {
                if let Some(known) = known.filter(|known| !Arc::ptr_eq(known, &stream)) {
                    changes.push(StreamChange::End(Arc::clone(known)));
                    changes.push(StreamChange::Begin(Arc::clone(&stream)));
                }
                self.streams.insert(key.clone(), Arc::clone(&stream));
            }
            homes.push(HomeStream::new(stream, Arc::clone(data)));
        }
        homes
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
        return (FollowCursor::to_end(trace, stream, position, None).map(|cursor| cursor.boxed()), false);
    }
    let NewEvents { count, has_more, after } = NewEvents::find(trace, stream, position);
    let cursor = match (count, has_more) {
        (0, _) => None,
        // Sorted events would be others.
        (_, true) => FollowCursor::new(trace, stream, position, Some(count)),
        (_, false) => FollowCursor::to_end(trace, stream, position, Some(count)),
    };
    *position = after;
    (cursor.map(|cursor| cursor.boxed()), has_more)
}

/// Returns `true` if events of one trace can be delivered as events of the other.
fn is_same(home: &Arc<Trace>, own: &Arc<Trace>) -> bool {
    Arc::ptr_eq(home, own) || home.class == own.class
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
