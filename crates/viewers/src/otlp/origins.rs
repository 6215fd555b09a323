//! Encoded resources and scopes.

use std::collections::HashMap;
use std::sync::Arc;

use ichnos_model::digest::ValueHash;

use super::encoding::OtlpEncoding;
use super::schema::resource;

/// Maximum number of scopes. Further elements have none.
const MOST_SCOPES: usize = 1 << 16;

/// Maximum size of all scopes, and of all resources, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// Size of a scope or a resource beside its fields, in bytes.
const ORIGIN: usize = 256;

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

/// Memory of scopes or resources, which is limited.
#[derive(Debug, Default)]
pub(super) struct OriginMemory {
    bytes: usize,
}

impl OriginMemory {
    /// Takes memory for an origin. Returns `false` if there is too little left.
    pub(super) fn take(&mut self, origin: &EncodedOrigin) -> bool {
        let bytes = self.bytes.saturating_add(ORIGIN + origin.message.len() + origin.schema_url.len());
        let fits = bytes <= MOST_BYTES;
        if fits {
            self.bytes = bytes;
        }
        fits
    }
}

/// Scopes by number. Number 0 is the scope without a name.
#[derive(Debug)]
pub(super) struct NumberedScopes {
    encoding: OtlpEncoding,
    numbers: HashMap<Arc<EncodedOrigin>, u32>,
    list: Vec<Arc<EncodedOrigin>>,
    memory: OriginMemory,
}

impl NumberedScopes {
    pub(super) fn new(encoding: OtlpEncoding) -> Self {
        let none = Arc::new(EncodedOrigin::default());
        let numbers = HashMap::from([(Arc::clone(&none), 0)]);
        Self { encoding, numbers, list: vec![none], memory: OriginMemory::default() }
    }

    /// Returns the number of the scope with a name.
    pub(super) fn named(&mut self, name: &str) -> u32 {
        let mut scope = EncodedOrigin::default();
        self.encoding.set_text(&mut scope.message, resource::SCOPE_NAME, name.as_bytes());
        self.number(&scope).unwrap_or(0)
    }

    /// Returns the number of a scope. `None` if there are too many, or if they are too large.
    pub(super) fn number(&mut self, scope: &EncodedOrigin) -> Option<u32> {
        if let Some(number) = self.numbers.get(scope) {
            return Some(*number);
        }
        if self.list.len() >= MOST_SCOPES || !self.memory.take(scope) {
            return None;
        }
        let number = self.list.len() as u32;
        let scope = Arc::new(scope.clone());
        self.list.push(Arc::clone(&scope));
        self.numbers.insert(scope, number);
        Some(number)
    }

    /// Returns the scope with a number.
    pub(super) fn get(&self, number: u32) -> Option<&EncodedOrigin> {
        self.list.get(number as usize).map(|scope| &**scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(number: usize, bytes: usize) -> EncodedOrigin {
        let message = [number.to_le_bytes().to_vec(), vec![0; bytes]].concat();
        EncodedOrigin { message, schema_url: String::new() }
    }

    #[test]
    fn scopes_keep_their_numbers() {
        let mut scopes = NumberedScopes::new(OtlpEncoding::Json);
        let numbers = [1, 2, 1].map(|number| scopes.number(&origin(number, 0)));
        assert_eq!(numbers, [Some(1), Some(2), Some(1)]);
        assert_eq!(scopes.number(&EncodedOrigin::default()), Some(0));
        assert_eq!(scopes.get(2), Some(&origin(2, 0)));
        for number in 3..MOST_SCOPES {
            assert_eq!(scopes.number(&origin(number, 0)), Some(number as u32));
        }
        assert_eq!(scopes.number(&origin(MOST_SCOPES, 0)), None);
        assert_eq!(scopes.number(&origin(9, 0)), Some(9));
    }

    #[test]
    fn large_scopes_are_limited() {
        let mut scopes = NumberedScopes::new(OtlpEncoding::Json);
        let known = (0..100).take_while(|number| scopes.number(&origin(*number, 1 << 20)).is_some()).count();
        assert_eq!(known, MOST_BYTES / ((1 << 20) + ORIGIN + 8));
        // A smaller one still fits.
        assert!(scopes.number(&origin(200, 0)).is_some());
    }
}
