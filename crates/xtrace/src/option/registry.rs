//! Which options there are, and how each is propagated.

use core::fmt;

use super::{ChainId, Severity, TenantClass};
use crate::edge::EdgeKind;

/// The most bytes of a payload (section 2.3.1, Option Format).
const MAX_PAYLOAD: usize = 253;
/// How many definitions a registry has room for.
const MAX_DEFINITIONS: usize = 32;

/// What an option has after a new operation replaced the last one (section 4).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Propagation {
    /// It is copied, as are all options that no registry knows.
    Copy,
    /// It is only meant for who receives it.
    Drop,
    /// Somebody decides.
    Replace(Replace),
}

/// Decides what becomes of an option, from the edge to the new operation and the payload, which it may change, and
/// says whether the option stays. If there is no room for another payload, the old one stays.
pub type Replace = fn(EdgeKind, &mut Payload) -> bool;

/// A payload, inline.
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

    /// Replaces it; false, and nothing is changed, if there are more than 253 bytes.
    pub fn set(&mut self, bytes: &[u8]) -> bool {
        let Some(place) = self.bytes.get_mut(..bytes.len()) else { return false };
        place.copy_from_slice(bytes);
        self.length = bytes.len() as u8;
        true
    }

    /// Its bytes.
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

/// An option that is known.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its type: 1 to 255.
    pub number: u8,
    /// Its name, for people.
    pub name: &'static str,
    /// How it is propagated.
    pub propagation: Propagation,
}

/// The options that are known, with how each is propagated.
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
    /// Whether there is one that is not copied.
    has_rules: bool,
}

impl Registry {
    /// The options of the original libraries and of later systems: ChainId, Severity, tenant class. All of them
    /// are copied; a fork sets its own ChainId.
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

    /// The same with one more option; None if its number is 0 or taken, or there are 32 options already.
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

    /// The same with a number for [`Destination`](super::Destination), which is copied; None if the number is 0
    /// or taken, or there are 32 options already.
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

    /// The number of [`Destination`](super::Destination), if it has one here.
    #[must_use]
    pub const fn destination(&self) -> Option<u8> {
        self.destination
    }

    /// What is known of options of a type.
    #[must_use]
    pub fn definition(&self, number: u8) -> Option<&Definition> {
        self.definitions.iter().flatten().find(|definition| definition.number == number)
    }

    /// Whether options can just be copied.
    pub(crate) fn copies_all(&self) -> bool {
        !self.has_rules
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::standard()
    }
}
