//! Raw metadata options (section 2.3.1, Option Format).

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawOption<'a> {
    /// Option type: 1 to 255.
    pub number: u8,
    /// Payload with at most 253 bytes.
    pub payload: &'a [u8],
}

/// Iterator over options, up to the first option of type 0.
#[derive(Clone, Debug)]
pub struct OptionIter<'a> {
    rest: &'a [u8],
}

impl<'a> OptionIter<'a> {
    pub(crate) fn new(options: &'a [u8]) -> Self {
        Self { rest: options }
    }

    /// Returns the unread bytes. At the end, they are the padding.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for OptionIter<'a> {
    type Item = RawOption<'a>;

    fn next(&mut self) -> Option<RawOption<'a>> {
        match *self.rest {
            [number, length, ref rest @ ..] if number != 0 => {
                let (payload, rest) = rest.split_at_checked(usize::from(length))?;
                self.rest = rest;
                Some(RawOption { number, payload })
            }
            _ => None,
        }
    }
}
