//! Environment variables of a process.

use super::command::Command;
use super::message::Request;
use super::message_error::MessageError;
use super::payload::{PayloadReader, push_text};

/// Size of the environment, in the reply to `ProcessEnvironment`. The variables follow on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentSize(pub usize);

impl EnvironmentSize {
    /// Maximum size of the variables, in bytes. Linux limits a new process to less.
    pub const LIMIT: u32 = 16 << 20;

    /// Decodes the reply.
    ///
    /// # Errors
    /// If the payload is too short, or if the size is over the limit.
    pub fn decode(payload: &[u8]) -> Result<Self, MessageError> {
        let size = PayloadReader::new(payload).u32("environment size")?;
        if size > Self::LIMIT {
            let (length, limit) = (u64::from(size), u64::from(Self::LIMIT));
            return Err(MessageError::Limit { field: "environment", length, limit });
        }
        Ok(Self(size as usize))
    }
}

/// Decodes the environment variables after the reply. A variable without `=` has an empty value.
///
/// # Errors
/// If the bytes end too early.
pub fn environment_from(bytes: &[u8]) -> Result<Vec<(String, String)>, MessageError> {
    let mut reader = PayloadReader::new(bytes);
    let count = reader.u32("number of variables")?;
    let mut variables = Vec::new();
    for _ in 0..count {
        let variable = reader.text("environment variable")?;
        let (name, value) = variable.split_once('=').unwrap_or((&variable, ""));
        variables.push((name.to_owned(), value.to_owned()));
    }
    Ok(variables)
}

/// Creates a `SetEnvironmentVariable` request. An empty value removes the variable.
///
/// # Errors
/// If a text is too long.
pub fn set_environment_variable(name: &str, value: &str) -> Result<Request, MessageError> {
    let mut payload = Vec::new();
    push_text(&mut payload, name)?;
    push_text(&mut payload, value)?;
    Ok(Request { command: Command::SetEnvironmentVariable, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_decoded() {
        let mut bytes = 3_u32.to_le_bytes().to_vec();
        for variable in ["A=b=c", "EMPTY=", "BARE"] {
            push_text(&mut bytes, variable).unwrap();
        }
        let expected = [("A", "b=c"), ("EMPTY", ""), ("BARE", "")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(environment_from(&bytes).unwrap(), expected);
        for length in 0..bytes.len() {
            assert!(environment_from(&bytes[..length]).is_err(), "{length}");
        }
        assert_eq!(environment_from(&[0; 4]), Ok(vec![]));
        // A count without variables allocates nothing.
        assert!(environment_from(&[0xff; 4]).is_err());
    }

    #[test]
    fn sizes_are_limited() {
        let size = |size: u32| EnvironmentSize::decode(&[&size.to_le_bytes()[..], &[0, 0]].concat());
        assert_eq!(size(4), Ok(EnvironmentSize(4)));
        assert_eq!(size(16 << 20), Ok(EnvironmentSize(16 << 20)));
        assert!(matches!(size(u32::MAX), Err(MessageError::Limit { .. })));
        assert!(EnvironmentSize::decode(&[1, 2]).is_err());
    }

    #[test]
    fn variables_are_set() {
        let request = set_environment_variable("A", "").unwrap();
        let expected = b"DOTNET_IPC_V1\0\x20\0\x04\x03\0\0\x02\0\0\0A\0\0\0\0\0\0\0";
        assert_eq!(request.encode().unwrap(), expected);
    }
}
