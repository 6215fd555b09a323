//! Guesses the signal of requests in protobuf, which do not tell it.

use crate::request_signal::RequestSignal;
use crate::wire::{WireReader, WireValue};
use crate::wire_schema::WireKind;

/// Field of the request, and of the data of a metric.
const FIRST: u32 = 1;

/// Field of the scopes of a resource, and of the elements of a scope.
const INNER: u32 = 2;

/// Highest number of a field in any element. Later versions can have more.
const MOST_KNOWN: u32 = 16;

/// Signals that an element can belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SignalSet(u8);

impl SignalSet {
    const ALL: Self = Self(0b111);

    fn without(self, signal: RequestSignal) -> Self {
        Self(self.0 & !(1 << signal as u8))
    }

    fn has(self, signal: RequestSignal) -> bool {
        self.0 & 1 << signal as u8 != 0
    }

    /// Returns the signals in both sets. `None` if there are none.
    fn and(self, other: Self) -> Option<Self> {
        Some(Self(self.0 & other.0)).filter(|set| set.0 != 0)
    }

    /// Returns the only signal. `None` if there are several.
    fn only(self) -> Option<RequestSignal> {
        let mut signals = RequestSignal::ALL.iter().filter(|signal| self.has(**signal));
        signals.next().copied().filter(|_| signals.next().is_none())
    }
}

/// What the elements so far show.
#[derive(Clone, Copy)]
pub(crate) struct SignalGuess {
    possible: SignalSet,
    /// `true` if an element has data points with a time.
    has_points: bool,
    /// `true` if an element has the identifier of a trace in place of a name.
    has_trace_id: bool,
}

impl SignalGuess {
    const UNKNOWN: Self = Self { possible: SignalSet::ALL, has_points: false, has_trace_id: false };

    /// Guesses the signal of a request.
    pub(crate) fn of_request(bytes: &[u8]) -> Self {
        let mut guess = Self::UNKNOWN;
        for_each_message(bytes, FIRST, |resource| guess.add_resource(resource));
        guess
    }

    /// Guesses the signal of `ResourceSpans` or one of the others.
    pub(crate) fn of_resource(bytes: &[u8]) -> Self {
        let mut guess = Self::UNKNOWN;
        guess.add_resource(bytes);
        guess
    }

    /// Returns the signal that the elements show. `None` if they can belong to several signals.
    pub(crate) fn certain(self) -> Option<RequestSignal> {
        self.possible.only().or_else(|| self.has_points.then_some(RequestSignal::Metrics))
    }

    /// Returns the most probable signal. Spans have identifiers, and metrics a name, so that anything else is a log
    /// record.
    pub(crate) fn signal(self) -> RequestSignal {
        self.certain().unwrap_or_else(|| {
            if self.has_trace_id && self.possible.has(RequestSignal::Traces) {
                RequestSignal::Traces
            } else if self.possible.has(RequestSignal::Logs) {
                RequestSignal::Logs
            } else {
                RequestSignal::Metrics
            }
        })
    }

    /// Adds the elements of a resource. Returns `true` if they are certain.
    fn add_resource(&mut self, resource: &[u8]) -> bool {
        for_each_message(resource, INNER, |scope| {
            for_each_message(scope, INNER, |element| {
                self.add(element);
                self.certain().is_some()
            })
        })
    }

    fn add(&mut self, element: &[u8]) {
        // Others are damaged.
        let Some(possible) = self.possible.and(signals_of(element)) else { return };
        self.possible = possible;
        let mut reader = WireReader::new(element, 0);
        while let Ok(Some((number, value))) = reader.field() {
            let WireValue::Bytes(bytes, _) = value else { continue };
            self.has_trace_id |= number == FIRST && bytes.len() == 16 && !is_plain(bytes);
            self.has_points |= possible.has(RequestSignal::Metrics)
                && matches!(number, 5 | 7 | 9 | 10 | 11)
                && has_timed_points(bytes);
        }
    }
}

/// Passes the messages of a field to `take`, until it returns `true`. Returns `true` then.
fn for_each_message(bytes: &[u8], field: u32, mut take: impl FnMut(&[u8]) -> bool) -> bool {
    let mut reader = WireReader::new(bytes, 0);
    // Damage is reported when the elements are read.
    while let Ok(Some((number, value))) = reader.field() {
        if let WireValue::Bytes(message, _) = value
            && number == field
            && take(message)
        {
            return true;
        }
    }
    false
}

/// Returns the signals whose elements can have the fields of an element.
fn signals_of(element: &[u8]) -> SignalSet {
    let (mut by_type, mut by_content) = (SignalSet::ALL, SignalSet::ALL);
    let mut reader = WireReader::new(element, 0);
    while let Ok(Some((number, value))) = reader.field() {
        for signal in RequestSignal::ALL.iter().copied() {
            match WireKind::of_field(WireKind::of_elements(signal), number) {
                Some(kind) if !kind.has_type(value) => by_type = by_type.without(signal),
                Some(kind) if !kind.fits(value) => by_content = by_content.without(signal),
                None if number <= MOST_KNOWN => by_type = by_type.without(signal),
                _ => {}
            }
        }
    }
    // Values can be damaged, or of a later version.
    let found = by_type.and(by_content).or_else(|| by_type.and(SignalSet::ALL));
    found.unwrap_or(SignalSet::ALL)
}

/// Returns `true` if the data of a metric has points with a time.
fn has_timed_points(data: &[u8]) -> bool {
    for_each_message(data, FIRST, |point| {
        let mut reader = WireReader::new(point, 0);
        while let Ok(Some((number, value))) = reader.field() {
            if matches!((number, value), (3, WireValue::Fixed64(_))) {
                return true;
            }
        }
        false
    })
}

/// Returns `true` for a text without control characters, which names have and identifiers hardly ever.
fn is_plain(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(char::is_control))
}

/// Returns `true` if an element has fields, and can belong to a signal.
pub(crate) fn is_element(element: &[u8]) -> bool {
    let mut reader = WireReader::new(element, 0);
    let mut possible = RequestSignal::ALL.map(WireKind::of_elements).to_vec();
    let mut is_empty = true;
    loop {
        match reader.field() {
            Ok(None) => return !is_empty && !possible.is_empty(),
            Ok(Some((number, value))) => {
                is_empty = false;
                possible.retain(|schema| match WireKind::of_field(schema, number) {
                    Some(kind) => kind.fits(value),
                    None => number > MOST_KNOWN,
                });
            }
            Err(_) => return false,
        }
    }
}
