//! Named fields of a structure as members of an event record class or of a structure class.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{Data, DeriveInput, Field, Fields, GenericParam};

use crate::field_attributes::{EMPTY_NAME, FieldAttributes};
use crate::static_type::static_type;

/// Tokens for one field of the structure.
struct MemberTokens {
    /// `MemberDescription`.
    description: TokenStream,
    /// Constants for its place in the fixed part.
    place: TokenStream,
    /// Statement that writes it to `__fixed`.
    fixed: TokenStream,
    /// Number of bytes in the variable part.
    size: TokenStream,
    /// Statement that writes it to `__rest`.
    variable: TokenStream,
    /// Expression: `true` if it has a variable part.
    is_variable: TokenStream,
}

impl MemberTokens {
    fn new(
        field: &Field,
        attributes: &FieldAttributes,
        index: usize,
        root: &TokenStream,
    ) -> syn::Result<Self> {
        let ident = field.ident.as_ref().ok_or_else(|| syn::Error::new_spanned(field, "expected a name"))?;
        let name = member_name(field, attributes);
        let ty = static_type(&field.ty);
        let (begin, end) = (format_ident!("BEGIN_{index}"), format_ident!("END_{index}"));
        let alignment = format_ident!("ALIGNMENT_{index}");
        let own_alignment = attributes.alignment.unwrap_or(1);
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
                ) #member_calls .aligned(#alignment)
            },
            place: quote! {
                const #alignment: usize =
                    #root::derive::larger(#own_alignment, <#ty as #root::TraceField>::ALIGNMENT);
                const #begin: usize = #root::derive::aligned(#before, #alignment);
                const #end: usize = #begin + <#ty as #root::TraceField>::FIXED;
            },
            fixed: quote! {
                if let ::core::option::Option::Some(__out) = __fixed.get_mut(#begin..#end) {
                    #root::TraceField::write_fixed(&self.#ident, #order, __out);
                }
            },
            size: quote!(.saturating_add(#root::TraceField::variable_size(&self.#ident))),
            variable: quote!(#root::TraceField::write_variable(&self.#ident, #order, __rest);),
            is_variable: quote!(<#ty as #root::TraceField>::IS_VARIABLE),
        })
    }
}

/// Named fields of a structure.
pub(crate) struct MemberList {
    members: Vec<MemberTokens>,
}

impl MemberList {
    /// Reads the fields of a structure. Only the members of events can have meanings.
    pub(crate) fn parse(item: &DeriveInput, root: &TokenStream, has_meanings: bool) -> syn::Result<Self> {
        let mut members = Vec::new();
        let mut names = HashSet::new();
        for field in fields(item)? {
            let attributes = FieldAttributes::parse(&field.attrs)?;
            if attributes.has_meaning() && !has_meanings {
                let message = "only members of an event have a meaning, not members of a structure in it";
                return Err(syn::Error::new_spanned(field, message));
            }
            if !attributes.is_skipped {
                let name = member_name(field, &attributes);
                if name.is_empty() {
                    return Err(syn::Error::new_spanned(field, EMPTY_NAME));
                }
                if names.contains(&name) {
                    let message = format!("another member has the name `{name}`");
                    return Err(syn::Error::new_spanned(field, message));
                }
                names.insert(name);
                members.push(MemberTokens::new(field, &attributes, members.len(), root)?);
            }
        }
        check_names(item, &names)?;
        Ok(Self { members })
    }

    /// Returns constants: `MEMBERS`, the size `FIXED` of the fixed part, its `ALIGNMENT`, and `IS_VARIABLE`.
    pub(crate) fn constants(&self, root: &TokenStream) -> TokenStream {
        let descriptions = self.members.iter().map(|member| &member.description);
        let places = self.members.iter().map(|member| &member.place);
        let is_variable = self.members.iter().map(|member| &member.is_variable);
        let fixed = match self.members.len().checked_sub(1) {
            Some(last) => {
                let last = format_ident!("END_{last}");
                quote!(#last)
            }
            None => quote!(0),
        };
        let alignment = (0..self.members.len()).fold(quote!(1), |alignment, index| {
            let next = format_ident!("ALIGNMENT_{index}");
            quote!(#root::derive::larger(#alignment, #next))
        });
        quote! {
            #(#places)*
            const MEMBERS: &[#root::MemberDescription<'static>] = &[#(#descriptions),*];
            const FIXED: usize = #fixed;
            const ALIGNMENT: usize = #alignment;
            #[allow(dead_code)]
            const IS_VARIABLE: bool = false #(|| #is_variable)*;
        }
    }

    /// Returns statements that write the fixed part to `__fixed`, which is a slice or an array of bytes.
    pub(crate) fn fixed(&self) -> TokenStream {
        self.members.iter().map(|member| member.fixed.clone()).collect()
    }

    /// Returns the number of bytes in the variable part.
    pub(crate) fn variable_size(&self) -> TokenStream {
        let sizes = self.members.iter().map(|member| &member.size);
        quote!(0usize #(#sizes)*)
    }

    /// Returns statements that write the variable part to `__rest: &mut VariablePart`.
    pub(crate) fn variable(&self) -> TokenStream {
        self.members.iter().map(|member| member.variable.clone()).collect()
    }
}

/// Returns the name of a member.
fn member_name(field: &Field, attributes: &FieldAttributes) -> String {
    let own = || field.ident.as_ref().map(|ident| ident.unraw().to_string()).unwrap_or_default();
    attributes.name.as_ref().map_or_else(own, syn::LitStr::value)
}

/// Refuses names that the tracer gives to the length and the presence of another member.
fn check_names(item: &DeriveInput, names: &HashSet<String>) -> syn::Result<()> {
    let parent = |name: &str| {
        let middle = name.strip_prefix('_')?;
        let middle = middle.strip_suffix("_length").or(middle.strip_suffix("_present"))?;
        names.get(middle).cloned()
    };
    for name in names {
        if let Some(parent) = parent(name) {
            let message = format!("the member `{name}` has the name of what describes the member `{parent}`");
            return Err(syn::Error::new_spanned(&item.ident, message));
        }
    }
    Ok(())
}

/// Returns the named fields of a structure without type parameters.
fn fields(item: &DeriveInput) -> syn::Result<Vec<&Field>> {
    let is_lifetime = |parameter: &GenericParam| matches!(parameter, GenericParam::Lifetime(_));
    if let Some(parameter) = item.generics.params.iter().find(|parameter| !is_lifetime(parameter)) {
        return Err(syn::Error::new_spanned(parameter, "expected lifetimes only: a class has one layout"));
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
