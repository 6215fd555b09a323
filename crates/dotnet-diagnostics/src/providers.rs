//! Event providers of a session, from texts and profiles.

mod arguments;
mod event_filter;
mod keywords;
mod level;
mod profiles;
mod provider;
mod provider_error;
mod rundown;

use std::slice;

pub use event_filter::EventFilter;
pub use keywords::{RUNTIME_KEYWORDS, RUNTIME_PROVIDER};
pub use level::Level;
pub use profiles::{PROFILES, Profile};
pub use provider::Provider;
pub use provider_error::ProviderError;
pub use rundown::Rundown;

/// Event providers of a session. Each provider occurs once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Providers {
    providers: Vec<Provider>,
    rundown: Rundown,
}

impl Providers {
    /// Names of the profiles for a session without profiles and providers.
    pub const DEFAULT_PROFILES: [&str; 2] = ["dotnet-common", "dotnet-sampled-thread-time"];

    /// Merges profiles and providers. A provider text is a list `Name:keywords:level:arguments,...`. A provider
    /// replaces a profile's provider with the same name. Without profiles and providers, the result is
    /// [`DEFAULT_PROFILES`](Self::DEFAULT_PROFILES).
    ///
    /// # Errors
    /// If a profile is unknown, if a provider is invalid, or if two providers of the same name have different
    /// arguments.
    pub fn new(profiles: &[&str], providers: &[&str]) -> Result<Self, ProviderError> {
        let has_none = profiles.is_empty() && providers.is_empty();
        let profiles = if has_none { &Self::DEFAULT_PROFILES } else { profiles };
        let mut explicit = Self::default();
        for text in providers.iter().flat_map(|list| arguments::split(list, ',')) {
            explicit.merge(Provider::parse(text)?)?;
        }
        let mut all = Self::default();
        let mut rundown = if providers.is_empty() { 0 } else { Rundown::Default.keywords() };
        for name in profiles {
            let profile = Profile::find(name)?;
            rundown |= profile.rundown.keywords();
            for provider in profile.providers() {
                all.merge(provider)?;
            }
        }
        all.providers.retain(|provider| !explicit.iter().any(|other| other.name == provider.name));
        all.providers.splice(0..0, explicit.providers);
        all.rundown = Rundown::from_keywords(rundown);
        Ok(all)
    }

    /// Adds a provider, or merges it with the provider of the same name.
    ///
    /// # Errors
    /// If both have arguments with the same name and different values.
    pub fn merge(&mut self, provider: Provider) -> Result<(), ProviderError> {
        match self.providers.iter_mut().find(|other| other.name == provider.name) {
            Some(other) => other.merge(provider),
            None => {
                self.providers.push(provider);
                Ok(())
            }
        }
    }

    /// Returns the providers.
    pub fn iter(&self) -> slice::Iter<'_, Provider> {
        self.providers.iter()
    }

    /// Returns the providers for changes.
    pub fn iter_mut(&mut self) -> slice::IterMut<'_, Provider> {
        self.providers.iter_mut()
    }

    /// Returns the rundown at the end of the session.
    #[must_use]
    pub fn rundown(&self) -> Rundown {
        self.rundown
    }

    /// Sets the rundown at the end of the session.
    pub fn set_rundown(&mut self, rundown: Rundown) {
        self.rundown = rundown;
    }
}

impl<'a> IntoIterator for &'a Providers {
    type Item = &'a Provider;
    type IntoIter = slice::Iter<'a, Provider>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(profiles: &[&str], providers: &[&str]) -> String {
        match Providers::new(profiles, providers) {
            Ok(all) => {
                let list: Vec<String> = all.iter().map(ToString::to_string).collect();
                format!("{} | {:x}", list.join(", "), all.rundown().keywords())
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn profiles_and_providers_are_merged() {
        const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
        const SAMPLES: &str = "Microsoft-DotNETCore-SampleProfiler:0xf00000000000:4";
        const PRIVATE: &str = "Microsoft-Windows-DotNETRuntimePrivate:0x1:4";
        for (profiles, providers, expected) in [
            (&[][..], &[][..], format!("{RUNTIME}:0x100003801d:4, {SAMPLES} | 80020139")),
            (&["cpu"], &[], format!("{SAMPLES}, {RUNTIME}:0x14c14fccbd:4 | 80020139")),
            (&["GC-Collect"], &[], format!("{RUNTIME}:0x1:4, {PRIVATE} | 1")),
            (&["gc"], &["A"], format!("A:0xf00000000000:4, {RUNTIME}:0x1:4, {PRIVATE} | 80020139")),
            (&["gc-verbose", "exceptions"], &[], format!("{RUNTIME}:0x8003:5 | 80020139")),
            (&["gc-collect", "threads"], &[], format!("{RUNTIME}:0x14001:4, {PRIVATE} | 80020139")),
            (&["gc"], &["microsoft-windows-dotnetruntime:8"], {
                format!("{RUNTIME}:0x8:4, {PRIVATE} | 80020139")
            }),
            (&[], &["A:1:2,a:1", "A:2:error"], "A:0x3:2, a:0x1:4 | 80020139".to_owned()),
            (&[], &["A:1:0,A:2:5"], "A:0x3:0 | 80020139".to_owned()),
            (&[], &["A:0::k=1,A:0::j=2"], "A:0x0:4:k=1;j=2 | 80020139".to_owned()),
            (&[], &["A:0::k=1,A:0::k=1"], "A:0x0:4:k=1 | 80020139".to_owned()),
            (&[], &["A:::k=1,A:::k=2"], "provider `A`: two values for the argument `k`".to_owned()),
            (&["cpus"], &[], "unknown profile `cpus`".to_owned()),
        ] {
            assert_eq!(merged(profiles, providers), expected, "{profiles:?} {providers:?}");
        }
    }

    #[test]
    fn filters_of_profiles_are_joined() {
        let all = Providers::new(&["database", "http"], &[]).unwrap();
        let source = all.iter().find(|provider| provider.name.ends_with("DiagnosticSource")).unwrap();
        let [(name, value)] = &*source.arguments else { panic!("{:?}", source.arguments) };
        assert_eq!(name, "FilterAndPayloadSpecs");
        assert!(value.contains("CommandText") && value.contains("HttpRequestIn"), "{value}");
        assert!(
            value
                .lines()
                .all(|line| line.contains('/') && line.contains("@Activity") | line.contains("@Event"))
        );
    }
}
