//! TOML files, with error positions.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::QueryError;
use super::suggestions::{alternatives, did_you_mean};

/// Maximum file size in bytes.
const LONGEST: u64 = 16 << 20;

/// A value with its position.
pub type TomlValue<'i> = Spanned<DeValue<'i>>;

/// Text of a TOML file.
#[derive(Clone, Debug, Default)]
pub struct TomlText {
    /// File name for messages.
    shown: String,
    text: String,
}

impl TomlText {
    /// Reads a file. `what` is the plural name of its kind, for errors.
    ///
    /// # Errors
    /// If it cannot be read, is too long, or is not UTF-8.
    pub fn read(path: &Path, what: &str) -> Result<Self, QueryError> {
        let shown = path.display().to_string();
        let failed = |error: &dyn std::fmt::Display| {
            QueryError::new(format!("{shown}: cannot be read: {error}")).at(&*shown, None)
        };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|error| failed(&error))?;
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if bytes.len() as u64 > LONGEST {
            return Err(failed(&format!("it is longer than 16 MiB, the maximum for {what}")));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            QueryError::new(format!("{shown}: byte {at}: expected text in UTF-8"))
                .at(&*shown, Some(at as u64))
        })?;
        Ok(Self { shown, text })
    }

    /// Parses the text.
    ///
    /// # Errors
    /// If it is not TOML.
    pub fn parse(&self) -> Result<Spanned<DeTable<'_>>, QueryError> {
        DeTable::parse(&self.text)
            .map_err(|error| self.failure(error.span().unwrap_or_default().start, error.message()))
    }

    /// Returns the tables `[[name]]`.
    ///
    /// # Errors
    /// If there are none.
    pub fn tables<'t, 'i>(
        &self,
        table: &'t DeTable<'i>,
        name: &str,
    ) -> Result<Vec<&'t TomlValue<'i>>, QueryError> {
        let Some(value) = table.get(name) else {
            return Err(self.failure(0, &format!("expected at least one table `[[{name}]]`, found none")));
        };
        let tables = value.get_ref().as_array();
        let tables =
            tables.ok_or_else(|| self.wrong(value, &format!("tables: `[[{name}]]`, one for each")))?;
        Ok(tables.iter().collect())
    }

    /// Returns the position of a byte as `FILE:LINE:COLUMN`.
    #[must_use]
    pub fn place(&self, at: usize) -> String {
        let before = self.text.get(..at).unwrap_or_default();
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("{}:{}:{column}", self.shown, self.line(at))
    }

    /// Returns the line number of a byte, from 1.
    #[must_use]
    pub fn line(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.bytes().filter(|byte| *byte == b'\n').count() + 1
    }

    /// Checks that all keys in a table are known.
    ///
    /// # Errors
    /// If one is not.
    pub fn check_keys(&self, table: &DeTable<'_>, known: &[&str]) -> Result<(), QueryError> {
        let unknown = table.keys().filter(|key| !known.contains(&&**key.get_ref()));
        // Tables are sorted by name. The error must name the first key in the file.
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let name = key.get_ref();
        let expected = alternatives(known.iter().copied());
        let failure = self.failure(key.span().start, &format!("expected {expected}, found the key `{name}`"));
        Err(failure.maybe_help(did_you_mean(name, known.iter().copied())))
    }

    /// Returns the error for a value with the wrong type.
    #[must_use]
    pub fn wrong(&self, value: &TomlValue<'_>, expected: &str) -> QueryError {
        let kind = value.get_ref().type_str();
        let Range { start, end } = value.span();
        let text = self.text.get(start..end).filter(|text| text.len() <= 60 && !text.contains('\n'));
        let found = match text {
            Some(text) => format!("{kind} `{text}`"),
            None => kind.to_owned(),
        };
        self.failure(start, &format!("expected {expected}, found {found}"))
    }

    /// Returns an error with the position of a byte.
    #[must_use]
    pub fn failure(&self, at: usize, what: &str) -> QueryError {
        QueryError::new(format!("{}: {what}", self.place(at))).at(&*self.shown, Some(at as u64))
    }
}
