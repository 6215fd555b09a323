//! CTF 1.8: TSDL, the Trace Stream Description Language (section 7).
//!
//! ```text
//! text -> lexer -> parser (types, blocks; names of types resolved) -> build (one class per use)
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
mod types;

use ichnos_model::{Limits, TextPlace, TraceClass};

use super::Problems;

/// Reads a TSDL text (CTF 1.8, section 7 and appendix C). Packets must have been taken off
/// before. None: errors make it unreadable, and `problems` has them.
///
/// What stays for the check of the whole trace class: whether located fields exist and fit, and
/// whether fields with roles have the right kind.
pub fn parse(text: &[u8], limits: &Limits, problems: &mut Problems) -> Option<TraceClass> {
    let before = problems.errors();
    if text.len() as u64 > limits.metadata_bytes {
        let most = limits.metadata_bytes;
        problems.error(TextPlace::default(), format!("the metadata text is longer than {most} bytes"));
        return None;
    }
    let document = parser::Parser::new(text, limits, problems).document();
    if problems.errors() > before {
        // Classes of half-read types would only add problems that are none.
        return None;
    }
    let trace = build::build(&document, limits, problems);
    if problems.errors() > before { None } else { trace }
}
