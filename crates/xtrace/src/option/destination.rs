//! Report destination.

use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Registry;
use crate::metadata::{Metadata, MetadataRef, OptionsFull};

/// Option Destination: address for reports of the task, instead of the usual address.
///
/// The document mentions it without a number or a layout. So its payload is opaque, and a
/// [registry](Registry::with_destination) sets its number. The [address](Self::address) layout is a convention of this
/// crate.
///
/// Programs that receive metadata from a network must check the destination before sending reports there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Destination<'a>(pub &'a [u8]);

impl<'a> Destination<'a> {
    /// Returns the destination from metadata, or `None` without the option or without a number in the registry.
    #[must_use]
    pub fn from_metadata(metadata: MetadataRef<'a>, registry: &Registry) -> Option<Self> {
        metadata.option(registry.destination()?).map(Self)
    }

    /// Sets the destination in metadata. Returns `false` if the registry lacks a number for it.
    ///
    /// # Errors
    /// If the option does not fit.
    pub fn set(self, metadata: &mut Metadata, registry: &Registry) -> Result<bool, OptionsFull> {
        match registry.destination() {
            Some(number) => metadata.set_option(number, self.0).map(|()| true),
            None => Ok(false),
        }
    }

    /// Returns the payload as an address: 4 or 16 bytes for IPv4 or IPv6, then 2 bytes for the port, big-endian. `None`
    /// for another length.
    #[must_use]
    pub fn address(self) -> Option<SocketAddr> {
        let (ip, port) = self.0.split_last_chunk::<2>()?;
        let port = u16::from_be_bytes(*port);
        if let Ok(ip) = <[u8; 4]>::try_from(ip) {
            return Some((Ipv4Addr::from(ip), port).into());
        }
        <[u8; 16]>::try_from(ip).ok().map(|ip| (Ipv6Addr::from(ip), port).into())
    }

    /// Writes an address into a buffer as a payload.
    pub fn from_address(address: SocketAddr, buffer: &'a mut [u8; 18]) -> Self {
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
            let destination = Destination::from_address(address, &mut buffer);
            assert_eq!(destination.set(&mut metadata, &registry), Ok(true));
            assert_eq!(Destination::from_metadata(metadata.as_ref(), &registry), Some(destination));
            assert_eq!(Destination::from_metadata(metadata.as_ref(), &Registry::standard()), None);
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
