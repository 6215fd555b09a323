//! Structures as structure classes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::crate_path::crate_path;
use crate::member_list::MemberList;

/// A structure without a variable part is in the fixed part of its event. With a variable part, all of it is in the
/// variable part of the event, with its own lengths first.
pub(crate) fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    let root = crate_path(&item.attrs)?;
    let members = MemberList::parse(item, &root, false)?;
    let ident = &item.ident;
    let (generics, arguments, condition) = item.generics.split_for_impl();
    let constants = members.constants(&root);
    let (fixed, size, variable) = (members.fixed(), members.variable_size(), members.variable());
    Ok(quote! {
        const _: () = {
            #constants
            const _: () = assert!(
                !IS_VARIABLE || ALIGNMENT == 1,
                "a structure with strings, slices or options has no aligned members",
            );

            impl #generics #root::TraceField for #ident #arguments #condition {
                const DESCRIPTION: #root::FieldDescription =
                    #root::FieldDescription::Structure { members: MEMBERS };
                const FIXED: usize = if IS_VARIABLE { 0 } else { FIXED };
                const IS_VARIABLE: bool = IS_VARIABLE;
                const ALIGNMENT: usize = ALIGNMENT;

                #[inline]
                fn write_fixed(&self, _: #root::FieldOrder, __fixed: &mut [u8]) {
                    if !IS_VARIABLE {
                        #fixed
                    }
                }

                #[inline]
                fn variable_size(&self) -> usize {
                    if IS_VARIABLE { FIXED.saturating_add(#size) } else { 0 }
                }

                #[inline]
                fn write_variable(&self, _: #root::FieldOrder, __rest: &mut #root::VariablePart<'_>) {
                    if IS_VARIABLE {
                        let mut __fixed = [0u8; FIXED];
                        #fixed
                        __rest.put(&__fixed);
                        #variable
                    }
                }
            }
        };
    })
}
