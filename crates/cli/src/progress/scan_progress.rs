//! Progress of opening traces.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ichnos::export::text::{count, size};
use ichnos::io::{ScanProgress, ScanStep};
use ichnos::model::IgnorePoison as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args;
use crate::output::charset;
use crate::progress::Report;
use crate::progress::read_progress::{PATIENCE, PAUSE};

/// Shows progress before the first event; the display disappears when dropped.
pub(crate) fn progress(when: args::Progress, report: Report) -> ScanProgress {
    let kind = match when {
        args::Progress::Never => return ScanProgress::default(),
        args::Progress::Auto if !std::io::stderr().is_terminal() => return ScanProgress::default(),
        args::Progress::Auto => {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(charset::of_progress(style));
            }
            ScanDisplay::Bar(bar)
        }
        args::Progress::Plain => ScanDisplay::Plain(report),
    };
    let shown = Mutex::new(ShownScan { kind, next: Instant::now() + PATIENCE });
    ScanProgress::new(move |step| shown.lock().ignore_poison().step(step))
}

enum ScanDisplay {
    Bar(ProgressBar),
    Plain(Report),
}

struct ShownScan {
    kind: ScanDisplay,
    /// Time until progress is shown.
    next: Instant,
}

impl ShownScan {
    fn step(&mut self, step: ScanStep) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let message = message(step);
        match &self.kind {
            ScanDisplay::Bar(bar) => {
                if bar.is_hidden() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_message(message);
                bar.tick();
                self.next = now + Duration::from_millis(100);
            }
            ScanDisplay::Plain(report) => {
                report.answer(&message);
                self.next = now + PAUSE;
            }
        }
    }
}

impl Drop for ShownScan {
    fn drop(&mut self) {
        if let ScanDisplay::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }
}

fn message(step: ScanStep) -> String {
    match step {
        ScanStep::Files(files) => format!("listing directories: {}", count(files, "file")),
        ScanStep::Unpacked { unpacked, packed, total } => {
            let of = match total {
                Some(total) => format!("{} of {}", size(packed), size(total)),
                None => size(packed),
            };
            format!("unpacking: {of}, which are {} unpacked", size(unpacked))
        }
        ScanStep::Indexed { files, bytes } => {
            format!("looking for packets: {} done, {} of the current one", count(files, "file"), size(bytes))
        }
        _ => "opening".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(message(ScanStep::Files(1)), "listing directories: 1 file");
        let unpacked = ScanStep::Unpacked { unpacked: 3 << 20, packed: 1 << 20, total: Some(2 << 20) };
        assert!(message(unpacked).starts_with("unpacking: 1"), "{}", message(unpacked));
        let indexed = ScanStep::Indexed { files: 2, bytes: 0 };
        assert!(message(indexed).contains("2 files done"), "{}", message(indexed));
    }
}
