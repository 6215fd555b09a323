//! Rows of a request.

use std::ops::Range;

use crate::any_value::{NamedValue, ValueDecoder};
use crate::fault::{Decoded, RequestFault};
use crate::input::{EncodedMessage, RequestEncoding, lossy};
use crate::request::{ElementOrigin, ElementVisitor, RequestElement, visit_request};
use crate::request_signal::RequestSignal;
use crate::row::{LogRow, RowOrigin, SpanRow, TextPairs, text_pairs};
use crate::schema::{resource, scope};

/// Attribute with the name of the service.
const SERVICE: &str = "service.name";

/// Receives the rows of a request.
///
/// # For implementations
/// Rows borrow from the request, so what is kept must be copied.
pub trait RowVisitor {
    /// Receives a span.
    fn span(&mut self, origin: &RowOrigin, span: &SpanRow<'_>);

    /// Receives a log record.
    fn log(&mut self, origin: &RowOrigin, log: &LogRow<'_>);

    /// Receives the reason why an element cannot be decoded.
    fn rejected(&mut self, reason: &str);
}

/// Passes the spans or log records of a request in protobuf to `visitor`. Data points are left out.
///
/// # Errors
/// Fails at data that hides the elements after it, with the offset and the reason.
pub fn visit_rows(
    bytes: &[u8],
    signal: RequestSignal,
    visitor: &mut dyn RowVisitor,
) -> Result<(), RequestFault> {
    let mut rows = Rows { visitor, origin: RowOrigin::default() };
    visit_request(bytes, RequestEncoding::Protobuf, Some(signal), &mut rows)
}

struct Rows<'v> {
    visitor: &'v mut dyn RowVisitor,
    origin: RowOrigin,
}

fn owned(pairs: &[NamedValue<'_>]) -> TextPairs<'static> {
    let pairs = text_pairs(pairs).into_iter();
    pairs.map(|(name, value)| (name.into_owned().into(), value.into_owned().into())).collect()
}

impl ElementVisitor for Rows<'_> {
    fn origin(&mut self, origin: &ElementOrigin<'_, '_>) -> Decoded<()> {
        let mut found = RowOrigin::default();
        let mut attributes = Vec::new();
        found.resource_schema = String::from_utf8_lossy(origin.resource.schema_url).into_owned();
        found.scope_schema = String::from_utf8_lossy(origin.scope.schema_url).into_owned();
        if let Some(message) = origin.resource.message {
            let mut values = ValueDecoder::default();
            message.fields(resource::FIELDS, |field, input| {
                match field {
                    resource::ATTRIBUTES => values.pairs(input, &mut attributes)?,
                    resource::ENTITIES => input.skip()?,
                    _ => found.dropped = found.dropped.saturating_add(input.unsigned()?),
                }
                Ok(())
            })?;
            found.resource = owned(&attributes);
            let service = found.resource.iter().find(|(name, _)| name == SERVICE);
            found.service = service.map_or_else(String::new, |(_, service)| service.to_string());
        }
        if let Some(message) = origin.scope.message {
            found.read_scope(message)?;
        }
        self.origin = found;
        Ok(())
    }

    fn element(&mut self, element: &RequestElement<'_>, _: Range<usize>) -> Decoded<()> {
        match element {
            RequestElement::Span(span) => self.visitor.span(&self.origin, &span.to_row()),
            RequestElement::Log(log) => self.visitor.log(&self.origin, &log.to_row()),
            RequestElement::Point(..) => {}
        }
        Ok(())
    }

    fn rejected(&mut self, _: RequestSignal, fault: RequestFault, _: Range<usize>) -> Decoded<()> {
        self.visitor.rejected(&fault.to_string());
        Ok(())
    }
}

impl RowOrigin {
    fn read_scope(&mut self, message: &EncodedMessage<'_>) -> Decoded<()> {
        let (mut values, mut attributes) = (ValueDecoder::default(), Vec::new());
        message.fields(scope::FIELDS, |field, input| {
            match field {
                scope::NAME => self.scope = lossy(input.text()?).into_owned(),
                scope::VERSION => self.scope_version = lossy(input.text()?).into_owned(),
                scope::ATTRIBUTES => values.pairs(input, &mut attributes)?,
                _ => self.dropped = self.dropped.saturating_add(input.unsigned()?),
            }
            Ok(())
        })?;
        self.scope_attributes = owned(&attributes);
        Ok(())
    }
}
