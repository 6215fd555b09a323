//! Passes over each data stream by itself into an output, on several threads. Large data streams are divided into parts
//! of some packets, if the output can take them in parts.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ichnos_io::{Lane, Output, OutputBlock, Worker, WorkerFlow};
use ichnos_model::{
    BoxedCursor, Cursor as _, Damage, Message, MessageKind, Packet, StreamCursor as _, Window,
};

use super::ordered_writes::{OrderedPart, OrderedWrites};
use super::{Pass, PassEnd, PassHandler, PassNote, PassObserver, PassOptions, PassSummary};
use crate::Reader;

/// Unit of work of a thread.
struct StreamJob {
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

impl StreamJob {
    fn lane(&self) -> Lane {
        Lane::Stream { source: self.source, stream: self.lane }
    }
}

/// Approximate size of the packets of a job, in bytes.
const JOB: u64 = 4 << 20;

/// Treatment of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamOptions {
    /// Workers need the times of the packet after each one.
    pub(crate) looks_ahead: bool,
    /// Data streams are not divided.
    pub(crate) is_whole: bool,
    /// Pass only the packets that overlap this window.
    pub(crate) packets_in: Option<Window>,
    /// Workers need the messages of packets that were copied.
    pub(crate) reads_copied: bool,
}

/// A pass over data streams, shared by all threads.
struct StreamsPass<'p> {
    pass: &'p Pass,
    reader: &'p Reader<'p>,
    output: &'p dyn Output,
    options: StreamOptions,
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
    let streams = StreamsPass { pass, reader, output, options: options.streams, observer };
    for (trace, _, _) in reader.wanted() {
        let is_selected = |damage: &&Damage| pass.selection.wants_stream(&damage.file);
        let damage = trace.damage().iter().filter(is_selected);
        damage.for_each(|damage| observer.note(PassNote::Damage(Box::new(damage.clone()))));
    }
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
            let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
            match (&mut *result, ran) {
                (Ok(sum), Ok(ran)) => *sum += ran,
                (Ok(_), Err(error)) => *result = Err(error),
                (Err(_), _) => {}
            }
        }
    };
    std::thread::scope(|scope| {
        // If the system refuses some threads, the others do all of the work.
        let more = 1..options.threads.min(jobs.len());
        let _ =
            more.map(|_| std::thread::Builder::new().spawn_scoped(scope, work)).all(|began| began.is_ok());
        work();
    });
    result.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Passes messages to a worker, up to the beginning of the next packet, and its blocks on.
struct StreamHandler<'h> {
    worker: Box<dyn Worker + Send>,
    output: &'h dyn Output,
    observer: &'h dyn PassObserver,
    part: OrderedPart<'h, OutputBlock>,
    /// The next message is the first one of its packet.
    is_first: bool,
    /// No more messages are needed.
    is_over: bool,
}

impl StreamHandler<'_> {
    /// Passes the blocks of the worker on.
    fn pass_on(&mut self) -> io::Result<()> {
        let (output, observer) = (self.output, self.observer);
        while let Some(block) = self.worker.take() {
            self.is_over |= !self.part.put(block, &mut |block| join(output, observer, block))?;
            if self.is_over {
                break;
            }
        }
        Ok(())
    }
}

fn join(output: &dyn Output, observer: &dyn PassObserver, block: OutputBlock) -> io::Result<()> {
    let bytes = block.bytes.len() as u64;
    output.join(block)?;
    observer.written(bytes);
    Ok(())
}

impl PassHandler for StreamHandler<'_> {
    #[inline(always)]
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        if !matches!(message, Message::Event(_)) {
            if matches!(message, Message::PacketBegin(_)) && !self.is_first {
                return Ok(ControlFlow::Break(()));
            }
            if let Some(loss) = PassNote::of_loss(message) {
                self.observer.note(loss);
            }
        }
        self.is_first = false;
        match self.worker.message(message)? {
            WorkerFlow::Continue => return Ok(ControlFlow::Continue(())),
            WorkerFlow::Block => {}
            WorkerFlow::Stop | WorkerFlow::Again => self.is_over = true,
        }
        self.pass_on()?;
        // A data stream without packets ends only at its end.
        Ok(if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn damage(&mut self, damage: &Damage) -> bool {
        self.observer.note(PassNote::Damage(Box::new(damage.clone())));
        self.output.takes_damage()
    }

    fn step(&mut self, message: &Message<'_>, events: u32) {
        self.observer.progress(message.nanoseconds(), events.into());
    }
}

impl StreamsPass<'_> {
    /// Returns the jobs in the order in which they begin, which does not depend on the number of threads.
    fn jobs(&self) -> Vec<StreamJob> {
        let (mut jobs, mut number) = (Vec::new(), 0);
        for (source, (trace, wanted, window)) in self.reader.wanted().enumerate() {
            let summaries = trace.streams();
            let wanted = summaries.iter().enumerate().zip(wanted).filter(|(_, is)| **is);
            for (lane, ((stream, summary), _)) in wanted.enumerate() {
                let each = summary.bytes.checked_div(summary.packets).unwrap_or(0).max(1);
                let count = (JOB / each).max(1);
                let job = |part, packets| StreamJob { source, stream, lane, number, part, packets };
                let can_split = !self.options.is_whole
                    && summary.packets > count
                    && self.output.is_divisible(Lane::Stream { source, stream: lane })
                    && trace.packet_cursor(stream, window, 0..count).is_some();
                if can_split {
                    for part in 0..usize::try_from(summary.packets.div_ceil(count)).unwrap_or(usize::MAX) {
                        let first = part as u64 * count;
                        jobs.push(job(part, Some(first..(first + count).min(summary.packets))));
                    }
                } else {
                    jobs.push(job(0, None));
                }
                number += 1;
            }
        }
        // Data streams alternate, so that threads wait less for earlier parts.
        jobs.sort_by_key(|job| (job.part, job.number));
        jobs
    }

    /// Returns a cursor over packets of a job, and one more if `and_next`.
    fn cursor(&self, job: &StreamJob, and_next: bool) -> Option<BoxedCursor> {
        let (trace, _, window) = self.reader.wanted().nth(job.source)?;
        let mut packets = job.packets.clone().unwrap_or(0..u64::MAX);
        packets.end = packets.end.saturating_add(u64::from(and_next));
        trace.packet_cursor(job.stream, window, packets).or_else(|| trace.cursor(job.stream, window))
    }

    /// Passes the messages of a job to a worker.
    fn work(&self, job: &StreamJob, part: OrderedPart<'_, OutputBlock>) -> io::Result<PassSummary> {
        let Some(cursor) = self.cursor(job, false) else { return Ok(PassSummary::default()) };
        let mut cursor = self.reader.excluding(job.source, job.stream, cursor);
        let (output, observer) = (self.output, self.observer);
        let worker = output.worker(job.lane());
        let mut handler = StreamHandler { worker, output, observer, part, is_first: true, is_over: false };
        let mut run = self.pass.start(&mut handler);
        let is_stopped = || self.pass.is_stopped();
        let mut ahead = None;
        let mut has_message = cursor.next_head().is_some();
        while has_message && !run.has_ended() && !run.handler.is_over && !is_stopped() {
            if let Some(Message::PacketBegin(packet)) = cursor.current() {
                if self.options.looks_ahead {
                    self.look_ahead(job, &mut ahead, &mut *run.handler.worker);
                }
                if self.options.packets_in.is_some_and(|window| !overlaps(&packet, window)) {
                    has_message = pass_packet(&mut cursor, &is_stopped);
                    continue;
                }
                if run.handler.worker.copy_packet(&packet)? {
                    has_message = match self.options.reads_copied {
                        true => pass_copied_packet(&mut cursor, &mut |message| {
                            if let Message::Damage(damage) = message {
                                let damage: &Damage = damage;
                                observer.note(PassNote::Damage(Box::new(damage.clone())));
                            }
                            run.handler.worker.copied_message(message);
                        }),
                        false => pass_packet(&mut cursor, &is_stopped),
                    };
                    run.handler.pass_on()?;
                    continue;
                }
            }
            // Up to the beginning of the next packet, which becomes the current message.
            run.handler.is_first = true;
            has_message = cursor.drain_all(&mut |message| run.take(message));
        }
        let summary = run.finish()?;
        if matches!(summary.end, PassEnd::Over) {
            handler.worker.finish()?;
            handler.pass_on()?;
            handler.part.finish(&mut |block| join(output, observer, block))?;
        }
        Ok(summary)
    }

    /// Passes the packet after the one that begins now to the worker. `ahead` is the cursor of that packet.
    fn look_ahead(
        &self,
        job: &StreamJob,
        ahead: &mut Option<Option<BoxedCursor>>,
        worker: &mut (dyn Worker + Send),
    ) {
        let is_stopped = || self.pass.is_stopped();
        // Starts at the first packet, so that a data stream without packets is not read twice.
        let ahead = ahead.get_or_insert_with(|| {
            // The packet after the last one belongs to another job.
            let mut ahead = self.cursor(job, true);
            to_next_packet(&mut ahead, &is_stopped);
            ahead
        });
        to_next_packet(ahead, &is_stopped);
        match ahead.as_ref().and_then(|ahead| ahead.current()) {
            Some(Message::PacketBegin(next)) => worker.look_ahead(Some(&next)),
            _ => worker.look_ahead(None),
        }
    }
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
pub(crate) fn pass_packet(cursor: &mut BoxedCursor, is_stopped: &dyn Fn() -> bool) -> bool {
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
pub(crate) fn pass_copied_packet(cursor: &mut BoxedCursor, take: &mut dyn FnMut(&Message<'_>)) -> bool {
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
