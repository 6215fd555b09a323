//! Single-pass writer for all parts of a trace.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ichnos_io::{
    CreateError, Lane, Output as _, OutputBlock, PartTarget, PartsOutput, Worker as _, WriteReport,
    WriteSource,
};
use ichnos_model::class::{EventRecordClass, Uuid};
use ichnos_model::digest::TraceDigest;
use ichnos_model::event::Packet;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::lower::{LossKind, LossTable};
use ichnos_model::{Event, Message, TraceClass};

use super::added_counter::AddedCounters;
use super::encoder_config::{EncoderConfig, WriteRule};
use super::index_file;
use super::lowered_source::identify_part;
use super::names::{derived_uuid, part_name};
use super::open_files::OpenFiles;
use super::part_packets::{CounterWidths, PacketContext, PacketCounters, PacketTemplate, PartLosses};
use super::stream_encoder::{OutputState, PacketRange, StreamEncoder, close_unended};
use super::trace_output::CtfOutput;
use super::usage::LimitUsage;

/// Maximum number of bytes waiting to be written, for all parts together.
const WAITING: usize = 32 << 20;

/// Writes all parts of split CTF traces, data stream by data stream.
#[derive(Debug)]
pub(super) struct CtfParts {
    /// Common classes and data streams of all parts. It does not write anything itself.
    base: CtfOutput,
    parts: Vec<TracePart>,
    lane: Option<PartsLane>,
    /// Further data stream file names, by data stream number and file number.
    names: HashMap<(usize, usize), String>,
    /// Classes and metadata for traces with equal parts, once known.
    metadata: HashMap<usize, DescribedTrace>,
    report: WriteReport,
}

/// A trace class, and the files that describe it.
type DescribedTrace = (TraceClass, Vec<(PathBuf, Vec<u8>)>);

#[derive(Debug)]
struct TracePart {
    target: PartTarget,
    /// Dynamic classes of its events, by trace, data stream class and id.
    classes: BTreeMap<(usize, usize, u128), Arc<EventRecordClass>>,
    /// Digest of the written events, if it is compared with the output.
    digest: Option<Arc<Mutex<TraceDigest>>>,
    /// Use of reader limits by its traces, by trace number.
    usages: HashMap<usize, LimitUsage>,
    events: u64,
    copied_packets: u64,
}

/// Data stream being written, in all parts.
#[derive(Debug)]
struct PartsLane {
    source: usize,
    encoder: StreamEncoder,
    /// Facts about the source's previous packet.
    around: PacketContext,
    /// Counters in fields that source packets lack.
    added: AddedCounters,
    /// Number of declared event record classes.
    declared: usize,
    parts: HashMap<usize, PartStream>,
    /// Part whose packets are in the encoder.
    current: Option<usize>,
    /// Current source packet. `None` if it cannot be written.
    template: Option<PacketTemplate>,
    /// Parts that may have an open packet.
    open: Vec<usize>,
    /// Number of wrong times and numbers in the packet. Each part with the packet has them, too.
    wrong_values: u64,
    /// Number of waiting bytes, and the threshold for writing them.
    waiting: usize,
    most_waiting: usize,
    open_files: OpenFiles,
}

/// Data stream in a part.
#[derive(Debug)]
struct PartStream {
    output: OutputState,
    uuid: Option<Uuid>,
    counters: PacketCounters,
    losses: PartLosses,
    files: Vec<PartStreamFile>,
}

#[derive(Debug, Default)]
struct PartStreamFile {
    size: u64,
    index: Vec<u8>,
    /// Open file. `None` if it is closed or does not exist yet.
    file: Option<File>,
}

/// End of a part's packet.
#[derive(Clone, Copy, Debug)]
enum PacketEnd {
    /// End in the source.
    Known(PacketRange),
    /// End before the source's end.
    OfPart,
    /// End lost to damage.
    Lost,
}

impl CtfParts {
    pub(super) fn new(base: CtfOutput) -> Self {
        Self {
            base,
            parts: Vec::new(),
            lane: None,
            names: HashMap::new(),
            metadata: HashMap::new(),
            report: WriteReport::default(),
        }
    }

    /// Switches the encoder to a part.
    fn select(&mut self, part: usize) -> Option<&mut PartsLane> {
        let TracePart { target, digest, .. } = self.parts.get(part)?;
        let base = &self.base;
        let lane = self.lane.as_mut()?;
        if lane.current != Some(part) {
            lane.release();
            let encoder = &mut lane.encoder;
            let source = lane.source;
            let stream = lane.parts.entry(part).or_insert_with(|| {
                let uuid = match target.selected_by {
                    Some(_) => base
                        .source_uuid(source)
                        .map(|uuid| derived_uuid([uuid].into_iter(), &base.words(target))),
                    None => None,
                };
                PartStream {
                    output: OutputState::new(digest.as_ref()),
                    uuid,
                    counters: PacketCounters::default(),
                    losses: PartLosses::default(),
                    files: Vec::new(),
                }
            });
            encoder.swap_output(&mut stream.output);
            encoder.header = encoder.config.header;
            if stream.uuid.is_some() {
                encoder.header.uuid = stream.uuid;
                encoder.header.replaced.uuid = stream.uuid;
            }
            encoder.window = target.window;
            lane.current = Some(part);
        }
        Some(lane)
    }

    /// Opens the current source packet in a part.
    fn open(&mut self, part: usize) {
        let counts_anew = self.parts.get(part).is_some_and(|part| part.target.selected_by.is_some());
        let Some(lane) = self.select(part) else { return };
        if !lane.encoder.config.frame.mirrors || lane.encoder.lanes[0].open.is_some() {
            return;
        }
        let PartsLane { encoder, parts, template, around, wrong_values, .. } = lane;
        let (Some(template), Some(stream)) = (template, parts.get_mut(&part)) else { return };
        if let Some(digest) = &mut encoder.digest {
            (0..*wrong_values).for_each(|_| digest.add_damage());
        }
        let before = encoder.lanes[0].out.len();
        template.open(encoder, stream.uuid, (&mut stream.counters, &mut stream.losses), *around, counts_anew);
        let after = encoder.lanes[0].out.len();
        lane.waiting += after.saturating_sub(before);
        lane.open.push(part);
    }

    /// Records a wrong time or number in the packet, to be reported by a part.
    fn add_wrong_value(&mut self, part: usize) {
        let Some(lane) = &mut self.lane else { return };
        lane.wrong_values += 1;
        for other in lane.open.clone().into_iter().filter(|other| *other != part) {
            if let Some(PartsLane { encoder, .. }) = self.select(other)
                && let Some(digest) = &mut encoder.digest
            {
                digest.add_damage();
            }
        }
    }

    /// Ends a part's packet, if it is open.
    fn close(&mut self, part: usize, end: PacketEnd) -> io::Result<()> {
        let Some(lane) = self.select(part) else { return Ok(()) };
        let PartsLane { encoder, parts, template, .. } = lane;
        let range = match end {
            PacketEnd::Known(range) => Some(range),
            PacketEnd::OfPart => Some(template.as_ref().map(|template| template.range).unwrap_or_default()),
            PacketEnd::Lost => None,
        };
        if encoder.lanes[0].open.is_none() {
            return Ok(());
        }
        let count = encoder.lanes[0].encoded.len();
        match range {
            Some(range) => encoder.close_mirrored(range),
            None => {
                let config = Arc::clone(&encoder.config);
                let packets = &mut encoder.lanes[0];
                if let Some(open) = packets.open.take() {
                    close_unended(packets, open, &config);
                }
            }
        }
        if let (Some(stream), Some(last)) = (parts.get_mut(&part), encoder.lanes[0].encoded.get(count..)) {
            // The packet may have been split.
            if let Some(last) = last.last() {
                stream.counters.record(last);
            }
        }
        lane.encoder.collect(false);
        self.write(part)
    }

    /// Ends the open packets in all parts, because the source packet does not end.
    fn close_lost(&mut self) -> io::Result<()> {
        let open = self.lane.as_mut().map(|lane| std::mem::take(&mut lane.open)).unwrap_or_default();
        open.into_iter().try_for_each(|part| self.close(part, PacketEnd::Lost))
    }

    /// Writes the encoder's output for a part.
    fn write(&mut self, part: usize) -> io::Result<()> {
        while let Some(block) = self.lane.as_mut().and_then(|lane| lane.encoder.take()) {
            self.write_block(part, block)?;
        }
        Ok(())
    }

    fn write_block(&mut self, part: usize, block: OutputBlock) -> io::Result<()> {
        let (Some(lane), Some(owner)) = (&mut self.lane, self.parts.get_mut(part)) else { return Ok(()) };
        let target = &owner.target;
        lane.waiting = lane.waiting.saturating_sub(block.bytes.len());
        if block.bytes.is_empty() {
            return Ok(());
        }
        let config = Arc::clone(&lane.encoder.config);
        let Some(stream) = lane.parts.get_mut(&part) else { return Ok(()) };
        if stream.files.len() <= block.part {
            stream.files.resize_with(block.part + 1, PartStreamFile::default);
        }
        let file = &mut stream.files[block.part];
        if let Some(directory) = &target.path {
            let name = name_of(&mut self.names, &self.base, &config, block.part);
            let path = directory.join(self.base.directory_of(config.output.trace)).join(name);
            let place =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
            let mut open = match file.file.take() {
                Some(open) => open,
                None => {
                    let is_new = file.size == 0;
                    if is_new && let Some(parent) = path.parent() {
                        fs::create_dir_all(parent).map_err(place)?;
                    }
                    File::options().append(true).create_new(is_new).open(&path).map_err(place)?
                }
            };
            open.write_all(&block.bytes).map_err(place)?;
            file.file = Some(open);
        }
        index_file::add_block(&mut file.index, &mut file.size, &block, &config);
        lane.used(part, block.part);
        let (bytes, packets) = (block.bytes.len() as u64, block.packets.len() as u64);
        self.base.add_packets(owner.usages.entry(config.output.trace).or_default(), bytes, packets)?;
        owner.events += block.events;
        owner.copied_packets += block.copied_packets;
        self.report.bytes += block.bytes.len() as u64;
        self.report.packets += block.packets.len() as u64;
        self.report.events += block.events;
        self.report.copied_packets += block.copied_packets;
        Ok(())
    }

    /// Writes the waiting data of all parts, if it exceeds the threshold.
    fn make_room(&mut self) -> io::Result<()> {
        let Some(lane) = self.lane.as_mut().filter(|lane| lane.waiting > lane.most_waiting) else {
            return Ok(());
        };
        let parts: Vec<usize> = lane.parts.keys().copied().collect();
        for part in parts {
            if let Some(lane) = self.select(part) {
                // Packets created from source packets stay complete, others can end anywhere.
                lane.encoder.flush()?;
            }
            self.write(part)?;
        }
        if let Some(lane) = &mut self.lane {
            lane.release();
            let packets = lane.parts.values().flat_map(|stream| &stream.output.lanes);
            lane.waiting = packets.map(|packets| packets.out.len()).sum();
            lane.most_waiting = WAITING.max(2 * lane.waiting);
        }
        Ok(())
    }

    /// Records an event's class, if the part's metadata would otherwise lack it.
    fn record_class(&mut self, part: usize, event: &Event<'_>) {
        let Some(lane) = &self.lane else { return };
        if event.class_index().is_none_or(|index| index < lane.declared) {
            return;
        }
        let Ok(Some(lowered)) = lane.encoder.config.lowered.event(event) else { return };
        let class = lowered.class();
        if let Some(part) = self.parts.get_mut(part) {
            let key = (lane.source, event.stream.class_index, class.id);
            part.classes.entry(key).or_insert_with(|| Arc::clone(class));
        }
    }

    /// Writes a part's metadata, and its events' call stacks.
    fn write_description(&mut self, part: usize) -> Result<(), CreateError> {
        let Some(TracePart { target, classes, usages, .. }) = self.parts.get(part) else { return Ok(()) };
        for trace in self.base.written_traces() {
            let own = classes.range((trace, 0, 0)..(trace + 1, 0, 0));
            let is_common = target.selected_by.is_none() && own.clone().next().is_none();
            let made;
            let (class, files) = match self.metadata.get(&trace).filter(|_| is_common) {
                Some(known) => known,
                None => {
                    let class = self.base.part_class(trace, target, own);
                    let described = (class.clone(), self.base.describe(trace, class)?);
                    match is_common {
                        true => &*self.metadata.entry(trace).or_insert(described),
                        false => {
                            made = described;
                            &made
                        }
                    }
                }
            };
            usages.get(&trace).map_or(Ok(()), |usage| self.base.check_usage(trace, class, usage))?;
            let Some(directory) = &target.path else { continue };
            for (path, bytes) in files {
                let path = directory.join(path);
                create_parent(&path)
                    .and_then(|()| fs::write(&path, bytes))
                    .map_err(|error| at(&path, error))?;
            }
            self.base.write_stacks_by(trace, &mut |path| {
                let path = directory.join(path);
                let file = create_parent(&path).and_then(|()| File::create_new(&path));
                file.map(BufWriter::new).map_err(|error| at(&path, error))
            })?;
        }
        Ok(())
    }
}

fn create_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn at(path: &Path, error: io::Error) -> CreateError {
    CreateError::Io { path: path.display().to_string(), error }
}

/// Returns a data stream file's name.
fn name_of(
    names: &mut HashMap<(usize, usize), String>,
    base: &CtfOutput,
    config: &EncoderConfig,
    file: usize,
) -> String {
    if file == 0 {
        return config.output.file.clone();
    }
    let name = || base.with_names(config.output.trace, |names| part_name(&config.output.file, file, names));
    names.entry((config.output.number, file)).or_insert_with(name).clone()
}

impl PartsLane {
    /// Returns the packets to the encoder's current part.
    fn release(&mut self) {
        if let Some(stream) = self.current.take().and_then(|part| self.parts.get_mut(&part)) {
            self.encoder.swap_output(&mut stream.output);
        }
    }

    /// Marks a file as used, and closes the least recently used file if too many are open.
    fn used(&mut self, part: usize, file: usize) {
        if let Some((part, file)) = self.open_files.touch((part, file))
            && let Some(file) = self.parts.get_mut(&part).and_then(|stream| stream.files.get_mut(file))
        {
            file.file = None;
        }
    }
}

impl PartsOutput for CtfParts {
    fn add_part(&mut self, target: PartTarget) -> Result<usize, CreateError> {
        if let Some(path) = &target.path {
            fs::create_dir(path).map_err(|error| at(path, error))?;
        }
        self.parts.push(TracePart {
            target,
            classes: BTreeMap::new(),
            digest: self.base.options.verify.is_some().then(Arc::default),
            usages: HashMap::new(),
            events: 0,
            copied_packets: 0,
        });
        Ok(self.parts.len() - 1)
    }

    fn begin_lane(&mut self, lane: Lane) {
        let source = if let Lane::Stream { source, .. } = lane { source } else { 0 };
        self.lane = self.base.config_of(lane).map(|config| PartsLane {
            source,
            around: PacketContext {
                widths: CounterWidths::for_class(
                    &config.stream.trace.class,
                    config.stream.class(),
                    config.added,
                ),
                end_before: None,
                sequence_before: None,
            },
            added: AddedCounters::default(),
            declared: config.stream.class().event_records.len(),
            encoder: StreamEncoder::new(config),
            parts: HashMap::new(),
            current: None,
            template: None,
            open: Vec::new(),
            wrong_values: 0,
            waiting: 0,
            most_waiting: WAITING,
            open_files: OpenFiles::default(),
        });
    }

    fn copy_packet(&mut self, part: usize, packet: &Packet<'_>) -> io::Result<bool> {
        self.close_lost()?;
        let Some(lane) = self.select(part) else { return Ok(false) };
        let PartsLane { encoder, parts, around, .. } = lane;
        let Some(stream) = parts.get_mut(&part) else { return Ok(false) };
        // Loss before a part's first packet is only visible with another packet before it.
        let lacks_first = stream.counters.is_new() && stream.losses.are_counted();
        let own = (packet.discarded_counter, packet.sequence_number);
        if lacks_first || !encoder.can_copy(packet) || !stream.counters.allow(own, &stream.losses, *around) {
            return Ok(false);
        }
        if !encoder.copy_packet(packet)? {
            return Ok(false);
        }
        stream.counters = PacketCounters { discarded: own.0, sequence: own.1, has_packets: true };
        if let Some(digest) = encoder.digest.as_mut().filter(|_| own.0.is_some()) {
            digest.add_discarded(stream.losses.events());
        }
        stream.losses = PartLosses::default();
        lane.around.pass(packet);
        lane.waiting += (packet.total_length / 8) as usize;
        self.write(part)?;
        self.make_room()?;
        Ok(true)
    }

    fn copied_message(&mut self, part: usize, message: &Message<'_>) {
        if let Some(lane) = self.select(part) {
            lane.encoder.copied_message(message);
        }
    }

    fn begin_packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        self.close_lost()?;
        let Some(lane) = &mut self.lane else { return Ok(()) };
        lane.release();
        lane.template = match lane.encoder.config.frame.mirrors {
            true => {
                let packet = lane.encoder.with_possible_times(packet);
                PacketTemplate::encode(&mut lane.encoder, &packet, lane.around, &mut lane.added)
            }
            false => None,
        };
        Ok(())
    }

    fn open_packet(&mut self, part: usize) -> io::Result<()> {
        self.open(part);
        Ok(())
    }

    fn close_packet(&mut self, part: usize) -> io::Result<()> {
        self.close(part, PacketEnd::OfPart)
    }

    fn end_packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let Some(lane) = &mut self.lane else { return Ok(()) };
        lane.around.pass(&lane.encoder.with_possible_times(packet));
        let range = lane.encoder.possible_range(packet);
        lane.wrong_values = 0;
        for part in std::mem::take(&mut lane.open) {
            self.close(part, PacketEnd::Known(range))?;
        }
        self.make_room()
    }

    fn message(&mut self, part: usize, message: &Message<'_>) -> io::Result<()> {
        let mirrors = self.lane.as_ref().is_some_and(|lane| lane.encoder.config.frame.mirrors);
        match message {
            Message::Event(event) => {
                if mirrors {
                    self.open(part);
                }
                self.record_class(part, event);
                let Some(lane) = self.select(part) else { return Ok(()) };
                let size = |lane: &PartsLane| -> usize {
                    lane.encoder.lanes.iter().map(|packets| packets.out.len()).sum()
                };
                let before = size(lane);
                lane.encoder.event(event)?;
                lane.waiting += size(lane).saturating_sub(before);
                if !mirrors {
                    lane.encoder.collect(false);
                    self.write(part)?;
                    self.make_room()?;
                }
            }
            Message::DiscardedEvents(_) | Message::DiscardedPackets(_) if mirrors => {
                let Some(PartsLane { encoder, parts, .. }) = self.select(part) else { return Ok(()) };
                if let Message::DiscardedEvents(discarded) = message {
                    encoder.discarded_events(discarded);
                }
                if let Some(stream) = parts.get_mut(&part) {
                    stream.losses.add(message);
                }
            }
            message => {
                if let (true, Message::Damage(damage)) = (mirrors, message)
                    && damage.skipped == 0
                {
                    self.add_wrong_value(part);
                }
                if let Some(lane) = self.select(part) {
                    lane.encoder.message(message)?;
                }
                self.write(part)?;
            }
        }
        Ok(())
    }

    fn end_lane(&mut self) -> io::Result<()> {
        self.close_lost()?;
        let Some(lane) = &mut self.lane else { return Ok(()) };
        let parts: Vec<usize> = lane.parts.keys().copied().collect();
        for part in parts {
            self.base.options.check_stop()?;
            if let Some(lane) = self.select(part) {
                lane.encoder.flush()?;
            }
            self.write(part)?;
            let (Some(lane), Some(owner)) = (&mut self.lane, self.parts.get_mut(part)) else { continue };
            if lane.parts.get(&part).is_some_and(|stream| stream.losses.are_counted()) {
                let what = "discarded events or packets: no later packet can count them";
                lane.encoder.record_loss(LossKind::Dropped, "", "", what);
            }
            let trace = lane.encoder.config.output.trace;
            lane.encoder.end_output(owner.usages.entry(trace).or_default());
        }
        let Some(mut lane) = self.lane.take() else { return Ok(()) };
        lane.release();
        // This adds the final losses.
        lane.encoder.finish()?;
        let config = &lane.encoder.config;
        // Packets without a size are alone in their file.
        if !config.has(WriteRule::Index) || !config.has(WriteRule::DelimitPackets) && config.frame.mirrors {
            return Ok(());
        }
        for (part, stream) in &lane.parts {
            self.base.options.check_stop()?;
            let Some(Some(directory)) = self.parts.get(*part).map(|part| &part.target.path) else { continue };
            for (number, file) in stream.files.iter().enumerate().filter(|(_, file)| !file.index.is_empty()) {
                let name = name_of(&mut self.names, &self.base, config, number);
                let trace = directory.join(self.base.directory_of(config.output.trace));
                let path = trace.join("index").join(format!("{name}.idx"));
                let result = create_parent(&path).and_then(|()| fs::write(&path, &file.index));
                result
                    .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            }
        }
        Ok(())
    }

    fn finish_part(&mut self, part: usize) -> Result<WriteReport, CreateError> {
        self.write_description(part)?;
        let Some(part) = self.parts.get(part) else { return Ok(WriteReport::default()) };
        if let (Some(verify), Some(digest), Some(path)) =
            (&self.base.options.verify, &part.digest, &part.target.path)
        {
            verify.check(path, &digest.lock().ignore_poison())?;
        }
        let mut report = WriteReport::default();
        (report.events, report.copied_packets) = (part.events, part.copied_packets);
        Ok(report)
    }

    fn written(&self) -> u64 {
        self.report.bytes
    }

    fn losses(&self) -> LossTable {
        self.base.losses()
    }

    fn finish(mut self: Box<Self>) -> Result<WriteReport, CreateError> {
        let mut report = std::mem::take(&mut self.report);
        report.losses = self.losses();
        report.paths = self.parts.iter().filter_map(|part| part.target.path.clone()).collect();
        Ok(report)
    }
}

impl CtfOutput {
    /// Returns a source's UUID, if its parts have a UUID.
    fn source_uuid(&self, source: usize) -> Option<Uuid> {
        let versions = self.traces.get(source)?.versions.read().ignore_poison();
        let first = versions.first()?;
        first.trace().class.uuid.and(first.source().class.uuid)
    }

    /// Returns a part's event selection.
    fn words(&self, target: &PartTarget) -> Vec<String> {
        self.options.selected_by.iter().chain(&target.selected_by).cloned().collect()
    }

    /// Returns a trace class in a part, with these dynamic classes.
    fn part_class<'c>(
        &self,
        trace: usize,
        target: &PartTarget,
        classes: impl Iterator<Item = (&'c (usize, usize, u128), &'c Arc<EventRecordClass>)>,
    ) -> TraceClass {
        let versions = self.traces[trace].versions.read().ignore_poison();
        let Some(first) = versions.first() else { return TraceClass::default() };
        let mut class = first.trace().class.clone();
        for ((_, stream, _), event) in classes {
            if let Some(stream) = class.data_streams.get_mut(*stream) {
                stream.event_records.push(Arc::clone(event));
            }
        }
        if target.selected_by.is_some() {
            let source = &first.source().class;
            if class.uuid.is_some() {
                class.uuid = source.uuid;
            } else if class.uid.is_some() {
                class.uid.clone_from(&source.uid);
            }
            identify_part(&mut class, &self.words(target));
        }
        class
    }
}

/// Creates the output for the parts of some sources.
pub(super) fn create(
    sources: Vec<WriteSource>,
    options: &ichnos_io::WriteOptions,
    dialect: super::OutputDialect,
) -> Result<CtfParts, CreateError> {
    Ok(CtfParts::new(CtfOutput::new(ichnos_io::WriteTarget::Nowhere, sources, options, dialect)?))
}
