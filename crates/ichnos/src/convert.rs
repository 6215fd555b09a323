//! Writes traces from read ones: conversions between formats, and parts of traces.

mod ordered_writes;
mod split;

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_io::{
    CreateError, EncodedBlock, Encoder, Lane, MessageOrder, OptionValue, OutputConflict, TraceOutput,
    TraceWriter, Verify, WriteOptions, WriteReport, WriteSource, WriteTarget,
};
use ichnos_model::lower::LossTable;
use ichnos_model::{
    BoxedCursor, Cursor, Damage, Event, FileDiagnostic, Message, MessageKind, Packet, Severity, StreamCursor,
    TraceInput, Window,
};

use crate::format::FORMATS;
use crate::verify::verify;
use crate::{OutputKind, Reader};
use ordered_writes::{OrderedPart, OrderedWrites};
pub use split::{SplitBy, SplitTargets};

/// Options of [`Reader::convert`] and [`Reader::split`].
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ConvertOptions<'c> {
    /// Options of the output.
    pub write: WriteOptions,
    /// Number of threads; 0 counts as 1.
    pub threads: usize,
    /// Makes the selection of written events, for each thread; `None` to write all events.
    pub select: Option<&'c MakeSelect<'c>>,
    /// Read the output again before it appears and compare it with the written data: the number of events of each
    /// class, their times and values, and the numbers of discarded events. The session should be opened with
    /// [`ReadOptions::check`](ichnos_io::ReadOptions::check), since the output may have warnings only if the input
    /// has some.
    pub verify: bool,
    /// Refuse to write anything if something would be lost.
    pub strict: bool,
    /// Write only the packets that overlap this window, as a whole. The reader must not have a window, and its traces
    /// must have packets.
    pub packets_in: Option<Window>,
    /// Stops the conversion when it is set; nothing is written then.
    pub stop: Option<&'static AtomicBool>,
    /// Receives damage of the input, in any order.
    pub damage: Option<&'c (dyn Fn(&Damage) + Sync)>,
    /// Receives the total number of bytes written; called by several threads, in any order.
    pub progress: Option<&'c (dyn Fn(u64) + Sync)>,
}

impl ConvertOptions<'_> {
    /// Returns `true` if the conversion must stop.
    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Reports the damage in a message, if there is any.
    fn report_damage(&self, message: &Message<'_>) {
        if let (Message::Damage(damage), Some(take)) = (message, self.damage) {
            take(damage);
        }
    }
}

/// Returns `true` if an event is written.
pub type Select<'c> = Box<dyn FnMut(&Event<'_>) -> bool + 'c>;

/// Makes a [`Select`].
pub type MakeSelect<'c> = dyn Fn() -> Select<'c> + Sync + 'c;

/// Error of a conversion. The previous content of the path is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The traces cannot be written.
    #[error(transparent)]
    Create(CreateError),
    /// The output would change the input.
    #[error(transparent)]
    Conflict(#[from] OutputConflict),
    /// An output operation failed.
    #[error(transparent)]
    Io(io::Error),
    /// The conversion would be lossy.
    #[error("the conversion would be lossy")]
    Losses(LossTable),
    /// The conversion was stopped.
    #[error("stopped")]
    Stopped,
}

impl From<CreateError> for ConvertError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Stopped => Self::Stopped,
            CreateError::Io { error, .. } if error.kind() == io::ErrorKind::Interrupted => Self::Stopped,
            error => Self::Create(error),
        }
    }
}

impl From<io::Error> for ConvertError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::Interrupted => Self::Stopped,
            _ => Self::Io(error),
        }
    }
}

/// Returns the writer for the name of a format, the extension of a path or a dialect; `None` if the format is unknown
/// or cannot be written.
#[must_use]
pub fn writer(
    format: Option<&str>,
    path: &std::path::Path,
    dialect: Option<&str>,
) -> Option<(&'static str, &'static dyn TraceWriter)> {
    let mut writers = FORMATS.iter().filter_map(|format| Some((format.name(), format.writer()?)));
    if let Some(wanted) = format {
        return writers.find(|(name, _)| *name == wanted);
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let by_extension = writers.clone().find(|(_, writer)| {
        extension.as_deref().is_some_and(|extension| writer.extensions().contains(&extension))
    });
    if let (None, Some(dialect)) = (by_extension, dialect) {
        let is_it = |known: &OptionValue| known.name == dialect || known.aliases.contains(&dialect);
        return writers.find(|(_, writer)| writer.dialects().iter().any(is_it));
    }
    // A path without an extension is a directory.
    by_extension.or_else(|| writers.find(|(_, writer)| extension.is_none() && writer.is_directory()))
}

/// Format of written traces.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Target {
    /// Name of the format.
    pub format: &'static str,
    /// Its writer.
    pub writer: &'static dyn TraceWriter,
    /// Name of the dialect; `None` if the writer chooses it.
    pub dialect: Option<&'static str>,
}

impl Target {
    /// Makes a target whose writer chooses the dialect.
    #[must_use]
    pub fn new(format: &'static str, writer: &'static dyn TraceWriter) -> Self {
        Self { format, writer, dialect: None }
    }
}

/// Returns the format and the dialect in which all of these traces can be written without conversion; `None` if the
/// traces differ in it, or their format cannot be written.
pub fn common_target<'t>(traces: impl IntoIterator<Item = &'t dyn TraceInput>) -> Option<Target> {
    let mut kinds: Vec<(&'static str, Option<&'static str>)> = Vec::new();
    for trace in traces {
        let kind = (trace.format(), trace.dialect());
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let (name, _) = *kinds.first()?;
    if kinds.iter().any(|(other, _)| *other != name) {
        return None;
    }
    let writer = FORMATS.iter().find(|format| format.name() == name)?.writer()?;
    let dialects: Option<Vec<&'static str>> = kinds.iter().map(|(_, dialect)| *dialect).collect();
    let dialect = match dialects {
        Some(dialects) => Some(writer.common_dialect(&dialects)?),
        // Formats without dialects, or whose writer detects the dialect.
        None => None,
    };
    Some(Target { format: name, writer, dialect })
}

/// Unit of work of a thread.
struct Job {
    source: usize,
    /// Index of the data stream in its trace, and among the written ones.
    stream: usize,
    lane: usize,
    /// Number of the data stream among all written ones.
    number: usize,
    /// Number of the part of the data stream.
    part: usize,
    /// Packets of the part; `None` for the whole data stream.
    packets: Option<std::ops::Range<u64>>,
}

/// Approximate size of the packets of a job, in bytes.
const JOB: u64 = 4 << 20;

impl Reader<'_> {
    /// Writes traces of a format to a path. With `None`, nothing is written and only losses are determined.
    ///
    /// # Errors
    /// If the traces cannot be written.
    pub fn convert(
        &self,
        writer: &dyn TraceWriter,
        path: Option<PathBuf>,
        options: &ConvertOptions<'_>,
    ) -> Result<WriteReport, ConvertError> {
        let sources: Vec<WriteSource> =
            self.wanted().map(|(trace, wanted, _)| source(trace, wanted)).collect();
        if let Some(path) = &path {
            self.session.check_output(path, OutputKind::Trace)?;
        }
        let target = path.map_or(WriteTarget::Nowhere, WriteTarget::Complete);
        let mut write = options.write.clone();
        write.leaves_out |= options.select.is_some() || self.excluded.iter().flatten().any(Option::is_some);
        write.leaves_out_packets |= options.packets_in.is_some();
        if !write.leaves_out {
            write.selected_by.clear();
        }
        write.correlated |= self.session.relates_clocks();
        if let Some((_, _, window)) = self.wanted().next() {
            write.window = window;
        }
        for (trace, _, _) in self.wanted() {
            trace.damage().iter().for_each(|damage| options.damage.iter().for_each(|take| take(damage)));
        }
        if options.verify && !matches!(target, WriteTarget::Nowhere) {
            write.verify = Some(self.verify(options));
        }
        write.stop = options.stop;
        let output = writer.create(target, sources, &write)?;
        self.check_strict(&*output, options)?;
        let selected_events = match writer.order() {
            MessageOrder::Merged => self.convert_merged(&*output, options)?,
            MessageOrder::ByStream => self.convert_streams(&*output, options)?,
        };
        if options.is_stopped() {
            return Err(ConvertError::Stopped);
        }
        self.check_strict(&*output, options)?;
        let mut report = output.finish()?;
        report.selected_events = selected_events;
        Ok(report)
    }

    /// Returns the comparison of the output with the written data.
    fn verify(&self, options: &ConvertOptions<'_>) -> Verify {
        let is_warning = |problem: &FileDiagnostic| problem.diagnostic.severity != Severity::Note;
        let has_problems = |trace: &dyn TraceInput| trace.diagnostics().iter().any(is_warning);
        let has_warnings = self.wanted().any(|(trace, _, _)| has_problems(trace));
        // Encoders do not receive damage without a data stream, and packets after it are copied nevertheless.
        let mut damages = 0;
        for (trace, _, _) in self.wanted() {
            damages += trace.damage().len() as u64;
            // If only a part is read, not all problems of a file are reported.
            trace.for_each_stream(&mut |summary| damages += summary.damage.len() as u64);
        }
        let (threads, limits, stop) = (options.threads, options.write.limits, options.stop);
        let window = self.wanted().next().map(|(_, _, window)| window).unwrap_or_default();
        Verify::new(move |path, digest| {
            let mut written = digest.clone();
            written.damages += damages;
            verify(path, &written, threads, limits, has_warnings, window, stop)
        })
    }

    fn check_strict(
        &self,
        output: &dyn TraceOutput,
        options: &ConvertOptions<'_>,
    ) -> Result<(), ConvertError> {
        let losses = if options.strict { output.losses() } else { LossTable::default() };
        if losses.is_empty() { Ok(()) } else { Err(ConvertError::Losses(losses)) }
    }

    /// Converts all data streams merged. Returns the number of events that the encoder received.
    fn convert_merged(&self, output: &dyn TraceOutput, options: &ConvertOptions<'_>) -> io::Result<u64> {
        let mut encoder = output.encoder(Lane::All);
        let mut cursor = self.cursor();
        let mut select = options.select.map(|make| make());
        let mut problem = None;
        let (mut written, mut events) = (0u64, 0u64);
        let is_stopped = || options.is_stopped();
        cursor.drain_all(&mut |message| {
            if let Message::Event(event) = message {
                if select.as_mut().is_some_and(|select| !select(event)) {
                    return if is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
                }
                events += 1;
            }
            options.report_damage(message);
            let result = encoder.message(message).and_then(|()| match encoder.take() {
                Some(block) => {
                    written += block.bytes.len() as u64;
                    options.progress.iter().for_each(|take| take(written));
                    output.write(block)
                }
                None => Ok(()),
            });
            if let Err(error) = result {
                problem = Some(error);
            }
            match problem.is_some() || is_stopped() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if let Some(problem) = problem {
            return Err(problem);
        }
        encoder.finish()?.into_iter().try_for_each(|block| output.write(block))?;
        Ok(events)
    }

    /// Converts each data stream by itself. Returns the number of events that the encoders received.
    fn convert_streams(&self, output: &dyn TraceOutput, options: &ConvertOptions<'_>) -> io::Result<u64> {
        let jobs = self.jobs(output, options.write.repair);
        let writes = OrderedWrites::new(jobs.iter().map(|job| job.number + 1).max().unwrap_or(0));
        let (next, written, events) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let write = |block: EncodedBlock| {
            let bytes = block.bytes.len() as u64;
            output.write(block)?;
            let written = written.fetch_add(bytes, Ordering::Relaxed) + bytes;
            options.progress.iter().for_each(|progress| progress(written));
            io::Result::Ok(())
        };
        let run = |job: &Job| {
            let mut part = OrderedPart::new(&writes, job.number, job.part);
            let mut result = Ok(true);
            let given = self.run_job(job, output, options, &mut |block| {
                result = part.put(block, &mut |block| write(block));
                matches!(result, Ok(true))
            })?;
            events.fetch_add(given, Ordering::Relaxed);
            if result? { part.finish(&mut |block| write(block)) } else { Ok(()) }
        };
        let failed = Mutex::new(None);
        let work = || {
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed))
                && !writes.is_over()
            {
                if let Err(error) = run(job) {
                    writes.end();
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            // If the system refuses some threads, the others do all of the work.
            let more = 1..options.threads.min(jobs.len());
            let _ = more
                .map(|_| std::thread::Builder::new().spawn_scoped(scope, work))
                .all(|began| began.is_ok());
            work();
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(events.into_inner()), Err)
    }

    /// Returns the jobs in the order in which they begin, which does not depend on the number of threads.
    fn jobs(&self, output: &dyn TraceOutput, whole_streams: bool) -> Vec<Job> {
        let (mut jobs, mut number) = (Vec::new(), 0);
        for (source, (trace, wanted, window)) in self.wanted().enumerate() {
            let summaries = trace.streams();
            let wanted = summaries.iter().enumerate().zip(wanted).filter(|(_, is)| **is);
            for (lane, ((stream, summary), _)) in wanted.enumerate() {
                let each = summary.bytes.checked_div(summary.packets).unwrap_or(0).max(1);
                let count = (JOB / each).max(1);
                let can_split = !whole_streams
                    && summary.packets > count
                    && output.is_divisible(Lane::Stream { source, stream: lane })
                    && trace.packet_cursor(stream, window, 0..count).is_some();
                if !can_split {
                    jobs.push(Job { source, stream, lane, number, part: 0, packets: None });
                    number += 1;
                    continue;
                }
                for part in 0..usize::try_from(summary.packets.div_ceil(count)).unwrap_or(usize::MAX) {
                    let first = part as u64 * count;
                    let packets = first..(first + count).min(summary.packets);
                    jobs.push(Job { source, stream, lane, number, part, packets: Some(packets) });
                }
                number += 1;
            }
        }
        // Data streams alternate, so that threads wait less for earlier parts.
        jobs.sort_by_key(|job| (job.part, job.number));
        jobs
    }

    /// Returns the number of events that the encoder received.
    fn run_job(
        &self,
        job: &Job,
        output: &dyn TraceOutput,
        options: &ConvertOptions<'_>,
        take: &mut dyn FnMut(EncodedBlock) -> bool,
    ) -> io::Result<u64> {
        let mut events = 0;
        let Some((trace, _, window)) = self.wanted().nth(job.source) else { return Ok(events) };
        let all = || 0..u64::MAX;
        let packets = job.packets.clone().unwrap_or_else(all);
        let cursor =
            trace.packet_cursor(job.stream, window, packets).or_else(|| trace.cursor(job.stream, window));
        let Some(cursor) = cursor else { return Ok(events) };
        let mut cursor = self.excluding(job.source, job.stream, cursor);
        let lane = Lane::Stream { source: job.source, stream: job.lane };
        let mut encoder = output.encoder(lane);
        let is_stopped = || options.is_stopped();
        let mut select = options.select.map(|make| make());
        // If times of packets change, those of the next packet are needed.
        let write = &options.write;
        let looks_ahead = write.repair || write.packet_size.is_some() || window != Window::default();
        // Starts at the first packet, so that a data stream without packets is not read twice.
        let begin_ahead = || {
            // The packet after the last one belongs to another job.
            let packets = job.packets.clone().unwrap_or_else(all);
            let packets = packets.start..packets.end.saturating_add(1);
            let ahead = trace.packet_cursor(job.stream, window, packets);
            let mut ahead = ahead.or_else(|| trace.cursor(job.stream, window));
            to_next_packet(&mut ahead, &is_stopped);
            ahead
        };
        let mut ahead = None;
        let mut has_message = cursor.next_head().is_some();
        while has_message && !is_stopped() {
            if looks_ahead && matches!(cursor.current(), Some(Message::PacketBegin(_))) {
                let ahead = ahead.get_or_insert_with(begin_ahead);
                to_next_packet(ahead, &is_stopped);
                match ahead.as_ref().and_then(|ahead| ahead.current()) {
                    Some(Message::PacketBegin(next)) => encoder.look_ahead(Some(&next)),
                    _ => encoder.look_ahead(None),
                }
            }
            if let (Some(Message::PacketBegin(packet)), Some(window)) = (cursor.current(), options.packets_in)
                && !overlaps(&packet, window)
            {
                has_message = pass_packet(&mut cursor, &is_stopped);
                continue;
            }
            if let Some(Message::PacketBegin(packet)) = cursor.current()
                && encoder.copy_packet(&packet)?
            {
                has_message = match options.verify {
                    true => pass_copied_packet(&mut cursor, &mut |message| {
                        options.report_damage(message);
                        encoder.copied_message(message);
                    }),
                    false => pass_packet(&mut cursor, &is_stopped),
                };
                if !give(&mut *encoder, take) {
                    return Ok(events);
                }
                continue;
            }
            // Up to the beginning of the next packet, which becomes the current message.
            let mut is_first = true;
            let mut result = Ok(());
            let mut is_over = false;
            has_message = cursor.drain_all(&mut |message| {
                match message {
                    Message::PacketBegin(_) if !is_first => return ControlFlow::Break(()),
                    Message::Event(event) => {
                        is_first = false;
                        if select.as_mut().is_some_and(|select| !select(event)) {
                            is_over = is_stopped();
                            return if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
                        }
                        events += 1;
                    }
                    _ => is_first = false,
                }
                options.report_damage(message);
                result = encoder.message(message);
                // A data stream without packets ends only at its end.
                is_over = result.is_err() || !give(&mut *encoder, take) || is_stopped();
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            result?;
            if is_over {
                return Ok(events);
            }
        }
        for block in encoder.finish()? {
            if !take(block) {
                break;
            }
        }
        Ok(events)
    }
}

/// Passes encoded blocks to `take`. Returns `false` if `take` refuses one.
fn give(encoder: &mut dyn Encoder, take: &mut dyn FnMut(EncodedBlock) -> bool) -> bool {
    while let Some(block) = encoder.take() {
        if !take(block) {
            return false;
        }
    }
    true
}

/// `true` if a packet overlaps a window; a packet without times may.
fn overlaps(packet: &Packet<'_>, window: Window) -> bool {
    let is_early = packet.end.zip(window.begin).is_some_and(|(end, begin)| end.nanoseconds < begin);
    let is_late = packet.begin.zip(window.end).is_some_and(|(begin, end)| begin.nanoseconds > end);
    !is_early && !is_late
}

/// Moves to the beginning of the next packet; sets the cursor to `None` at the end.
fn to_next_packet(cursor: &mut Option<BoxedCursor>, is_stopped: &dyn Fn() -> bool) {
    if let Some(cursor) = cursor {
        // If the packet cannot be skipped, its events are read and ignored.
        cursor.skip_packet();
        while let Some(head) = cursor.next_head() {
            if head.kind == MessageKind::PacketBegin || is_stopped() {
                return;
            }
        }
    }
    *cursor = None;
}

/// Moves past the packet whose beginning is the current message. Returns `false` at the end.
fn pass_packet(cursor: &mut BoxedCursor, is_stopped: &dyn Fn() -> bool) -> bool {
    // If the packet cannot be skipped, its events are read and ignored.
    cursor.skip_packet();
    while let Some(head) = cursor.next_head() {
        if head.kind == MessageKind::PacketEnd {
            return cursor.next_head().is_some();
        }
        if is_stopped() {
            break;
        }
    }
    false
}

/// Moves past a packet that was copied; `take` receives its messages as written.
fn pass_copied_packet(cursor: &mut BoxedCursor, take: &mut dyn FnMut(&Message<'_>)) -> bool {
    let mut is_behind = false;
    cursor.drain_all(&mut |message| {
        if is_behind {
            return ControlFlow::Break(());
        }
        is_behind = matches!(message, Message::PacketEnd(_));
        take(message);
        ControlFlow::Continue(())
    })
}

fn source(trace: &dyn TraceInput, wanted: &[bool]) -> WriteSource {
    let streams = trace.data_streams().into_iter().zip(wanted).filter(|(_, is)| **is);
    WriteSource {
        trace: Arc::clone(trace.trace()),
        format: trace.format(),
        has_dynamic_classes: trace.has_dynamic_classes(),
        streams: streams.map(|(stream, _)| stream).collect(),
    }
}
