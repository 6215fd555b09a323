//! Requests: resources, scopes, and their spans, log records and data points.

use std::borrow::Cow;
use std::ops::Range;

use crate::data_point::{DataPoint, MetricHead};
use crate::draft::EventDraft;
use crate::fault::{Decoded, RequestFault};
use crate::input::{EncodedMessage, FieldInput, RequestEncoding};
use crate::log_record::LogRecord;
use crate::origin::OriginMessage;
use crate::request_signal::RequestSignal;
use crate::schema::{request, resource_elements, scope_elements};
use crate::signal_guess::SignalGuess;
use crate::span::SpanRecord;

/// A decoded span, log record or data point.
#[derive(Debug)]
pub(crate) enum RequestElement<'a> {
    Span(Box<SpanRecord<'a>>),
    Log(Box<LogRecord<'a>>),
    Point(DataPoint<'a>, &'a MetricHead),
}

impl<'a> RequestElement<'a> {
    /// Decodes an element. A data point has the properties of its metric.
    pub(crate) fn decode(
        signal: RequestSignal,
        message: &EncodedMessage<'a>,
        metric: Option<&'a MetricHead>,
    ) -> Decoded<Self> {
        Ok(match (signal, metric) {
            (RequestSignal::Traces, _) => Self::Span(Box::new(SpanRecord::decode(message)?)),
            (RequestSignal::Metrics, Some(metric)) => {
                Self::Point(DataPoint::decode(message, metric)?, metric)
            }
            _ => Self::Log(Box::new(LogRecord::decode(message)?)),
        })
    }

    /// Passes the number and the time of each event of the element to `take`.
    pub(crate) fn for_each_part(&self, mut take: impl FnMut(u32, u64)) {
        match self {
            Self::Span(span) => span.parts().for_each(|(part, time)| take(part, time)),
            Self::Log(log) => take(0, log.time()),
            Self::Point(point, _) => take(0, point.time),
        }
    }

    /// Returns one of its events.
    pub(crate) fn into_draft(self, part: u32) -> EventDraft<'a> {
        match self {
            Self::Span(span) => span.into_draft(part),
            Self::Log(log) => log.into_draft(),
            Self::Point(point, metric) => point.into_draft(metric),
        }
    }
}

/// Origin of the elements that follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementOrigin<'m, 'a> {
    pub(crate) signal: RequestSignal,
    pub(crate) resource: OriginMessage<'m, 'a>,
    pub(crate) scope: OriginMessage<'m, 'a>,
    /// Number of the resource message in the request. Scopes of a resource share it.
    pub(crate) resource_number: usize,
    /// Number of the scope message in the request. Metrics of a scope share it.
    pub(crate) scope_number: usize,
    /// Metric, with its offset in the request.
    pub(crate) metric: Option<(&'m MetricHead, usize)>,
}

/// Receives the elements of a request. An error ends the request.
pub(crate) trait ElementVisitor {
    /// Receives the origin of the elements that follow.
    fn origin(&mut self, origin: &ElementOrigin<'_, '_>) -> Decoded<()>;

    /// Receives an element, with its range in the request.
    fn element(&mut self, element: &RequestElement<'_>, range: Range<usize>) -> Decoded<()>;

    /// Receives the reason why an element cannot be decoded, and its range.
    fn rejected(&mut self, signal: RequestSignal, fault: RequestFault, range: Range<usize>) -> Decoded<()>;
}

/// Passes the elements of a request to `visitor`. A protobuf request does not tell its signal: without `signal`, it is
/// derived from the fields of the elements.
///
/// # Errors
/// Fails at data that hides the elements after it.
pub(crate) fn visit_request(
    bytes: &[u8],
    encoding: RequestEncoding,
    signal: Option<RequestSignal>,
    visitor: &mut dyn ElementVisitor,
) -> Decoded<()> {
    let names = match (encoding, signal) {
        (RequestEncoding::Protobuf, _) => request::PROTOBUF,
        // Other signals are unknown fields.
        (RequestEncoding::Json, Some(signal)) => {
            request::JSON.get(signal as usize..=signal as usize).unwrap_or_default()
        }
        (RequestEncoding::Json, None) => request::JSON,
    };
    let guess = match (encoding, signal) {
        (RequestEncoding::Protobuf, None) => SignalGuess::of_request(bytes).signal(),
        _ => RequestSignal::Traces,
    };
    let mut walk = RequestWalk { visitor, guess, resources: 0, scopes: 0 };
    EncodedMessage::whole(bytes, encoding).fields(names, |field, input| {
        let named = match field {
            request::SPANS => RequestSignal::Traces,
            request::LOGS => RequestSignal::Logs,
            _ => RequestSignal::Metrics,
        };
        let signal = match encoding {
            RequestEncoding::Protobuf => signal,
            RequestEncoding::Json => Some(named),
        };
        input.each(|input| walk.resource_elements(input, signal))
    })
}

/// Returns an error if something follows the JSON object.
///
/// # Errors
/// Fails if the request is not one JSON object.
pub(crate) fn check_end(bytes: &[u8], encoding: RequestEncoding) -> Decoded<()> {
    if encoding == RequestEncoding::Protobuf {
        return Ok(());
    }
    let mut reader = ichnos_json::read::Reader::new(bytes);
    reader.skip()?;
    match reader.peek() {
        None => Ok(()),
        Some(_) => Ok(reader.error("the end of the request")?),
    }
}

struct RequestWalk<'v> {
    visitor: &'v mut dyn ElementVisitor,
    /// Signal of elements that do not show theirs.
    guess: RequestSignal,
    /// Numbers of resource messages and scope messages so far.
    resources: usize,
    scopes: usize,
}

impl RequestWalk<'_> {
    /// Visits `ResourceSpans` or one of the others. Fields can be in any order, so the resource is read first.
    fn resource_elements(&mut self, input: FieldInput<'_, '_>, signal: Option<RequestSignal>) -> Decoded<()> {
        let (message, Range { start: mut at, .. }) = input.message()?;
        // Requests of several signals can be concatenated.
        let signal = signal.unwrap_or_else(|| match &message {
            EncodedMessage::Wire(bytes, _) => SignalGuess::of_resource(bytes).certain().unwrap_or(self.guess),
            EncodedMessage::Json(_) => self.guess,
        });
        let (mut resource, mut schema_url) = (None, Cow::default());
        message.fields(resource_elements::HEAD, |field, input| {
            match field {
                resource_elements::RESOURCE => {
                    let (message, range) = input.message()?;
                    (resource, at) = (Some(message), range.start);
                }
                _ => schema_url = input.text()?,
            }
            Ok(())
        })?;
        self.resources += 1;
        let resource = OriginMessage { message: resource.as_ref(), at, schema_url: &schema_url };
        message.fields(resource_elements::SCOPES[signal as usize], |_, input| {
            input.each(|input| self.scope_elements(input, resource, signal))
        })
    }

    /// Visits `ScopeSpans` or one of the others.
    fn scope_elements(
        &mut self,
        input: FieldInput<'_, '_>,
        resource: OriginMessage<'_, '_>,
        signal: RequestSignal,
    ) -> Decoded<()> {
        let (message, Range { start: mut at, .. }) = input.message()?;
        let (mut scope, mut schema_url) = (None, Cow::default());
        message.fields(scope_elements::HEAD, |field, input| {
            match field {
                scope_elements::SCOPE => {
                    let (message, range) = input.message()?;
                    (scope, at) = (Some(message), range.start);
                }
                _ => schema_url = input.text()?,
            }
            Ok(())
        })?;
        let names = scope_elements::ELEMENTS[signal as usize];
        let scope = OriginMessage { message: scope.as_ref(), at, schema_url: &schema_url };
        let (resource_number, scope_number) = (self.resources - 1, self.scopes);
        self.scopes += 1;
        let origin = ElementOrigin { signal, resource, scope, resource_number, scope_number, metric: None };
        if signal != RequestSignal::Metrics {
            self.visitor.origin(&origin)?;
        }
        message.fields(names, |_, input| {
            input.each(|input| {
                let (element, range) = input.message()?;
                match signal {
                    RequestSignal::Metrics => self.metric(&element, range, origin),
                    _ => self.element(&element, range, &origin),
                }
            })
        })
    }

    /// Visits the data points of a metric.
    fn metric(
        &mut self,
        message: &EncodedMessage<'_>,
        range: Range<usize>,
        origin: ElementOrigin<'_, '_>,
    ) -> Decoded<()> {
        let head = match MetricHead::decode(message) {
            Ok(head) => head,
            Err(fault) => return self.visitor.rejected(origin.signal, fault, range),
        };
        let origin = ElementOrigin { metric: Some((&head, range.start)), ..origin };
        self.visitor.origin(&origin)?;
        MetricHead::points(message, |point, range| self.element(&point, range, &origin))
    }

    fn element(
        &mut self,
        message: &EncodedMessage<'_>,
        range: Range<usize>,
        origin: &ElementOrigin<'_, '_>,
    ) -> Decoded<()> {
        match RequestElement::decode(origin.signal, message, origin.metric.map(|(metric, _)| metric)) {
            Ok(element) => self.visitor.element(&element, range),
            Err(fault) => self.visitor.rejected(origin.signal, fault, range),
        }
    }
}
