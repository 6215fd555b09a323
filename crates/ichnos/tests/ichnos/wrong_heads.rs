//! Sweep over recorded CTF traces: each size, counter and id in a packet header is made wrong. A repair must keep the
//! events in all other packets, must not add events, and must not show new losses.
//!
//! By default, a sample of the values is tested. `ICHNOS_SWEEPS=all` tests all of them.

use std::collections::HashMap;
use std::path::Path;

use ichnos_ctf::trace::CtfTrace;
use ichnos_model::class::{ByteOrder, FieldKind, Role};
use ichnos_model::field::Field;
use ichnos_model::{Cursor as _, Message, Scope, Visitor, Window};

use crate::sweeps::{Change, ReadEvent, SAMPLE, Sweep, damage, events, read, repair};

/// Roles of the changed values.
const ROLES: [Role; 6] = [
    Role::PacketTotalLength,
    Role::PacketContentLength,
    Role::PacketSequenceNumber,
    Role::DiscardedEventCounter,
    Role::DataStreamClassId,
    Role::DataStreamId,
];

/// Value in a packet header or context.
struct HeadValue {
    role: Role,
    /// Offset in the packet and size, in bytes.
    offset: usize,
    size: usize,
    order: ByteOrder,
    value: u64,
}

/// Byte-aligned values.
struct HeadValues(Vec<HeadValue>);

impl Visitor for HeadValues {
    fn unsigned(&mut self, field: Field<'_>, value: u64) {
        let FieldKind::Integer { bits, .. } = &field.class().kind else { return };
        let role = ROLES.into_iter().find(|role| field.class().roles.has(*role));
        if let Some(role) = role.filter(|_| field.length % 8 == 0 && field.offset % 8 == 0) {
            let (offset, size) = ((field.offset / 8) as usize, (field.length / 8) as usize);
            self.0.push(HeadValue { role, offset, size, order: bits.byte_order, value });
        }
    }
}

/// Wrong value.
struct WrongValue {
    role: Role,
    /// `true` if the data stream has a packet before and after this one.
    is_inner: bool,
    /// Number of events in the packet.
    own: usize,
}

fn wrong_values(trace: &CtfTrace) -> Vec<Change<WrongValue>> {
    let mut all: Vec<Change<WrongValue>> = Vec::new();
    for stream in &trace.streams {
        let first = all.len();
        let (mut cursor, mut number) = (stream.cursor(Window::default()), 0);
        let mut begun = first;
        while cursor.advance() {
            match cursor.current() {
                Some(Message::PacketBegin(packet)) => {
                    begun = all.len();
                    let mut values = HeadValues(Vec::new());
                    packet.visit(Scope::PacketHeader, &mut values).unwrap();
                    packet.visit(Scope::PacketContext, &mut values).unwrap();
                    let entry = &stream.packets[packet.index.unwrap() as usize];
                    let path = &stream.files[entry.file as usize].name;
                    let file = path.rsplit('/').next().unwrap().to_owned();
                    number += 1;
                    for HeadValue { role, offset, size, order, value } in values.0 {
                        let most = u64::MAX >> (64 - 8 * size.min(8));
                        let is_counter =
                            matches!(role, Role::PacketSequenceNumber | Role::DiscardedEventCounter);
                        let wrong = [0, value.wrapping_add(1 << 20), value.wrapping_mul(2), most];
                        for wrong in wrong.into_iter().filter(|wrong| *wrong != value && *wrong <= most) {
                            // Excess content is padding that cannot be checked.
                            let is_padding = role == Role::PacketContentLength
                                && wrong > value
                                && wrong <= entry.total().unwrap_or(0);
                            // A counter can be correct from 0 on.
                            if is_padding || is_counter && wrong < value {
                                continue;
                            }
                            let mut bytes = wrong.to_le_bytes()[..size].to_vec();
                            if order == ByteOrder::BigEndian {
                                bytes.reverse();
                            }
                            let offset = entry.offset as usize + offset;
                            let what = format!("{role:?} {value} -> {wrong} at {file}:{offset}");
                            let about = WrongValue { role, is_inner: number > 1, own: 0 };
                            all.push(Change { file: file.clone(), offset, bytes, what, about });
                        }
                    }
                }
                Some(Message::Event(_)) => {
                    all[begun..].iter_mut().for_each(|wrong| wrong.about.own += 1);
                }
                _ => {}
            }
        }
        // The last packet lacks a successor.
        all[begun..].iter_mut().for_each(|wrong| wrong.about.is_inner = false);
    }
    all
}

/// Returns the number of discarded events and packets.
fn losses(trace: &CtfTrace) -> (u64, u64) {
    let (mut events, mut packets) = (0, 0);
    for stream in &trace.streams {
        let mut cursor = stream.cursor(Window::default());
        while cursor.advance() {
            match cursor.current() {
                Some(Message::DiscardedEvents(discarded)) => events += discarded.count.unwrap_or(0),
                Some(Message::DiscardedPackets(discarded)) => packets += discarded.count.unwrap_or(0),
                _ => {}
            }
        }
    }
    (events, packets)
}

/// Counts events, ignoring their times.
fn counted(all: impl IntoIterator<Item = ReadEvent>) -> HashMap<ReadEvent, usize> {
    let mut counts = HashMap::new();
    for event in all {
        *counts.entry(ReadEvent { cycles: None, ..event }).or_default() += 1;
    }
    counts
}

/// Returns how many more events `some` has than `others`.
fn excess(some: &HashMap<ReadEvent, usize>, others: &HashMap<ReadEvent, usize>) -> usize {
    let missing =
        |(event, count): (&ReadEvent, &usize)| count.saturating_sub(others.get(event).copied().unwrap_or(0));
    some.iter().map(missing).sum()
}

/// Events in a trace without times, and its losses.
struct Whole {
    events: HashMap<ReadEvent, usize>,
    losses: (u64, u64),
}

impl Whole {
    fn of(trace: &CtfTrace) -> Self {
        Self { events: counted(events(trace).into_iter().flatten()), losses: losses(trace) }
    }

    /// Returns the fault in a repaired trace that had a wrong value.
    fn fault_of_repair(&self, change: &Change<WrongValue>, path: &Path) -> Option<String> {
        let WrongValue { role, is_inner, own } = change.about;
        let output = tempfile::tempdir().unwrap();
        let output = output.path().join("out");
        // If the trace cannot be read, the repair writes nothing.
        let is_readable = read(path).is_some_and(|read| !read.streams.is_empty());
        let found = if is_readable {
            if let Err(error) = repair(path, &output) {
                return Some(error);
            }
            let Some(repaired) = read(&output) else { return Some("the output cannot be read".to_owned()) };
            let found_damage = damage(&repaired);
            if !found_damage.is_empty() {
                return Some(format!("the output is damaged: {found_damage:?}"));
            }
            Self::of(&repaired)
        } else {
            Self { events: HashMap::new(), losses: (0, 0) }
        };
        let (missing, made_up) = (excess(&self.events, &found.events), excess(&found.events, &self.events));
        if made_up > 0 {
            return Some(format!("{made_up} events are made up"));
        }
        if missing > own {
            return Some(format!("{missing} events are missing, of {own} in the packet"));
        }
        let is_counter = matches!(role, Role::PacketSequenceNumber | Role::DiscardedEventCounter);
        let (found, lost) = (found.losses, self.losses);
        (is_counter && is_inner && found != lost).then(|| format!("losses of {found:?} instead of {lost:?}"))
    }
}

#[test]
fn wrong_heads_cost_no_other_events() {
    let known = [(
        "ev-disc-no-ts-begin-end: PacketTotalLength 168 -> ",
        "heads of two bytes, without a time or a number, can begin anywhere",
    )];
    Sweep { sample: SAMPLE, known: &known }.run(
        Whole::of,
        |_, trace| if damage(trace).is_empty() { wrong_values(trace) } else { Vec::new() },
        Whole::fault_of_repair,
    );
}
