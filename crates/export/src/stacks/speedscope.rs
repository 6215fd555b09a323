//! JSON for speedscope: one profile per thread, with calls that begin and end.
//!
//! The format is described by <https://www.speedscope.app/file-format-schema.json>.

use std::io::{self, Write};

use super::StackWeight;
use super::calls::Calls;
use super::profile::{StackProfile, ThreadSamples};
use crate::jsonl::fields::push_string;
use crate::number;

/// Number of bytes per write.
const BLOCK: usize = 64 << 10;

pub(super) fn write(profile: &StackProfile, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Text { buffer: Vec::new(), out };
    text.push("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"ichnos ");
    text.push(env!("CARGO_PKG_VERSION"));
    text.push("\",\"name\":");
    text.string(&profile.title);
    text.push(",\"activeProfileIndex\":0,\"shared\":{\"frames\":[");
    for (i, function) in profile.calls.functions.iter().enumerate() {
        text.push(if i > 0 { ",\n{\"name\":" } else { "\n{\"name\":" });
        text.string(&function.label);
        text.push("}");
        text.write_if_full()?;
    }
    text.push("]},\"profiles\":[");
    let mut separator = "\n";
    // Viewers reject empty profiles.
    for thread in profile.threads.iter().filter(|thread| thread.totals.values().any(|total| total.weight > 0))
    {
        text.push(separator);
        separator = ",\n";
        write_thread(profile, thread, &mut text)?;
    }
    text.push("]}\n");
    text.write()
}

fn write_thread(profile: &StackProfile, thread: &ThreadSamples, text: &mut Text<'_>) -> io::Result<()> {
    let is_time = profile.weight.is_time();
    text.push("{\"type\":\"evented\",\"unit\":");
    text.push(if is_time { "\"nanoseconds\"" } else { "\"none\"" });
    text.push(",\"name\":");
    text.string(&thread.thread.label());
    // Nanoseconds since the first sample of all threads, or the total weight of earlier samples.
    let begin = profile.begin.unwrap_or_default();
    let mut at = 0;
    let mut first = None;
    let mut open = Open::default();
    text.push(",\"events\":[");
    for sample in thread.samples.iter().filter(|sample| sample.weight > 0) {
        if is_time {
            let before = if profile.weight == StackWeight::TimeBefore { sample.weight } else { 0 };
            let time = sample.time.saturating_sub(begin).saturating_sub(before.into());
            let time = u64::try_from(time).unwrap_or_default();
            if time > at {
                // A time without samples.
                open.close_to(0, at, text);
                at = time;
            }
        }
        first.get_or_insert(at);
        open.change(sample.stack, at, &profile.calls, text);
        at = at.saturating_add(sample.weight);
        text.write_if_full()?;
    }
    open.close_to(0, at, text);
    text.push("],\"startValue\":");
    text.number(first.unwrap_or_default());
    text.push(",\"endValue\":");
    text.number(at);
    text.push("}");
    Ok(())
}

/// Calls that have begun and not ended.
#[derive(Default)]
struct Open {
    /// Calls and their functions, outermost first.
    calls: Vec<(u32, u32)>,
    /// The next calls.
    next: Vec<(u32, u32)>,
    any: bool,
}

impl Open {
    /// Ends and begins calls so that `call` is the innermost one.
    fn change(&mut self, call: u32, at: u64, calls: &Calls, text: &mut Text<'_>) {
        if self.calls.last().is_some_and(|last| last.0 == call) {
            return;
        }
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend(calls.path(call));
        next.reverse();
        let same = self.calls.iter().zip(&next).take_while(|(open, next)| open == next).count();
        self.close_to(same, at, text);
        for (call, function) in &next[same..] {
            self.event("O", *function, at, text);
            self.calls.push((*call, *function));
        }
        self.next = next;
    }

    /// Ends all but the `depth` outermost calls.
    fn close_to(&mut self, depth: usize, at: u64, text: &mut Text<'_>) {
        while self.calls.len() > depth {
            if let Some((_, function)) = self.calls.pop() {
                self.event("C", function, at, text);
            }
        }
    }

    fn event(&mut self, kind: &str, function: u32, at: u64, text: &mut Text<'_>) {
        text.push(if self.any { ",\n{\"type\":\"" } else { "\n{\"type\":\"" });
        self.any = true;
        text.push(kind);
        text.push("\",\"frame\":");
        text.number(function.into());
        text.push(",\"at\":");
        text.number(at);
        text.push("}");
    }
}

/// Text that is written in blocks.
struct Text<'w> {
    buffer: Vec<u8>,
    out: &'w mut dyn Write,
}

impl Text<'_> {
    fn push(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    fn string(&mut self, text: &str) {
        push_string(&mut self.buffer, text);
    }

    fn number(&mut self, value: u64) {
        number::push_unsigned(&mut self.buffer, value);
    }

    fn write_if_full(&mut self) -> io::Result<()> {
        if self.buffer.len() >= BLOCK { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
