//! Reads an output again and compares it with the written data.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ichnos_io::{CreateError, ReaderRules};
use ichnos_model::cursor::StreamCursor as _;
use ichnos_model::digest::{EventHashFn, StreamDigest, TraceDigest};
use ichnos_model::locks::IgnorePoison as _;
use ichnos_model::message::Damage;
use ichnos_model::running_thread::RunningParts;
use ichnos_model::trace::{Limits, Severity};
use ichnos_model::{Event, Message, TraceClass, Window};

use crate::{OpenError, OpenOptions, PassNote, PassObserver, Session, open};

/// Damage of the input. The output may have the same damage, because records are copied with their broken rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputDamage(Arc<Mutex<DamageCounts>>);

#[derive(Debug, Default)]
struct DamageCounts {
    damages: u64,
    /// Broken rule names.
    rules: BTreeSet<&'static str>,
}

impl InputDamage {
    fn add(&self, damage: &Damage) {
        let mut counts = self.0.lock().ignore_poison();
        counts.damages += 1;
        counts.rules.extend(damage.kind.rule().map(|rule| rule.name));
    }

    /// Returns `true` for a broken rule that readers tolerate, if an input record also breaks it. An output record
    /// can have a text that several input records refer to, and vice versa.
    fn explains(&self, damage: &Damage) -> bool {
        let counts = self.0.lock().ignore_poison();
        damage.kind.rule().is_some_and(|rule| !rule.fatal && counts.rules.contains(rule.name))
    }

    /// Returns the amount of damage.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().ignore_poison().damages
    }
}

/// Pass observer that also records the damage of the input.
pub(crate) struct DamageObserver<'o> {
    pub(crate) observer: &'o dyn PassObserver,
    pub(crate) damage: InputDamage,
}

impl PassObserver for DamageObserver<'_> {
    fn progress(&self, nanoseconds: Option<i128>, events: u64) {
        self.observer.progress(nanoseconds, events);
    }

    fn written(&self, bytes: u64) {
        self.observer.written(bytes);
    }

    fn note(&self, note: PassNote) {
        if let PassNote::Damage(damage) = &note {
            self.damage.add(damage);
        }
        self.observer.note(note);
    }
}

/// Requirements for an output.
#[derive(Debug, Default)]
pub(crate) struct OutputRules {
    /// Rules that other readers have.
    pub(crate) rules: ReaderRules,
    /// Dialects of the input with the rules that it breaks. An output in the same dialect may also break them.
    pub(crate) input: Vec<(String, HashSet<String>)>,
    /// `true` if the input has warnings. The output may then have warnings, too.
    pub(crate) has_warnings: bool,
    /// Damage of the input.
    pub(crate) damage: InputDamage,
}

impl OutputRules {
    /// Returns a rule that the classes of a trace break.
    fn broken(&self, trace: &TraceClass) -> Option<String> {
        let is_inherited = |rule: &String| {
            self.input.iter().any(|(dialect, broken)| *dialect == trace.dialect && broken.contains(rule))
        };
        (self.rules.classes)(trace).into_iter().find(|rule| !is_inherited(rule))
    }

    /// Returns a rule that an event breaks.
    fn broken_by(&self, event: &Event<'_>) -> Option<String> {
        let dialect = &event.stream.trace.class.dialect;
        let is_new = self.input.iter().all(|(of, _)| of != dialect);
        (self.rules.event)(event).filter(|_| is_new)
    }
}

/// Compares the output at a path with the written data. The output must also be valid and keep the rules of other
/// readers, unless the input breaks them. With a window, packets of damaged data streams are copied even if some of
/// their events are outside it. Setting `stop` ends the comparison with an error.
pub(crate) fn verify(
    path: &Path,
    written: &TraceDigest,
    threads: usize,
    limits: Limits,
    window: Window,
    rules: &OutputRules,
    stop: Option<&AtomicBool>,
) -> Result<(), CreateError> {
    let is_stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    if is_stopped() {
        return Err(CreateError::Stopped);
    }
    let mismatch = |problem: String| Err(CreateError::Mismatch(problem));
    let mut options = OpenOptions::default();
    options.read.check = true;
    options.running = RunningParts::Nothing;
    options.read.limits = limits;
    options.read.without_annotations = true;
    options.require_all = true;
    let session = match open([path], &options) {
        Ok(session) => session,
        // An output without a data stream file may be unrecognizable as a trace.
        Err(OpenError::NoTrace(_)) if written.total().events == 0 => return Ok(()),
        Err(error) => return mismatch(describe(&error)),
    };
    if !session.refused().is_empty() {
        return mismatch(describe(&OpenError::Refused(session.refused().to_vec())));
    }
    let diagnostics = session.traces().iter().flat_map(|trace| trace.diagnostics());
    let worst = if rules.has_warnings { Severity::Error } else { Severity::Warning };
    let mut bad = diagnostics.filter(|problem| {
        problem.diagnostic.severity == Severity::Error || problem.diagnostic.severity == worst
    });
    if let Some(problem) = bad.next() {
        return mismatch(problem.to_string());
    }
    let mut classes = session.traces().iter().map(|trace| trace.trace());
    if let Some(rule) = classes.find_map(|trace| rules.broken(&trace.class)) {
        return mismatch(format!("other readers would misread it: {rule}"));
    }
    let difference = |window| {
        let (read, broken) = read(&session, window, written.event_hash, threads, rules, stop);
        if is_stopped() {
            return Err(CreateError::Stopped);
        }
        let broken = broken.map(|rule| format!("other readers would misread it: {rule}"));
        Ok(written.difference(&read).or(broken))
    };
    let mut problem = difference(Window::default())?;
    if problem.is_some() && written.damages > 0 && window != Window::default() {
        problem = difference(window)?;
    }
    problem.map_or(Ok(()), mismatch)
}

/// Returns the digest of all traces in a window, and a rule that an event breaks. It is incomplete if `stop` is set.
fn read(
    session: &Session,
    window: Window,
    event_hash: Option<EventHashFn>,
    threads: usize,
    rules: &OutputRules,
    stop: Option<&AtomicBool>,
) -> (TraceDigest, Option<String>) {
    let is_stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let mut read = TraceDigest::default();
    let broken = Mutex::new(None);
    for trace in session.traces() {
        for damage in trace.damage().iter().filter(|damage| !rules.damage.explains(damage)) {
            read.damages += 1;
            read.first_damage.get_or_insert_with(|| damage.to_string());
        }
        let cursors: Vec<_> =
            trace.cursors(window).into_iter().map(|cursor| Mutex::new(Some(cursor))).collect();
        let (next, all) = (AtomicUsize::new(0), Mutex::new(TraceDigest::default()));
        let work = || {
            while let Some(cursor) = cursors.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Some(mut cursor) = cursor.lock().ignore_poison().take() else { continue };
                let mut digest = StreamDigest::new(event_hash);
                let mut take = |message: &Message<'_>| {
                    if !matches!(message, Message::Damage(damage) if rules.damage.explains(damage)) {
                        digest.message(message);
                    }
                    if let Message::Event(event) = message
                        && let Some(rule) = rules.broken_by(event)
                    {
                        broken.lock().ignore_poison().get_or_insert(rule);
                    }
                    if is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                if cursor.next_head().is_some() {
                    cursor.drain_all(&mut take);
                }
                all.lock().ignore_poison().merge(digest.finish());
            }
        };
        std::thread::scope(|scope| {
            // If the system refuses some threads, the other threads do all the work.
            let more = 1..threads.min(cursors.len());
            let _ = more
                .map(|_| std::thread::Builder::new().spawn_scoped(scope, work))
                .all(|began| began.is_ok());
            work();
        });
        read.merge(all.into_inner().ignore_poison());
    }
    (read, broken.into_inner().ignore_poison())
}

/// Returns an opening error with its reasons.
fn describe(error: &OpenError) -> String {
    match error {
        OpenError::Refused(refused) => {
            let first = refused.iter().flat_map(|trace| &trace.diagnostics).next();
            first.map_or_else(|| error.to_string(), ToString::to_string)
        }
        _ => error.to_string(),
    }
}

#[cfg(all(test, feature = "ctf"))]
mod tests {
    use super::*;

    /// An output in the dialect of the input may break exactly the rules that the input breaks.
    #[test]
    fn rules_of_other_readers_are_checked() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello-lttng"));
        let problem = |input: &[&str]| {
            let mut rules = OutputRules { has_warnings: true, ..OutputRules::default() };
            rules.rules.classes = |_| vec!["a rule".to_owned()];
            let broken = HashSet::from(["a rule".to_owned()]);
            rules.input = input.iter().map(|dialect| ((*dialect).to_owned(), broken.clone())).collect();
            let (window, digest) = (Window::default(), TraceDigest::default());
            verify(path, &digest, 1, Limits::default(), window, &rules, None).unwrap_err().to_string()
        };
        for (input, is_new) in [(&["CTF 2 (SPEC-2.0)"][..], true), (&[], true), (&["CTF 1.8"], false)] {
            assert_eq!(
                problem(input).contains("other readers would misread it: a rule"),
                is_new,
                "{input:?}"
            );
        }
    }

    #[test]
    fn ends_when_it_is_stopped() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello-lttng"));
        let stop = AtomicBool::new(false);
        // The trace has events that were not written.
        let (limits, window) = (Limits::default(), Window::default());
        let rules = OutputRules { has_warnings: true, ..OutputRules::default() };
        let verify =
            || verify(path, &TraceDigest::default(), 2, limits, window, &rules, Some(&stop)).unwrap_err();
        assert!(matches!(verify(), CreateError::Mismatch(_)));
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(verify(), CreateError::Stopped));
    }
}
