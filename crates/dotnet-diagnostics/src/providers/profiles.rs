//! Profiles: providers for common questions.

use super::keywords::{RUNTIME_PRIVATE, RUNTIME_PROVIDER, SAMPLE_PROFILER};
use super::level::Level;
use super::provider::{FILTER_AND_PAYLOAD_SPECS, Provider, UNKEYED};
use super::provider_error::ProviderError;
use super::rundown::Rundown;

const TASKS: &str = "System.Threading.Tasks.TplEventSource";
const DIAGNOSTIC_SOURCE: &str = "Microsoft-Diagnostics-DiagnosticSource";
const HTTP_CLIENT: &str = "System.Net.Http";

/// Keyword of [`TASKS`]: activity ids flow through tasks.
const ACTIVITY_IDS: u64 = 0x80;
/// Keyword of [`DIAGNOSTIC_SOURCE`]: events.
const EVENTS: u64 = 2;
/// Keywords of [`DIAGNOSTIC_SOURCE`]: events, and messages about its filters.
const MESSAGES_AND_EVENTS: u64 = 3;

/// ADO.NET and Entity Framework commands. Connection strings are left out, because they can contain passwords.
const DATABASE_FILTERS: &[&str] = &[
    "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandBefore@Activity1Start:-Command.CommandText;Operation;ConnectionId;Command.CommandType;Command.Connection.Database;Command.Connection.DataSource",
    "SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandAfter@Activity1Stop:-Operation;ConnectionId",
    "SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommandBefore@Activity1Start:-Command.CommandText;Operation;ConnectionId;Command.CommandType;Command.Connection.Database;Command.Connection.DataSource",
    "SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommandAfter@Activity1Stop:-Operation;ConnectionId",
    "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting@Activity2Start:-Command.CommandText;CommandId;ConnectionId;IsAsync;Command.CommandType;Command.Connection.Database;Command.Connection.DataSource",
    "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted@Activity2Stop:-CommandId;ConnectionId",
];

/// ASP.NET Core and `HttpClient` requests. Query strings are left out, because they can contain secrets.
const HTTP_FILTERS: &[&str] = &[
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Start@Activity1Start:-Request.Method;Request.Scheme;Request.Host;Request.Path;TraceId=*Activity.TraceId;SpanId=*Activity.SpanId;ParentSpanId=*Activity.ParentSpanId",
    "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn.Stop@Activity1Stop:-Response.StatusCode;SpanId=*Activity.SpanId;DurationTicks=*Activity.Duration.Ticks",
    // Without this line, `HttpClient` creates no activity.
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut@Event:-",
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut.Start@Activity2Start:-Request.Method;Request.RequestUri.Scheme;Request.RequestUri.Host;Request.RequestUri.Port;Path=Request.RequestUri.AbsolutePath;TraceId=*Activity.TraceId;SpanId=*Activity.SpanId;ParentSpanId=*Activity.ParentSpanId",
    "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut.Stop@Activity2Stop:-Response.StatusCode;SpanId=*Activity.SpanId;DurationTicks=*Activity.Duration.Ticks",
];

/// Named list of providers.
#[derive(Debug)]
pub struct Profile {
    /// Profile name.
    pub name: &'static str,
    /// Description for help texts.
    pub description: &'static str,
    /// Rundown at the end of the session.
    pub rundown: Rundown,
    rows: &'static [Row],
}

/// Provider name, keywords, level, and lines of the filter.
type Row = (&'static str, u64, Level, &'static [&'static str]);

/// Events of the runtime that dotnet-trace calls common.
const COMMON: Row = (RUNTIME_PROVIDER, 0x10_0003_801d, Level::Informational, &[]);
const SAMPLES: Row = (SAMPLE_PROFILER, UNKEYED, Level::Informational, &[]);
const CPU: &[Row] = &[SAMPLES, (RUNTIME_PROVIDER, 0x14_c14f_ccbd, Level::Informational, &[])];
const GC: &[Row] =
    &[(RUNTIME_PROVIDER, 0x1, Level::Informational, &[]), (RUNTIME_PRIVATE, 0x1, Level::Informational, &[])];
const GC_RUNDOWN: Rundown = Rundown::Keywords(0x1);
const ACTIVITIES: Row = (TASKS, ACTIVITY_IDS, Level::Informational, &[]);

/// All profiles. `http`, `exceptions` and `threads` are not in dotnet-trace. The others have dotnet-trace's keywords.
pub const PROFILES: &[Profile] = &[
    profile("cpu", "Stack samples and runtime events", Rundown::Default, CPU),
    profile(
        "cpu-sampling",
        "Same as `cpu`, as older versions of dotnet-trace call it",
        Rundown::Default,
        CPU,
    ),
    profile(
        "dotnet-common",
        "Garbage collections, loader, JIT, exceptions, thread pool",
        Rundown::Default,
        &[COMMON],
    ),
    profile(
        "dotnet-sampled-thread-time",
        "Stack samples of all managed threads, 100 times a second",
        Rundown::Default,
        &[SAMPLES],
    ),
    profile(
        "gc-verbose",
        "Garbage collections, handles, sampled allocations",
        Rundown::Default,
        &[(RUNTIME_PROVIDER, 0x8003, Level::Verbose, &[])],
    ),
    profile("gc-collect", "Garbage collections only, for long recordings", GC_RUNDOWN, GC),
    profile("gc", "Same as `gc-collect`", GC_RUNDOWN, GC),
    profile(
        "database",
        "ADO.NET and Entity Framework commands",
        Rundown::Default,
        &[ACTIVITIES, (DIAGNOSTIC_SOURCE, MESSAGES_AND_EVENTS, Level::Verbose, DATABASE_FILTERS)],
    ),
    profile(
        "http",
        "ASP.NET Core and HttpClient requests",
        Rundown::Default,
        &[
            ACTIVITIES,
            (HTTP_CLIENT, u64::MAX, Level::Informational, &[]),
            (DIAGNOSTIC_SOURCE, EVENTS, Level::Verbose, HTTP_FILTERS),
        ],
    ),
    profile(
        "exceptions",
        "Exceptions and their handlers, with stacks",
        Rundown::Default,
        &[(RUNTIME_PROVIDER, 0x8000, Level::Informational, &[])],
    ),
    profile(
        "threads",
        "Lock contention, thread pool, thread starts",
        Rundown::Default,
        &[(RUNTIME_PROVIDER, 0x1_4000, Level::Informational, &[])],
    ),
];

const fn profile(
    name: &'static str,
    description: &'static str,
    rundown: Rundown,
    rows: &'static [Row],
) -> Profile {
    Profile { name, description, rundown, rows }
}

impl Profile {
    /// Finds a profile. Ignores case.
    ///
    /// # Errors
    /// If the profile does not exist.
    pub fn find(name: &str) -> Result<&'static Self, ProviderError> {
        let profile = PROFILES.iter().find(|profile| profile.name.eq_ignore_ascii_case(name.trim()));
        profile.ok_or_else(|| ProviderError::Profile { name: name.to_owned() })
    }

    /// Returns the providers.
    pub fn providers(&self) -> impl Iterator<Item = Provider> {
        self.rows.iter().map(|(name, keywords, level, filters)| {
            let specs = (FILTER_AND_PAYLOAD_SPECS.to_owned(), filters.join("\n"));
            Provider {
                name: (*name).to_owned(),
                keywords: *keywords,
                level: *level,
                arguments: if filters.is_empty() { vec![] } else { vec![specs] },
                event_filter: None,
            }
        })
    }
}
