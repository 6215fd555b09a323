//! `#[trace(…)]` of a field.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;
use syn::{Attribute, Ident, LitInt, LitStr, Token};

/// Message for an empty name.
pub(crate) const EMPTY_NAME: &str = "expected a name that is not empty";

/// Name, first bit and last bit.
type FlagBits = (String, u8, u8);

/// What `#[trace(…)]` says about a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) name: Option<LitStr>,
    meaning: Option<String>,
    base: Option<u8>,
    pub(crate) is_big_endian: bool,
    /// Alignment in bytes.
    pub(crate) alignment: Option<usize>,
    is_blob: bool,
    media_type: Option<LitStr>,
    flags: Vec<FlagBits>,
    /// `true` if the field is not recorded.
    pub(crate) is_skipped: bool,
}

impl FieldAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut parsed = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("trace")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                match name.as_str() {
                    "name" => parsed.name = Some(meta.value()?.parse()?),
                    "meaning" => parsed.meaning = Some(meta.value()?.parse::<LitStr>()?.value()),
                    "key" => parsed.meaning = Some("pair-key".to_owned()),
                    "base" => parsed.base = Some(one_of(&meta.value()?.parse()?, &[2, 8, 10, 16])?),
                    "big_endian" => parsed.is_big_endian = true,
                    "align" => {
                        let bits = one_of(&meta.value()?.parse()?, &[8, 16, 32, 64])?;
                        parsed.alignment = Some(usize::from(bits / 8));
                    }
                    "skip" => parsed.is_skipped = true,
                    "blob" => parsed.is_blob = true,
                    "media_type" => parsed.media_type = Some(meta.value()?.parse()?),
                    "flags" => {
                        let list;
                        syn::parenthesized!(list in meta.input);
                        for (name, bits) in list.parse_terminated(flag, Token![,])? {
                            parsed.add_flag(&name, bits)?;
                        }
                    }
                    _ => return Err(meta.error("expected an attribute of a field, for example `base = 16`")),
                }
                Ok(())
            })?;
        }
        Ok(parsed)
    }

    fn add_flag(&mut self, name: &Ident, (first, last): (u8, u8)) -> syn::Result<()> {
        let text = name.unraw().to_string();
        if self.flags.iter().any(|(other, ..)| *other == text) {
            return Err(syn::Error::new(name.span(), format!("another flag has the name `{text}`")));
        }
        self.flags.push((text, first, last));
        Ok(())
    }

    /// Returns `true` if the field has a meaning or is a key.
    pub(crate) fn has_meaning(&self) -> bool {
        self.meaning.is_some()
    }

    /// Returns calls that complete a `FieldDescription`.
    pub(crate) fn field_calls(&self, root: &TokenStream) -> TokenStream {
        let mut calls = TokenStream::new();
        if !self.flags.is_empty() {
            let flags = self.flags.iter().map(|(name, first, last)| {
                quote!(#root::FlagDescription { name: #name, first: #first, last: #last })
            });
            calls.extend(quote!(.with_flags(&[#(#flags),*])));
        }
        if self.is_blob || self.media_type.is_some() {
            let media_type = match &self.media_type {
                Some(media_type) => quote!(::core::option::Option::Some(#media_type)),
                None => quote!(::core::option::Option::None),
            };
            calls.extend(quote!(.as_blob(#media_type)));
        }
        calls
    }

    /// Returns calls that complete a `MemberDescription`.
    pub(crate) fn member_calls(&self) -> TokenStream {
        let mut calls = TokenStream::new();
        if self.is_big_endian {
            calls.extend(quote!(.big_endian()));
        }
        if let Some(base) = self.base {
            calls.extend(quote!(.with_base(#base)));
        }
        if let Some(meaning) = &self.meaning {
            calls.extend(quote!(.with_meaning(#meaning)));
        }
        calls
    }
}

fn one_of(number: &LitInt, allowed: &[u8]) -> syn::Result<u8> {
    let value = number.base10_parse::<u8>()?;
    if allowed.contains(&value) {
        return Ok(value);
    }
    let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    Err(syn::Error::new_spanned(number, format!("expected one of {}", allowed.join(", "))))
}

/// Parses `NAME = 3` or `NAME = 3..=5`.
fn flag(input: syn::parse::ParseStream<'_>) -> syn::Result<(Ident, (u8, u8))> {
    let name = input.parse::<Ident>()?;
    input.parse::<Token![=]>()?;
    let first = input.parse::<LitInt>()?.base10_parse()?;
    let last = match input.parse::<Option<Token![..=]>>()? {
        Some(_) => input.parse::<LitInt>()?.base10_parse()?,
        None => first,
    };
    if first > last || last > 63 {
        return Err(syn::Error::new(name.span(), "expected bits from 0 to 63, the first one first"));
    }
    Ok((name, (first, last)))
}
