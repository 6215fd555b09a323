//! Walks through field class trees.

use std::sync::Arc;

use crate::class::{Attributes, FieldClass, FieldKind, Member, Role, VariantOption};

/// A field class directly inside another: see [`FieldClass::children`].
#[derive(Clone, Copy, Debug)]
pub enum Child<'c> {
    /// A structure or union member.
    Member(&'c Member),
    /// An array's element class.
    Element(&'c Arc<FieldClass>),
    /// An optional field's class.
    Present(&'c Arc<FieldClass>),
    /// A variant option.
    Choice(&'c VariantOption),
}

impl<'c> Child<'c> {
    /// Returns the class.
    #[must_use]
    pub fn class(self) -> &'c Arc<FieldClass> {
        match self {
            Self::Member(member) => &member.class,
            Self::Element(class) | Self::Present(class) => class,
            Self::Choice(option) => &option.class,
        }
    }

    /// Returns the name of a member or of a named option.
    #[must_use]
    pub fn name(self) -> Option<&'c str> {
        match self {
            Self::Member(member) => Some(&member.name),
            Self::Element(_) | Self::Present(_) => None,
            Self::Choice(option) => option.name.as_deref(),
        }
    }

    /// Returns the attributes of a member or an option. They are separate from the attributes of its class.
    #[must_use]
    pub fn attributes(self) -> Option<&'c Attributes> {
        match self {
            Self::Member(member) => Some(&member.attributes),
            Self::Element(_) | Self::Present(_) => None,
            Self::Choice(option) => Some(&option.attributes),
        }
    }
}

impl FieldClass {
    /// Returns the direct child classes in order: members, array element, optional field, options. Empty for single
    /// values.
    ///
    /// ```
    /// use ichnos_model::class::{FieldClass, Member};
    ///
    /// /// Counts the strings in a class.
    /// fn strings(class: &FieldClass) -> usize {
    ///     let within: usize = class.children().map(|child| strings(child.class())).sum();
    ///     within + usize::from(*class == FieldClass::string())
    /// }
    ///
    /// let members = ["name", "text"].map(|name| Member::new(name, FieldClass::string()));
    /// assert_eq!(strings(&FieldClass::optional(FieldClass::structure(members))), 2);
    /// ```
    pub fn children(&self) -> impl Iterator<Item = Child<'_>> {
        let (members, single, options): (&[Member], _, &[VariantOption]) = match &self.kind {
            FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => (members, None, &[]),
            FieldKind::Array { element, .. } => (&[], Some(Child::Element(element)), &[]),
            FieldKind::Optional { field, .. } => (&[], Some(Child::Present(field)), &[]),
            FieldKind::Variant { options, .. } => (&[], None, options),
            _ => (&[], None, &[]),
        };
        members.iter().map(Child::Member).chain(single).chain(options.iter().map(Child::Choice))
    }

    /// Returns the direct child classes for changes: see [`FieldClass::children`].
    pub fn children_mut(&mut self) -> impl Iterator<Item = &mut Arc<Self>> {
        let (members, single, options): (&mut [Member], _, &mut [VariantOption]) = match &mut self.kind {
            FieldKind::Structure { members, .. } | FieldKind::Union { members, .. } => {
                (members, None, &mut [])
            }
            FieldKind::Array { element: single, .. } | FieldKind::Optional { field: single, .. } => {
                (&mut [], Some(single), &mut [])
            }
            FieldKind::Variant { options, .. } => (&mut [], None, options),
            _ => (&mut [], None, &mut []),
        };
        let members = members.iter_mut().map(|member| &mut member.class);
        members.chain(single).chain(options.iter_mut().map(|option| &mut option.class))
    }

    /// Replaces the direct child classes.
    ///
    /// ```
    /// use ichnos_model::class::FieldClass;
    /// use std::sync::Arc;
    ///
    /// let text = FieldClass::optional(FieldClass::string());
    /// let number = text.map_children(|_| Arc::new(FieldClass::unsigned(32)));
    /// assert_eq!(number, FieldClass::optional(FieldClass::unsigned(32)));
    /// ```
    #[must_use]
    pub fn map_children(mut self, mut map: impl FnMut(&Arc<Self>) -> Arc<Self>) -> Self {
        for child in self.children_mut() {
            *child = map(child);
        }
        self
    }

    /// Returns `true` if this class, or one inside it at any depth, fulfils a condition.
    ///
    /// The depth is within [`Limits::depth`](crate::trace::Limits::depth).
    pub fn exists(&self, is_wanted: &mut dyn FnMut(&Self) -> bool) -> bool {
        is_wanted(self) || self.children().any(|child| child.class().exists(is_wanted))
    }

    /// Returns `true` if this class, or one inside it at any depth, has a role.
    #[must_use]
    pub fn has_role(&self, role: Role) -> bool {
        self.exists(&mut |class| class.roles.has(role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{FieldLocation, Length, RangeSet};

    fn nested() -> [FieldClass; 5] {
        let text = || Arc::new(FieldClass::string());
        let members = || vec![Member::new("a", text()), Member::new("b", text())];
        let option = |name: Option<&str>| VariantOption {
            name: name.map(str::to_owned),
            class: text(),
            ranges: RangeSet::default(),
            attributes: Attributes::default(),
        };
        [
            FieldClass::structure(members()),
            FieldClass::new(FieldKind::Union { members: members(), alignment: 8 }),
            FieldClass::new(FieldKind::Array {
                element: text(),
                length: Length::Static(2),
                minimum_alignment: 1,
                element_aligns: true,
            }),
            FieldClass::optional(text()),
            FieldClass::new(FieldKind::Variant {
                options: vec![option(Some("c")), option(None)],
                selector: Box::new(FieldLocation::by_values()),
                alignment: 1,
            }),
        ]
    }

    #[test]
    fn children_of_all_kinds_in_order() {
        let names: Vec<Vec<Option<String>>> = nested()
            .iter()
            .map(|class| class.children().map(|child| child.name().map(str::to_owned)).collect())
            .collect();
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(
            names,
            [
                vec![name("a"), name("b")],
                vec![name("a"), name("b")],
                vec![None],
                vec![None],
                vec![name("c"), None]
            ]
        );
        assert_eq!(FieldClass::string().children().count(), 0);
    }

    #[test]
    fn all_children_are_replaced() {
        for class in nested() {
            let count = class.children().count();
            assert!(class.exists(&mut |class| *class == FieldClass::string()));
            let mut calls = 0;
            let mapped = class.clone().map_children(|_| {
                calls += 1;
                Arc::new(FieldClass::guid())
            });
            assert_eq!((calls, mapped.children().count()), (count, count));
            assert!(mapped.children().all(|child| **child.class() == FieldClass::guid()));
            assert!(!mapped.exists(&mut |class| *class == FieldClass::string()));
        }
    }
}
