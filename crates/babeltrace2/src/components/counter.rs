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
    /// Number of messages in the current batch.
    batch: u64,
    /// Total that was printed last.
    printed: Option<u64>,
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
            batch: 0,
            printed: None,
        }
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

    fn end_batch(&mut self) -> io::Result<()> {
        self.at += std::mem::take(&mut self.batch);
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
        self.batch += 1;
        if self.batch == BATCH {
            self.end_batch()?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.batch > 0 {
            self.end_batch()?;
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
