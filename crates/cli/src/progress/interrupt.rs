//! Signals that ask the program to end. The program then finishes its work properly.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use crate::exit::{Exit, Failure};
use crate::progress::Console;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// First received signal, or 0.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Console for the notice that the output is still being removed.
static REMOVING: OnceLock<Console> = OnceLock::new();
/// Called before the second signal ends the program.
static BEFORE_ABORT: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();
/// `true` after all live inputs have ended.
static IS_OVER: AtomicBool = AtomicBool::new(false);
/// Time after a signal until a note explains why the program continues.
const PATIENCE: Duration = Duration::from_secs(1);

/// Makes SIGINT (Ctrl-C), SIGTERM and SIGHUP set [`is_requested`] instead of ending the program. The second
/// signal ends it immediately.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(set_handlers);
}

/// Handles signals like [`watch`], for a verb that must remove its partial output. The removal can take long.
pub(crate) fn watch_writing(console: Console) {
    let _ = REMOVING.set(console);
    watch();
}

#[cfg(unix)]
fn set_handlers() {
    use std::sync::mpsc::sync_channel;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = vec![SIGINT, SIGTERM];
    // Programs started by `nohup` must continue without a terminal.
    if !ichnos::io::ignores_signal(SIGHUP) {
        signals.push(SIGHUP);
    }
    let (watching, is_watching) = sync_channel(1);
    let wait = move || {
        let signals = Signals::new(signals);
        let _ = watching.send(());
        let Ok(mut signals) = signals else { return };
        signals.forever().for_each(request);
    };
    // Without a thread, signals keep their default effect.
    if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_ok() {
        let _ = is_watching.recv();
    }
}

#[cfg(not(unix))]
fn set_handlers() {
    const SIGINT: i32 = 2;
    // If no handler can be set, signals keep their default effect.
    let _ = ctrlc::set_handler(|| request(SIGINT));
}

/// Handles a signal.
fn request(signal: i32) {
    let _ = SIGNAL.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    if INTERRUPTED.swap(true, Ordering::Release) {
        BEFORE_ABORT.get().inspect(|end| end());
        std::process::exit(exit() as i32);
    }
    if let Some(console) = REMOVING.get() {
        let explain = || {
            std::thread::sleep(PATIENCE);
            console.notice("removing the unfinished output; interrupt again to stop immediately and keep it");
        };
        // Without a thread, no note is printed.
        drop(std::thread::Builder::new().spawn(explain));
    }
}

/// Sets what is done before the second signal ends the program.
pub(crate) fn before_abort(end: impl Fn() + Send + Sync + 'static) {
    let _ = BEFORE_ABORT.set(Box::new(end));
}

/// Asks live inputs to end.
pub(crate) fn expire() {
    if !IS_OVER.load(Ordering::Acquire) {
        INTERRUPTED.store(true, Ordering::Release);
    }
}

/// Notes that a signal has ended live inputs. The program then shows what they delivered, and only another signal ends
/// it early.
pub(crate) fn finish_live() {
    IS_OVER.store(true, Ordering::Release);
    INTERRUPTED.store(false, Ordering::Release);
}

/// Returns the flag that is set when the program should end.
pub(crate) fn flag() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Returns `true` if the program should end.
#[inline]
pub(crate) fn is_requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Returns the failure that ends a verb after a signal.
pub(crate) fn end() -> Failure {
    Failure::end(exit())
}

/// Returns the exit code for the received signal.
pub(crate) fn exit() -> Exit {
    match SIGNAL.load(Ordering::Relaxed) {
        1 => Exit::HungUp,
        15 => Exit::Terminated,
        _ => Exit::Interrupted,
    }
}
