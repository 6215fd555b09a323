//! Reads metadata in any dialect.

use ichnos_model::TraceClass;
use ichnos_model::trace::{Diagnostic, Severity, TextPosition};

use super::{
    Dialect, Metadata, MetadataError, MetadataOptions, Problems, check, clocks, json, packetized, tsdl,
};

/// Byte order mark written by some editors: U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a metadata text, packetized or plain, in the dialect from the options or the detected dialect.
///
/// # Errors
/// Returns an error if the text cannot be read, or if it has warnings and [`MetadataOptions::strict`] is set. The error
/// contains all problems.
pub fn parse(bytes: &[u8], options: &MetadataOptions) -> Result<Metadata, MetadataError> {
    let mut problems = Problems::new(&options.limits);
    let mut dialect = options.dialect;
    let trace = read(bytes, options, &mut dialect, &mut problems);
    let (left, has_errors) = (problems.bytes_left(), problems.errors() > 0);
    let mut diagnostics = problems.into_diagnostics();
    let is_broken_rule = |diagnostic: &Diagnostic| diagnostic.severity >= Severity::Warning;
    let is_refused = has_errors || options.strict && diagnostics.iter().any(is_broken_rule);
    match (trace, dialect) {
        (Some(mut trace), Some(dialect)) if !is_refused => {
            if trace.dialect.is_empty() {
                dialect.title().clone_into(&mut trace.dialect);
            }
            Ok(Metadata { trace, dialect, diagnostics, left })
        }
        _ => {
            if diagnostics.is_empty() {
                diagnostics.push(Diagnostic::error(TextPosition::default(), "the metadata cannot be read"));
            }
            Err(MetadataError { dialect, diagnostics })
        }
    }
}

fn read(
    bytes: &[u8],
    options: &MetadataOptions,
    dialect: &mut Option<Dialect>,
    problems: &mut Problems,
) -> Option<TraceClass> {
    let limits = &options.limits;
    let whole = TextPosition::default();
    if bytes.len() as u64 > limits.metadata_bytes {
        let most = limits.metadata_bytes;
        let message = format!("the metadata has {} bytes, more than the limit of {most}", bytes.len());
        problems.limit(whole, "metadata_bytes", message);
        return None;
    }
    if bytes.is_empty() {
        problems.error(whole, "the metadata is empty");
        return None;
    }
    let unpacked;
    let mut text = bytes;
    let mut packet_uuid = None;
    if packetized::packet_byte_order(bytes).is_some() {
        unpacked = packetized::unpack(bytes, limits, problems)?;
        packet_uuid = Some(unpacked.uuid);
        text = &unpacked.text;
        if !problems.charge(text.len() as u64, whole) {
            return None;
        }
    }
    if let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) {
        // All documents define the first characters of a text, without this mark.
        let message = "skipped a byte order mark (U+FEFF) before the metadata";
        let severity = if options.strict { Severity::Warning } else { Severity::Note };
        let start = TextPosition { line: 1, column: 1, offset: 0 };
        problems.add(Diagnostic::new(severity, start, message));
        text = rest;
    }
    let found = *dialect.get_or_insert_with(|| json::recognize(text).unwrap_or(Dialect::Ctf18));
    let errors = problems.errors();
    let mut trace = match found {
        Dialect::Ctf18 if options.ignores_unknown_fields => tsdl::parse_tolerant(text, limits, problems),
        Dialect::Ctf18 => tsdl::parse(text, limits, problems),
        Dialect::Prop1 => json::parse_prop1(text, limits, problems),
        Dialect::Prop2 => json::parse_prop2(text, limits, problems),
        Dialect::Spec2 => json::parse_spec2(text, limits, problems),
    }?;
    clocks::record_other_clocks(&mut trace, found, problems);
    if let (Some(packets), Some(trace)) = (packet_uuid, trace.uuid)
        && packets != trace
        && !packets.is_nil()
    {
        problems.add(
            Diagnostic::warning(whole, "the metadata packets carry another UUID than the trace")
                .expected(trace.to_string(), packets.to_string()),
        );
    }
    if problems.errors() == errors {
        // The unpacked text is not needed any more, and compiled plans are dropped again.
        let mut limits = *limits;
        limits.description_bytes = problems.bytes_left();
        check::check(&trace, found, &limits, problems);
        if found == Dialect::Ctf18 && options.strict {
            check::check_names(&trace, problems);
        }
    }
    Some(trace)
}

/// Adds auxiliary streams (PROP-2.0, "Auxiliary stream"). Each is a text with its file name. Returns the problems, each
/// with the text's index. Subtracts the used memory from
/// [`Limits::description_bytes`](ichnos_model::trace::Limits::description_bytes).
pub fn add_auxiliary_streams(
    trace: &mut TraceClass,
    texts: &[&[u8]],
    options: &mut MetadataOptions,
) -> Vec<(usize, Diagnostic)> {
    let mut all = Vec::new();
    let mut streams = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let mut problems = Problems::new(&options.limits);
        streams.extend(json::parse_aux_stream(text, &options.limits, &mut problems));
        options.limits.description_bytes = problems.bytes_left();
        all.extend(problems.into_diagnostics().into_iter().map(|diagnostic| (i, diagnostic)));
    }
    let mut problems = Problems::new(&options.limits);
    json::apply_aux_streams(trace, streams, &mut problems);
    all.extend(problems.into_diagnostics().into_iter().map(|diagnostic| (0, diagnostic)));
    // The trace can be decoded without them.
    for (_, diagnostic) in &mut all {
        diagnostic.severity = diagnostic.severity.min(Severity::Warning);
    }
    all
}
