//! Structures as event record classes.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Field, Fields, GenericParam};

use crate::event_attributes::EventAttributes;
use crate::field_attributes::FieldAttributes;
use crate::static_type::static_type;

/// Tokens for one field of the structure.
struct FieldTokens {
    /// `MemberDescription`.
    description: TokenStream,
    /// Constants for its place in the fixed part.
    place: TokenStream,
    /// Statement that writes it to the fixed part.
    fixed: TokenStream,
    /// Number of bytes in the variable part.
    size: TokenStream,
    /// Statement that writes it to the variable part.
    variable: TokenStream,
    alignment: usize,
}

impl FieldTokens {
    fn new(
        field: &Field,
        attributes: &FieldAttributes,
        index: usize,
        root: &TokenStream,
    ) -> syn::Result<Self> {
        let ident = field.ident.as_ref().ok_or_else(|| syn::Error::new_spanned(field, "expected a name"))?;
        let name = attributes.name.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
        let ty = static_type(&field.ty);
        let alignment = attributes.alignment.unwrap_or(1);
        let (begin, end) = (format_ident!("BEGIN_{index}"), format_ident!("END_{index}"));
        let before = match index.checked_sub(1) {
            Some(before) => {
                let before = format_ident!("END_{before}");
                quote!(#before)
            }
            None => quote!(0),
        };
        let order = match attributes.is_big_endian {
            true => quote!(#root::FieldOrder::Big),
            false => quote!(#root::FieldOrder::Little),
        };
        let (field_calls, member_calls) = (attributes.field_calls(root), attributes.member_calls());
        Ok(Self {
            description: quote! {
                #root::MemberDescription::new(
                    #name,
                    <#ty as #root::TraceField>::DESCRIPTION #field_calls,
                ) #member_calls
            },
            place: quote! {
                const #begin: usize = #root::derive::aligned(#before, #alignment);
                const #end: usize = #begin + <#ty as #root::TraceField>::FIXED;
            },
            fixed: quote! {
                if let ::core::option::Option::Some(__out) = __fixed.get_mut(#begin..#end) {
                    #root::TraceField::write_fixed(&self.#ident, #order, __out);
                }
            },
            size: quote!(.saturating_add(#root::TraceField::variable_size(&self.#ident))),
            variable: quote!(#root::TraceField::write_variable(&self.#ident, #order, &mut __rest);),
            alignment,
        })
    }
}

pub(crate) fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    let attributes = EventAttributes::parse(&item.attrs)?;
    let root = attributes.root();
    let mut tokens = Vec::new();
    for field in fields(item)? {
        let attributes = FieldAttributes::parse(&field.attrs)?;
        if !attributes.is_skipped {
            tokens.push(FieldTokens::new(field, &attributes, tokens.len(), &root)?);
        }
    }
    let name = attributes.name.as_ref().map_or_else(|| item.ident.unraw().to_string(), syn::LitStr::value);
    let calls = attributes.calls()?;
    let implementation = implementation(
        &item.ident,
        item,
        &root,
        &tokens,
        &quote! {
            #root::EventDescription::new(#name, MEMBERS) #calls
        },
    );
    let descriptions = tokens.iter().map(|field| &field.description);
    let places = tokens.iter().map(|field| &field.place);
    let fixed = match tokens.len().checked_sub(1) {
        Some(last) => {
            let last = format_ident!("END_{last}");
            quote!(#last)
        }
        None => quote!(0),
    };
    Ok(quote! {
        const _: () = {
            const MEMBERS: &[#root::MemberDescription<'static>] = &[#(#descriptions),*];
            #(#places)*
            const FIXED: usize = #fixed;
            static SITE: #root::EventSite = #root::EventSite::new();
            #implementation
        };
    })
}

fn implementation(
    name: &Ident,
    item: &DeriveInput,
    root: &TokenStream,
    tokens: &[FieldTokens],
    description: &TokenStream,
) -> TokenStream {
    let (generics, arguments, condition) = item.generics.split_for_impl();
    let alignment = tokens.iter().map(|field| field.alignment).max().unwrap_or(1);
    let fixed = tokens.iter().map(|field| &field.fixed);
    let sizes = tokens.iter().map(|field| &field.size);
    let variable = tokens.iter().map(|field| &field.variable);
    quote! {
        impl #generics #root::TraceEvent for #name #arguments #condition {
            const DESCRIPTION: #root::EventDescription<'static> = #description;
            const FIXED: usize = FIXED;
            const ALIGNMENT: usize = #alignment;

            #[inline]
            fn site() -> &'static #root::EventSite {
                &SITE
            }

            #[inline]
            fn variable_size(&self) -> usize {
                0usize #(#sizes)*
            }

            #[inline]
            fn write(&self, __out: &mut [u8]) {
                let mut __fixed = [0u8; FIXED];
                #(#fixed)*
                let mut __rest = #root::VariablePart::new(__out);
                __rest.put(&__fixed);
                #(#variable)*
            }
        }
    }
}

/// Returns the named fields of a structure without type parameters.
fn fields(item: &DeriveInput) -> syn::Result<Vec<&Field>> {
    let is_lifetime = |parameter: &GenericParam| matches!(parameter, GenericParam::Lifetime(_));
    if let Some(parameter) = item.generics.params.iter().find(|parameter| !is_lifetime(parameter)) {
        return Err(syn::Error::new_spanned(parameter, "expected lifetimes only: an event has one layout"));
    }
    match &item.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter().collect()),
            Fields::Unit => Ok(Vec::new()),
            _ => Err(syn::Error::new_spanned(&item.ident, "expected fields with names")),
        },
        _ => Err(syn::Error::new_spanned(&item.ident, "expected a structure")),
    }
}
