//! Files with received requests.

use crate::file_form::FileForm;
use crate::input::RequestEncoding;
use crate::request_signal::RequestSignal;

/// Kind of file with received requests. Files consist of whole records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoredKind {
    /// Requests in JSON, each on a line.
    Json,
    /// Requests in protobuf, each after its length in 4 bytes. They do not name their signal, so the file does.
    Protobuf(RequestSignal),
}

impl StoredKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [
        Self::Json,
        Self::Protobuf(RequestSignal::Traces),
        Self::Protobuf(RequestSignal::Logs),
        Self::Protobuf(RequestSignal::Metrics),
    ];

    /// Returns the extension of numbered files, for example `00000001.traces.requests`.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Json => "json.requests",
            Self::Protobuf(RequestSignal::Traces) => "traces.requests",
            Self::Protobuf(RequestSignal::Logs) => "logs.requests",
            Self::Protobuf(RequestSignal::Metrics) => "metrics.requests",
        }
    }

    /// Returns the kind of a file by its name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (_, extension) = ichnos_io::numbered_file(name)?;
        Self::ALL.into_iter().find(|kind| kind.extension() == extension)
    }

    /// Returns the form of a file of this kind.
    pub(crate) fn form(self) -> FileForm {
        if self == Self::Json { FileForm::Json } else { FileForm::Lengths }
    }

    /// Returns the length of the whole records at the beginning of a file.
    #[must_use]
    pub fn whole(self, file: &[u8]) -> usize {
        let (form, mut end) = (self.form(), 0);
        while let Some(Ok((_, next))) = form.next_request(file, end) {
            end = next;
        }
        // White space after the last request in JSON.
        let rest = file.get(end..).unwrap_or_default();
        if self == Self::Json && rest.trim_ascii().is_empty() { file.len() } else { end }
    }

    /// Returns the record for a request, and its kind.
    pub(crate) fn record(
        mut body: Vec<u8>,
        encoding: RequestEncoding,
        signal: RequestSignal,
    ) -> (Self, Vec<u8>) {
        match encoding {
            RequestEncoding::Json => {
                body.truncate(body.trim_ascii_end().len());
                body.drain(..body.len() - body.trim_ascii_start().len());
                body.push(b'\n');
                (Self::Json, body)
            }
            RequestEncoding::Protobuf => {
                // Bodies are limited to far less than 4 GiB.
                let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
                body.splice(0..0, length.to_be_bytes());
                (Self::Protobuf(signal), body)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_records() {
        assert_eq!(StoredKind::of_name("00000012.logs.requests"), Some(StoredKind::ALL[2]));
        for name in ["logs.requests", "00000012.requests", "00000012.logs.damaged"] {
            assert_eq!(StoredKind::of_name(name), None);
        }
        let (kind, first) =
            StoredKind::record(b" {\n \"a\": 1 }\n".to_vec(), RequestEncoding::Json, RequestSignal::Logs);
        assert_eq!((kind, &first[..]), (StoredKind::Json, &b"{\n \"a\": 1 }\n"[..]));
        let file = [&first[..], b"{}\n", b"{\"b\""].concat();
        assert_eq!(kind.whole(&file), first.len() + 2);
        assert_eq!(kind.whole(&file[..first.len() + 3]), first.len() + 3);
        let (kind, first) =
            StoredKind::record(b"abc".to_vec(), RequestEncoding::Protobuf, RequestSignal::Logs);
        assert_eq!((kind.extension(), &first[..]), ("logs.requests", &b"\0\0\0\x03abc"[..]));
        let file = [&first[..], b"\0\0\0\x03ab"].concat();
        for length in 0..=file.len() {
            let whole = if length < first.len() { 0 } else { first.len() };
            assert_eq!(kind.whole(&file[..length]), whole);
        }
    }
}
