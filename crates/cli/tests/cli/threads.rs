//! If the system refuses threads, reading continues with fewer threads.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Directory, METADATA, Run, ichnos, packet};

/// Writes a trace with many packets, which can be divided into many parts.
fn trace() -> Directory {
    let directory = Directory::new("threads");
    let packets = (0..200).flat_map(|i| packet(&[i * 1000, i * 1000 + 1, i * 1000 + 2], 0));
    std::fs::write(directory.join("metadata"), METADATA).unwrap();
    std::fs::write(directory.join("stream"), packets.collect::<Vec<u8>>()).unwrap();
    directory
}

/// Runs a program as a user without other processes: process limits do not apply to root, and other users may have
/// processes.
pub fn other_user() -> Command {
    let user = (1 << 20 | std::process::id()).to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command
}

/// Runs a copy of the command as a user without other processes, with a limit of `most` processes and threads,
/// including itself. Prints a reason and returns `None` if this is impossible.
fn limited(directory: &Path, most: u32, arguments: &[&str]) -> Option<Run> {
    let program = directory.join("ichnos");
    if !program.exists() && std::fs::hard_link(env!("CARGO_BIN_EXE_ichnos"), &program).is_err() {
        std::fs::copy(env!("CARGO_BIN_EXE_ichnos"), &program).unwrap();
    }
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = other_user();
    command.arg("prlimit").arg(format!("--nproc={most}")).arg(&program).args(arguments);
    let output = command.env("TZ", "UTC").stdin(Stdio::null()).output();
    let Ok(output) = output else {
        eprintln!("skipped: `setpriv` is not installed");
        return None;
    };
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    if err.contains("setpriv:") || err.contains("prlimit:") {
        eprintln!("skipped: no other user here: {}", err.trim());
        return None;
    }
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(Run { code: output.status.code().unwrap_or(-1), out, err })
}

#[test]
fn reading_continues_with_fewer_threads() {
    let trace = trace();
    let path = trace.to_str().unwrap();
    let program = Directory::new("program");
    for format in ["pretty", "details", "jsonl", "log", "null"] {
        let arguments = ["cat", "--format", format, "--threads", "8", "--chunk-size", "500", "-v", path];
        let all = ichnos(arguments).expect(0, &[]);
        assert!(!all.err.contains("refuses"), "{}", all.err);
        for most in [1, 3, 5] {
            let Some(run) = limited(&program, most, &arguments) else { return };
            let run = run.expect(0, &[]);
            assert_eq!(run.out, all.out, "{format}, {most}");
            assert_eq!(run.err.contains("the system refuses further threads"), most == 1, "{}", run.err);
        }
    }
}
