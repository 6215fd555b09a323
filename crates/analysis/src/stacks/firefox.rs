//! JSON for the Firefox Profiler: thread samples with times.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use fxprof_processed_profile as fx;

use ichnos_model::Event;

use super::calls::{Calls, MOST_CALLS, NO_CALL};
use super::profile::{StackProfile, ThreadSamples};
use super::resolve::CallResolver;

/// Nanoseconds per millisecond, the unit of the format.
const MILLISECOND: u64 = 1_000_000;

pub(super) fn write(profile: &StackProfile, out: &mut dyn Write) -> io::Result<()> {
    let begin = profile.begin.filter(|_| profile.has_dates).unwrap_or_default();
    let reference = fx::ReferenceTimestamp::from_millis_since_unix_epoch(begin as f64 / MILLISECOND as f64);
    let interval = fx::SamplingInterval::from_nanos(interval(profile));
    let mut writer =
        FirefoxWriter { profile, out: fx::Profile::new(&profile.title, reference, interval), calls: 0 };
    // All symbols are already looked up.
    writer.out.set_symbolicated(true);
    let mut processes = HashMap::new();
    for thread in &profile.threads {
        let known = &thread.thread;
        let key = (known.process, known.process_name.clone());
        let process = *processes.entry(key).or_insert_with(|| {
            // The format requires a number: 0 for an unknown process.
            let id = known.process.and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
            writer.out.add_process(&known.process_label(), id, fx::Timestamp::from_nanos_since_reference(0))
        });
        writer.thread(process, thread);
    }
    let mut out = BufWriter::with_capacity(64 << 10, out);
    serde_json::to_writer(&mut out, &writer.out)?;
    out.flush()
}

/// Returns the most likely time between two samples, in nanoseconds.
fn interval(profile: &StackProfile) -> u64 {
    let mut steps: Vec<u64> = Vec::new();
    for thread in &profile.threads {
        let times = thread.samples.iter().map(|sample| sample.time);
        let next = thread.samples.iter().skip(1).map(|sample| sample.time);
        let both = times.zip(next).take(1_000);
        steps.extend(both.filter_map(|(time, next)| u64::try_from(next.saturating_sub(time)).ok()));
    }
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or_default().max(1)
}

struct FirefoxWriter<'p> {
    profile: &'p StackProfile,
    out: fx::Profile,
    /// Number of written calls, summed over threads.
    calls: usize,
}

impl FirefoxWriter<'_> {
    fn thread(&mut self, process: fx::ProcessHandle, thread: &ThreadSamples) {
        // The format requires a number: 0 for an unknown thread.
        let id = thread.thread.thread.and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
        let begin = self.profile.begin.unwrap_or_default();
        let time = |time: i128| {
            let since = u64::try_from(time.saturating_sub(begin)).unwrap_or_default();
            fx::Timestamp::from_nanos_since_reference(since)
        };
        let first = thread.samples.iter().next().map_or(begin, |sample| sample.time);
        // The main thread has the number of its process.
        let is_main = thread.thread.thread.is_some() && thread.thread.thread == thread.thread.process;
        let handle = self.out.add_thread(process, id, time(first), is_main);
        self.out.set_thread_name(handle, &thread.thread.thread_label());
        let is_time = self.profile.weight.is_time();
        if is_time {
            self.out.set_thread_samples_weight_type(handle, fx::WeightType::TracingMs);
        }
        let mut stacks: HashMap<u32, fx::StackHandle> = HashMap::new();
        let calls = &self.profile.calls;
        // Weight remainder below one unit.
        let mut rest = 0;
        for sample in thread.samples.iter() {
            let stack = intern_call(&mut self.out, handle, calls, sample.stack, &mut stacks, &mut self.calls);
            let mut weight = sample.weight;
            if is_time {
                weight = weight.saturating_add(rest);
                (weight, rest) = (weight / MILLISECOND, weight % MILLISECOND);
            }
            let weight = i32::try_from(weight).unwrap_or(i32::MAX);
            self.out.add_sample(handle, time(sample.time), stack, fx::CpuDelta::ZERO, weight);
        }
    }
}

/// Returns the stack of a call in a thread. Adds it if it is new. `stacks` maps the thread's calls to stacks, and
/// `count` is the number of written calls in all threads.
fn intern_call(
    out: &mut fx::Profile,
    thread: fx::ThreadHandle,
    calls: &Calls,
    call: u32,
    stacks: &mut HashMap<u32, fx::StackHandle>,
    count: &mut usize,
) -> Option<fx::StackHandle> {
    let mut path = Vec::new();
    let mut next = call;
    let mut found = loop {
        if next == NO_CALL {
            break None;
        }
        if let Some(known) = stacks.get(&next) {
            break Some(*known);
        }
        let (caller, function) = calls.get(next)?;
        path.push((next, function));
        next = caller;
    };
    for (call, function) in path.into_iter().rev() {
        if *count >= MOST_CALLS && found.is_some() {
            break;
        }
        *count += 1;
        let label = out.intern_string(calls.label(function));
        let frame = out.intern_frame(
            thread,
            fx::FrameInfo {
                frame: fx::Frame::Label(label),
                category_pair: fx::CategoryHandle::OTHER.into(),
                flags: fx::FrameFlags::empty(),
            },
        );
        let stack = out.intern_stack(thread, found, frame);
        stacks.insert(call, stack);
        found = Some(stack);
    }
    found
}

/// Event call stacks in a profile.
#[derive(Debug, Default)]
pub struct FirefoxStacks {
    calls: Calls,
    /// Resolvers by call stack table number.
    resolvers: HashMap<u64, CallResolver>,
    stacks: HashMap<fx::ThreadHandle, HashMap<u32, fx::StackHandle>>,
    /// Number of written calls, summed over threads.
    count: usize,
}

impl FirefoxStacks {
    /// Returns the stack index for an event's call stack in a thread. `None` if the trace lacks the call stack. `table`
    /// is the number of the call stack table.
    pub fn handle(
        &mut self,
        out: &mut fx::Profile,
        thread: fx::ThreadHandle,
        event: &Event<'_>,
        table: u64,
        stack: u32,
    ) -> Option<fx::StackHandle> {
        let stacks = event.stream.stacks();
        if stack as usize >= stacks.table.len() {
            return None;
        }
        // Loading symbols can read the trace, and that uses the table.
        let symbols = stacks.symbols();
        let view = stacks.table.view();
        let resolver = self.resolvers.entry(table).or_default();
        let time = event.nanoseconds().unwrap_or(i128::MAX);
        let call = resolver.call(stack, time, &view, &symbols, &mut self.calls);
        let known = self.stacks.entry(thread).or_default();
        intern_call(out, thread, &self.calls, call, known, &mut self.count)
    }
}
