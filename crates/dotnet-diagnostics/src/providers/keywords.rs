//! Keyword names of the runtime provider.

use super::provider_error::ProviderError;

/// Provider with the events of the runtime itself.
pub const RUNTIME_PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";
pub(super) const RUNTIME_PRIVATE: &str = "Microsoft-Windows-DotNETRuntimePrivate";
pub(super) const SAMPLE_PROFILER: &str = "Microsoft-DotNETCore-SampleProfiler";

/// Returns the exact name of a provider in the runtime. Its case matters: with another case, nothing is recorded.
pub(super) fn exact_name(name: &str) -> &str {
    let known = [RUNTIME_PROVIDER, RUNTIME_PRIVATE, SAMPLE_PROFILER];
    known.into_iter().find(|known| known.eq_ignore_ascii_case(name)).unwrap_or(name)
}

/// Keyword names of [`RUNTIME_PROVIDER`], in lower case.
pub const RUNTIME_KEYWORDS: [(&str, u64); 43] = [
    ("none", 0),
    ("gc", 0x1),
    ("gchandle", 0x2),
    ("assemblyloader", 0x4),
    ("fusion", 0x4),
    ("loader", 0x8),
    ("jit", 0x10),
    ("ngen", 0x20),
    ("startenumeration", 0x40),
    ("endenumeration", 0x80),
    ("security", 0x400),
    ("appdomainresourcemanagement", 0x800),
    ("jittracing", 0x1000),
    ("interop", 0x2000),
    ("contention", 0x4000),
    ("exception", 0x8000),
    ("threading", 0x1_0000),
    ("jittedmethodiltonativemap", 0x2_0000),
    ("overrideandsuppressngenevents", 0x4_0000),
    ("type", 0x8_0000),
    ("gcheapdump", 0x10_0000),
    ("gcsampledobjectallocationhigh", 0x20_0000),
    ("gcheapsurvivalandmovement", 0x40_0000),
    ("gcheapcollect", 0x80_0000),
    ("managedheapcollect", 0x80_0000),
    ("gcheapandtypenames", 0x100_0000),
    ("gcsampledobjectallocationlow", 0x200_0000),
    ("perftrack", 0x2000_0000),
    ("stack", 0x4000_0000),
    ("threadtransfer", 0x8000_0000),
    ("debugger", 0x1_0000_0000),
    ("monitoring", 0x2_0000_0000),
    ("codesymbols", 0x4_0000_0000),
    ("eventsource", 0x8_0000_0000),
    ("compilation", 0x10_0000_0000),
    ("compilationdiagnostic", 0x20_0000_0000),
    ("methoddiagnostic", 0x40_0000_0000),
    ("typediagnostic", 0x80_0000_0000),
    ("jitinstrumentationdata", 0x100_0000_0000),
    ("profiler", 0x200_0000_0000),
    ("waithandle", 0x400_0000_0000),
    ("allocationsampling", 0x800_0000_0000),
    ("default", 0x14_c14f_ccbd),
];

/// Parses the keywords of a provider: a hexadecimal number, `all`, or names joined by `+` for the runtime provider.
pub(super) fn parse(name: &str, text: &str) -> Result<u64, ProviderError> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    // A sign is not a digit.
    if digits.starts_with(|first: char| first.is_ascii_hexdigit())
        && let Ok(keywords) = u64::from_str_radix(digits, 16)
    {
        return Ok(keywords);
    }
    if text.eq_ignore_ascii_case("all") {
        return Ok(u64::MAX);
    }
    let has_names = name == RUNTIME_PROVIDER;
    let named = |word: &str| {
        let row = RUNTIME_KEYWORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word.trim()));
        row.map(|(_, keywords)| *keywords)
    };
    let keywords =
        has_names.then(|| text.split('+').try_fold(0, |all, word| Some(all | named(word)?))).flatten();
    keywords.ok_or_else(|| ProviderError::Keywords {
        name: name.to_owned(),
        keywords: text.to_owned(),
        has_names,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_parsed() {
        for (text, keywords) in [
            ("0", Some(0)),
            ("FF", Some(0xff)),
            ("0x4c14fccbd", Some(0x4_c14f_ccbd)),
            ("0XFFFFFFFFFFFFFFFF", Some(u64::MAX)),
            ("gc", Some(1)),
            ("GC+Exception + jit", Some(0x8011)),
            ("default", Some(0x14_c14f_ccbd)),
            ("ALL", Some(u64::MAX)),
            ("10000000000000000", None),
            ("+1", None),
            ("-1", None),
            ("0x", None),
            ("gc+", None),
            ("gc+nothing", None),
        ] {
            assert_eq!(parse(RUNTIME_PROVIDER, text).ok(), keywords, "{text}");
        }
        assert_eq!(parse("A", "all"), Ok(u64::MAX));
        let error = parse("A", "gc").unwrap_err().to_string();
        assert_eq!(error, "provider `A`: keywords `gc` are not hexadecimal");
    }

    #[test]
    fn no_keyword_name_is_a_number() {
        for (name, _) in RUNTIME_KEYWORDS {
            assert!(u64::from_str_radix(name, 16).is_err(), "{name}");
        }
    }
}
