//! Reads an output again, and compares it with the written data.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ichnos_io::CreateError;
use ichnos_model::{
    Damage, EventHashFn, Limits, Message, Severity, StreamCursor as _, StreamDigest, TraceDigest, Window,
};

use crate::{OpenError, OpenOptions, PassNote, PassObserver, Session, open};

/// Damage of the input, which the output may also have: records are copied with the rules that they break.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputDamage(Arc<Mutex<DamageCounts>>);

#[derive(Debug, Default)]
struct DamageCounts {
    damages: u64,
    /// Names of broken rules.
    rules: BTreeSet<&'static str>,
}

impl InputDamage {
    fn add(&self, damage: &Damage) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.damages += 1;
        counts.rules.extend(damage.kind.rule().map(|rule| rule.name));
    }

    /// Returns `true` for a broken rule that readers do without, if a record of the input breaks it, too. A record of the
    /// output can have a text that several records of the input refer to, and the other way around.
    fn explains(&self, damage: &Damage) -> bool {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        damage.kind.rule().is_some_and(|rule| !rule.fatal && counts.rules.contains(rule.name))
    }

    /// Returns the number of damages.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).damages
    }
}

/// Observer of a pass that also notes the damage of the input.
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

/// Compares the output at a path with the written data. The output must also be valid: it may have warnings only if
/// its input `has_warnings`, and break rules only if its `input` does. With a window, packets of damaged data streams are copied even if some of their events
/// are outside of it. Setting `stop` ends the comparison with an error.
pub(crate) fn verify(
    path: &Path,
    written: &TraceDigest,
    threads: usize,
    limits: Limits,
    (has_warnings, input): (bool, &InputDamage),
    window: Window,
    stop: Option<&AtomicBool>,
) -> Result<(), CreateError> {
    let is_stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    if is_stopped() {
        return Err(CreateError::Stopped);
    }
    let mismatch = |problem: String| Err(CreateError::Mismatch(problem));
    let mut options = OpenOptions::default();
    options.read.check = true;
    options.read.limits = limits;
    options.read.without_annotations = true;
    options.require_all = true;
    let session = match open([path], &options) {
        Ok(session) => session,
        // An output without a data stream file may not be recognized as a trace.
        Err(OpenError::NoTrace(_)) if written.total().events == 0 => return Ok(()),
        Err(error) => return mismatch(describe(&error)),
    };
    if !session.refused().is_empty() {
        return mismatch(describe(&OpenError::Refused(session.refused().to_vec())));
    }
    let diagnostics = session.traces().iter().flat_map(|trace| trace.diagnostics());
    let worst = if has_warnings { Severity::Error } else { Severity::Warning };
    let mut bad = diagnostics.filter(|problem| {
        problem.diagnostic.severity == Severity::Error || problem.diagnostic.severity == worst
    });
    if let Some(problem) = bad.next() {
        return mismatch(problem.to_string());
    }
    let difference = |window| {
        let read = read(&session, window, (written.event_hash, input), threads, stop);
        if is_stopped() { Err(CreateError::Stopped) } else { Ok(written.difference(&read)) }
    };
    let mut problem = difference(Window::default())?;
    if problem.is_some() && written.damages > 0 && window != Window::default() {
        problem = difference(window)?;
    }
    problem.map_or(Ok(()), mismatch)
}

/// Returns the digest of all traces in a window. It is incomplete if `stop` is set.
fn read(
    session: &Session,
    window: Window,
    (event_hash, input): (Option<EventHashFn>, &InputDamage),
    threads: usize,
    stop: Option<&AtomicBool>,
) -> TraceDigest {
    let is_stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let mut read = TraceDigest::default();
    for trace in session.traces() {
        for damage in trace.damage().iter().filter(|damage| !input.explains(damage)) {
            read.damages += 1;
            read.first_damage.get_or_insert_with(|| damage.to_string());
        }
        let cursors: Vec<_> =
            trace.cursors(window).into_iter().map(|cursor| Mutex::new(Some(cursor))).collect();
        let (next, all) = (AtomicUsize::new(0), Mutex::new(TraceDigest::default()));
        let work = || {
            while let Some(cursor) = cursors.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Some(mut cursor) = cursor.lock().ok().and_then(|mut cursor| cursor.take()) else {
                    continue;
                };
                let mut digest = StreamDigest::new(event_hash);
                let mut take = |message: &Message<'_>| {
                    if !matches!(message, Message::Damage(damage) if input.explains(damage)) {
                        digest.message(message);
                    }
                    if is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                if cursor.next_head().is_some() {
                    cursor.drain_all(&mut take);
                }
                if let Ok(mut all) = all.lock() {
                    all.merge(digest.finish());
                }
            }
        };
        std::thread::scope(|scope| {
            // If the system refuses some threads, the others do all of the work.
            let more = 1..threads.min(cursors.len());
            let _ = more
                .map(|_| std::thread::Builder::new().spawn_scoped(scope, work))
                .all(|began| began.is_ok());
            work();
        });
        read.merge(all.into_inner().unwrap_or_default());
    }
    read
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

    #[test]
    fn ends_when_it_is_stopped() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello-lttng"));
        let stop = AtomicBool::new(false);
        // The trace has events that were not written.
        let verify = || {
            let (written, input) = (TraceDigest::default(), InputDamage::default());
            verify(path, &written, 2, Limits::default(), (true, &input), Window::default(), Some(&stop))
                .unwrap_err()
        };
        assert!(matches!(verify(), CreateError::Mismatch(_)));
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(verify(), CreateError::Stopped));
    }
}
