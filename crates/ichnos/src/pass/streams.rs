//! Passes over separate data streams into an output, on several threads. Large data streams are divided into parts of
//! some packets, if the output supports parts.

use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ichnos_io::{Lane, MessageOrder, Output, OutputBlock, Worker, WorkerFlow};
use ichnos_model::cursor::BoxedCursor;
use ichnos_model::event::Packet;
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::{Message, Sink, Window};

use super::ordered_writes::{OrderedPart, OrderedWrites};
use super::packets::{PacketFlow, PacketSink, to_next_packet};
use super::{Pass, PassEnd, PassObserver, PassOptions, PassSummary};
use crate::Reader;

/// Unit of work for a thread.
struct StreamJob {
    source: usize,
    /// Index of the data stream in its trace.
    stream: usize,
    /// Index among the written data streams of its trace.
    lane: usize,
    /// Number of the data stream among all written data streams.
    number: usize,
    /// Part number in the data stream.
    part: usize,
    /// Packets of the part. `None` for the whole data stream.
    packets: Option<Range<u64>>,
}

impl StreamJob {
    fn lane(&self) -> Lane {
        Lane::Stream { source: self.source, stream: self.lane }
    }
}

/// Approximate packet size of a job in bytes.
const JOB: u64 = 4 << 20;

/// Treatment of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamOptions {
    /// `true` if workers need the times of the next packet.
    pub(crate) looks_ahead: bool,
    /// `true` if workers need all messages of a data stream before the first message. Data streams are then not
    /// divided.
    pub(crate) surveys: bool,
    /// Pass only the packets that overlap this window.
    pub(crate) packets_in: Option<Window>,
    /// `true` if workers need the messages of copied packets.
    pub(crate) reads_copied: bool,
}

/// Pass over data streams, shared by all threads.
struct StreamsPass<'p> {
    pass: &'p Pass,
    reader: &'p Reader<'p>,
    output: &'p dyn Output,
    options: StreamOptions,
    /// `true` if data streams are not divided.
    is_whole: bool,
    /// `true` if the packets of the only data stream are file segments.
    takes_segments: bool,
    observer: &'p dyn PassObserver,
}

/// Runs a pass over data streams into an output.
pub(super) fn run(
    pass: &Pass,
    reader: &Reader<'_>,
    output: &dyn Output,
    options: &PassOptions,
    observer: &dyn PassObserver,
) -> io::Result<PassSummary> {
    let takes_segments = output.order() == MessageOrder::Segments;
    let mut streams = options.streams;
    // Segment times do not depend on the next segment.
    streams.looks_ahead &= !takes_segments;
    let is_whole = streams.surveys;
    streams.surveys &= !takes_segments;
    let streams = StreamsPass { pass, reader, output, options: streams, is_whole, takes_segments, observer };
    pass.note_damage_of_traces(reader, observer);
    let jobs = streams.jobs();
    let writes = OrderedWrites::new(jobs.iter().map(|job| job.number + 1).max().unwrap_or(0));
    let next = AtomicUsize::new(0);
    let result = Mutex::new(Ok(PassSummary::default()));
    let work = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed))
            && !writes.is_over()
        {
            let ran = streams.work(job, OrderedPart::new(&writes, job.number, job.part));
            if !ran.as_ref().is_ok_and(|ran| matches!(ran.end, PassEnd::Over)) {
                writes.end();
            }
            let mut result = result.lock().ignore_poison();
            match (&mut *result, ran) {
                (Ok(sum), Ok(ran)) => *sum += ran,
                (Ok(_), Err(error)) => *result = Err(error),
                (Err(_), _) => {}
            }
        }
    };
    std::thread::scope(|scope| {
        // If the system refuses some threads, the other threads do all the work.
        let more = 1..options.threads.min(jobs.len());
        let _ =
            more.map(|_| std::thread::Builder::new().spawn_scoped(scope, work)).all(|began| began.is_ok());
        work();
    });
    result.into_inner().ignore_poison()
}

/// Handler that passes messages to a worker and its blocks to the output.
struct StreamSink<'h> {
    streams: &'h StreamsPass<'h>,
    job: &'h StreamJob,
    worker: Box<dyn Worker + Send>,
    part: OrderedPart<'h, OutputBlock>,
    /// Cursor of the next packet, once it was needed. The inner value is `None` after the last packet.
    ahead: Option<Option<BoxedCursor>>,
    /// `true` if further messages are not needed.
    is_over: bool,
}

impl StreamSink<'_> {
    /// Passes the blocks of the worker on.
    fn pass_on(&mut self) -> io::Result<()> {
        while let Some(block) = self.worker.take() {
            self.is_over |= !self.part.put(block, &mut |block| self.streams.join(block))?;
            if self.is_over {
                break;
            }
        }
        Ok(())
    }

    /// Passes the packet after the current packet to the worker.
    fn look_ahead(&mut self) {
        let is_stopped = || self.streams.pass.is_stopped();
        // Starts at the first packet, so that a data stream without packets is not read twice.
        let ahead = self.ahead.get_or_insert_with(|| {
            // The packet after the last packet belongs to another job.
            let mut ahead = self.streams.cursor(self.job, true);
            to_next_packet(&mut ahead, &is_stopped);
            ahead
        });
        to_next_packet(ahead, &is_stopped);
        match ahead.as_ref().and_then(|ahead| ahead.current()) {
            Some(Message::PacketBegin(next)) => self.worker.look_ahead(Some(&next)),
            _ => self.worker.look_ahead(None),
        }
    }
}

impl Sink for StreamSink<'_> {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if !matches!(message, Message::Event(_)) {
            self.streams.observer.note_message(message);
            if matches!(message, Message::Damage(_)) && !self.streams.output.takes_damage() {
                return Ok(ControlFlow::Continue(()));
            }
        }
        match self.worker.message(message)? {
            WorkerFlow::Continue => return Ok(ControlFlow::Continue(())),
            WorkerFlow::Block => {}
            WorkerFlow::Stop | WorkerFlow::Again => self.is_over = true,
        }
        self.pass_on()?;
        // A data stream without packets ends only at its end.
        Ok(if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn step(&mut self, message: &Message<'_>, events: u32) -> io::Result<()> {
        self.streams.observer.progress(message.nanoseconds(), events.into());
        Ok(())
    }
}

impl PacketSink for StreamSink<'_> {
    fn begin_packet(&mut self, packet: &Packet<'_>) -> io::Result<PacketFlow> {
        let options = self.streams.options;
        if options.looks_ahead {
            self.look_ahead();
        }
        if options.packets_in.is_some_and(|window| !overlaps(packet, window)) {
            return Ok(PacketFlow::Skip);
        }
        if !self.worker.copy_packet(packet)? {
            return Ok(PacketFlow::Read);
        }
        self.pass_on()?;
        Ok(PacketFlow::Copied)
    }

    fn copied_message(&mut self, message: &Message<'_>) {
        if let Message::Damage(damage) = message {
            self.streams.observer.note_damage(damage);
        }
        self.worker.copied_message(message);
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl StreamsPass<'_> {
    /// Returns the jobs in start order, which does not depend on the number of threads.
    fn jobs(&self) -> Vec<StreamJob> {
        let (mut jobs, mut number) = (Vec::new(), 0);
        for (source, (trace, wanted, window)) in self.reader.wanted().enumerate() {
            let summaries = trace.streams();
            let wanted = summaries.iter().enumerate().zip(wanted).filter(|(_, is)| **is);
            for (lane, ((stream, summary), _)) in wanted.enumerate() {
                let each = summary.bytes.checked_div(summary.packets).unwrap_or(0).max(1);
                let count = (JOB / each).max(1);
                let job = |part, packets| StreamJob { source, stream, lane, number, part, packets };
                let own = self.reader.packets(source, stream);
                let Range { start, end } = own.clone().unwrap_or(0..summary.packets);
                let can_split = !self.is_whole
                    && end - start > count
                    && self.output.is_divisible(Lane::Stream { source, stream: lane })
                    && trace.packet_cursor(stream, window, start..start + count).is_some();
                if can_split {
                    for part in 0..usize::try_from((end - start).div_ceil(count)).unwrap_or(usize::MAX) {
                        let first = start + part as u64 * count;
                        jobs.push(job(part, Some(first..(first + count).min(end))));
                    }
                } else {
                    jobs.push(job(0, own));
                }
                number += 1;
            }
        }
        // Data streams alternate, so that threads wait less for earlier parts.
        jobs.sort_by_key(|job| (job.part, job.number));
        jobs
    }

    /// Returns a cursor over the packets of a job. With `and_next`, one more packet follows.
    fn cursor(&self, job: &StreamJob, and_next: bool) -> Option<BoxedCursor> {
        let (trace, _, window) = self.reader.wanted().nth(job.source)?;
        if self.takes_segments {
            return trace.segment_cursor(job.stream, window).or_else(|| trace.cursor(job.stream, window));
        }
        let mut packets = job.packets.clone().unwrap_or(0..u64::MAX);
        packets.end = packets.end.saturating_add(u64::from(and_next));
        trace.packet_cursor(job.stream, window, packets).or_else(|| trace.cursor(job.stream, window))
    }

    /// Passes the messages of a job to a worker.
    fn work(&self, job: &StreamJob, part: OrderedPart<'_, OutputBlock>) -> io::Result<PassSummary> {
        let Some(cursor) = self.cursor(job, false) else { return Ok(PassSummary::default()) };
        let cursor = self.reader.excluding(job.source, job.stream, cursor);
        let mut worker = self.output.worker(job.lane());
        if self.options.surveys && worker.wants_survey() {
            self.survey(job, &mut *worker);
        }
        let mut handler = StreamSink { streams: self, job, worker, part, ahead: None, is_over: false };
        let summary = self.pass.run_packets(cursor, &mut handler, self.options.reads_copied)?;
        if matches!(summary.end, PassEnd::Over) {
            handler.worker.finish()?;
            handler.pass_on()?;
            handler.part.finish(&mut |block| self.join(block))?;
        }
        Ok(summary)
    }

    /// Passes the messages of a job to a worker before they are written.
    fn survey(&self, job: &StreamJob, worker: &mut dyn Worker) {
        let Some(mut cursor) = self.cursor(job, false) else { return };
        let mut has_message = cursor.next_head().is_some();
        while has_message && !self.pass.is_stopped() {
            let mut is_first = true;
            has_message = cursor.drain_all(&mut |message| {
                if matches!(message, Message::PacketBegin(_)) && !is_first {
                    return ControlFlow::Break(());
                }
                is_first = false;
                worker.survey(message);
                ControlFlow::Continue(())
            });
        }
    }

    fn join(&self, block: OutputBlock) -> io::Result<()> {
        let bytes = block.bytes.len() as u64;
        self.output.join(block)?;
        self.observer.written(bytes);
        Ok(())
    }
}

/// Returns `true` if a packet overlaps a window. A packet without times counts as overlapping.
fn overlaps(packet: &Packet<'_>, window: Window) -> bool {
    let is_early = packet.end.zip(window.begin).is_some_and(|(end, begin)| end.nanoseconds < begin);
    let is_late = packet.begin.zip(window.end).is_some_and(|(begin, end)| begin.nanoseconds > end);
    !is_early && !is_late
}
