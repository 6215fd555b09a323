//! A provider with keywords, level and arguments.

use std::fmt;

use super::arguments;
use super::event_filter::EventFilter;
use super::keywords;
use super::level::Level;
use super::provider_error::ProviderError;

/// Argument of the provider `Microsoft-Diagnostics-DiagnosticSource`: a list with one filter per line.
pub(super) const FILTER_AND_PAYLOAD_SPECS: &str = "FilterAndPayloadSpecs";

/// Keyword of events without keywords, as the runtime stores it. Newer runtimes record such events with all keywords,
/// .NET Core 3 only with this one.
pub(super) const UNKEYED: u64 = 0xf000_0000_0000;

/// Event provider in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provider {
    /// Provider name. Its case matters.
    pub name: String,
    /// Keywords of the recorded events.
    pub keywords: u64,
    /// Maximum level of the recorded events.
    pub level: Level,
    /// Arguments for the provider.
    pub arguments: Vec<(String, String)>,
    /// Filter for event ids. .NET 10 and later.
    pub event_filter: Option<EventFilter>,
}

impl Provider {
    /// Parses `Name:keywords:level:arguments`, as dotnet-trace does. Everything after the name is optional. By default,
    /// events without keywords are recorded up to [`Level::Informational`].
    ///
    /// # Errors
    /// If a part is invalid.
    pub fn parse(text: &str) -> Result<Self, ProviderError> {
        let mut parts = text.splitn(4, ':').map(str::trim);
        let name = parts.next().unwrap_or_default();
        if name.is_empty() {
            return Err(ProviderError::NoName);
        }
        if is_guid(name) {
            return Err(ProviderError::Guid { name: name.to_owned() });
        }
        let name = keywords::exact_name(name);
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let keywords = part().map_or(Ok(UNKEYED), |text| keywords::parse(name, text))?;
        let level = part().map_or(Ok(Level::default()), Level::parse)?;
        let arguments = part().map_or(Ok(Vec::new()), |text| arguments::parse(name, text))?;
        Ok(Self { name: name.to_owned(), keywords, level, arguments, event_filter: None })
    }

    /// Adds the keywords, level and arguments of another provider with the same name. Drops different event filters, so
    /// that no selected event is missing.
    pub(super) fn merge(&mut self, other: Self) -> Result<(), ProviderError> {
        self.keywords |= other.keywords;
        self.level = self.level.max(other.level);
        if self.event_filter != other.event_filter {
            self.event_filter = None;
        }
        for (key, value) in other.arguments {
            match self.arguments.iter_mut().find(|(name, _)| *name == key) {
                Some((_, found)) if *found == value => {}
                Some((name, found)) if name == FILTER_AND_PAYLOAD_SPECS => {
                    found.push('\n');
                    found.push_str(&value);
                }
                Some(_) => return Err(ProviderError::Values { name: self.name.clone(), argument: key }),
                None => self.arguments.push((key, value)),
            }
        }
        Ok(())
    }

    /// Returns the arguments as the runtime reads them.
    #[must_use]
    pub fn argument_text(&self) -> String {
        arguments::join(&self.arguments)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:0x{:x}:{}", self.name, self.keywords, self.level as u32)?;
        match self.arguments.is_empty() {
            true => Ok(()),
            false => write!(formatter, ":{}", self.argument_text()),
        }
    }
}

/// Returns `true` for a GUID with hyphens, with or without braces.
fn is_guid(name: &str) -> bool {
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    let lengths = name
        .split('-')
        .map(|part| part.chars().all(|letter| letter.is_ascii_hexdigit()).then_some(part.len()));
    lengths.eq([8, 4, 4, 4, 12].map(Some))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_parsed() {
        for (text, expected) in [
            ("A", "A:0xf00000000000:4"),
            ("A:0", "A:0x0:4"),
            (" A : ff : verbose ", "A:0xff:5"),
            ("A::", "A:0xf00000000000:4"),
            ("A::5", "A:0xf00000000000:5"),
            ("microsoft-windows-dotnetruntime:gc", "Microsoft-Windows-DotNETRuntime:0x1:4"),
            (
                "System.Runtime:0:1:EventCounterIntervalSec=1",
                "System.Runtime:0x0:1:EventCounterIntervalSec=1",
            ),
            ("A:1:4:k=a:b", "A:0x1:4:k=a:b"),
            ("Microsoft-Windows-DotNETRuntime:gc+jit:3", "Microsoft-Windows-DotNETRuntime:0x11:3"),
            ("", "provider without name"),
            (":1:2", "provider without name"),
            ("A:1:high", "unknown level `high`"),
            ("A:\u{1b}[31m", "provider `A`: keywords `\\u{1b}[31m` are not hexadecimal"),
            (
                "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4",
                "provider `e13c0d23-ccbc-4e12-931b-d9cc2eee27e4` is a GUID: use the provider name",
            ),
        ] {
            let shown = match Provider::parse(text) {
                Ok(provider) => provider.to_string(),
                Err(error) => error.to_string(),
            };
            assert_eq!(shown, expected, "{text}");
        }
    }

    #[test]
    fn merged_filters_select_both() {
        let filter = Some(EventFilter { is_enabling: true, ids: vec![1] });
        let filtered = Provider { event_filter: filter.clone(), ..Provider::parse("A").unwrap() };
        let mut same = filtered.clone();
        same.merge(filtered.clone()).unwrap();
        assert_eq!(same.event_filter, filter);
        same.merge(Provider::parse("A").unwrap()).unwrap();
        assert_eq!(same.event_filter, None);
    }
}
