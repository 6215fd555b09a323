//! Structures as event record classes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;
use syn::ext::IdentExt as _;

use crate::event_attributes::EventAttributes;
use crate::field_attributes::EMPTY_NAME;
use crate::member_list::MemberList;

pub(crate) fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    let attributes = EventAttributes::parse(&item.attrs)?;
    let root = attributes.root();
    let members = MemberList::parse(item, &root, true)?;
    let ident = &item.ident;
    let name = attributes.name.as_ref().map_or_else(|| ident.unraw().to_string(), syn::LitStr::value);
    if name.is_empty() {
        return Err(syn::Error::new_spanned(&attributes.name, EMPTY_NAME));
    }
    let calls = attributes.calls()?;
    let (generics, arguments, condition) = item.generics.split_for_impl();
    let constants = members.constants(&root);
    let (fixed, size, variable) = (members.fixed(), members.variable_size(), members.variable());
    Ok(quote! {
        const _: () = {
            #constants
            static SITE: #root::EventSite = #root::EventSite::new();

            impl #generics #root::TraceEvent for #ident #arguments #condition {
                const DESCRIPTION: #root::EventDescription<'static> =
                    #root::EventDescription::new(#name, MEMBERS) #calls;
                const FIXED: usize = FIXED;
                const ALIGNMENT: usize = ALIGNMENT;

                #[inline]
                fn site() -> &'static #root::EventSite {
                    &SITE
                }

                #[inline]
                fn variable_size(&self) -> usize {
                    #size
                }

                #[inline]
                fn write(&self, __out: &mut [u8]) {
                    let mut __fixed = [0u8; FIXED];
                    #fixed
                    let __rest = &mut #root::VariablePart::new(__out);
                    __rest.put(&__fixed);
                    #variable
                }
            }
        };
    })
}
