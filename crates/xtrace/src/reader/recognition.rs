//! Recognizes report files.

use ichnos_io::{Entry, ReadOptions};

use super::source::{FIRST, ReportForm};

/// Returns `true` if a file contains reports.
pub(crate) fn is_report_file(entry: &Entry) -> bool {
    recognize(entry, &ReadOptions::default()).is_some()
}

/// Recognizes the form of a file if it contains reports.
pub(super) fn recognize(entry: &Entry, options: &ReadOptions) -> Option<ReportForm> {
    let first = entry.beginning(FIRST).ok()?;
    let form = match ReportForm::probed(&first) {
        FIRST => ReportForm::recognize(&first),
        most => ReportForm::recognize(&entry.beginning(most).ok()?),
    };
    form.or((options.force && !first.is_empty()).then_some(ReportForm::Text))
}
