//! Type names and their scopes (CTF 1.8, section 7.3.1).

use std::collections::HashMap;
use std::rc::Rc;

use ichnos_model::memory::size;

use super::super::memory;
use super::ast::ParsedType;

/// Named type.
#[derive(Clone)]
pub(super) struct NamedType {
    pub(super) class: Rc<ParsedType>,
    /// Body of the innermost structure around the declaration.
    pub(super) declared_in: Option<u32>,
}

struct TypeScope {
    names: HashMap<String, NamedType>,
    /// Structure whose body this is.
    structure: Option<u32>,
}

/// Nested type name scopes, the root scope first.
///
/// Names are spelled with single spaces: `unsigned long`, `struct point`, `void *`.
pub(super) struct TypeScopes {
    stack: Vec<TypeScope>,
}

impl TypeScopes {
    /// Creates the root scope.
    pub(super) fn new() -> Self {
        Self { stack: vec![TypeScope { names: HashMap::new(), structure: None }] }
    }

    /// Opens a scope. `structure` is the structure whose body it is.
    pub(super) fn open(&mut self, structure: Option<u32>) {
        self.stack.push(TypeScope { names: HashMap::new(), structure });
    }

    /// Closes the innermost scope.
    pub(super) fn close(&mut self) {
        if self.stack.len() > 1 {
            self.stack.pop();
        }
    }

    /// Returns the type with this name, from the innermost scope outwards.
    pub(super) fn find(&self, name: &str) -> Option<&NamedType> {
        self.stack.iter().rev().find_map(|scope| scope.names.get(name))
    }

    /// Returns the approximate memory of a declared name, in bytes.
    pub(super) fn memory_of(name: &str) -> u64 {
        // A map has a byte next to each entry, and room for more than twice as many entries when it grows.
        (size::<(String, NamedType)>() + 1) as u64 * 3 + memory::of_text(name)
    }

    /// Declares a type in the innermost scope. If the name already exists, returns it as an error, and keeps its type.
    pub(super) fn declare(&mut self, name: String, class: Rc<ParsedType>) -> Result<(), String> {
        let declared_in = self.stack.iter().rev().find_map(|scope| scope.structure);
        let Some(scope) = self.stack.last_mut() else { return Ok(()) };
        if scope.names.contains_key(&name) {
            return Err(name);
        }
        scope.names.insert(name, NamedType { class, declared_in });
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::ast::TypeKind;
    use super::*;

    #[test]
    fn inner_scopes_hide_and_forget() {
        let class = || Rc::new(ParsedType::new(Default::default(), TypeKind::String));
        let mut scopes = TypeScopes::new();
        assert!(scopes.declare("a".to_owned(), class()).is_ok());
        assert!(scopes.declare("a".to_owned(), class()).is_err(), "twice in one scope");
        scopes.open(Some(7));
        assert!(scopes.declare("a".to_owned(), class()).is_ok(), "hiding is allowed");
        scopes.open(None);
        assert!(scopes.declare("b".to_owned(), class()).is_ok());
        assert_eq!(scopes.find("b").unwrap().declared_in, Some(7));
        scopes.close();
        assert!(scopes.find("b").is_none());
        scopes.close();
        assert_eq!(scopes.find("a").unwrap().declared_in, None);
    }
}
