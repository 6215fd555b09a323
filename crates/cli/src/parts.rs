//! Printing on several threads: each reads and prints a part of the time line, and what they print
//! is joined in order.
//!
//! A part begins where the packets say that it can. Only what comes before tells whether that is
//! true: where reading what comes before ends at other places than those that the part began at, or
//! where the part depends on what comes before in a way that was not foreseen, it is made again, from
//! the end of the part before on.

use std::cell::OnceCell;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use ichnos::export::{NullStatistics, PrettyState, Seam, TextWriter, Undecoded};
use ichnos::flow::{Outlet, in_order};
use ichnos::model::{Checkpoint, Message, Sink};
use ichnos::{Merged, Reader};

use crate::args::{Cat, CatFormat};
use crate::cat::Style;
use crate::pass::{Ended, Pass, Printer, Tally, Watcher};
use crate::progress::Progress;
use crate::report::Report;
use crate::selection::Selection;

/// Bytes that the buffer of a piece of text can hold, on a common number of threads. Smaller ones take
/// longer, larger ones do not take less.
const PIECE: usize = 1 << 20;
/// How many pieces of a part may wait to be written, at most.
const ROOM: usize = 16;
/// Bytes of text that may wait to be written, of all parts together, on a common number of threads.
const WAITING: usize = 48 << 20;
/// Bytes to read for a part of which nothing is printed.
const NULL_PART: u64 = 16 << 20;

/// How large pieces are, if so many threads make parts.
fn piece(threads: usize) -> usize {
    // Sinks of text never hand on less than half of the least size, but at the end.
    (part_waiting(threads) / ROOM).clamp(PIECE / 8, PIECE)
}

/// How many pieces of a part may wait to be written, if so many threads make parts.
fn room(threads: usize) -> usize {
    (part_waiting(threads) / piece(threads)).clamp(2, ROOM)
}

/// How many bytes of a part may wait to be written.
fn part_waiting(threads: usize) -> usize {
    // One part more than there are threads is begun.
    WAITING / threads.saturating_add(1)
}

/// Bytes to read for a part that is printed: text is some four times as long, parts can be twice as long
/// as that, and the text should not have to wait for the parts before.
fn text_part(threads: usize) -> u64 {
    (room(threads) * piece(threads) / 8) as u64
}

/// Buffers that were written and are free to be filled again: new memory costs more than what is
/// done with it, and so does what another processor has in its cache.
struct Pool {
    size: usize,
    free: Mutex<Vec<Vec<u8>>>,
}

impl Pool {
    /// That of this thread, for buffers of the size that it was first asked for.
    fn own(size: usize) -> Arc<Self> {
        thread_local! {
            static OWN: OnceCell<Arc<Pool>> = const { OnceCell::new() };
        }
        OWN.with(|own| Arc::clone(own.get_or_init(|| Arc::new(Self { size, free: Mutex::default() }))))
    }

    fn take(&self) -> io::Result<Vec<u8>> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(free) = free {
            return Ok(free);
        }
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(self.size)?;
        Ok(buffer)
    }
}

/// A piece of text, in a buffer that goes back to where it comes from.
struct Text {
    bytes: Vec<u8>,
    pool: Arc<Pool>,
}

impl Drop for Text {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.bytes);
        buffer.clear();
        let mut free = self.pool.free.lock().unwrap_or_else(PoisonError::into_inner);
        // Long lines make long pieces, and the first one of a part is short.
        if free.len() < ROOM && (self.pool.size..=2 * self.pool.size).contains(&buffer.capacity()) {
            free.push(buffer);
        }
    }
}

/// What to print, and how.
pub(crate) struct Job<'a> {
    pub(crate) args: &'a Cat,
    pub(crate) style: &'a Style,
    pub(crate) reader: &'a Reader<'a>,
    pub(crate) selection: Selection,
}

/// How it went.
pub(crate) struct Done {
    pub(crate) ended: Ended,
    pub(crate) tally: Tally,
    pub(crate) checked: Option<NullStatistics>,
    /// How often something could not be decoded.
    pub(crate) undecoded: u64,
}

/// What a part delivers.
enum Piece {
    /// The first one: where its cursors begin.
    Begin(Option<Vec<Checkpoint>>),
    Text(Text),
    Seam(Seam),
    Warning(Vec<u8>),
    Damage(String),
    Note(String),
    /// What follows may depend on what comes before.
    Unsure,
    Failed(io::Error),
    /// The last one.
    End(Box<End>),
}

/// How a part ended.
struct End {
    /// To go on.
    cursor: Merged,
    places: Option<Vec<Checkpoint>>,
    state: PrettyState,
    done: Done,
}

/// Prints the messages of a job.
pub(crate) fn print(
    job: &Job<'_>,
    output: &mut impl Write,
    progress: &mut Progress,
    report: Report,
) -> io::Result<Done> {
    let threads = job.args.threads();
    let size = match job.args.format() {
        // A part must not hold back what would be refused or be too much.
        _ if threads < 2 || job.args.limit.is_some() => None,
        CatFormat::Pretty | CatFormat::Log | CatFormat::LogJson => {
            Some(job.args.part_size.unwrap_or_else(|| text_part(threads)))
        }
        CatFormat::Null => Some(job.args.part_size.unwrap_or(NULL_PART)),
        CatFormat::Details | CatFormat::Jsonl => None,
    };
    let cuts = size.map(|size| job.reader.parts(size)).unwrap_or_default();
    let mut joint = Joint {
        job,
        output,
        progress,
        report,
        before: None,
        has_parts: !cuts.is_empty(),
        state: PrettyState::default(),
        done: Done { ended: Ended::Over, tally: Tally::default(), checked: None, undecoded: 0 },
    };
    if cuts.is_empty() {
        let end = joint.pass(job.reader.cursor(), 0, 0)?;
        joint.add(end.done);
        return Ok(joint.done);
    }
    let bound = |part: usize| cuts.get(part).copied();
    let make = |part: usize, outlet: &Outlet<Piece>| make(job, part, &cuts, outlet);
    let mut result = Ok(());
    let on_threads = in_order(cuts.len() + 1, threads, room(threads), make, |part, pieces| {
        match joint.take(part, bound(part), pieces) {
            Ok(goes_on) => goes_on,
            Err(error) => {
                result = Err(error);
                false
            }
        }
    });
    result?;
    if let Err(error) = on_threads {
        joint.report.note(&format!("the system refuses further threads ({error}): reading goes on with one"));
        let end = joint.pass(job.reader.cursor(), 0, 0)?;
        joint.add(end.done);
    }
    Ok(joint.done)
}

/// Makes a part, without knowing what comes before.
fn make(job: &Job<'_>, part: usize, cuts: &[i128], outlet: &Outlet<Piece>) {
    let begin = part.checked_sub(1).and_then(|before| cuts.get(before)).copied();
    let mut cursor = match begin {
        Some(begin) => job.reader.cursor_from(begin),
        None => job.reader.cursor(),
    };
    if !outlet.send(Piece::Begin(cursor.checkpoints())) {
        return;
    }
    cursor.pause_at(cuts.get(part).copied());
    let writer =
        PieceWriter { outlet: outlet.clone(), pool: Pool::own(piece(job.args.threads())), last: Vec::new() };
    let warnings = WarningWriter(outlet.clone());
    let mut printer = Printer::new(job.args, job.style, writer).map_pretty(|sink| {
        let sink = if job.style.quiet { sink } else { sink.warnings_to(warnings) };
        if begin.is_some() { sink.resumed() } else { sink }
    });
    let mut courier = Courier { outlet, seam: None, is_unsure: false };
    let mut pass = Pass { args: job.args, selection: job.selection.clone(), tally: Tally::default() };
    let ended = pass.run(&mut cursor, &mut printer, &mut courier);
    if courier.is_unsure {
        // What was printed before is right.
        return;
    }
    let (ended, undecoded) = match (ended, undecoded(printer.finish())) {
        (Ok(ended), Ok(undecoded)) => (ended, undecoded),
        (Err(error), _) | (_, Err(error)) => {
            outlet.send(Piece::Failed(error));
            return;
        }
    };
    let done = Done { ended, tally: pass.tally, checked: printer.checked(), undecoded };
    let (state, places) = (printer.state(), cursor.checkpoints());
    // What is left of the text goes first.
    drop(printer);
    outlet.send(Piece::End(Box::new(End { cursor, places, state, done })));
}

/// How often something could not be decoded, which sinks tell when they are finished.
fn undecoded(result: io::Result<()>) -> io::Result<u64> {
    match result {
        Ok(()) => Ok(0),
        Err(error) => Undecoded::of(&error).map(|undecoded| undecoded.count).ok_or(error),
    }
}

/// Delivers text in large pieces, which are the buffers that it was written to.
struct PieceWriter {
    outlet: Outlet<Piece>,
    pool: Arc<Pool>,
    /// The last piece: a seam in it has to be delivered before.
    last: Vec<u8>,
}

impl PieceWriter {
    fn deliver(&mut self, next: Vec<u8>) -> io::Result<()> {
        let bytes = std::mem::replace(&mut self.last, next);
        let is_empty = bytes.is_empty();
        let text = Text { bytes, pool: Arc::clone(&self.pool) };
        if is_empty || self.outlet.send(Piece::Text(text)) {
            return Ok(());
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

impl TextWriter for PieceWriter {
    fn write_text(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        // What is handed on before its buffer is full is the last of a part: another one would be lost.
        let is_last = text.len() < self.pool.size.min(text.capacity()) / 4 * 3;
        let next = if is_last { Vec::new() } else { self.pool.take()? };
        self.deliver(std::mem::replace(text, next))
    }

    fn flush_text(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PieceWriter {
    fn drop(&mut self) {
        // Whoever does not listen any more does not miss it.
        let _ = self.deliver(Vec::new());
    }
}

/// Delivers warnings, of which each is written at once.
struct WarningWriter(Outlet<Piece>);

impl Write for WarningWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(Piece::Warning(bytes.to_vec()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Delivers what happens in a pass.
struct Courier<'a> {
    outlet: &'a Outlet<Piece>,
    seam: Option<Seam>,
    is_unsure: bool,
}

impl Watcher for Courier<'_> {
    fn damage(&mut self, line: String) {
        self.outlet.send(Piece::Damage(line));
    }

    fn note(&mut self, line: String) {
        self.outlet.send(Piece::Note(line));
    }

    #[inline]
    fn printed(&mut self, printer: &Printer<'_>) -> bool {
        let Printer::Pretty(sink) = printer else { return true };
        if self.seam.is_none() {
            self.seam = sink.seam();
            if let Some(seam) = self.seam {
                return self.outlet.send(Piece::Seam(seam));
            }
        }
        if sink.is_unsure() {
            self.is_unsure = true;
            self.outlet.send(Piece::Unsure);
        }
        !self.is_unsure
    }
}

/// Where parts are joined.
struct Joint<'a, 'b, W> {
    job: &'a Job<'b>,
    output: &'a mut W,
    progress: &'a mut Progress,
    report: Report,
    /// The end of the part before.
    before: Option<(Merged, Option<Vec<Checkpoint>>)>,
    /// Whether there are several parts to join.
    has_parts: bool,
    state: PrettyState,
    done: Done,
}

impl<W: Write> Joint<'_, '_, W> {
    /// Takes a part, which ends before `bound`; false if that is the end of it all.
    fn take(&mut self, part: usize, bound: Option<i128>, pieces: Receiver<Piece>) -> io::Result<bool> {
        let mut pieces = pieces.into_iter();
        let begin = match pieces.next() {
            Some(Piece::Begin(begin)) => begin,
            _ => None,
        };
        let is_right =
            part == 0 || self.before.as_ref().is_some_and(|(_, end)| end.is_some() && *end == begin);
        let mut written = 0;
        let mut reported = 0;
        let end = if is_right { self.write(pieces, bound, &mut written, &mut reported)? } else { None };
        let end = match end {
            Some(end) => end,
            None => {
                let mut cursor = match self.before.take() {
                    Some((cursor, _)) => cursor,
                    None => self.job.reader.cursor(),
                };
                cursor.pause_at(bound);
                self.pass(cursor, written, reported)?
            }
        };
        let End { cursor, places, state, done } = end;
        self.state = self.state.then(state);
        self.before = Some((cursor, places));
        let goes_on = matches!(done.ended, Ended::Over);
        self.add(done);
        Ok(goes_on)
    }

    /// Writes the pieces of a part; None if it has to be made again from `written` bytes and `reported`
    /// messages on.
    fn write(
        &mut self,
        pieces: impl Iterator<Item = Piece>,
        bound: Option<i128>,
        written: &mut u64,
        reported: &mut u64,
    ) -> io::Result<Option<End>> {
        let mut position = 0u64;
        let mut seam: Option<Seam> = None;
        let mut state = self.state;
        for piece in pieces {
            match piece {
                Piece::Begin(_) => {}
                Piece::Text(Text { ref bytes, .. }) => {
                    let mut rest = &bytes[..];
                    if let Some(at) = seam
                        && let Some(offset) = at.offset.checked_sub(position)
                        && let Some((first, second)) =
                            usize::try_from(offset).ok().and_then(|offset| rest.split_at_checked(offset))
                    {
                        let mut filled = Vec::new();
                        state.fill(&at, &self.job.style.pretty, &mut filled);
                        self.output.write_all(first)?;
                        self.output.write_all(&filled)?;
                        *written += (first.len() + filled.len()) as u64;
                        (rest, seam) = (second, None);
                    }
                    self.output.write_all(rest)?;
                    *written += rest.len() as u64;
                    position += bytes.len() as u64;
                }
                Piece::Seam(at) => seam = Some(at),
                Piece::Warning(bytes) => {
                    *reported += 1;
                    let _ = io::stderr().lock().write_all(&bytes);
                }
                Piece::Damage(line) => {
                    *reported += 1;
                    self.progress.damage(&line, self.report);
                }
                Piece::Note(line) => {
                    *reported += 1;
                    self.report.note(&line);
                }
                Piece::Unsure => return Ok(None),
                Piece::Failed(error) => return Err(error),
                Piece::End(end) => {
                    self.progress.add(bound, end.done.tally.events);
                    self.state = state;
                    return Ok(Some(*end));
                }
            }
        }
        Ok(None)
    }

    /// Prints what a cursor gives, but for the first bytes and messages that were printed before.
    fn pass(&mut self, mut cursor: Merged, written: u64, reported: u64) -> io::Result<End> {
        let job = self.job;
        let reported = Arc::new(AtomicU64::new(reported));
        let output = Rest { writer: &mut *self.output, skip: written };
        let mut printer = Printer::new(job.args, job.style, output).map_pretty(|sink| {
            let sink =
                if job.style.quiet { sink } else { sink.warnings_to(RestOfWarnings(Arc::clone(&reported))) };
            sink.resumed_from(self.state)
        });
        let mut watcher = Direct { progress: &mut *self.progress, report: self.report, reported };
        let mut pass = Pass { args: job.args, selection: job.selection.clone(), tally: Tally::default() };
        let ended = pass.run(&mut cursor, &mut printer, &mut watcher)?;
        let undecoded = undecoded(printer.finish())?;
        // Where all is one part, nothing is compared with it.
        let places = self.has_parts.then(|| cursor.checkpoints()).flatten();
        let state = printer.state();
        let done = Done { ended, tally: pass.tally, checked: printer.checked(), undecoded };
        Ok(End { cursor, places, state, done })
    }

    fn add(&mut self, done: Done) {
        self.done.tally += done.tally;
        self.done.undecoded += done.undecoded;
        if let Some(checked) = done.checked {
            *self.done.checked.get_or_insert_default() += checked;
        }
        self.done.ended = done.ended;
    }
}

/// Leaves out the first bytes.
struct Rest<'a, W> {
    writer: &'a mut W,
    skip: u64,
}

impl<W: Write> Write for Rest<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= skipped as u64;
        self.writer.write_all(&bytes[skipped..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Counts down the messages that were reported before; true if this is one of them.
fn was_reported(reported: &AtomicU64) -> bool {
    reported.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// Warnings but for those that were reported before.
struct RestOfWarnings(Arc<AtomicU64>);

impl Write for RestOfWarnings {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !was_reported(&self.0) {
            io::stderr().lock().write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tells what happens in a pass at once.
struct Direct<'a> {
    progress: &'a mut Progress,
    report: Report,
    reported: Arc<AtomicU64>,
}

impl Watcher for Direct<'_> {
    #[inline]
    fn step(&mut self, message: &Message<'_>) {
        self.progress.step(matches!(message, Message::Event(_)), || message.nanoseconds());
    }

    fn damage(&mut self, line: String) {
        if !was_reported(&self.reported) {
            self.progress.damage(&line, self.report);
        }
    }

    fn note(&mut self, line: String) {
        if !was_reported(&self.reported) {
            self.report.note(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded() {
        assert_eq!((piece(2), room(2), text_part(2)), (PIECE, ROOM, 2 << 20));
        for threads in 1..=191 {
            assert!(room(threads) * piece(threads) * (threads + 1) <= WAITING, "{threads}");
        }
        assert_eq!(room(usize::MAX) * piece(usize::MAX), 256 << 10);
    }
}
