//! Replies of the runtime.

use std::fmt;

use super::message::{Header, encode};
use super::message_error::MessageError;
use super::payload::PayloadReader;

/// Command set of replies.
const SERVER: u8 = 0xff;
const OK: u8 = 0;
const ERROR: u8 = 0xff;

/// Reply of the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The command succeeded. The payload depends on the command.
    Ok(Vec<u8>),
    /// The command failed.
    Error(HResult),
}

impl Reply {
    /// Decodes a reply from a header and its payload.
    ///
    /// # Errors
    /// If the message is not a reply, or if an error has no code.
    pub fn decode(header: Header, payload: Vec<u8>) -> Result<Self, MessageError> {
        match (header.set, header.id) {
            (SERVER, OK) => Ok(Self::Ok(payload)),
            // Runtimes send 4 bytes. The document also shows 8.
            (SERVER, ERROR) => {
                PayloadReader::new(&payload).u32("error code").map(|code| Self::Error(HResult(code)))
            }
            (set, id) => Err(MessageError::Reply { set, id }),
        }
    }

    /// Encodes a reply, as a runtime does.
    ///
    /// # Errors
    /// If the payload is longer than [`MAX_PAYLOAD`](super::MAX_PAYLOAD).
    pub fn encode(&self) -> Result<Vec<u8>, MessageError> {
        match self {
            Self::Ok(payload) => encode(SERVER, OK, payload),
            Self::Error(code) => encode(SERVER, ERROR, &code.0.to_le_bytes()),
        }
    }
}

/// Error code of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HResult(pub u32);

impl HResult {
    /// Success.
    pub const OK: Self = Self(0);
    /// The runtime does not know the command: it is older than the command.
    pub const UNKNOWN_COMMAND: Self = Self(0x8013_1385);

    /// Returns the meaning of a known code.
    #[must_use]
    pub fn meaning(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "success",
            0x8000_4005 => "failed",
            0x8000_00cb => "environment variable not found",
            0x8007_000e => "out of memory",
            0x8007_0057 => "invalid argument",
            0x8007_007a => "buffer too small",
            0x8013_135b => "not available yet",
            0x8013_1371 => "runtime not initialized",
            0x8013_1384 => "invalid message encoding",
            0x8013_1385 => "unknown command",
            0x8013_1386 => "unknown protocol version",
            0x8013_1515 => "not supported",
            _ => return None,
        })
    }
}

impl fmt::Display for HResult {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.meaning() {
            Some(meaning) => write!(formatter, "{meaning} (0x{:08x})", self.0),
            None => write!(formatter, "error 0x{:08x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Reply, MessageError> {
        let (header, payload) = bytes.split_at(Header::LENGTH);
        Reply::decode(Header::decode(header.try_into().unwrap())?, payload.to_vec())
    }

    #[test]
    fn replies_come_back() {
        for reply in [
            Reply::Ok(vec![]),
            Reply::Ok(vec![1, 2, 3]),
            Reply::Error(HResult::UNKNOWN_COMMAND),
            Reply::Error(HResult(1)),
        ] {
            assert_eq!(decode(&reply.encode().unwrap()), Ok(reply));
        }
        let documented = b"DOTNET_IPC_V1\0\x1c\0\xff\xff\0\0\x84\x13\x13\x80\0\0\0\0";
        assert_eq!(decode(documented), Ok(Reply::Error(HResult(0x8013_1384))));
    }

    #[test]
    fn other_messages_are_refused() {
        let request = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
        assert_eq!(decode(request), Err(MessageError::Reply { set: 4, id: 1 }));
        let short = b"DOTNET_IPC_V1\0\x17\0\xff\xff\0\0\x84\x13\x13";
        assert_eq!(decode(short), Err(MessageError::Truncated { field: "error code", needed: 4, left: 3 }));
    }

    #[test]
    fn codes_are_explained() {
        assert_eq!(HResult::UNKNOWN_COMMAND.to_string(), "unknown command (0x80131385)");
        assert_eq!(HResult(0x8000_1234).to_string(), "error 0x80001234");
    }
}
