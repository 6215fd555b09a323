//! CTF 1.8: TSDL, the Trace Stream Description Language (section 7).
//!
//! ```text
//! text -> lexer -> parser (types, blocks; type names resolved) -> build (a class per use)
//! ```

mod ast;
mod blocks;
mod build;
mod lexer;
mod lookup;
mod parser;
mod scopes;
#[cfg(test)]
mod tests;
mod type_attributes;
mod types;

pub(crate) use lookup::location_prefix;
pub(crate) use parser::{is_c_type_word, is_reserved};

use ichnos_model::TraceClass;
use ichnos_model::class::Value;
use ichnos_model::memory::size;
use ichnos_model::trace::{Limits, TextPosition};

use super::{Problems, memory};

/// Reads a TSDL text (CTF 1.8, section 7 and appendix C), already unpacked. Returns `None` if errors make it
/// unreadable, and adds them to `problems`.
///
/// A later check of the whole trace class ensures that located fields exist and fit, and that fields with roles have
/// the right kind.
pub fn parse(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<TraceClass> {
    parse_with(text, limits, problems, false)
}

/// Like [`parse`], but ignores unknown fields of blocks with a warning.
pub fn parse_tolerant(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<TraceClass> {
    parse_with(text, limits, problems, true)
}

fn parse_with(
    text: &[u8],
    limits: &Limits,
    problems: &mut Problems,
    ignores_unknown_fields: bool,
) -> Option<TraceClass> {
    let before = problems.errors();
    if text.len() as u64 > limits.metadata_bytes {
        let message = format!("the metadata is longer than {} bytes, the limit", limits.metadata_bytes);
        problems.limit(TextPosition::default(), "metadata_bytes", message);
        return None;
    }
    let left = problems.bytes_left();
    let mut parser = parser::TsdlParser::new(text, limits, problems);
    parser.ignores_unknown_fields = ignores_unknown_fields;
    let document = parser.document();
    if problems.errors() > before {
        // Classes from partially read types would only cause spurious problems.
        return None;
    }
    let entries = document.environment.iter().map(|(name, value)| memory::of_entry(name, value) + 24);
    let call_sites = document.call_sites.iter().map(|map| memory::within(map) + size::<Value>() as u64);
    let kept = entries.sum::<u64>() + call_sites.sum::<u64>();
    let of_document = left.saturating_sub(problems.bytes_left()).saturating_sub(kept);
    let trace = build::build(document, limits, problems);
    // Only the document's environment and call sites are kept.
    problems.release(of_document);
    if problems.errors() > before { None } else { trace }
}
