//! Signals that ask the program to end: what is begun is ended properly.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use crate::exit::Exit;
use crate::report::Report;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The signal that came first; 0 if none did.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Takes the notice that the output is still being removed.
static REMOVING: OnceLock<Report> = OnceLock::new();
/// Time after a signal until a note says why the program continues.
const PATIENCE: Duration = Duration::from_secs(1);

/// From now on SIGINT (Ctrl-C), SIGTERM and SIGHUP do not end the program, but [`is_requested`] is
/// true after them. The second one ends it immediately.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(set_handlers);
}

/// The same for a verb that removes what it has written up to then, which can take long.
pub(crate) fn watch_writing(report: Report) {
    let _ = REMOVING.set(report);
    watch();
}

#[cfg(unix)]
fn set_handlers() {
    use std::sync::mpsc::sync_channel;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = vec![SIGINT, SIGTERM];
    // `nohup` starts programs that are to go on without a terminal.
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
    // Without a thread, signals do what the system does with them.
    if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_ok() {
        let _ = is_watching.recv();
    }
}

#[cfg(not(unix))]
fn set_handlers() {
    const SIGINT: i32 = 2;
    // If no handler can be set, the system does what it does.
    let _ = ctrlc::set_handler(|| request(SIGINT));
}

/// Takes a signal.
fn request(signal: i32) {
    let _ = SIGNAL.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    if INTERRUPTED.swap(true, Ordering::Release) {
        std::process::exit(exit() as i32);
    }
    if let Some(report) = REMOVING.get() {
        let explain = || {
            std::thread::sleep(PATIENCE);
            report.notice("removing the unfinished output; interrupt again to end at once and leave it");
        };
        // Without a thread, nothing is said.
        drop(std::thread::Builder::new().spawn(explain));
    }
}

/// What is set when the program is to end, for those who wait.
pub(crate) fn flag() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Whether the program is to end.
#[inline]
pub(crate) fn is_requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// How the program ends after the signal that came.
pub(crate) fn exit() -> Exit {
    match SIGNAL.load(Ordering::Relaxed) {
        1 => Exit::HungUp,
        15 => Exit::Terminated,
        _ => Exit::Interrupted,
    }
}
