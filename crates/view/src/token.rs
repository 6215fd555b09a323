//! Secret token in all addresses of a server.

use std::fmt;

/// Random number that cannot be guessed.
#[derive(Clone)]
pub(crate) struct AddressToken(String);

impl fmt::Debug for AddressToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressToken")
    }
}

impl AddressToken {
    /// Creates a token from 128 random bits of the system.
    pub(crate) fn random() -> std::io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Returns the token as 32 hexadecimal digits.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Compares a text with the token in constant time.
    pub(crate) fn is(&self, text: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), text.as_bytes());
        let difference = own.iter().zip(other).fold(0, |all, (own, other)| all | (own ^ other));
        own.len() == other.len() && std::hint::black_box(difference) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_are_compared_as_a_whole() {
        let (token, other) = (AddressToken::random().unwrap(), AddressToken::random().unwrap());
        assert_eq!(token.text().len(), 32);
        assert!(token.is(token.text()));
        assert!(!token.is(other.text()) && !token.is("") && !token.is(&token.text()[..31]));
        assert!(!token.is(&format!("{}0", token.text())));
    }
}
