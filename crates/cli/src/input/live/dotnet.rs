//! Live .NET processes.

use ichnos::dotnet_diagnostics::DiagnosticsError;
use ichnos::dotnet_diagnostics::providers::{Providers, Rundown};
use ichnos::io::ReadOptions;
use ichnos::live::dotnet::{self, DotnetError, DotnetOptions};
use ichnos::model::OpenedTrace;
use ichnos::model::live::LiveOptions;

use crate::args::live::LiveArgs;
use crate::exit::Failure;
use crate::output::safe;

/// Opens a process by its id or name.
pub(super) fn open(
    target: &str,
    args: &LiveArgs,
    read: &ReadOptions,
    has_stacks: bool,
    live: &LiveOptions,
) -> Result<Box<dyn OpenedTrace>, Failure> {
    let profiles: Vec<&str> = args.profile.iter().map(String::as_str).collect();
    let providers: Vec<&str> = args.providers.iter().map(String::as_str).collect();
    let mut providers =
        Providers::new(&profiles, &providers).map_err(|error| Failure::new(error.to_string()))?;
    // It would only come at the end.
    providers.set_rundown(Rundown::Omitted);
    let mut dotnet = DotnetOptions::default();
    dotnet.session.providers = providers;
    dotnet.reading = read.into();
    dotnet.names_methods = has_stacks;
    let input = dotnet::open(target, &dotnet, &live.arrivals);
    let input = input.map_err(|error| {
        let help = match &error {
            DotnetError::Diagnostics(error) => DiagnosticsError::help(error),
            _ => None,
        };
        Failure::new(format!("dotnet:{}: {}", safe(target), safe(&error.to_string()))).maybe_help(help)
    })?;
    Ok(Box::new(input.into_trace(live.clone())))
}
