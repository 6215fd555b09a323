//! Origin of a record in the newer forms.

use super::argument::{Argument, Value};
use super::encoder::MAX_TEXT;
use super::error::{LogError, Rule};
use super::record::Record;
use super::text::Text;
use super::word::{load, padding_bits, words_for};

/// URL of the component for control records without a URL.
pub const ARCHIVIST_URL: &str = "fuchsia-boot:///archivist#meta/archivist.cm";

/// Content of a control record, about the records with its [tag](Record::tag).
///
/// With a count, it reports discarded records of the component. Without a count, it names the component for the tag
/// from here on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control<'a> {
    /// `moniker`, a string: component path in the system.
    pub moniker: Option<Text<'a>>,
    /// `url`, a string: component URL.
    pub url: Option<Text<'a>>,
    /// `rolled_out`, unsigned: number of records discarded to free space.
    pub rolled_out: Option<u64>,
}

/// Origin of a record, from the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attribution<'a> {
    /// Component path in the system.
    pub moniker: Option<Text<'a>>,
    /// Component URL.
    pub url: Option<Text<'a>>,
    /// Number of component records discarded before this one to free space.
    pub rolled_out: u64,
}

impl<'a> Record<'a> {
    /// Returns the content of a control record. If an argument name repeats, the last argument wins.
    #[must_use]
    pub fn control(&self) -> Option<Control<'a>> {
        if !self.is_control() {
            return None;
        }
        let mut control = Control::default();
        for argument in self.arguments().map_while(Result::ok) {
            match argument.value {
                Value::Text(text) if argument.name.is("moniker") => control.moniker = Some(text),
                Value::Text(text) if argument.name.is("url") => control.url = Some(text),
                Value::Unsigned(count) if argument.name.is("rolled_out") => control.rolled_out = Some(count),
                _ => {}
            }
        }
        Some(control)
    }

    /// Returns the attribution appended by the archivist, and the index of its first argument. It can only use the last
    /// arguments.
    #[must_use]
    pub fn appended(&self) -> Option<(Attribution<'a>, usize)> {
        let mut appended: Option<(Attribution<'a>, usize)> = None;
        for (index, argument) in self.arguments().map_while(Result::ok).enumerate() {
            let (mut attribution, first) = appended.unwrap_or((Attribution::default(), index));
            appended = attribution.read_argument(&argument).then_some((attribution, first));
        }
        appended
    }
}

impl<'a> Attribution<'a> {
    /// Reads an archivist argument. Returns `false` for any other argument.
    fn read_argument(&mut self, argument: &Argument<'a>) -> bool {
        match argument.value {
            Value::Text(text) if argument.name.is("$__moniker") => self.moniker = Some(text),
            Value::Text(text) if argument.name.is("$__url") => self.url = Some(text),
            Value::Unsigned(count) if argument.name.is("$__rolled_out") => self.rolled_out = count,
            _ => return false,
        }
        true
    }

    /// Reads the attribution after an extended record, and returns the bytes after it.
    ///
    /// The attribution has the sizes of the moniker and the URL (32 bits each), the number of discarded records (64
    /// bits), the moniker and the URL. Both texts are padded. `record` and `at` are the input offsets of the record and
    /// of `bytes`, for errors. `report` receives errors that do not prevent reading.
    ///
    /// # Errors
    /// If bytes are missing, or a text is longer than [`MAX_TEXT`] or not UTF-8.
    pub fn read_extended(
        bytes: &'a [u8],
        record: u64,
        at: u64,
        report: &mut dyn FnMut(LogError),
    ) -> Result<(Self, &'a [u8]), LogError> {
        let (words, _) = bytes.as_chunks::<8>();
        let short =
            |needed: u64| LogError::new(Rule::ExtendedTruncated, record, at, needed, bytes.len() as u64);
        let [lengths, rolled_out, texts @ ..] = words else { return Err(short(16)) };
        let lengths = load(lengths);
        let sizes = [lengths as u32, (lengths >> 32) as u32].map(|size| size as usize);
        for (size, at) in sizes.into_iter().zip([at, at + 4]) {
            if size > MAX_TEXT {
                let (most, size) = (MAX_TEXT as u64, size as u64);
                return Err(LogError::new(Rule::ExtendedTextTooLong, record, at, most, size));
            }
        }
        let [moniker, url] = sizes;
        let needed = 16 + 8 * (words_for(moniker) + words_for(url));
        let Some(rest) = bytes.get(needed..) else { return Err(short(needed as u64)) };

        let mut text_at = at + 16;
        let mut left = texts;
        let mut text = |length: usize| {
            // Both texts fit: the size was checked above.
            let (own, rest) = left.split_at_checked(words_for(length)).unwrap_or_default();
            left = rest;
            let bytes = own.as_flattened().get(..length).unwrap_or_default();
            if let Err(error) = core::str::from_utf8(bytes) {
                let byte = error.valid_up_to();
                let found = bytes.get(byte).copied().unwrap_or(0);
                let at = text_at + byte as u64;
                return Err(LogError::new(Rule::ExtendedUtf8, record, at, 0, found.into()));
            }
            if let Some((byte, found)) = bytes.iter().enumerate().find(|(_, byte)| byte.is_ascii_control()) {
                let at = text_at + byte as u64;
                report(LogError::new(Rule::ExtendedControl, record, at, 0, (*found).into()));
            }
            let padding = own.last().map_or(0, load) & padding_bits(length);
            if padding != 0 {
                let at = text_at + length as u64;
                report(LogError::new(Rule::ExtendedPadding, record, at, 0, padding));
            }
            text_at += own.len() as u64 * 8;
            Ok(Text::from(bytes))
        };
        let (moniker, url) = (Some(text(moniker)?), Some(text(url)?));
        Ok((Self { moniker, url, rolled_out: load(rolled_out) }, rest))
    }
}
