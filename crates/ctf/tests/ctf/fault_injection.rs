//! Damages packets among many good packets. All events in good packets must be read, and all visible damage must be
//! reported. The tables in `docs/robustness.md` come from here.

use ichnos_ctf::rule::Rule;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use ichnos_ctf::trace::{CtfOptions, CtfTrace, open};
use ichnos_model::cursor::StreamCursor;
use ichnos_model::field::Field;
use ichnos_model::message::Damage;
use ichnos_model::{Cursor, Message, OpenedTrace, Scope, Visitor, Window};
use ichnos_testing::{Random, compare_table};

use crate::fault_trace::{Damaged, FaultKind, FaultLayer, FaultTrace, STREAM, check, choose};
use crate::reading::tree;

/// Relevant results from reading a trace.
#[derive(Default)]
struct FaultObservation {
    /// Packet number and index of each event in the written data stream, in order.
    events: Vec<(u32, u32)>,
    /// Events in another data stream.
    strayed: Vec<(u32, u32)>,
    /// Number of events that were never written.
    strange: usize,
    damage: Vec<Damage>,
    /// Sequence numbers of the packets before which packets are reported as lost.
    losses: Vec<u64>,
    /// Packets with events that follow a later message.
    held_up: Vec<u32>,
    /// Index errors.
    index: Vec<String>,
}

/// Numbers in a payload.
#[derive(Default)]
struct PayloadNumbers(Vec<u64>);

impl Visitor for PayloadNumbers {
    fn unsigned(&mut self, _: Field<'_>, value: u64) {
        self.0.push(value);
    }
}

fn read(trace: &CtfTrace) -> FaultObservation {
    let mut observed = FaultObservation { damage: trace.damage().to_vec(), ..FaultObservation::default() };
    observed.index = trace.diagnostics().iter().map(ToString::to_string).collect();
    for stream in &trace.streams {
        let mut cursor = stream.cursor(Window::default());
        let mut lost = false;
        let mut latest = None;
        let mut numbers = PayloadNumbers::default();
        while let Some(head) = cursor.next_head() {
            match cursor.current() {
                Some(Message::Event(event)) => {
                    numbers.0.clear();
                    event.visit(Scope::Payload, &mut numbers).unwrap();
                    match numbers.0[..] {
                        [packet, index, sum] if u64::from(check(packet as u32, index as u32)) == sum => {
                            let event = (packet as u32, index as u32);
                            let is_own = stream.stream.id == Some(STREAM.into());
                            if is_own && latest > head.nanoseconds() {
                                observed.held_up.push(event.0);
                            }
                            if is_own { &mut observed.events } else { &mut observed.strayed }.push(event);
                        }
                        _ => observed.strange += 1,
                    }
                }
                Some(Message::Damage(damage)) => observed.damage.push(damage.clone()),
                Some(Message::DiscardedPackets(_)) => lost = true,
                Some(Message::PacketBegin(packet)) if std::mem::take(&mut lost) => {
                    observed.losses.extend(packet.sequence_number);
                }
                _ => {}
            }
            latest = latest.max(head.nanoseconds());
        }
    }
    observed
}

fn opened(metadata: &str, stream: &[u8], index: Option<&[u8]>) -> CtfTrace {
    let mut files = vec![("metadata", metadata.as_bytes()), ("stream", stream)];
    files.extend(index.map(|index| ("index/stream.idx", index)));
    let mut opened = open(&[&tree(&files)], &CtfOptions::default());
    assert!(opened.errors.is_empty());
    opened.traces.remove(0)
}

/// Results for a damaged file.
#[derive(Default)]
struct DamageVerdict {
    places: usize,
    /// Places reported as damage, and places only reported as loss.
    observed: usize,
    lost: usize,
    /// Undetectable places.
    invisible: usize,
    /// Events in damaged packets, and number of unread events.
    hit_events: usize,
    lost_events: usize,
    strange: usize,
    /// Number of reports for each kind of damage.
    kinds: BTreeMap<String, usize>,
}

/// Reads a damaged file and checks the result.
fn judge(trace: &FaultTrace, damaged: &Damaged, index: Option<&[u8]>, what: &str) -> DamageVerdict {
    let opened = opened(&trace.metadata, &damaged.bytes, index);
    let observed = read(&opened);
    // Damage found without reading events is also reported with events.
    for damage in opened.streams().iter().flat_map(|stream| &stream.damage) {
        let is_reported = observed
            .damage
            .iter()
            .any(|observed| (observed.bit, &observed.kind) == (damage.bit, &damage.kind));
        assert!(is_reported, "{what}: {damage}");
    }
    let mut is_hit = vec![false; trace.packets.len()];
    damaged.places.iter().flat_map(|place| &place.hit).for_each(|hit| is_hit[*hit] = true);
    let is_spared = |packet: u32| is_hit.get(packet as usize).is_some_and(|is_hit| !is_hit);

    // All events in undamaged packets, once, in order, and at their time.
    let spared = trace.spared(&is_hit);
    let found: Vec<(u32, u32)> = observed.events.iter().copied().filter(|event| is_spared(event.0)).collect();
    let first_difference = spared.iter().zip(&found).position(|(a, b)| a != b);
    assert!(
        spared == found,
        "{what}: {} events of {}, different from {first_difference:?} on: {:?}",
        found.len(),
        spared.len(),
        first_difference.map(|at| (spared[at], found[at]))
    );
    assert!(!observed.strayed.iter().any(|event| is_spared(event.0)), "{what}");
    let held_up = observed.held_up.iter().filter(|packet| is_spared(**packet)).count();
    assert_eq!(held_up, 0, "{what}: events come late");

    // Every visible place is reported, and nothing else.
    let mut verdict =
        DamageVerdict { places: damaged.places.len(), strange: observed.strange, ..DamageVerdict::default() };
    for damage in &observed.damage {
        let byte = damage.bit / 8;
        assert!(damaged.places.iter().any(|place| place.bytes.contains(&byte)), "{what}: {damage}");
        let debug = format!("{:?}", damage.kind);
        let kind = match damage.kind.rule() {
            Some(rule) => rule.name,
            None => debug.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default(),
        };
        *verdict.kinds.entry(kind.to_owned()).or_default() += 1;
    }
    for place in &damaged.places {
        let around = place.packets.start as u64..place.packets.end as u64;
        if observed.damage.iter().any(|damage| place.bytes.contains(&(damage.bit / 8))) {
            verdict.observed += 1;
        } else if observed.losses.iter().any(|sequence| around.contains(sequence)) {
            verdict.lost += 1;
        } else {
            assert!(!place.is_visible, "{what}: nothing is reported of {place:?}");
        }
        verdict.invisible += usize::from(!place.is_visible);
    }
    let hit = |n: u32| is_hit.get(n as usize) == Some(&true);
    verdict.hit_events = trace
        .packets
        .iter()
        .zip(&is_hit)
        .filter(|(_, hit)| **hit)
        .map(|(packet, _)| packet.events.len())
        .sum();
    let mut rescued: Vec<_> = observed.events.iter().filter(|event| hit(event.0)).collect();
    rescued.sort_unstable();
    rescued.dedup();
    verdict.lost_events = verdict.hit_events.saturating_sub(rescued.len());
    verdict
}

/// Number of packets for each combination in the table.
const PACKETS: usize = 1000;

#[test]
fn every_layer_in_every_way() {
    let trace = FaultTrace::new(PACKETS);
    let mut table = String::from(
        "| layer | kind | places | damage | loss | invisible | events lost | altered | messages |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (i, layer) in FaultLayer::ALL.into_iter().enumerate() {
        for (j, kind) in FaultKind::ALL.into_iter().enumerate() {
            let damaged = trace.damaged(100, (i * 6 + j) as u64, |_| (layer, kind));
            if damaged.places.is_empty() {
                continue;
            }
            let (layer, kind) = (layer.title(), kind.title());
            let verdict = judge(&trace, &damaged, None, &format!("{layer} {kind}"));
            let kinds: Vec<String> = verdict.kinds.iter().map(|(kind, n)| format!("`{kind}` {n}")).collect();
            let DamageVerdict { places, observed, lost, invisible, hit_events, lost_events, strange, .. } =
                verdict;
            writeln!(
                table,
                "| {layer} | {kind} | {places} | {observed} | {lost} | {invisible} | {lost_events} of {hit_events} | \
                 {strange} | {} |",
                kinds.join(", ")
            )
            .unwrap();
        }
    }
    compare_table("robustness.md", "layers", &table);
}

/// Number of further rounds, from `ICHNOS_FAULT_ROUNDS`.
fn rounds() -> u64 {
    std::env::var("ICHNOS_FAULT_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

/// Uses magic numbers instead of UUIDs, and other places.
#[test]
fn every_layer_in_every_way_without_a_uuid() {
    let without = FaultTrace::without_uuid(PACKETS);
    let with = FaultTrace::new(PACKETS);
    for round in 0..rounds() {
        for (i, layer) in FaultLayer::ALL.into_iter().enumerate() {
            for (j, kind) in FaultKind::ALL.into_iter().enumerate() {
                let trace = if round % 2 == 0 { &without } else { &with };
                let seed = round * 1000 + (i * 6 + j) as u64;
                let damaged = trace.damaged(100, seed, |_| (layer, kind));
                judge(trace, &damaged, None, &format!("{} {}, round {round}", layer.title(), kind.title()));
            }
        }
    }
}

#[test]
fn up_to_a_thousand_packets_of_ten_thousand() {
    let trace = FaultTrace::new(10_000);
    let index = FaultTrace::index_bytes(&trace.index());
    let mut table = String::from(
        "| damaged places | index | damage | loss | invisible | events of other packets | events lost | messages |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for count in [1, 10, 100, 1000] {
        let damaged = trace.damaged(count, count as u64 + 40, choose);
        for (name, index) in [("none", None), ("old", Some(&*index))] {
            let verdict = judge(&trace, &damaged, index, &format!("{count} places, index: {name}"));
            let all: usize = trace.packets.iter().map(|packet| packet.events.len()).sum();
            let DamageVerdict { places, observed, lost, invisible, hit_events, lost_events, .. } = verdict;
            let messages: usize = verdict.kinds.values().sum();
            let others = all - hit_events;
            writeln!(
                table,
                "| {places} | {name} | {observed} | {lost} | {invisible} | {others} of {others} | \
                 {lost_events} of {hit_events} | {messages} |"
            )
            .unwrap();
        }
    }
    compare_table("robustness.md", "thousand", &table);
}

/// Damages many consecutive packets, each in several ways.
#[test]
fn packets_in_a_row() {
    let traces = [FaultTrace::new(PACKETS), FaultTrace::without_uuid(PACKETS)];
    for seed in 0..rounds() * 10 {
        let mut random = Random::new(seed);
        let mut ranges = Vec::new();
        let mut n = 5;
        while n + 40 < PACKETS {
            let length = 1 + random.index(20);
            ranges.push(n..n + length);
            n += length + 6 + random.index(20);
        }
        let trace = &traces[seed as usize % 2];
        judge(trace, &trace.damaged_ranges(&ranges, seed), None, &format!("rows {seed}"));
    }
}

/// If sizes are unchanged, the index from before the damage still locates the packets.
#[test]
fn damaged_packets_with_a_right_index() {
    let trace = FaultTrace::new(PACKETS);
    let index = FaultTrace::index_bytes(&trace.index());
    let mut accepted = 0;
    for seed in 0..20 {
        let damaged = trace.damaged(10, seed, |random| {
            loop {
                let (layer, kind) = choose(random);
                if layer != FaultLayer::Packet
                    && matches!(kind, FaultKind::Flip | FaultKind::Zero | FaultKind::Reorder)
                {
                    return (layer, kind);
                }
            }
        });
        judge(&trace, &damaged, Some(&index), &format!("right index {seed}"));
        accepted +=
            usize::from(opened(&trace.metadata, &damaged.bytes, Some(&index)).diagnostics().is_empty());
    }
    assert!((1..20).contains(&accepted), "{accepted}");
}

/// Tries indexes that do not match the file in every way. The packets must count.
#[test]
fn false_indexes() {
    const FIELDS: [&str; 9] = [
        "offset",
        "packet size",
        "content size",
        "begin",
        "end",
        "discarded events",
        "class id",
        "stream id",
        "sequence number",
    ];
    /// More than are compared when an index is opened.
    const COUNT: usize = 300;
    let trace = FaultTrace::new(COUNT);
    let bytes = trace.bytes();
    let entries = trace.index();
    let mut random = Random::new(1);
    let all = trace.spared(&vec![false; COUNT]);
    let mut table = String::from(
        "| index | tries | noticed on opening | noticed on reading | events lost |\n|---|---|---|---|---|\n",
    );
    let mut row = |what: &str, indexes: &[Vec<u8>]| {
        let (mut on_opening, mut on_reading) = (0, 0);
        for index in indexes {
            let observed = read(&opened(&trace.metadata, &bytes, Some(index)));
            assert!(observed.events == all, "{what}: events are lost");
            let is_reported = observed.damage.iter().any(|damage| damage.kind == Rule::FalseIndex.into());
            assert_eq!(is_reported, !observed.damage.is_empty(), "{what}: {:?}", observed.damage);
            assert!(
                observed.index.iter().all(|index| index.contains("index/stream.idx")),
                "{:?}",
                observed.index
            );
            match observed.index.is_empty() {
                false => on_opening += 1,
                true => on_reading += usize::from(is_reported),
            }
        }
        assert_eq!(on_opening + on_reading, indexes.len(), "{what}: unnoticed");
        writeln!(table, "| {what} | {} | {on_opening} | {on_reading} | 0 |", indexes.len()).unwrap();
    };
    let changed = |change: &mut dyn FnMut(&mut Vec<[u64; 9]>)| {
        let mut entries = entries.clone();
        change(&mut entries);
        FaultTrace::index_bytes(&entries)
    };
    for (field, name) in FIELDS.iter().enumerate() {
        let mut flips = Vec::new();
        for _ in 0..20 {
            let (n, bit) = (random.index(COUNT), random.index(64));
            flips.push(changed(&mut |entries| entries[n][field] ^= 1 << bit));
        }
        row(&format!("a bit of an entry flipped: {name}"), &flips);
    }
    let times = |random: &mut Random| {
        let (n, step) = (random.index(COUNT), random.index(90) as u64 + 1);
        changed(&mut |entries| {
            entries[n][3] += step;
            entries[n][4] -= step;
        })
    };
    row("times of an entry a little wrong", &(0..20).map(|_| times(&mut random)).collect::<Vec<_>>());
    row("all times shifted", &[changed(&mut |entries| entries.iter_mut().for_each(|entry| entry[3] += 5))]);
    row("all offsets shifted", &[changed(&mut |entries| entries.iter_mut().for_each(|entry| entry[0] += 8))]);
    row("stale: the file has grown", &[changed(&mut |entries| entries.truncate(COUNT - 7))]);
    row("of a larger file", &[FaultTrace::index_bytes(&FaultTrace::new(COUNT + 3).index())]);
    let other: Vec<_> = entries.iter().map(|entry| [entry[0], 2048, 2000, 7, 8, 0, 5, STREAM, 0]).collect();
    row("of another trace", &[FaultTrace::index_bytes(&other)]);
    let good = FaultTrace::index_bytes(&entries);
    let any = |random: &mut Random| 16 + random.index(good.len() - 16 - 72 * 2);
    let cut = |random: &mut Random| {
        let at = any(random);
        [&good[..at], &good[at + 1 + random.index(72)..]].concat()
    };
    row("bytes cut out", &(0..20).map(|_| cut(&mut random)).collect::<Vec<_>>());
    let inserted = |random: &mut Random| {
        let at = any(random);
        let noise: Vec<u8> = (0..1 + random.index(72)).map(|_| random.byte()).collect();
        [&good[..at], &noise, &good[at..]].concat()
    };
    row("bytes inserted", &(0..20).map(|_| inserted(&mut random)).collect::<Vec<_>>());
    let zeroed = |random: &mut Random| {
        let mut index = good.clone();
        let at = any(random);
        index[at..at + 72].fill(0);
        index
    };
    row("72 bytes zeroed", &(0..20).map(|_| zeroed(&mut random)).collect::<Vec<_>>());
    row("cut off", &(0..20).map(|_| good[..any(&mut random)].to_vec()).collect::<Vec<_>>());
    let twice = |random: &mut Random| {
        let n = random.index(COUNT);
        changed(&mut |entries| entries.insert(n, entries[n]))
    };
    row("an entry twice", &(0..20).map(|_| twice(&mut random)).collect::<Vec<_>>());
    let swapped = |random: &mut Random| {
        let n = random.index(COUNT - 1);
        changed(&mut |entries| entries.swap(n, n + 1))
    };
    row("two entries swapped", &(0..20).map(|_| swapped(&mut random)).collect::<Vec<_>>());
    row("empty", &[Vec::new()]);
    row("of an unknown version", &[[&good[..4], &2u32.to_be_bytes(), &good[8..]].concat()]);
    compare_table("robustness.md", "index", &table);
}

/// Wrong index times must not change the events in a window.
#[test]
fn windows_with_a_false_index() {
    let trace = FaultTrace::new(300);
    let bytes = trace.bytes();
    let mut random = Random::new(3);
    let times = |stream: &CtfTrace, window: Window| {
        let mut cursor = stream.streams[0].cursor(window);
        let mut times = Vec::new();
        while let Some(head) = cursor.next_head() {
            times.extend(head.nanoseconds().filter(|_| matches!(cursor.current(), Some(Message::Event(_)))));
        }
        times
    };
    let without = opened(&trace.metadata, &bytes, None);
    let mut accepted = 0;
    for _ in 0..40 {
        let mut entries = trace.index();
        for _ in 0..3 {
            let (n, step) = (random.index(300), random.index(900) as u64);
            if random.index(2) == 0 { entries[n][3] += step } else { entries[n][4] -= step }
        }
        let with = opened(&trace.metadata, &bytes, Some(&FaultTrace::index_bytes(&entries)));
        accepted += usize::from(with.diagnostics().is_empty());
        for _ in 0..40 {
            let begin = 5_000_000_000 + random.index(300_000) as i128;
            let window = Window { begin: Some(begin), end: Some(begin + random.index(3000) as i128) };
            assert_eq!(times(&with, window), times(&without, window), "{window:?}");
        }
    }
    assert!(accepted > 0);
}
