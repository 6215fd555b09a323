//! Thread report as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::path::{PathStep, WakeupPath};
use super::waker::Waker;
use crate::events::{ThreadNames, ThreadState, since_origin};
use crate::stats::{StatsTextOptions, hint};
use ichnos_export::text::TextTable;
use ichnos_export::text::{count, grouped, share};
use ichnos_export::{duration, printable};

/// Running time on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessorUse {
    /// Trace number.
    pub trace: u32,
    /// Processor number. `None` if the trace lacks processor numbers.
    pub processor: Option<u64>,
    /// Time in nanoseconds during which the processor ran threads.
    pub used: u64,
}

/// Times for a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadUse {
    /// Trace number.
    pub trace: u32,
    /// Thread number. If the number is reused, the times of all its threads are summed.
    pub thread: u64,
    /// Thread and process names.
    pub names: ThreadNames,
    /// First state's [timeline time](mod@crate::events::timeline_time).
    pub first: u64,
    /// Nanoseconds in each state, in the order of [`ThreadState::ALL`].
    pub times: [u64; ThreadState::ALL.len()],
    /// Number of times that a processor started to run the thread.
    pub switches: u64,
    /// Number of waits, sleeps included.
    pub waits: u64,
}

impl ThreadUse {
    /// Returns the time in a state, in nanoseconds.
    #[must_use]
    pub fn time(&self, state: ThreadState) -> u64 {
        self.times.get(state as usize).copied().unwrap_or_default()
    }
}

/// Wait that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadWait {
    /// Trace number.
    pub trace: u32,
    /// Thread number.
    pub thread: u64,
    /// Thread and process names.
    pub names: ThreadNames,
    /// Start as a [timeline time](mod@crate::events::timeline_time).
    pub begin: u64,
    /// End as a timeline time. From then on, the thread can run.
    pub end: u64,
    /// State: sleeping or waiting.
    pub state: ThreadState,
    /// Name of the innermost span in which the thread waited, for example a system call.
    pub reason: Option<String>,
    /// Wakeup cause, if known.
    pub waker: Option<Waker>,
}

/// Thread report: thread times, processor times, longest waits, critical path.
#[derive(Clone, Debug, Default)]
pub struct ThreadReport {
    pub(super) range: Option<(u64, u64)>,
    pub(super) has_switches: bool,
    pub(super) threads: Vec<ThreadUse>,
    pub(super) others: [u64; ThreadState::ALL.len()],
    pub(super) processors: Vec<ProcessorUse>,
    pub(super) waits: Vec<ThreadWait>,
    pub(super) path: Option<WakeupPath>,
}

/// Options for [`ThreadReport::to_text`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ThreadTextOptions {
    /// Times, colors and widths, and the hint for more rows.
    pub shown: StatsTextOptions,
    /// Maximum number of rows per table.
    pub top: usize,
}

/// Threads of a process.
#[derive(Debug, Default)]
struct ProcessThreads {
    threads: u64,
    times: [u64; ThreadState::ALL.len()],
}

impl ThreadReport {
    /// Returns `true` if an event reported a running thread.
    #[must_use]
    pub fn has_switches(&self) -> bool {
        self.has_switches
    }

    /// Returns the [timeline times](mod@crate::events::timeline_time) of the first and last event.
    #[must_use]
    pub fn range(&self) -> Option<(u64, u64)> {
        self.range
    }

    /// Returns the threads, longest running time first.
    #[must_use]
    pub fn threads(&self) -> &[ThreadUse] {
        &self.threads
    }

    /// Returns the processors by number.
    #[must_use]
    pub fn processors(&self) -> &[ProcessorUse] {
        &self.processors
    }

    /// Returns the longest waits, longest first.
    #[must_use]
    pub fn waits(&self) -> &[ThreadWait] {
        &self.waits
    }

    /// Returns the critical path, if requested.
    #[must_use]
    pub fn path(&self) -> Option<&WakeupPath> {
        self.path.as_ref()
    }

    /// Returns the total time of all processors in nanoseconds.
    pub(super) fn available(&self) -> u64 {
        let length = self.range.map_or(0, |(first, last)| last - first);
        length.saturating_mul(self.processors.len() as u64)
    }

    /// Returns tables for people.
    #[must_use]
    pub fn to_text(&self, options: &ThreadTextOptions) -> String {
        let mut options = *options;
        if let Some((first, last)) = self.range.filter(|_| !options.shown.clock_seconds) {
            options.shown.clock_date |=
                options.shown.day(since_origin(first).into()) != options.shown.day(since_origin(last).into());
        }
        let mut text = String::new();
        match &self.path {
            Some(path) => push_path(&mut text, path, &options),
            None => self.push_tables(&mut text, &options),
        }
        text
    }

    fn push_tables(&self, text: &mut String, options: &ThreadTextOptions) {
        let paint = options.shown.paint;
        let used = self.processors.iter().fold(0_u64, |sum, processor| sum.saturating_add(processor.used));
        let length = self.range.map_or(0, |(first, last)| last - first);
        let processors = count(self.processors.len() as u64, "processor");
        let line = format!(
            "{}, {processors}: {} used of {}",
            duration(length.into()),
            share(used, self.available()),
            duration(self.available().into())
        );
        let _ = writeln!(text, "{}\n", paint.title(&line));
        self.push_programs(text, options);
        text.push('\n');
        let mut table = self.times_table("switches", &["thread", "program"]);
        for thread in self.threads.iter().take(options.top) {
            let mut cells = self.cells(&thread.times);
            cells.push(grouped(thread.switches));
            cells.push(thread_label(thread.thread, &thread.names));
            cells.push(program_label(thread.thread, &thread.names));
            table.rows.push(cells);
        }
        table.push(text, options.shown.width, paint);
        more(text, self.threads.len(), options);
        if !self.waits.is_empty() {
            text.push('\n');
            push_waits(text, &self.waits, options);
        }
        if self.others.iter().any(|time| *time > 0) {
            let line = format!("more threads, not shown: {} running", duration(self.others[0].into()));
            let _ = writeln!(text, "{}", paint.faint(&line));
        }
    }

    fn push_programs(&self, text: &mut String, options: &ThreadTextOptions) {
        let mut programs: BTreeMap<(u32, String), ProcessThreads> = BTreeMap::new();
        for thread in &self.threads {
            let program = (thread.trace, program_label(thread.thread, &thread.names));
            let program = programs.entry(program).or_default();
            program.threads += 1;
            for (sum, time) in program.times.iter_mut().zip(thread.times) {
                *sum += time;
            }
        }
        let mut programs: Vec<_> = programs.into_iter().collect();
        programs.sort_by(|(a, left), (b, right)| right.times.cmp(&left.times).then_with(|| a.cmp(b)));
        let mut table = self.times_table("threads", &["program"]);
        let number = programs.len();
        for ((_, label), program) in programs.into_iter().take(options.top) {
            let mut cells = self.cells(&program.times);
            cells.extend([grouped(program.threads), label]);
            table.rows.push(cells);
        }
        table.push(text, options.shown.width, options.shown.paint);
        more(text, number, options);
    }

    /// Creates a table of times. Unused states are omitted.
    fn times_table(&self, last: &'static str, texts: &[&str]) -> TextTable {
        let mut titles = vec!["running", "share"];
        titles.extend(self.other_states().map(ThreadState::name));
        titles.push(last);
        TextTable::new(&titles, texts)
    }

    /// Returns the states of all threads, except running.
    fn other_states(&self) -> impl Iterator<Item = ThreadState> {
        let has = |state: &ThreadState| self.threads.iter().any(|thread| thread.time(*state) > 0);
        ThreadState::ALL.into_iter().skip(1).filter(has)
    }

    fn cells(&self, times: &[u64; ThreadState::ALL.len()]) -> Vec<String> {
        let mut cells = vec![duration(times[0].into()), share(times[0], self.available())];
        cells.extend(self.other_states().map(|state| duration(times[state as usize].into())));
        cells
    }
}

/// Returns the thread name with the thread number.
pub(super) fn thread_label(thread: u64, names: &ThreadNames) -> String {
    printable(&names.label(thread)).into_owned()
}

/// Returns the process name with the process number, or else the thread.
pub(super) fn program_label(thread: u64, names: &ThreadNames) -> String {
    match (&names.process_name, names.process) {
        (Some(name), Some(process)) => format!("{} ({process})", printable(name)),
        (None, Some(process)) => format!("process {process}"),
        (_, None) => thread_label(thread, names),
    }
}

/// Formats a wakeup cause.
fn waker_label(waker: Option<&Waker>) -> String {
    match waker {
        Some(Waker::Thread(thread, names)) => thread_label(*thread, names),
        Some(Waker::Interrupt(Some(name))) => format!("interrupt: {}", printable(name)),
        Some(Waker::Interrupt(None)) => "interrupt".to_owned(),
        None => "-".to_owned(),
    }
}

/// Formats a wait: the span, and a note if it cannot be interrupted.
fn wait_label(state: ThreadState, reason: Option<&str>) -> String {
    match (state, reason) {
        (ThreadState::Waiting, Some(reason)) => format!("{} (waiting)", printable(reason)),
        (_, Some(reason)) => printable(reason).into_owned(),
        (state, None) => state.name().to_owned(),
    }
}

fn more(text: &mut String, rows: usize, options: &ThreadTextOptions) {
    if let Some(more) = rows.checked_sub(options.top).filter(|more| *more > 0) {
        let line = format!("{} not shown{}", count(more as u64, "more row"), hint(options.shown.hints.top));
        let _ = writeln!(text, "{}", options.shown.paint.faint(&line));
    }
}

fn push_waits(text: &mut String, waits: &[ThreadWait], options: &ThreadTextOptions) {
    let mut table =
        TextTable::new(&["longest wait", "begin", "end"], &["waits in", "ended by", "thread", "program"]);
    for wait in waits {
        table.rows.push(vec![
            duration((wait.end - wait.begin).into()),
            options.shown.short(since_origin(wait.begin).into()),
            options.shown.short(since_origin(wait.end).into()),
            wait_label(wait.state, wait.reason.as_deref()),
            waker_label(wait.waker.as_ref()),
            thread_label(wait.thread, &wait.names),
            program_label(wait.thread, &wait.names),
        ]);
    }
    table.push(text, options.shown.width, options.shown.paint);
}

/// Formats a path step.
fn step_label(step: &PathStep) -> String {
    match step.state {
        ThreadState::Running => match step.processor {
            Some(processor) => format!("running on CPU {processor}"),
            None => "running".to_owned(),
        },
        state if state.is_wait() => {
            let what = wait_label(state, step.reason.as_deref());
            match &step.waker {
                Some(waker) => format!("{what}, ended by {}", waker_label(Some(waker))),
                None => what,
            }
        }
        state => state.name().to_owned(),
    }
}

/// Time on a path that threads with the same name spent in a state.
#[derive(Debug, Default)]
struct PathSum<'p> {
    time: u64,
    steps: u64,
    threads: BTreeSet<u64>,
    last: Option<&'p PathStep>,
}

/// Appends the time on a path by thread and state.
fn push_sums(text: &mut String, path: &WakeupPath, all: u64, options: &ThreadTextOptions) {
    let mut sums: BTreeMap<(String, String), PathSum<'_>> = BTreeMap::new();
    for step in &path.steps {
        let what = match step.state {
            state if state.is_wait() => wait_label(state, step.reason.as_deref()),
            state => state.name().to_owned(),
        };
        let name = step.names.name.clone().unwrap_or_else(|| thread_label(step.thread, &step.names));
        let sum = sums.entry((name, what)).or_default();
        sum.time = sum.time.saturating_add(step.end - step.begin);
        sum.steps += 1;
        sum.threads.insert(step.thread);
        sum.last = Some(step);
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|(a, left), (b, right)| right.time.cmp(&left.time).then_with(|| a.cmp(b)));
    let mut table = TextTable::new(&["time", "share", "steps"], &["thread", "what"]);
    for ((name, what), sum) in sums.iter().take(options.top) {
        let threads = match (sum.threads.len(), sum.last) {
            (1, Some(step)) => thread_label(step.thread, &step.names),
            (threads, _) => format!("{} ({})", printable(name), count(threads as u64, "thread")),
        };
        let numbers = [duration(sum.time.into()), share(sum.time, all), grouped(sum.steps)];
        table.rows.push(numbers.into_iter().chain([threads, what.clone()]).collect());
    }
    table.push(text, options.shown.width, options.shown.paint);
    more(text, sums.len(), options);
}

fn push_path(text: &mut String, path: &WakeupPath, options: &ThreadTextOptions) {
    let (paint, width) = (options.shown.paint, options.shown.width);
    let (Some(first), Some(last)) = (path.steps.first(), path.steps.last()) else { return };
    let all = last.end - first.begin;
    let steps = count(path.steps.len() as u64, "step");
    let line = format!("critical path of {} in {steps}", duration(all.into()));
    let _ = writeln!(text, "{}\n", paint.title(&line));
    push_sums(text, path, all, options);
    text.push('\n');
    // Sorted by time, without the shortest steps.
    let mut lengths: Vec<u64> = path.steps.iter().map(|step| step.end - step.begin).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let least = lengths.get(options.top.max(1) - 1).copied().unwrap_or_default();
    let mut table = TextTable::new(&["begin", "time", "share"], &["thread", "what"]);
    let longest = path.steps.iter().filter(|step| step.end - step.begin >= least).take(options.top);
    for step in longest {
        let time = step.end - step.begin;
        table.rows.push(vec![
            options.shown.short(since_origin(step.begin).into()),
            duration(time.into()),
            share(time, all),
            thread_label(step.thread, &step.names),
            step_label(step),
        ]);
    }
    table.push(text, width, paint);
    more(text, path.steps.len(), options);
    if !path.is_complete {
        let _ = writeln!(text, "{}", paint.warning("too many states: the path covers only the first states"));
    }
}
