//! Opening progress.

use std::sync::Mutex;

use ichnos::export::text::{count, size};
use ichnos::io::{ScanProgress, ScanStep};
use ichnos::model::locks::IgnorePoison as _;

use super::console::Console;
use super::meter::Meter;

/// Shows the progress before the first event. The display disappears when dropped.
pub(crate) fn show(console: Console) -> ScanProgress {
    match Meter::new("{spinner} {msg}", false, console).map(Mutex::new) {
        Some(meter) => {
            ScanProgress::new(move |step| meter.lock().ignore_poison().show(|| (None, message(step))))
        }
        None => ScanProgress::default(),
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
            format!("unpacking: {of} ({} unpacked)", size(unpacked))
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
