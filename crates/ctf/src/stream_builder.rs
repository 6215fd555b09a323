//! Builds data streams from data stream files: finds packets, and assigns them to data streams.

use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use ichnos_io::{Bytes, Entry, ScanProgress, ScanStep};
use ichnos_model::class::Role;
use ichnos_model::decode::DecodeLimits;
use ichnos_model::message::{Damage, DamageKind};
use ichnos_model::trace::{Diagnostic, FileDiagnostic, FileRole, Limits, TextPosition};
use ichnos_model::{DataStream, Trace};

use crate::ctf_options::CtfOptions;
use crate::data_limits::{DataLimits, PacketLimits};
use crate::dump;
use crate::event_class::EventRecords;
use crate::index::{self, ScannedPacket, TooManyPackets};
use crate::lost_files::lost;
use crate::lttng_index;
use crate::metadata::Dialect;
use crate::packet::{Clocks, Counter, PacketDecoder};
use crate::packet_entry::PacketEntry;
use crate::packet_order::PacketOrder;
use crate::packet_times::{RecordedTime, most_cycles};
use crate::quirks::{AppliedQuirks, Quirk};
use crate::seek::packets_stand_alone;
use crate::stream_input::{StreamFile, StreamInput, StreamRules};

/// Number of packets between progress reports.
const STRIDE: u64 = 1 << 12;

/// Maximum number of packets in a trace whose data stream id is examined and corrected.
const MOST_WRONG_IDS: usize = 64;

/// Maximum number of packets with the same sequence number that are examined in a data stream.
const MOST_DOUBLES: usize = 8;

/// Minimum size in bits of a sequence number that must be unique in its data stream.
const LEAST_SEQUENCE_BITS: u64 = 32;

/// Data stream of a packet: class id, stream id, and the file number if the stream id is missing.
type PacketStreamKey = (u128, Option<u128>, u64);

/// Assigns packets in data stream files to data streams.
pub(crate) struct StreamBuilder<'a> {
    trace: &'a Arc<Trace>,
    packet_limits: PacketLimits,
    allowed: DataLimits,
    streams: BTreeMap<PacketStreamKey, BuiltStream>,
    pub(crate) damage: Vec<Damage>,
    pub(crate) diagnostics: Vec<FileDiagnostic>,
    /// Packet count, and its maximum.
    packets: u64,
    most_packets: u64,
    /// `true` to report violations of the specification even if no data is lost.
    strict: bool,
    /// Names of all files that contain packets from several data streams with ids.
    mixed: Vec<String>,
    /// First empty data stream file, and the number of empty files.
    empty: Option<(String, u64)>,
    /// Name and packet position of the first file with a packet of at most 8 bits.
    small: Option<(String, u64)>,
    /// Number of finished files.
    files: u64,
    progress: &'a ScanProgress,
}

#[derive(Default)]
struct BuiltStream {
    class: usize,
    files: Vec<StreamFile>,
    packets: Vec<PacketEntry>,
    rest: Vec<Damage>,
}

impl<'a> StreamBuilder<'a> {
    /// Creates a builder without files. `limits` apply to decoding, `allowed` to all packets.
    pub(crate) fn new(
        trace: &'a Arc<Trace>,
        limits: &Limits,
        allowed: DataLimits,
        options: &'a CtfOptions,
    ) -> Self {
        Self {
            trace,
            packet_limits: allowed.packets(&trace.class, DecodeLimits::from(limits)),
            allowed,
            streams: BTreeMap::new(),
            damage: Vec::new(),
            diagnostics: Vec::new(),
            packets: 0,
            most_packets: options.limits.packets,
            strict: options.strict,
            mixed: Vec::new(),
            empty: None,
            small: None,
            files: 0,
            progress: &options.progress,
        }
    }

    /// Adds a data stream file with its LTTng index and the index's name.
    pub(crate) fn add(&mut self, name: String, entry: &Entry, lttng_index: Option<(String, &Entry)>) {
        let bytes = match entry.read_or_damage() {
            Ok(bytes) => bytes,
            Err(kind) => return self.skip(name, kind, entry.status().map_or(0, |status| status.size)),
        };
        if bytes.is_empty() {
            self.empty.get_or_insert((name.clone(), 0)).1 += 1;
        }
        if let Some(kind) = self.packet_limits.refused.clone() {
            return self.skip(name, kind, bytes.len() as u64);
        }
        let decoder = PacketDecoder {
            class: &self.trace.class,
            plans: &self.trace.plans,
            limits: self.packet_limits.heads,
        };
        let (progress, files) = (self.progress, self.files);
        let step = |bytes: usize| ScanStep::Indexed { files, bytes: bytes as u64 };
        progress.report(step(0));
        self.files += 1;
        let mut last: Option<PacketStreamKey> = None;
        // An index also contains packets that were not requested.
        let from_index = match lttng_index.filter(|_| !bytes.is_empty() && !entry.goes_on()) {
            Some((name, index)) => self.indexed_packets(&decoder, &bytes, name, index),
            None => None,
        };
        let rest = match from_index {
            Some(packets) => {
                packets.into_iter().for_each(|found| self.push(found, &name, &bytes, &mut last));
                None
            }
            None => index::scan(&decoder, &name, &bytes, &|bytes| progress.report(step(bytes)), |found| {
                if self.packets % STRIDE == 0 {
                    progress.report(step(found.entry.offset as usize));
                }
                if self.packets >= self.most_packets {
                    return Err(TooManyPackets(self.most_packets));
                }
                self.push(found, &name, &bytes, &mut last);
                Ok(())
            }),
        };
        bytes.release();
        // Zeros left by truncation are ignored, as they are not an unused end.
        let lost = lost(&name, &bytes);
        let packets = last.and_then(|key| self.streams.get(&key));
        let unused = rest.as_ref().filter(|_| lost.is_none()).zip(packets).and_then(|(rest, stream)| {
            let is_own = |packet: &&PacketEntry| packet.file as usize + 1 == stream.files.len();
            let others = stream.packets.len() - stream.packets.iter().rev().take_while(is_own).count();
            let own = stream.packets.get(others..)?;
            dump::unused_packets(&self.trace.class, (&name, &bytes), own, rest.bit / 8)
        });
        self.diagnostics.extend(unused.clone());
        if let Some(rest) = lost.or(rest).filter(|_| unused.is_none()) {
            match last.and_then(|key| self.streams.get_mut(&key)) {
                Some(stream) => stream.rest.push(rest),
                None => self.damage.push(rest),
            }
        }
    }

    /// Records a file that is not read, and its size in bytes.
    fn skip(&mut self, file: String, kind: DamageKind, size: u64) {
        self.damage.push(Damage { file, stream: None, bit: 0, kind, skipped: size.saturating_mul(8) });
    }

    /// Returns a file's packets by their own headers, and the file size in bytes.
    ///
    /// # Errors
    /// Returns an error if the file contains anything other than packets.
    pub(crate) fn packets_of(&self, name: &str, entry: &Entry) -> Result<(Vec<ScannedPacket>, u64), String> {
        let bytes = entry.read().map_err(|error| format!("cannot be read: {error}"))?;
        if let Some(kind) = &self.packet_limits.refused {
            return Err(kind.to_string());
        }
        let decoder = PacketDecoder {
            class: &self.trace.class,
            plans: &self.trace.plans,
            limits: self.packet_limits.heads,
        };
        let mut packets: Vec<ScannedPacket> = Vec::new();
        let most = self.most_packets;
        let rest = index::scan(&decoder, name, &bytes, &|_| (), |found| {
            if packets.len() as u64 >= most {
                return Err(TooManyPackets(most));
            }
            packets.push(found);
            Ok(())
        });
        let size = bytes.len() as u64;
        let before = packets.iter().find_map(|found| found.entry.damage_before().first().cloned());
        let cut_off = packets.last().and_then(|found| found.entry.cut_off(name, size));
        match before.or(lost(name, &bytes)).or(rest).or(cut_off) {
            Some(damage) => Err(format!("damaged at byte {}: {}", damage.bit / 8, damage.kind)),
            None => Ok((packets, size)),
        }
    }

    /// Returns a file's packets by their LTTng index, if it is correct.
    fn indexed_packets(
        &mut self,
        decoder: &PacketDecoder<'_>,
        bytes: &[u8],
        name: String,
        index: &Entry,
    ) -> Option<Vec<ScannedPacket>> {
        let error = match index.read() {
            Ok(index) => match lttng_index::packets(decoder, bytes, &index) {
                Ok(packets) => return packets,
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        let message =
            format!("the packet index is not used: {error}; packets are found by their own headers");
        let diagnostic = Diagnostic::warning(TextPosition::default(), message);
        self.diagnostics.push(FileDiagnostic::new(name, diagnostic).with_role(FileRole::Index));
        None
    }

    fn push(&mut self, found: ScannedPacket, name: &str, bytes: &Bytes, last: &mut Option<PacketStreamKey>) {
        let class_id = self.trace.class.data_streams[found.class].id;
        // Usually all packets in a file belong to the same data stream.
        let key = match last.take() {
            Some(last) if (last.0, last.1) == (class_id, found.stream_id) => last,
            other => {
                let is_mixed = other.is_some_and(|other| other.1.is_some()) && found.stream_id.is_some();
                if is_mixed && self.mixed.last().is_none_or(|mixed| *mixed != *name) {
                    self.mixed.push(name.to_owned());
                }
                let file = if found.stream_id.is_some() { 0 } else { self.files };
                let key = (class_id, found.stream_id, file);
                let stream = self.streams.entry(key).or_default();
                stream.class = found.class;
                if stream.files.last().is_none_or(|file| *file.name != *name) {
                    make_room(&mut stream.files);
                    stream.files.push(StreamFile { name: name.into(), bytes: bytes.clone() });
                }
                key
            }
        };
        if let Some(stream) = self.streams.get_mut(&key) {
            let mut entry = found.entry;
            let size = entry.total().unwrap_or(8 * entry.available(bytes.len() as u64));
            if self.small.is_none() && size <= 8 {
                self.small = Some((name.to_owned(), entry.offset));
            }
            entry.file = stream.files.len() as u32 - 1;
            make_room(&mut stream.packets);
            stream.packets.push(entry);
            self.packets += 1;
        }
        *last = Some(key);
    }

    /// Moves packets with a wrong data stream id to the correct data stream.
    pub(crate) fn settle_ids(&mut self) {
        let mixed = std::mem::take(&mut self.mixed);
        if mixed.is_empty() {
            return;
        }
        let files = mixed_packets(&self.streams, &mixed);
        let wrong = files.iter().flat_map(|packets| misassigned(packets)).take(MOST_WRONG_IDS);
        let is_double = |packet: &MixedPacket| {
            self.streams.get(&packet.stream).is_some_and(|stream| packet.is_double_in(stream))
        };
        let sure: Vec<_> = wrong.filter(|(packet, _)| is_double(packet)).collect();
        for (packet, right) in sure {
            let Some(stream) = self.streams.get_mut(&packet.stream) else { continue };
            let place = |other: &PacketEntry| (other.file, other.offset);
            let Ok(at) = stream.packets.binary_search_by_key(&(packet.file, packet.offset), place) else {
                continue;
            };
            let mut entry = stream.packets.remove(at);
            let Some(stream) = self.streams.get_mut(&right.stream) else { continue };
            entry.file = right.file;
            let at = stream.packets.partition_point(|other| place(other) < place(&entry));
            stream.packets.insert(at, entry);
        }
    }

    /// Reports violations of the specification that do not prevent reading.
    pub(crate) fn report_flaws(&mut self, dialect: Dialect) {
        let mut warning = |file: String, message: String| {
            let diagnostic = Diagnostic::warning(TextPosition::default(), message);
            self.diagnostics.push(FileDiagnostic::new(file, diagnostic));
        };
        // Tracers leave empty files if nothing happened, so only strict reading reports them. In PROP-1.0, a data
        // stream may have any number of packets ("Layer 2").
        let is_wrong = self.strict && dialect != Dialect::Prop1;
        if let Some((file, count)) = self.empty.take().filter(|_| is_wrong) {
            let more = match count {
                0 | 1 => String::new(),
                2 => "; so is another file".to_owned(),
                count => format!("; so are {} more files", count - 1),
            };
            warning(file, format!("the data stream is empty, but must have at least one packet{more}"));
        }
        if let Some((file, byte)) = self.small.take().filter(|_| self.strict && dialect == Dialect::Prop1) {
            warning(file, format!("the packet at byte {byte} has 8 bits, but PROP-1.0 requires more"));
        }
    }

    /// Returns the data streams, and notes about their files.
    pub(crate) fn finish(
        self,
        quirks: &[Quirk],
        options: &CtfOptions,
    ) -> (Vec<Arc<StreamInput>>, Vec<FileDiagnostic>) {
        let mut notes = Vec::new();
        let limits = self.packet_limits.for_events(self.packets);
        let mut streams: Vec<Arc<StreamInput>> = Vec::with_capacity(self.streams.len());
        let mut rules: BTreeMap<usize, Arc<StreamRules>> = BTreeMap::new();
        let order = PacketOrder {
            has_times: !Clocks::for_trace(&self.trace.class).go_on,
            has_ends: !quirks.contains(&Quirk::LttngEventAfterPacket),
        };
        for ((_, id, _), mut found) in self.streams {
            let Some(name) = found.files.first().map(|file| file.name.clone()) else { continue };
            let class = self.trace.class.data_streams.get(found.class);
            let begins_are_whole =
                class.is_some_and(|class| RecordedTime::for_role(class, Role::Timestamp, true).bits == 64);
            if order.has_times && found.files.len() == 1 && dump::is_ring(&self.trace.class, &found.packets) {
                found.packets.sort_by_key(PacketEntry::begin);
                notes.extend(dump::ring_note(&name, &found.packets));
            }
            let mut put = order.apply(&mut found.packets, &found.files, begins_are_whole);
            let Some(stream) = DataStream::new(Arc::clone(self.trace), found.class, id, name) else {
                continue;
            };
            let rules = match rules.entry(found.class) {
                MapEntry::Occupied(known) => Arc::clone(known.get()),
                MapEntry::Vacant(unknown) => {
                    let Some(records) = EventRecords::for_class(self.trace, found.class, &self.allowed)
                    else {
                        continue;
                    };
                    let most_cycles = most_cycles(stream.clock());
                    let rules = StreamRules::new(records, quirks, limits, most_cycles, options);
                    Arc::clone(unknown.insert(Arc::new(rules)))
                }
            };
            let mut input = Arc::new(StreamInput {
                packets_stand_alone: packets_stand_alone(&stream, &found.packets, quirks),
                stream: Arc::new(stream),
                rules,
                files: found.files.into(),
                packets: found.packets.into(),
                repeated: 0,
                rest: Box::default(),
                applied_quirks: AppliedQuirks::default(),
                range: OnceLock::new(),
            });
            put.equal.retain(|(packet, _)| input.moves_clock(*packet));
            if let Some(input) = Arc::get_mut(&mut input) {
                if !put.equal.is_empty() {
                    input.packets = put.drop_equal(std::mem::take(&mut input.packets), &input.files);
                }
                found.rest.append(&mut put.damage);
                (input.repeated, input.rest) = (put.repeated, found.rest.into());
            }
            notes.append(&mut input.trim());
            streams.push(input);
        }
        // Data streams are sorted by class, then by id. Without ids, they are sorted by file, directory by directory.
        let key = |stream: &StreamInput| (stream.stream.class().id, stream.stream.id);
        streams.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.stream.name.cmp(&b.stream.name)));
        (streams, notes)
    }
}

/// Packet in a file that contains packets from several data streams.
#[derive(Clone, Copy)]
struct MixedPacket {
    offset: u64,
    stream: PacketStreamKey,
    /// File index in its data stream.
    file: u32,
    begin: Option<u64>,
    sequence: Option<Counter>,
}

impl MixedPacket {
    /// Returns `true` if its sequence number directly follows the number of `before`.
    fn continues(&self, before: &Self) -> bool {
        before.sequence.zip(self.sequence).is_some_and(|(before, own)| own.since(before) == Some(1))
    }

    /// Returns `true` if its data stream contains a packet with the same sequence number, in another file that was
    /// recorded at the same time. Counters that wrap or restart repeat numbers only at other times.
    fn is_double_in(&self, stream: &BuiltStream) -> bool {
        let Some((sequence, begin)) = self.sequence.zip(self.begin) else { return false };
        let is_equal = |other: &&PacketEntry| other.file != self.file && other.sequence() == Some(sequence);
        sequence.width >= LEAST_SEQUENCE_BITS
            && stream.packets.iter().filter(is_equal).take(MOST_DOUBLES).any(|other| {
                let of_file = || stream.packets.iter().filter(|packet| packet.file == other.file);
                let first = of_file().filter_map(PacketEntry::begin).min();
                let last = of_file().filter_map(PacketEntry::end).max();
                first.zip(last).is_some_and(|(first, last)| (first..=last).contains(&begin))
            })
    }
}

/// Returns the packets of some files, sorted by offset.
fn mixed_packets(
    streams: &BTreeMap<PacketStreamKey, BuiltStream>,
    names: &[String],
) -> Vec<Vec<MixedPacket>> {
    let numbers: HashMap<&str, usize> =
        names.iter().enumerate().map(|(number, name)| (name.as_str(), number)).collect();
    let mut files: Vec<Vec<MixedPacket>> = vec![Vec::new(); names.len()];
    for (key, stream) in streams {
        let of_file: Vec<_> = stream.files.iter().map(|file| numbers.get(&*file.name)).collect();
        for packet in &stream.packets {
            let file = of_file.get(packet.file as usize).copied().flatten();
            if let Some(packets) = file.and_then(|number| files.get_mut(*number)) {
                packets.push(MixedPacket {
                    offset: packet.offset,
                    stream: *key,
                    file: packet.file,
                    begin: packet.begin(),
                    sequence: packet.sequence(),
                });
            }
        }
    }
    files.iter_mut().for_each(|packets| packets.sort_unstable_by_key(|packet| packet.offset));
    files
}

/// Returns packets that seem to have a wrong data stream id, each with a packet that has the right id. Both neighbors
/// in the file must belong to the right data stream, with sequence numbers that continue across the packet. The
/// neighbors from its own data stream must not.
fn misassigned(packets: &[MixedPacket]) -> Vec<(MixedPacket, MixedPacket)> {
    let mut last: HashMap<PacketStreamKey, usize> = HashMap::new();
    let mut continues_own = vec![false; packets.len()];
    for (at, packet) in packets.iter().enumerate() {
        let own_before = last.insert(packet.stream, at);
        if let Some(before) = own_before.filter(|before| packet.continues(&packets[*before])) {
            (continues_own[before], continues_own[at]) = (true, true);
        }
    }
    let wrong = packets.iter().enumerate().filter_map(|(at, packet)| {
        let before = at.checked_sub(1).and_then(|before| packets.get(before));
        let next = packets.get(at + 1);
        let is_other =
            |other: &MixedPacket| other.stream != packet.stream && other.stream.0 == packet.stream.0;
        let is_between = before.is_none_or(|before| is_other(before) && packet.continues(before))
            && next.is_none_or(|next| is_other(next) && next.continues(packet))
            && before.zip(next).is_none_or(|(before, next)| before.stream == next.stream);
        let right = before.or(next).filter(|_| is_between && !continues_own[at])?;
        Some((*packet, *right))
    });
    wrong.take(MOST_WRONG_IDS).collect()
}

/// Reserves space for a single item in an empty list, because most of very many lists contain only one item.
fn make_room<T>(list: &mut Vec<T>) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
}
