//! Commands that a client sends.

/// Command of a request. The numbers are from the section "Commands" of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Stops a session.
    StopTracing,
    /// Starts a session with rundown and stacks.
    CollectTracing,
    /// Starts a session, with rundown or without.
    CollectTracing2,
    /// Starts a session, with stacks or without.
    CollectTracing3,
    /// Starts a session with rundown keywords. .NET 9 and later.
    CollectTracing4,
    /// Starts a session with event filters. .NET 10 and later.
    CollectTracing5,
    /// Asks for command line, operating system and architecture.
    ProcessInfo,
    /// Resumes a suspended runtime.
    ResumeRuntime,
    /// Asks for the environment variables.
    ProcessEnvironment,
    /// Sets an environment variable.
    SetEnvironmentVariable,
    /// Also asks for assembly name and runtime version. .NET 6 and later.
    ProcessInfo2,
    /// Also asks for the runtime identifier. .NET 8 and later.
    ProcessInfo3,
}

/// Commands with their sets, ids and names.
const COMMANDS: [(Command, u8, u8, &str); 12] = [
    (Command::StopTracing, 2, 1, "StopTracing"),
    (Command::CollectTracing, 2, 2, "CollectTracing"),
    (Command::CollectTracing2, 2, 3, "CollectTracing2"),
    (Command::CollectTracing3, 2, 4, "CollectTracing3"),
    (Command::CollectTracing4, 2, 5, "CollectTracing4"),
    (Command::CollectTracing5, 2, 6, "CollectTracing5"),
    (Command::ProcessInfo, 4, 0, "ProcessInfo"),
    (Command::ResumeRuntime, 4, 1, "ResumeRuntime"),
    (Command::ProcessEnvironment, 4, 2, "ProcessEnvironment"),
    (Command::SetEnvironmentVariable, 4, 3, "SetEnvironmentVariable"),
    (Command::ProcessInfo2, 4, 4, "ProcessInfo2"),
    (Command::ProcessInfo3, 4, 8, "ProcessInfo3"),
];

impl Command {
    /// Returns the command set and the command id.
    #[must_use]
    pub fn code(self) -> (u8, u8) {
        let row = COMMANDS.iter().find(|row| row.0 == self);
        row.map_or((0, 0), |row| (row.1, row.2))
    }

    /// Returns the command with a command set and a command id.
    #[must_use]
    pub fn from_code(set: u8, id: u8) -> Option<Self> {
        COMMANDS.iter().find(|row| (row.1, row.2) == (set, id)).map(|row| row.0)
    }

    /// Returns the name in the protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        COMMANDS.iter().find(|row| row.0 == self).map_or("unknown", |row| row.3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_found_again() {
        for (command, set, id, name) in COMMANDS {
            assert_eq!(command.code(), (set, id), "{name}");
            assert_eq!(Command::from_code(set, id), Some(command), "{name}");
            assert_eq!(command.name(), name);
        }
        assert_eq!(Command::from_code(1, 1), None, "dumps");
    }
}
