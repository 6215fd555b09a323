//! `sink.utils.counter`: counts messages.

use std::io::{self, IsTerminal as _, Write};
use std::ops::ControlFlow;

use ichnos::model::{Message, Sink};

use crate::components::parameter_values::Parameters;
use crate::paint::Paint;
use crate::value::Map;

/// Number of messages that Babeltrace passes on at once. The step is compared after each such batch.
const BATCH: u64 = 15;

/// Kinds of messages, in the order of their lines. The last one never occurs in a file.
const KINDS: [&str; 8] = [
    "Event",
    "Stream beginning",
    "Stream end",
    "Packet beginning",
    "Packet end",
    "Discarded event",
    "Discarded packet",
    "Message iterator inactivity",
];

/// Counts of messages, printed after each step.
pub(crate) struct Counter<W> {
    writer: W,
    step: u64,
    hides_zero: bool,
    paint: Paint,
    counts: [u64; KINDS.len()],
    /// Number of messages since the last step.
    at: u64,
    batches: Batches,
    /// Total that was printed last.
    printed: Option<u64>,
}

/// Message batches, as Babeltrace passes them on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Batches {
    /// Number of messages in the current batch.
    filled: u64,
    /// Number of messages with which it ends.
    size: u64,
    /// Number of messages after it that do not share a batch with later messages.
    rest: u64,
}

impl Default for Batches {
    fn default() -> Self {
        Self { filled: 0, size: BATCH, rest: 0 }
    }
}

impl Batches {
    /// Adds a message. Returns the number of messages in the batch, if it ends.
    fn add(&mut self) -> Option<u64> {
        self.filled += 1;
        if self.filled < self.size {
            return None;
        }
        let ended = self.filled;
        let size = if self.rest > 0 { self.rest.min(BATCH) } else { BATCH };
        *self = Self { filled: 0, size, rest: self.rest - self.rest.min(BATCH) };
        Some(ended)
    }

    /// Starts a window after `skipped` messages. What begins with the window, and the rest of the batch in which the
    /// first message of the window was, are batches of their own.
    fn start_window(&mut self, skipped: u64) {
        let (left, room) = (BATCH - skipped % BATCH, BATCH - self.filled);
        self.size = self.filled + left.min(room);
        self.rest = left - left.min(room);
    }

    /// Ends a window. What ends with it fills the batch.
    fn end_window(&mut self) {
        (self.size, self.rest) = (BATCH, 0);
    }
}

impl<W: Write> Counter<W> {
    /// Creates a counter from parameters.
    pub(crate) fn new(writer: W, parameters: &Map) -> Self {
        let parameters = Parameters(parameters);
        let are_terminals = io::stdout().is_terminal() && io::stderr().is_terminal();
        Self {
            writer,
            step: parameters.unsigned("step").unwrap_or(10_000),
            hides_zero: parameters.is_set("hide-zero"),
            paint: Paint::detect(&|name| std::env::var(name).ok(), are_terminals),
            counts: [0; KINDS.len()],
            at: 0,
            batches: Batches::default(),
            printed: None,
        }
    }

    /// Starts a time window. `skipped` messages were dropped before.
    pub(crate) fn start_window(&mut self, skipped: u64) {
        self.batches.start_window(skipped);
    }

    /// Ends a time window.
    pub(crate) fn end_window(&mut self) {
        self.batches.end_window();
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn print(&mut self) -> io::Result<()> {
        let plural = |count| if count == 1 { "" } else { "s" };
        for (kind, count) in KINDS.iter().zip(self.counts) {
            if count > 0 || !self.hides_zero {
                writeln!(self.writer, "{count:15} {kind} message{}", plural(count))?;
            }
        }
        let (total, paint) = (self.total(), self.paint);
        let (bold, reset) = (paint.bold(), paint.reset());
        writeln!(self.writer, "{bold}{total:15} message{} (TOTAL){reset}", plural(total))?;
        self.printed = Some(total);
        Ok(())
    }

    fn end_batch(&mut self, messages: u64) -> io::Result<()> {
        self.at += messages;
        if self.step == 0 || self.at < self.step {
            return Ok(());
        }
        self.at = 0;
        self.print()?;
        self.writer.write_all(b"\n")
    }
}

impl<W: Write> Sink for Counter<W> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<ControlFlow<()>> {
        let kind = match message {
            Message::Event(_) => 0,
            Message::StreamBegin(_) => 1,
            Message::StreamEnd(_) => 2,
            Message::PacketBegin(_) => 3,
            Message::PacketEnd(_) => 4,
            Message::DiscardedEvents(_) => 5,
            Message::DiscardedPackets(_) => 6,
            // Babeltrace has no such message.
            _ => return Ok(ControlFlow::Continue(())),
        };
        self.counts[kind] += 1;
        if let Some(messages) = self.batches.add() {
            self.end_batch(messages)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.batches.filled > 0 {
            self.end_batch(self.batches.filled)?;
        }
        if self.printed != Some(self.total()) {
            self.print()?;
        }
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ParameterValue;
    use ichnos::model::message::Damage;
    use ichnos::model::message::DamageKind;

    #[test]
    fn batches_end_with_the_batches_before_a_trimmer() {
        let ends = |before: u64, skipped: u64| {
            let mut batches = Batches::default();
            let mut sizes: Vec<u64> = (0..before).filter_map(|_| batches.add()).collect();
            batches.start_window(skipped);
            sizes.extend((0..60).filter_map(|_| batches.add()));
            sizes.truncate(4);
            sizes
        };
        assert_eq!(ends(0, 0), [15, 15, 15, 15]);
        assert_eq!(ends(2, 14), [3, 15, 15, 15]);
        assert_eq!(ends(4, 0), [15, 4, 15, 15]);
        assert_eq!(ends(16, 5), [15, 11, 15, 15]);
        assert_eq!(ends(15, 30), [15, 15, 15, 15]);
    }

    #[test]
    fn nothing_is_printed_once() {
        let mut map = Map::default();
        map.insert("hide-zero", ParameterValue::Boolean(true));
        let mut text = Vec::new();
        let mut counter = Counter::new(&mut text, &map);
        counter.paint = Paint::off();
        let damage = Damage::new("f", 0, DamageKind::EmptyEventRecord);
        assert!(counter.message(&Message::Damage(&damage)).unwrap().is_continue());
        counter.finish().unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "              0 messages (TOTAL)\n");
    }
}
