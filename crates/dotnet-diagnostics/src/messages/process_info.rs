//! Replies to `ProcessInfo`, `ProcessInfo2` and `ProcessInfo3`.

use std::fmt;

use super::command::Command;
use super::message_error::MessageError;
use super::payload::PayloadReader;

/// Random id of a runtime instance, unique across PID namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuntimeCookie(pub [u8; 16]);

impl fmt::Display for RuntimeCookie {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first three members of a GUID are little-endian numbers.
        const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
        for (position, index) in ORDER.into_iter().enumerate() {
            if matches!(position, 4 | 6 | 8 | 10) {
                formatter.write_str("-")?;
            }
            write!(formatter, "{:02x}", self.0[index])?;
        }
        Ok(())
    }
}

/// Description of a process by its runtime. Older runtimes leave texts empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Process id in the process's own PID namespace.
    pub pid: u64,
    /// Id of the runtime instance.
    pub cookie: RuntimeCookie,
    /// Executable path and arguments, separated by spaces.
    pub command_line: String,
    /// Operating system, for example `Linux`.
    pub operating_system: String,
    /// Architecture, for example `x64`.
    pub architecture: String,
    /// Name of the assembly with the entry point. Empty before the runtime has loaded it.
    pub assembly: String,
    /// Runtime version, for example `10.0.25`.
    pub runtime_version: String,
    /// Runtime identifier, for example `linux-x64`.
    pub runtime_identifier: String,
}

impl ProcessInfo {
    /// Decodes the reply to a command. Ignores members that later versions append.
    ///
    /// # Errors
    /// If the payload ends too early.
    pub fn decode(command: Command, payload: &[u8]) -> Result<Self, MessageError> {
        let mut reader = PayloadReader::new(payload);
        let version = match command {
            Command::ProcessInfo3 => reader.u32("version")?,
            _ => 0,
        };
        let mut info = Self {
            pid: reader.u64("process id")?,
            cookie: RuntimeCookie(reader.bytes("runtime cookie")?),
            command_line: reader.text("command line")?,
            operating_system: reader.text("operating system")?,
            architecture: reader.text("architecture")?,
            ..Self::default()
        };
        if command != Command::ProcessInfo {
            info.assembly = reader.text("assembly name")?;
            info.runtime_version = reader.text("runtime version")?;
        }
        if version >= 1 {
            info.runtime_identifier = reader.text("runtime identifier")?;
        }
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::super::payload::push_text;
    use super::*;

    fn payload(command: Command, version: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        if command == Command::ProcessInfo3 {
            bytes.extend(version.to_le_bytes());
        }
        bytes.extend(4_711_u64.to_le_bytes());
        bytes.extend(0..16);
        let texts: &[&str] = match command {
            Command::ProcessInfo => &["/bin/app -x", "Linux", "x64"],
            Command::ProcessInfo2 => &["/bin/app -x", "Linux", "x64", "app", "6.0.1"],
            _ => &["/bin/app -x", "Linux", "x64", "app", "10.0.25", "linux-x64"],
        };
        for text in texts {
            push_text(&mut bytes, text).unwrap();
        }
        bytes
    }

    #[test]
    fn all_versions_are_decoded() {
        for (command, version, expected) in [
            (Command::ProcessInfo, 0, ["", "", ""]),
            (Command::ProcessInfo2, 0, ["app", "6.0.1", ""]),
            (Command::ProcessInfo3, 1, ["app", "10.0.25", "linux-x64"]),
            (Command::ProcessInfo3, 9, ["app", "10.0.25", "linux-x64"]),
            (Command::ProcessInfo3, 0, ["app", "10.0.25", ""]),
        ] {
            let mut bytes = payload(command, version);
            bytes.extend(b"later members");
            let info = ProcessInfo::decode(command, &bytes).unwrap();
            assert_eq!((info.pid, &*info.command_line), (4_711, "/bin/app -x"));
            assert_eq!((&*info.operating_system, &*info.architecture), ("Linux", "x64"));
            assert_eq!([&*info.assembly, &*info.runtime_version, &*info.runtime_identifier], expected);
            assert_eq!(info.cookie.to_string(), "03020100-0504-0706-0809-0a0b0c0d0e0f");
        }
    }

    #[test]
    fn each_end_is_an_error() {
        for command in [Command::ProcessInfo, Command::ProcessInfo2, Command::ProcessInfo3] {
            let bytes = payload(command, 1);
            for length in 0..bytes.len() {
                let error = ProcessInfo::decode(command, &bytes[..length]).unwrap_err();
                assert!(matches!(error, MessageError::Truncated { .. }), "{length}: {error}");
            }
        }
    }
}
