//! Recognizes files with requests.

use ichnos_io::{Entry, ReadOptions};

use crate::file_form::FileForm;
use crate::request_signal::RequestSignal;
use crate::stored_kind::StoredKind;

/// A recognized file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecognizedFile {
    pub(crate) form: FileForm,
    /// Signal of the requests, if the name of the file tells it.
    pub(crate) signal: Option<RequestSignal>,
    /// `true` if a collector writes to the file, so that its last request may be incomplete.
    pub(crate) is_growing: bool,
}

impl RecognizedFile {
    /// Recognizes a file by its name or by its content.
    pub(crate) fn new(entry: &Entry, options: &ReadOptions) -> Option<Self> {
        let name = entry.path.rsplit('/').next().unwrap_or_default();
        if let Some(kind) = StoredKind::of_name(name) {
            let signal = match kind {
                StoredKind::Protobuf(signal) => Some(signal),
                StoredKind::Json => None,
            };
            return Some(Self { form: kind.form(), signal, is_growing: entry.is_being_collected() });
        }
        let form = FileForm::of_file(entry, options)?;
        Some(Self { form, signal: None, is_growing: false })
    }
}
