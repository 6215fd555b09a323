//! Message that a runtime sends first when it connects to a diagnostic port.

use super::message_error::MessageError;
use super::payload::PayloadReader;
use super::process_info::RuntimeCookie;

const MAGIC: &[u8; 8] = b"ADVR_V1\0";

/// Announcement of a runtime that connected to a diagnostic port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertise {
    /// Id of the runtime instance.
    pub cookie: RuntimeCookie,
    /// Process id in the process's own PID namespace.
    pub pid: u64,
}

impl Advertise {
    /// Message length, in bytes.
    pub const LENGTH: usize = 34;

    /// Decodes the message. Ignores the two bytes for future use.
    ///
    /// # Errors
    /// If the first bytes differ.
    pub fn decode(bytes: &[u8; Self::LENGTH]) -> Result<Self, MessageError> {
        let mut reader = PayloadReader::new(bytes);
        if &reader.bytes("magic")? != MAGIC {
            return Err(MessageError::Magic { expected: "`ADVR_V1`" });
        }
        let cookie = RuntimeCookie(reader.bytes("runtime cookie")?);
        Ok(Self { cookie, pid: reader.u64("process id")? })
    }

    /// Encodes the message, as a runtime does.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..24].copy_from_slice(&self.cookie.0);
        bytes[24..32].copy_from_slice(&self.pid.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_are_decoded() {
        let bytes = b"ADVR_V1\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x67\x12\0\0\0\0\0\0\0\0";
        let advertise = Advertise::decode(bytes).unwrap();
        assert_eq!(advertise.pid, 4_711);
        assert_eq!(advertise.cookie.to_string(), "04030201-0605-0807-090a-0b0c0d0e0f10");
        assert_eq!(&advertise.encode(), bytes);
        let mut other = *bytes;
        other[6] = b'2';
        assert_eq!(Advertise::decode(&other), Err(MessageError::Magic { expected: "`ADVR_V1`" }));
    }
}
