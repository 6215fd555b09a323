//! Encoded resources and scopes.

use std::collections::HashMap;

use ichnos_model::digest::ValueHash;

use super::encoding::OtlpEncoding;
use super::schema::resource;

/// Maximum number of scopes. Further elements have none.
const MOST_SCOPES: usize = 1 << 16;

/// Encoded resource or scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct EncodedOrigin {
    /// Fields of the message.
    pub(super) message: Vec<u8>,
    /// URL of the schema, or empty.
    pub(super) schema_url: String,
}

impl EncodedOrigin {
    /// Creates an origin from encoded attributes of a resource.
    pub(super) fn of_resource(encoding: OtlpEncoding, attributes: &[u8]) -> Self {
        let mut message = Vec::new();
        encoding.elements(&mut message, resource::ATTRIBUTES, attributes);
        Self { message, schema_url: String::new() }
    }

    /// Returns a hash of the content.
    pub(super) fn hash(&self) -> u64 {
        let mut hash = ValueHash::new(u64::MAX);
        hash.add(self.message.len() as u64);
        hash.bytes(&self.message);
        hash.bytes(self.schema_url.as_bytes());
        hash.finish()
    }
}

/// Scopes by number. Number 0 is the scope without a name.
#[derive(Debug)]
pub(super) struct NumberedScopes {
    encoding: OtlpEncoding,
    numbers: HashMap<EncodedOrigin, u32>,
    list: Vec<EncodedOrigin>,
}

impl NumberedScopes {
    pub(super) fn new(encoding: OtlpEncoding) -> Self {
        let none = EncodedOrigin::default();
        Self { encoding, numbers: HashMap::from([(none.clone(), 0)]), list: vec![none] }
    }

    /// Returns the number of the scope with a name.
    pub(super) fn named(&mut self, name: &str) -> u32 {
        let mut scope = EncodedOrigin::default();
        self.encoding.set_text(&mut scope.message, resource::SCOPE_NAME, name.as_bytes());
        self.number(&scope).unwrap_or(0)
    }

    /// Returns the number of a scope. `None` if there are too many.
    pub(super) fn number(&mut self, scope: &EncodedOrigin) -> Option<u32> {
        if let Some(number) = self.numbers.get(scope) {
            return Some(*number);
        }
        if self.list.len() >= MOST_SCOPES {
            return None;
        }
        let number = self.list.len() as u32;
        self.list.push(scope.clone());
        self.numbers.insert(scope.clone(), number);
        Some(number)
    }

    /// Returns the scope with a number.
    pub(super) fn get(&self, number: u32) -> Option<&EncodedOrigin> {
        self.list.get(number as usize)
    }
}
