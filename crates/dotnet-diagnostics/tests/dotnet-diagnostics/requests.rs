//! Requests beside sessions.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ichnos_dotnet_diagnostics::messages::{Command, HResult};

use crate::fake_runtime::{FakeRuntime, refuse, reply};

const SECOND: Duration = Duration::from_secs(1);

fn text(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let bytes = units.iter().flat_map(|unit| unit.to_le_bytes());
    u32::try_from(units.len()).unwrap().to_le_bytes().into_iter().chain(bytes).collect()
}

fn describe(command: Command, stream: &mut UnixStream) {
    let mut payload = if command == Command::ProcessInfo3 { vec![1, 0, 0, 0] } else { vec![] };
    payload.extend(4_711_u64.to_le_bytes());
    payload.extend([9; 16]);
    payload.extend(["app", "Linux", "arm64", "shop", "8.0.1", "linux-arm64"].into_iter().flat_map(text));
    reply(stream, &payload);
}

#[test]
fn processes_describe_themselves() {
    use Command::{ProcessInfo, ProcessInfo2, ProcessInfo3};
    for (known, version, asked) in [
        (ProcessInfo3, "8.0.1", &[ProcessInfo3][..]),
        (ProcessInfo2, "8.0.1", &[ProcessInfo3, ProcessInfo2]),
        (ProcessInfo, "", &[ProcessInfo3, ProcessInfo2, ProcessInfo]),
    ] {
        let runtime = FakeRuntime::start(move |command, _, stream| match command == known {
            true => describe(command, stream),
            false => refuse(stream, HResult::UNKNOWN_COMMAND),
        });
        let info = runtime.endpoint().process_info(SECOND).unwrap();
        assert_eq!((info.pid, &*info.architecture, &*info.runtime_version), (4_711, "arm64", version));
        assert_eq!(runtime.commands(), asked);
    }
    let old = FakeRuntime::start(|_, _, stream| refuse(stream, HResult::UNKNOWN_COMMAND));
    let error = old.endpoint().process_info(SECOND).unwrap_err();
    assert_eq!(error.help(), Some("the runtime is too old for this command"));
}

#[test]
fn environments_are_read_and_changed() {
    let runtime = FakeRuntime::start(|command, payload, stream| match command {
        Command::ProcessEnvironment => {
            let variables = [&[2, 0, 0, 0][..], &text("A=1"), &text("B=x=y")].concat();
            let size = u32::try_from(variables.len()).unwrap();
            reply(stream, &[&size.to_le_bytes()[..], &[0, 0]].concat());
            stream.write_all(&variables).unwrap();
        }
        Command::SetEnvironmentVariable if payload == [text("A"), text("2")].concat() => {
            reply(stream, &[0; 4])
        }
        Command::ResumeRuntime => reply(stream, &[]),
        _ => reply(stream, &0x8007_0057_u32.to_le_bytes()),
    });
    let endpoint = runtime.endpoint();
    let variables = endpoint.environment(SECOND).unwrap();
    let expected = [("A", "1"), ("B", "x=y")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(variables, expected);
    endpoint.set_environment_variable("A", "2", SECOND).unwrap();
    let error = endpoint.set_environment_variable("A", "3", SECOND).unwrap_err();
    let expected = "the .NET runtime refused `SetEnvironmentVariable`: invalid argument (0x80070057)";
    assert_eq!(error.to_string(), expected);
    endpoint.resume(SECOND).unwrap();
}
