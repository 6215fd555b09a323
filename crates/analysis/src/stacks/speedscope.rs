//! JSON for speedscope: one profile per thread, made from call starts and ends.
//!
//! The format is described by <https://www.speedscope.app/file-format-schema.json>.

use std::io::{self, Write};

use ichnos_json::write::{ArrayWriter, ValueWriter};

use super::StackWeight;
use super::calls::Calls;
use super::profile::{StackProfile, ThreadSamples};

/// Number of bytes per write.
const BLOCK: usize = 64 << 10;

pub(super) fn write(profile: &StackProfile, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    let mut file = ValueWriter::new(&mut text).object();
    file.member("$schema").string("https://www.speedscope.app/file-format-schema.json");
    file.member("exporter").string(concat!("ichnos ", env!("CARGO_PKG_VERSION")));
    file.member("name").string(&profile.title);
    file.member("activeProfileIndex").unsigned(0);
    let mut shared = file.member("shared").object();
    let mut frames = shared.member("frames").array_of_lines();
    for function in &profile.calls.functions {
        let mut frame = frames.element().object();
        frame.member("name").string(&function.label);
        frame.end();
        write_if_full(frames.buffer(), out)?;
    }
    frames.end();
    shared.end();
    let mut profiles = file.member("profiles").array_of_lines();
    // Viewers reject empty profiles.
    for thread in profile.threads.iter().filter(|thread| thread.totals.values().any(|total| total.weight > 0))
    {
        write_thread(profile, thread, profiles.element(), out)?;
    }
    profiles.end();
    file.end();
    text.push(b'\n');
    out.write_all(&text)
}

fn write_thread(
    profile: &StackProfile,
    thread: &ThreadSamples,
    place: ValueWriter<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let is_time = profile.weight.is_time();
    let mut object = place.object();
    object.member("type").string("evented");
    object.member("unit").string(if is_time { "nanoseconds" } else { "none" });
    object.member("name").string(&thread.thread.label());
    // Nanoseconds since the first sample of all threads, or the total weight of earlier samples.
    let begin = profile.begin.unwrap_or_default();
    let mut at = 0;
    let mut first = None;
    let mut open = OpenCalls::default();
    let mut events = object.member("events").array_of_lines();
    for sample in thread.samples.iter().filter(|sample| sample.weight > 0) {
        if is_time {
            let before = if profile.weight == StackWeight::TimeBefore { sample.weight } else { 0 };
            let time = sample.time.saturating_sub(begin).saturating_sub(before.into());
            let time = u64::try_from(time).unwrap_or_default();
            if time > at {
                // A time without samples.
                open.close_to(0, at, &mut events);
                at = time;
            }
        }
        first.get_or_insert(at);
        open.change(sample.stack, at, &profile.calls, &mut events);
        at = at.saturating_add(sample.weight);
        write_if_full(events.buffer(), out)?;
    }
    open.close_to(0, at, &mut events);
    events.end();
    object.member("startValue").unsigned(first.unwrap_or_default());
    object.member("endValue").unsigned(at);
    object.end();
    Ok(())
}

/// Open calls.
#[derive(Default)]
struct OpenCalls {
    /// Calls and their functions, outermost first.
    calls: Vec<(u32, u32)>,
    /// The next calls.
    next: Vec<(u32, u32)>,
}

impl OpenCalls {
    /// Ends and starts calls so that `call` is the innermost.
    fn change(&mut self, call: u32, at: u64, calls: &Calls, events: &mut ArrayWriter<'_>) {
        if self.calls.last().is_some_and(|last| last.0 == call) {
            return;
        }
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend(calls.path(call));
        next.reverse();
        let same = self.calls.iter().zip(&next).take_while(|(open, next)| open == next).count();
        self.close_to(same, at, events);
        for (call, function) in &next[same..] {
            write_event("O", *function, at, events);
            self.calls.push((*call, *function));
        }
        self.next = next;
    }

    /// Ends all calls except the `depth` outermost.
    fn close_to(&mut self, depth: usize, at: u64, events: &mut ArrayWriter<'_>) {
        while self.calls.len() > depth {
            if let Some((_, function)) = self.calls.pop() {
                write_event("C", function, at, events);
            }
        }
    }
}

fn write_event(kind: &str, function: u32, at: u64, events: &mut ArrayWriter<'_>) {
    let mut event = events.element().object();
    event.member("type").string(kind);
    event.member("frame").unsigned(function.into());
    event.member("at").unsigned(at);
    event.end();
}

/// Writes and clears the buffer if it is large.
fn write_if_full(text: &mut Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    if text.len() >= BLOCK {
        out.write_all(text)?;
        text.clear();
    }
    Ok(())
}
