//! Exemplars: single measurements of a data point.

use std::borrow::Cow;

use ichnos_model::telemetry::element_field;

use crate::any_value::{AnyValue, NamedValue, ValueDecoder};
use crate::fault::Decoded;
use crate::input::FieldInput;
use crate::schema::exemplar;
use crate::shape::{AnyShape, MemberShape};

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
            (!attributes.is_empty())
                .then(|| AnyValue::Array(attributes.into_iter().map(typed_pair).collect())),
        ),
    ];
    let members = members.into_iter().filter_map(|(name, value)| Some(NamedValue::new(name, value?)));
    Ok(AnyValue::List(members.collect()))
}

/// Returns an attribute as a structure of its name and one member, which is named after the type of its value.
fn typed_pair(attribute: NamedValue<'_>) -> AnyValue<'_> {
    let member = match &attribute.value {
        AnyValue::Nothing => None,
        AnyValue::Integer(_) => Some(element_field::INTEGER),
        AnyValue::Double(_) => Some(element_field::DOUBLE),
        AnyValue::Boolean(_) => Some(element_field::BOOLEAN),
        AnyValue::Bytes(_) => Some(element_field::BYTES),
        // Arrays and lists become JSON.
        _ => Some(element_field::TEXT),
    };
    let name = match attribute.name {
        Cow::Borrowed(name) => Cow::Borrowed(name.as_bytes()),
        Cow::Owned(name) => Cow::Owned(name.into_bytes()),
    };
    let name = NamedValue::new(element_field::NAME, AnyValue::Text(name));
    let value = member.map(|member| NamedValue::new(member, attribute.value));
    AnyValue::List([name].into_iter().chain(value).collect())
}

/// Returns the shape of exemplars. It has all members, so that exemplars with different fields and attributes do not take
/// a class each. It depends on the type of their values, and on whether an attribute becomes a text.
pub(crate) fn exemplar_shape(exemplars: &AnyValue<'_>) -> AnyShape {
    let (mut value_shape, mut text_shape) = (None, AnyShape::Text);
    for field in elements(exemplars).iter().flat_map(members) {
        match (&*field.name, &field.value) {
            (element_field::VALUE, value) => {
                let shape = AnyShape::new(value);
                value_shape = Some(value_shape.map_or(shape.clone(), |known: AnyShape| known.joined(shape)));
            }
            (element_field::ATTRIBUTES, attributes) => {
                let is_changed =
                    |member: &NamedValue<'_>| matches!(member.value, AnyValue::Array(_) | AnyValue::List(_));
                if elements(attributes).iter().flat_map(members).any(is_changed) {
                    text_shape = AnyShape::Mixed;
                }
            }
            _ => {}
        }
    }
    let pair = [
        MemberShape::new(element_field::NAME, AnyShape::Text),
        MemberShape::optional(element_field::TEXT, text_shape),
        MemberShape::optional(element_field::INTEGER, AnyShape::Integer),
        MemberShape::optional(element_field::DOUBLE, AnyShape::Double),
        MemberShape::optional(element_field::BOOLEAN, AnyShape::Boolean),
        MemberShape::optional(element_field::BYTES, AnyShape::Bytes),
    ];
    let exemplar = [
        MemberShape::optional(element_field::TIME, AnyShape::Time),
        MemberShape::optional(element_field::VALUE, value_shape.unwrap_or(AnyShape::Double)),
        MemberShape::optional(element_field::TRACE_ID, AnyShape::Text),
        MemberShape::optional(element_field::SPAN_ID, AnyShape::Text),
        MemberShape::optional(
            element_field::ATTRIBUTES,
            AnyShape::Array(Box::new(AnyShape::List(pair.into()))),
        ),
    ];
    AnyShape::Array(Box::new(AnyShape::List(exemplar.into())))
}

/// Returns the elements of an array.
fn elements<'v, 'a>(value: &'v AnyValue<'a>) -> &'v [AnyValue<'a>] {
    if let AnyValue::Array(elements) = value { elements } else { &[] }
}

/// Returns the members of a list.
fn members<'v, 'a>(value: &'v AnyValue<'a>) -> &'v [NamedValue<'a>] {
    if let AnyValue::List(members) = value { members } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{EncodedMessage, RequestEncoding};

    fn shape(exemplars: &str) -> AnyShape {
        let json = format!(r#"{{"exemplars":[{exemplars}]}}"#);
        let (mut values, mut found) = (ValueDecoder::default(), Vec::new());
        let message = EncodedMessage::whole(json.as_bytes(), RequestEncoding::Json);
        let read = message.fields(&[("exemplars", 1)], |_, input| {
            input.each(|input| {
                found.push(exemplar(input, &mut values)?);
                Ok(())
            })
        });
        assert!(read.is_ok());
        exemplar_shape(&AnyValue::Array(found))
    }

    #[test]
    fn exemplars_have_few_shapes() {
        let double = shape(r#"{"asDouble":1.5}"#);
        for same in [
            r#"{"asDouble":"NaN","timeUnixNano":"1","spanId":"00000000000000a1"},{}"#,
            r#"{"asDouble":1,"filteredAttributes":[{"key":"a","value":{"intValue":"1"}},{"key":"a"}]}"#,
            r#"{"filteredAttributes":[{"key":"b","value":{"bytesValue":"AA=="}}]}"#,
        ] {
            assert_eq!(shape(same), double, "{same}");
        }
        assert!(!double.is_lowered());
        assert_ne!(shape(r#"{"asInt":"1"}"#), double);
        for lowered in [
            r#"{"asInt":"1"},{"asDouble":1}"#,
            r#"{"filteredAttributes":[{"key":"b","value":{"arrayValue":{"values":[]}}}]}"#,
        ] {
            assert!(shape(lowered).is_lowered(), "{lowered}");
        }
    }
}
