//! Compiles conditions about parts: `x contains "y"`, `x startswith "y"`, `x endswith "y"`.

use std::sync::Arc;

use super::class::ValueType;
use super::compile::{Compiler, Mismatch, PartFact, bytes_of};
use super::program::{LeafTest, Needle, Test};
use super::syntax::{NodeKind, PartOp, SyntaxNode};
use super::typed::Typed;
use super::value::SortedRanges;

impl Compiler<'_> {
    /// Compiles the condition that a value contains a part.
    pub(super) fn has_part(
        &mut self,
        node: &SyntaxNode,
        op: PartOp,
        value: &SyntaxNode,
        part: &SyntaxNode,
    ) -> Test {
        let found = self.value(value);
        let literal = match &part.kind {
            NodeKind::Text(literal) => Some(literal),
            _ => None,
        };
        // The part is checked even if no value can contain it.
        let parts = self.value(part);
        self.test_values(node, found, |compiler, found| {
            if !matches!(found.kind, ValueType::Enumeration(_)) {
                compiler.findings.push(PartFact::Label(node.span.clone(), Ok(())));
            }
            match (&found.kind, literal) {
                (ValueType::Enumeration(names), Some(literal)) => {
                    let is_wanted = |name: &str| op.holds(name.as_bytes(), literal.text.as_bytes());
                    let ranges = compiler.ranges(names, is_wanted, &node.span);
                    Ok(compiler.leaf(LeafTest::Ranges(found.code, SortedRanges::new(ranges.0))))
                }
                (ValueType::Enumeration(_), None) => Err(Mismatch {
                    message: format!("{} is not a string in quotes", compiler.text(part)),
                    help: Some("to search the labels of an enumeration, write a string in quotes"),
                }),
                (ValueType::Blob, Some(literal)) => match bytes_of(&literal.text) {
                    Some(bytes) => Ok(compiler.leaf(LeafTest::Part(found.code, Arc::new(Needle::new(op, &bytes))))),
                    None => Err(Mismatch {
                        message: format!(
                            "{} is a BLOB, but {} is not",
                            compiler.text(value),
                            compiler.text(part)
                        ),
                        help: Some(
                            "bytes are written as hexadecimal digits, `\"0aff\"`; to look for text, write `x matches \"text\"`",
                        ),
                    }),
                },
                (ValueType::Text, Some(literal)) => {
                    Ok(compiler.leaf(LeafTest::Part(found.code, Arc::new(Needle::new(op, literal.text.as_bytes())))))
                }
                (ValueType::Text | ValueType::Blob, None) => {
                    compiler.part_of(op, (&found, value), (&parts, part))
                }
                (ValueType::Array(_) | ValueType::BitMap(_), _) if op == PartOp::Contains => {
                    compiler.contained(found, part, value)
                }
                (kind, _) => Err(Mismatch {
                    message: format!("expected a string, but {} is {}", compiler.text(value), kind.name()),
                    help: matches!(kind, ValueType::Array(_)).then_some("an element is written `a[0]`"),
                }),
            }
        })
    }

    /// Compiles the condition for a part that is not a literal.
    fn part_of(
        &self,
        op: PartOp,
        (found, value): (&Typed, &SyntaxNode),
        (parts, part): (&[Typed], &SyntaxNode),
    ) -> Result<Test, Mismatch> {
        let fits = parts.iter().filter(|part| part.kind == found.kind);
        let tests: Vec<Test> =
            fits.map(|part| self.leaf(LeafTest::PartOf(op, found.code.clone(), part.code.clone()))).collect();
        match parts.first() {
            Some(other) if tests.is_empty() => Err(Mismatch {
                message: format!(
                    "{} is {}, but {} is {}",
                    self.text(value),
                    found.kind.name(),
                    self.text(part),
                    other.kind.name()
                ),
                help: None,
            }),
            _ => Ok(Test::known(tests)),
        }
    }
}
