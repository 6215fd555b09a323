//! Sessions with well-behaved runtimes of all ages.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use ichnos_dotnet_diagnostics::messages::{Command, HResult};
use ichnos_dotnet_diagnostics::providers::Rundown;
use ichnos_dotnet_diagnostics::{Adjustment, Session, SessionChunk, SessionEnd};

use crate::fake_runtime::{FakeRuntime, RUNDOWN, SESSION, TIMEOUTS, options, refuse, reply, tracing_runtime};

#[test]
fn a_session_is_read_and_stopped() {
    let runtime = FakeRuntime::start(tracing_runtime());
    let mut session =
        Session::start(&runtime.endpoint(), &options(Rundown::Default, true), TIMEOUTS).unwrap();
    assert_eq!((session.id(), session.adjustments()), (SESSION, &[][..]));
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match session.read_chunk(&mut buffer, Duration::from_millis(200)).unwrap() {
            SessionChunk::Data(count) => all.extend(&buffer[..count]),
            SessionChunk::Nothing => {}
            SessionChunk::End => break,
        }
        if all.len() > 30 {
            session.stop().unwrap();
            session.stop().unwrap();
        }
    }
    assert_eq!(session.end(), Some(&SessionEnd::Stopped));
    assert_eq!(session.length(), all.len() as u64);
    assert!(all.starts_with(b"Nettraceeventsevents"));
    assert!(all.iter().filter(|byte| **byte == b'r').count() > RUNDOWN);
    assert_eq!(session.read_chunk(&mut buffer, Duration::ZERO).unwrap(), SessionChunk::End);
    drop(session);
    assert_eq!(runtime.commands(), [Command::CollectTracing2, Command::StopTracing]);
}

#[test]
fn a_session_ends_with_the_process() {
    let runtime = FakeRuntime::start(|_, _, stream| {
        reply(stream, &SESSION.to_le_bytes());
        stream.write_all(b"Nettrace...").unwrap();
    });
    let mut session =
        Session::start(&runtime.endpoint(), &options(Rundown::Omitted, true), TIMEOUTS).unwrap();
    let mut all = Vec::new();
    session.read_to_end(&mut all).unwrap();
    assert_eq!((&*all, session.end()), (&b"Nettrace..."[..], Some(&SessionEnd::Closed)));
    drop(session);
    assert_eq!(runtime.commands(), [Command::CollectTracing2]);
}

#[test]
fn the_process_ends_before_the_stop_request() {
    let runtime = FakeRuntime::start(|_, _, stream| {
        reply(stream, &SESSION.to_le_bytes());
        thread::sleep(Duration::from_millis(50));
    });
    let mut session =
        Session::start(&runtime.endpoint(), &options(Rundown::Omitted, true), TIMEOUTS).unwrap();
    drop(runtime);
    session.stop().unwrap();
    assert_eq!(session.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert_eq!(session.end(), Some(&SessionEnd::Closed));
}

#[test]
fn a_dropped_session_is_stopped() {
    let runtime = FakeRuntime::start(tracing_runtime());
    drop(Session::start(&runtime.endpoint(), &options(Rundown::Default, true), TIMEOUTS).unwrap());
    let start = Instant::now();
    while runtime.commands().last() != Some(&Command::StopTracing) {
        assert!(start.elapsed() < Duration::from_secs(20), "no stop request");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn older_runtimes_get_older_commands() {
    use Command::{CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4};
    let gc = Rundown::Keywords(1);
    let jit = Rundown::Keywords(0x11);
    let rundown = |used| Adjustment::Rundown { used };
    for (newest, wanted, stacks, adjustments) in [
        (CollectTracing4, gc, false, vec![]),
        (CollectTracing3, gc, true, vec![rundown(Rundown::Omitted)]),
        (CollectTracing3, jit, false, vec![rundown(Rundown::Default)]),
        (CollectTracing2, jit, false, vec![rundown(Rundown::Default), Adjustment::Stacks]),
        (CollectTracing2, Rundown::Omitted, true, vec![]),
        (CollectTracing, Rundown::Default, true, vec![]),
        (CollectTracing, Rundown::Omitted, true, vec![rundown(Rundown::Default)]),
        (CollectTracing, gc, false, vec![rundown(Rundown::Default), Adjustment::Stacks]),
    ] {
        let runtime = FakeRuntime::start(move |command, _, stream| match command.code() > newest.code() {
            true => refuse(stream, HResult::UNKNOWN_COMMAND),
            false => reply(stream, &SESSION.to_le_bytes()),
        });
        let session = Session::start(&runtime.endpoint(), &options(wanted, stacks), TIMEOUTS).unwrap();
        assert_eq!(session.adjustments(), adjustments, "{newest:?} {wanted:?} {stacks}");
    }
}

#[test]
fn refused_sessions_are_errors() {
    let runtime = FakeRuntime::start(|_, _, stream| refuse(stream, HResult(0x8000_4005)));
    let error = Session::start(&runtime.endpoint(), &options(Rundown::Default, true), TIMEOUTS).unwrap_err();
    assert_eq!(error.to_string(), "the .NET runtime refused `CollectTracing2`: failed (0x80004005)");
    assert_eq!(runtime.commands().len(), 1);
    let old = FakeRuntime::start(|_, _, stream| refuse(stream, HResult::UNKNOWN_COMMAND));
    let error = Session::start(&old.endpoint(), &options(Rundown::Keywords(1), false), TIMEOUTS).unwrap_err();
    assert_eq!(error.to_string(), "the .NET runtime refused `CollectTracing`: unknown command (0x80131385)");
    assert_eq!(old.commands().len(), 4);
}
