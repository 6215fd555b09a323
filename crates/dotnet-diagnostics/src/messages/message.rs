//! Headers and requests.

use super::command::Command;
use super::message_error::MessageError;

/// First bytes of each message.
const MAGIC: &[u8; 14] = b"DOTNET_IPC_V1\0";

/// Maximum payload length: the size in the header has 16 bits.
pub const MAX_PAYLOAD: usize = u16::MAX as usize - Header::LENGTH;

/// Message header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Command set.
    pub set: u8,
    /// Command id.
    pub id: u8,
    /// Payload length, in bytes.
    pub payload: usize,
}

impl Header {
    /// Header length, in bytes.
    pub const LENGTH: usize = 20;

    /// Decodes a header. Ignores the reserved bytes.
    ///
    /// # Errors
    /// If the bytes are not a header, or if the message size is smaller than the header.
    pub fn decode(bytes: &[u8; Self::LENGTH]) -> Result<Self, MessageError> {
        let [magic @ .., size0, size1, set, id, _, _] = bytes;
        if magic != MAGIC {
            return Err(MessageError::Magic { expected: "`DOTNET_IPC_V1`" });
        }
        let size = u16::from_le_bytes([*size0, *size1]);
        let payload = usize::from(size).checked_sub(Self::LENGTH).ok_or(MessageError::Size { size })?;
        Ok(Self { set: *set, id: *id, payload })
    }
}

/// Request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Command.
    pub command: Command,
    /// Payload, encoded for the command.
    pub payload: Vec<u8>,
}

impl Request {
    /// Creates a request without payload.
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self { command, payload: Vec::new() }
    }

    /// Encodes the message.
    ///
    /// # Errors
    /// If the payload is longer than [`MAX_PAYLOAD`].
    pub fn encode(&self) -> Result<Vec<u8>, MessageError> {
        let (set, id) = self.command.code();
        encode(set, id, &self.payload)
    }
}

/// Encodes a header and a payload.
pub(crate) fn encode(set: u8, id: u8, payload: &[u8]) -> Result<Vec<u8>, MessageError> {
    let length = payload.len();
    let size = length.checked_add(Header::LENGTH).and_then(|size| u16::try_from(size).ok());
    let limit = MAX_PAYLOAD as u64;
    let size = size.ok_or(MessageError::Limit { field: "payload", length: length as u64, limit })?;
    let mut bytes = Vec::with_capacity(usize::from(size));
    bytes.extend(MAGIC);
    bytes.extend(size.to_le_bytes());
    bytes.extend([set, id, 0, 0]);
    bytes.extend(payload);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_encoded() {
        let bytes = Request::new(Command::ResumeRuntime).encode().unwrap();
        assert_eq!(bytes, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0");
        let request = Request { command: Command::StopTracing, payload: vec![7; 8] };
        assert_eq!(
            request.encode().unwrap(),
            b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x07\x07\x07\x07\x07\x07\x07\x07"
        );
    }

    #[test]
    fn a_payload_has_a_limit() {
        let request = |length| Request { command: Command::CollectTracing, payload: vec![0; length] };
        assert_eq!(request(MAX_PAYLOAD).encode().unwrap().len(), 65_535);
        let error = request(MAX_PAYLOAD + 1).encode().unwrap_err();
        assert_eq!(error.to_string(), "`payload` has 65516 bytes: the limit is 65515");
    }

    #[test]
    fn headers_are_decoded() {
        let header = |size: u16, magic: &[u8; 14]| {
            let mut bytes = [0; Header::LENGTH];
            bytes[..14].copy_from_slice(magic);
            bytes[14..16].copy_from_slice(&size.to_le_bytes());
            bytes[16..].copy_from_slice(&[0xff, 0, 9, 9]);
            Header::decode(&bytes)
        };
        assert_eq!(header(20, MAGIC), Ok(Header { set: 0xff, id: 0, payload: 0 }));
        assert_eq!(header(65_535, MAGIC), Ok(Header { set: 0xff, id: 0, payload: 65_515 }));
        assert_eq!(header(19, MAGIC), Err(MessageError::Size { size: 19 }));
        assert_eq!(header(0, MAGIC), Err(MessageError::Size { size: 0 }));
        assert!(matches!(header(20, b"DOTNET_IPC_V2\0"), Err(MessageError::Magic { .. })));
    }
}
