//! Registry for options and their propagation.

use core::fmt;

use super::{ChainId, Severity, TenantClass};
use crate::edge::EdgeKind;

/// Maximum payload length in bytes (section 2.3.1, Option Format).
const MAX_PAYLOAD: usize = 253;
/// Maximum number of definitions in a registry.
const MAX_DEFINITIONS: usize = 32;

/// Option treatment when a new operation replaces the last operation (section 4).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Propagation {
    /// The option is copied, like all options missing from the registry.
    Copy,
    /// The option is only for the receiver.
    Drop,
    /// A function decides.
    Replace(Replace),
}

/// Decides about an option from the edge to the new operation and the payload. The function can change the payload, and
/// returns `true` to keep the option. If a changed payload does not fit, the old payload is kept.
pub type Replace = fn(EdgeKind, &mut Payload) -> bool;

/// An inline payload.
#[derive(Clone)]
pub struct Payload {
    bytes: [u8; MAX_PAYLOAD],
    length: u8,
}

impl Payload {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut payload = Self { bytes: [0; MAX_PAYLOAD], length: 0 };
        payload.set(bytes);
        payload
    }

    /// Replaces the bytes. Returns `false` without a change if there are more than 253.
    pub fn set(&mut self, bytes: &[u8]) -> bool {
        let Some(place) = self.bytes.get_mut(..bytes.len()) else { return false };
        place.copy_from_slice(bytes);
        self.length = bytes.len() as u8;
        true
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().fmt(f)
    }
}

/// Option definition.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Option type: 1 to 255.
    pub number: u8,
    /// Display name.
    pub name: &'static str,
    /// Option propagation.
    pub propagation: Propagation,
}

/// Known options with their propagation.
///
/// ```
/// use ichnos_xtrace::option::{Definition, Propagation, Registry};
///
/// static REGISTRY: Registry = {
///     let hop = Definition { number: 0xD0, name: "hop", propagation: Propagation::Drop };
///     match Registry::standard().with(hop) {
///         Some(registry) => registry,
///         None => panic!("0xD0 is taken"),
///     }
/// };
/// assert_eq!(REGISTRY.definition(0xD0).map(|option| option.name), Some("hop"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    definitions: [Option<Definition>; MAX_DEFINITIONS],
    destination: Option<u8>,
    /// `true` unless all options are copied.
    has_rules: bool,
}

impl Registry {
    /// Returns the options of the original libraries and of later systems: ChainId, Severity, tenant class. All are
    /// copied. A fork sets a new ChainId.
    #[must_use]
    pub const fn standard() -> Self {
        let mut definitions = [None; MAX_DEFINITIONS];
        let known = [
            Definition { number: ChainId::NUMBER, name: "ChainId", propagation: Propagation::Copy },
            Definition { number: Severity::NUMBER, name: "Severity", propagation: Propagation::Copy },
            Definition { number: TenantClass::NUMBER, name: "TenantClass", propagation: Propagation::Copy },
        ];
        let mut index = 0;
        while index < known.len() {
            definitions[index] = Some(known[index]);
            index += 1;
        }
        Self { definitions, destination: None, has_rules: false }
    }

    /// Adds an option. Returns `None` if its number is 0 or in use, or if the registry already has 32 options.
    #[must_use]
    pub const fn with(mut self, new: Definition) -> Option<Self> {
        if new.number == 0 {
            return None;
        }
        let mut index = 0;
        while index < MAX_DEFINITIONS {
            match self.definitions[index] {
                Some(definition) if definition.number == new.number => return None,
                Some(_) => index += 1,
                None => {
                    self.definitions[index] = Some(new);
                    self.has_rules |= !matches!(new.propagation, Propagation::Copy);
                    return Some(self);
                }
            }
        }
        None
    }

    /// Adds a number for [`Destination`](super::Destination), which is copied. Returns `None` if the number is 0 or in
    /// use, or if the registry already has 32 options.
    #[must_use]
    pub const fn with_destination(self, number: u8) -> Option<Self> {
        let definition = Definition { number, name: "Destination", propagation: Propagation::Copy };
        match self.with(definition) {
            Some(mut registry) => {
                registry.destination = Some(number);
                Some(registry)
            }
            None => None,
        }
    }

    /// Returns the number of [`Destination`](super::Destination), if set.
    #[must_use]
    pub const fn destination(&self) -> Option<u8> {
        self.destination
    }

    /// Returns the definition for an option type.
    #[must_use]
    pub fn definition(&self, number: u8) -> Option<&Definition> {
        self.definitions.iter().flatten().find(|definition| definition.number == number)
    }

    /// Returns `true` if all options are copied.
    pub(crate) fn copies_all(&self) -> bool {
        !self.has_rules
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::standard()
    }
}
