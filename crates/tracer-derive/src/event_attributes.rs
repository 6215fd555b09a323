//! `#[trace(…)]` of a structure.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, LitStr, Path};

/// Names of log levels, in the order of the variants of `Level`.
const LEVELS: [&str; 8] = ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];

/// What `#[trace(…)]` says about an event.
#[derive(Default)]
pub(crate) struct EventAttributes {
    pub(crate) name: Option<LitStr>,
    namespace: Option<LitStr>,
    level: Option<LitStr>,
    emf_uri: Option<LitStr>,
    /// Role, and the span's name.
    role: Option<(String, Option<LitStr>)>,
    root: Option<Path>,
}

impl EventAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut parsed = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("trace")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                match name.as_str() {
                    "crate" => parsed.root = Some(meta.value()?.parse()?),
                    "name" => parsed.name = Some(meta.value()?.parse()?),
                    "namespace" => parsed.namespace = Some(meta.value()?.parse()?),
                    "level" => parsed.level = Some(meta.value()?.parse()?),
                    "emf_uri" => parsed.emf_uri = Some(meta.value()?.parse()?),
                    "begin" | "end" => parsed.role = Some((name, Some(meta.value()?.parse()?))),
                    "role" => parsed.role = Some((meta.value()?.parse::<LitStr>()?.value(), None)),
                    _ => {
                        return Err(
                            meta.error("expected an attribute of an event, for example `name = \"…\"`")
                        );
                    }
                }
                Ok(())
            })?;
        }
        Ok(parsed)
    }

    /// Returns the path of `ichnos_tracer`.
    pub(crate) fn root(&self) -> TokenStream {
        self.root.as_ref().map_or_else(|| quote!(::ichnos_tracer), |root| quote!(#root))
    }

    /// Returns calls that complete an `EventDescription`.
    pub(crate) fn calls(&self) -> syn::Result<TokenStream> {
        let root = self.root();
        let mut calls = TokenStream::new();
        if let Some(namespace) = &self.namespace {
            calls.extend(quote!(.with_namespace(#namespace)));
        }
        if let Some(level) = &self.level {
            let name = level.value();
            if !LEVELS.contains(&name.as_str()) {
                return Err(syn::Error::new_spanned(level, format!("expected one of {}", LEVELS.join(", "))));
            }
            let variant =
                name.chars().next().map(|first| first.to_ascii_uppercase().to_string() + &name[1..]);
            let variant = syn::Ident::new(&variant.unwrap_or_default(), level.span());
            calls.extend(quote!(.with_level(#root::EventLevel::#variant)));
        }
        if let Some(uri) = &self.emf_uri {
            calls.extend(quote!(.with_emf_uri(#uri)));
        }
        if let Some((role, span)) = &self.role {
            calls.extend(quote!(.with_role(#role)));
            calls.extend(span.as_ref().map(|span| quote!(.with_span_name(#span))));
        }
        Ok(calls)
    }
}
