//! Exemplars: single measurements of a data point.

use ichnos_model::telemetry::element_field;

use crate::any_value::{AnyValue, NamedValue, ValueDecoder};
use crate::fault::Decoded;
use crate::input::FieldInput;
use crate::schema::exemplar;

/// Decodes an exemplar as a list of its fields. Fields with their default values are left out.
pub(crate) fn exemplar<'a>(input: FieldInput<'a, '_>, values: &mut ValueDecoder) -> Decoded<AnyValue<'a>> {
    let mut time = 0;
    let mut value = None;
    let (mut trace, mut span): (Option<[u8; 16]>, Option<[u8; 8]>) = (None, None);
    let mut attributes = Vec::new();
    input.fields(exemplar::FIELDS, |field, input| {
        match field {
            exemplar::TIME => time = input.unsigned()?,
            exemplar::DOUBLE => value = Some(AnyValue::Double(input.double()?)),
            exemplar::INTEGER => value = Some(AnyValue::Integer(input.signed()?)),
            exemplar::SPAN_ID => span = input.id()?,
            exemplar::TRACE_ID => trace = input.id()?,
            _ => values.pairs(input, &mut attributes)?,
        }
        Ok(())
    })?;
    let members = [
        (element_field::TIME, Some(time).filter(|time| *time != 0).map(AnyValue::Time)),
        (element_field::VALUE, value),
        (element_field::TRACE_ID, trace.map(|id| AnyValue::id(&id))),
        (element_field::SPAN_ID, span.map(|id| AnyValue::id(&id))),
        (
            element_field::ATTRIBUTES,
            Some(attributes).filter(|attributes| !attributes.is_empty()).map(AnyValue::List),
        ),
    ];
    let members = members.into_iter().filter_map(|(name, value)| Some(NamedValue::new(name, value?)));
    Ok(AnyValue::List(members.collect()))
}
