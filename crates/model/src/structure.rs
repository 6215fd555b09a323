//! Walking over structures, part by part.
//!
//! What takes more than [loading bytes](crate::bytewise) - a part that does not fit, to begin with - is
//! left to [`Walk::node`], field by field, which knows everything and says what is wrong where.

use crate::ByteOrder;
use crate::decode_error::DecodeError;
use crate::part::{Load, Part, Run};
use crate::plan::align;
use crate::visitor::{Field, Visitor};
use crate::walk::Walk;

impl<'a, V: Visitor> Walk<'a, V> {
    #[inline]
    pub(crate) fn structure(&mut self, field: Field<'a>, parts: &'a [Part]) -> Result<(), DecodeError> {
        if V::WANTS_VALUES {
            self.visitor.begin_structure(field);
        }
        let bytewise = self.bytewise();
        // The next byte: here, rather than in the walk, it need not be stored for each part.
        let mut at = self.at.bit.div_ceil(8) as usize;
        let mut has_moved = false;
        for part in parts {
            if let Some(after) = bytewise.part(self.visitor, part, at) {
                at = after;
                has_moved = true;
                continue;
            }
            if has_moved {
                self.at = self.at.at_byte(at as u64 * 8);
                has_moved = false;
            }
            self.any_part(part)?;
            at = self.at.bit.div_ceil(8) as usize;
        }
        if has_moved {
            self.at = self.at.at_byte(at as u64 * 8);
        }
        if V::WANTS_VALUES {
            self.visitor.end_structure(field.with_offset(self.at.bit));
        }
        Ok(())
    }

    #[inline(never)]
    fn any_part(&mut self, part: &'a Part) -> Result<(), DecodeError> {
        match part {
            Part::Run(run) => self.any_run(run, None),
            Part::OpenRun(run, open_byte) => self.any_run(run, *open_byte),
            Part::Text(node)
            | Part::DynamicText(node, _)
            | Part::PrefixedText(node, _)
            | Part::Array(node, ..)
            | Part::Field(node) => self.node(node.id),
        }
    }

    /// A run of any kind.
    fn any_run(&mut self, run: &'a Run, open_byte: Option<ByteOrder>) -> Result<(), DecodeError> {
        let begin = align(self.at.bit, run.alignment).unwrap_or(u64::MAX);
        let after = begin.wrapping_add(run.size);
        if after > self.end || after < begin {
            if run.has_padding {
                self.at = self.at.at_byte(begin);
                return self.beyond(run.size);
            }
            // One by one, to say how far the fields fit.
            for field in &run.fields {
                self.node(field.node)?;
            }
            return Ok(());
        }
        let bytewise = self.bytewise();
        let fields = if V::WANTS_VALUES { &run.fields } else { &run.saving };
        let bytes = self.data.get((begin / 8) as usize..).unwrap_or_default();
        let mut left = bytewise.plain_fields(self.visitor, fields, begin, bytes);
        while let Some((field, rest)) = left.split_first() {
            if field.load == Load::Any {
                self.at = self.at.at_byte(begin + field.offset());
                self.node(field.node)?;
            } else {
                bytewise.other_field(self.visitor, run, field, begin, bytes);
            }
            left = bytewise.plain_fields(self.visitor, rest, begin, bytes);
        }
        self.at = self.at.behind(after, open_byte);
        Ok(())
    }
}
