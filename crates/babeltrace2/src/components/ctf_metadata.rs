//! Metadata streams of CTF traces.

use std::io::{self, Read as _};
use std::path::Path;

use ichnos::ctf::metadata::{Metadata, MetadataOptions, Problems, packetized, parse};
use ichnos::io::InputPlaces;
use ichnos::model::trace::{FileDiagnostic, Limits};

use crate::command::Failure;
use crate::components::ctf_errors::metadata_causes;

/// First line of the text of CTF 1.8 metadata.
const SIGNATURE: &[u8] = b"/* CTF 1.8";

/// Text of a metadata stream.
pub(crate) struct MetadataText {
    /// Usually in UTF-8.
    pub(crate) text: Vec<u8>,
    pub(crate) is_packetized: bool,
}

/// Reads the metadata stream of a trace directory. Returns `None` if there is none.
///
/// # Errors
/// If it cannot be read, or is larger than the limit.
fn read(directory: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let path = directory.join("metadata");
    let failure = |reason: String| {
        let path = path.display();
        Failure::from_cause(format!("{reason}: path=\"{path}\"")).in_context("Error reading metadata file")
    };
    let length = match std::fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => return Ok(None),
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failure(error.to_string())),
    };
    let most = Limits::default().metadata_bytes;
    let too_large =
        |length: u64| failure(format!("The metadata has {length} bytes, more than the limit of {most}"));
    if length > most {
        return Err(too_large(length));
    }
    // The file can grow, or be replaced.
    let mut bytes = Vec::new();
    let file = std::fs::File::open(&path).map_err(|error| failure(error.to_string()))?;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| failure(error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(Some(bytes))
}

/// Returns the places of a trace directory, where nothing may be written.
pub(crate) fn metadata_places(directory: &Path) -> InputPlaces {
    let mut places = InputPlaces::default();
    places.add(directory);
    places.add(&directory.join("metadata"));
    places
}

/// Parses the metadata stream of a trace directory. Returns `None` if there is none.
///
/// # Errors
/// If it is invalid.
pub(crate) fn parse_metadata(directory: &Path) -> Result<Option<Metadata>, Failure> {
    let Some(bytes) = read(directory)? else { return Ok(None) };
    let mut options = MetadataOptions::default();
    options.ignores_unknown_fields = true;
    match parse(&bytes, &options) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) => {
            let path = directory.join("metadata").display().to_string();
            let problems = error.diagnostics.into_iter().map(|problem| FileDiagnostic::new(&*path, problem));
            let causes = metadata_causes(&problems.collect::<Vec<_>>());
            Err(Failure { causes, exit_code: 1 })
        }
    }
}

/// Reads the text of the metadata stream of a trace directory, without its packets.
///
/// # Errors
/// If there is no metadata stream, or if its packets are invalid.
pub(crate) fn metadata_text(directory: &Path) -> Result<MetadataText, Failure> {
    let path = directory.join("metadata");
    let Some(bytes) = read(directory)? else {
        let path = path.display();
        return Err(Failure::from_cause(format!("No such file or directory: path=\"{path}\""))
            .in_context("Error reading metadata file"));
    };
    let is_packetized = packetized::packet_byte_order(&bytes).is_some();
    let text = match is_packetized {
        false => bytes,
        true => {
            let limits = Limits::default();
            let mut problems = Problems::new(&limits);
            match packetized::unpack(&bytes, &limits, &mut problems) {
                Some(unpacked) => unpacked.text,
                None => {
                    let found = problems.into_diagnostics().into_iter();
                    let found = found.map(|problem| FileDiagnostic::new(path.display().to_string(), problem));
                    let causes = metadata_causes(&found.collect::<Vec<_>>());
                    return Err(Failure { causes, exit_code: 1 }.in_context("Error reading metadata file"));
                }
            }
        }
    };
    let text = match is_json(&text) || text.starts_with(SIGNATURE) {
        true => text,
        false => [SIGNATURE, b" */\n\n", &text].concat(),
    };
    Ok(MetadataText { text, is_packetized })
}

fn is_json(text: &[u8]) -> bool {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let first = text.iter().find(|byte| !b"\x1e \t\r\n".contains(byte));
    matches!(first, Some(b'{' | b'['))
}

#[cfg(test)]
mod tests {
    use ichnos::ctf::metadata::Dialect;

    use super::*;
    use crate::components::ctf_identity::TraceIdentity;

    const LTTNG: &str = "hello-lttng/trace/ust/uid/65534/64-bit";

    #[test]
    fn metadata_is_read_from_examples() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let directory = examples.join(LTTNG);
        let metadata = parse_metadata(&directory).unwrap().unwrap();
        assert_eq!(metadata.dialect, Dialect::Ctf18);
        let group = TraceIdentity::of_class(&metadata.trace).unwrap().group();
        assert!(group.starts_with("namespace: lttng.org,2009, name: , uid: "), "{group}");
        let text = metadata_text(&directory).unwrap();
        assert!(text.text.starts_with(SIGNATURE));
        assert!(parse_metadata(&examples).unwrap().is_none());
        let failure = metadata_text(&examples).err().unwrap();
        assert!(failure.causes[1].starts_with("No such file or directory: path=\""), "{failure:?}");
    }
}
