//! One line per stack.

use std::io::{self, Write};

use super::StackRoots;
use super::profile::StackProfile;
use super::tree::CallTree;
use ichnos_export::number;
use ichnos_export::printable;

pub(super) fn write(profile: &StackProfile, roots: StackRoots, out: &mut dyn Write) -> io::Result<()> {
    let tree = CallTree::new(profile, roots);
    let mut line = Vec::new();
    // By depth: end of the frame in the line.
    let mut ends: Vec<usize> = Vec::new();
    tree.visit(|call, depth| {
        ends.truncate(depth);
        line.truncate(ends.last().copied().unwrap_or_default());
        if depth > 0 {
            line.push(b';');
        }
        push_frame(&mut line, tree.label(call));
        ends.push(line.len());
        let weight = tree.own[call as usize].weight;
        if weight > 0 {
            line.push(b' ');
            number::push_unsigned(&mut line, weight);
            line.push(b'\n');
            out.write_all(&line)?;
        }
        Ok(())
    })
}

/// Appends a frame without `;` and line feeds, which would end it.
fn push_frame(line: &mut Vec<u8>, label: &str) {
    line.extend(printable(label).bytes().map(|byte| if byte == b';' { b':' } else { byte }));
}
