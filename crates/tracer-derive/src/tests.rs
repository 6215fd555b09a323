//! Input that the macros refuse.

use syn::DeriveInput;

/// Returns the error of a macro, or nothing if it accepts an item.
fn error(expand: impl FnOnce(&DeriveInput) -> syn::Result<proc_macro2::TokenStream>, item: &str) -> String {
    let item = syn::parse_str(item).unwrap_or_else(|error| panic!("{error}: {item}"));
    expand(&item).err().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn names_of_members_are_unique_and_not_empty() {
    for expand in [crate::event::expand, crate::structure::expand] {
        let same = error(expand, r#"struct S { a: u8, #[trace(name = "a")] b: u8 }"#);
        assert_eq!(same, "another member has the name `a`");
        let raw = error(expand, r##"struct S { r#type: u8, #[trace(name = "type")] b: u8 }"##);
        assert_eq!(raw, "another member has the name `type`");
        assert_eq!(
            error(expand, r#"struct S { #[trace(name = "")] a: u8 }"#),
            super::field_attributes::EMPTY_NAME
        );
        // A field that is not recorded has no name.
        assert_eq!(error(expand, r#"struct S { #[trace(skip)] a: u8, #[trace(name = "a")] b: u8 }"#), "");
    }
    let unnamed = error(crate::event::expand, r#"#[trace(name = "")] struct S { a: u8 }"#);
    assert_eq!(unnamed, super::field_attributes::EMPTY_NAME);
}

#[test]
fn names_of_flags_are_unique() {
    let flags = |flags: &str| error(crate::event::expand, &format!("struct S {{ #[trace({flags})] a: u8 }}"));
    assert_eq!(flags("flags(A = 0, A = 1)"), "another flag has the name `A`");
    assert_eq!(flags("flags(A = 0), flags(r#A = 1..=2)"), "another flag has the name `A`");
    assert_eq!(flags("flags(A = 2..=1)"), "expected bits from 0 to 63, the first one first");
    assert_eq!(flags("flags(A = 0, B = 1)"), "");
}

#[test]
fn names_of_variants_are_unique_and_not_empty() {
    let variants =
        |variants: &str| error(crate::mapped_enum::expand, &format!("#[repr(u8)] enum E {{ {variants} }}"));
    assert_eq!(variants(r#"A, #[trace(name = "A")] B"#), "another variant has the name `A`");
    assert_eq!(variants(r##"r#type, #[trace(name = "type")] B"##), "another variant has the name `type`");
    assert_eq!(variants(r#"#[trace(name = "")] A"#), super::field_attributes::EMPTY_NAME);
    assert_eq!(variants("A, B"), "");
}
