//! Where reports are sent to.

use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Registry;
use crate::metadata::{Metadata, MetadataRef, OptionsFull};

/// The option Destination: where reports of the task are to be sent, if not to the usual place.
///
/// The document names it, but it never got a number or a layout. So its payload is opaque, and its number is what
/// a [registry](Registry::with_destination) says. An [address](Self::address) is a convention of this crate.
///
/// A program that reads metadata from a network should not send reports where they say without a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Destination<'a>(pub &'a [u8]);

impl<'a> Destination<'a> {
    /// The destination of metadata; None if they have none, or the registry has no number for it.
    #[must_use]
    pub fn of(metadata: MetadataRef<'a>, registry: &Registry) -> Option<Self> {
        metadata.option(registry.destination()?).map(Self)
    }

    /// Sets the destination of metadata; false if the registry has no number for it.
    ///
    /// # Errors
    /// If there is no room for the option.
    pub fn set(self, metadata: &mut Metadata, registry: &Registry) -> Result<bool, OptionsFull> {
        match registry.destination() {
            Some(number) => metadata.set_option(number, self.0).map(|()| true),
            None => Ok(false),
        }
    }

    /// The payload as an address: 4 or 16 bytes of IPv4 or IPv6, and 2 of the port, the most significant ones
    /// first; None if it has another length.
    #[must_use]
    pub fn address(self) -> Option<SocketAddr> {
        let (ip, port) = self.0.split_last_chunk::<2>()?;
        let port = u16::from_be_bytes(*port);
        if let Ok(ip) = <[u8; 4]>::try_from(ip) {
            return Some((Ipv4Addr::from(ip), port).into());
        }
        <[u8; 16]>::try_from(ip).ok().map(|ip| (Ipv6Addr::from(ip), port).into())
    }

    /// An address as a payload, written into a buffer.
    pub fn of_address(address: SocketAddr, buffer: &'a mut [u8; 18]) -> Self {
        let length = match address {
            SocketAddr::V4(address) => {
                buffer[..4].copy_from_slice(&address.ip().octets());
                4
            }
            SocketAddr::V6(address) => {
                buffer[..16].copy_from_slice(&address.ip().octets());
                16
            }
        };
        buffer[length..length + 2].copy_from_slice(&address.port().to_be_bytes());
        Self(&buffer[..length + 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::{Definition, Propagation};

    #[test]
    fn addresses() {
        let registry = Registry::standard().with_destination(0xC2).unwrap();
        for address in ["127.0.0.1:7831", "[::1]:80"] {
            let address = address.parse().unwrap();
            let mut metadata = Metadata::parse("10CAFEBABE01020304").unwrap();
            let mut buffer = [0; 18];
            let destination = Destination::of_address(address, &mut buffer);
            assert_eq!(destination.set(&mut metadata, &registry), Ok(true));
            assert_eq!(Destination::of(metadata.as_ref(), &registry), Some(destination));
            assert_eq!(Destination::of(metadata.as_ref(), &Registry::standard()), None);
            assert_eq!(destination.address(), Some(address));
        }
        assert_eq!(Destination(b"elsewhere").address(), None);
        assert_eq!(
            Destination(b"").set(&mut Metadata::parse("10CAFEBABE01020304").unwrap(), &Registry::standard()),
            Ok(false)
        );
        let taken = registry.with(Definition { number: 0xC2, name: "mine", propagation: Propagation::Drop });
        assert!(taken.is_none());
    }
}
