//! A hash that is the same for every build and on every machine: 64-bit FNV-1a
//! (Fowler, Noll, Vo; RFC 9923). It detects accidental differences of files, not deliberate ones.

/// The hash of bytes that are given one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fnv1a(u64);

impl Fnv1a {
    /// Returns the hash of no bytes.
    pub(crate) const fn new() -> Self {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }

    /// Returns the hash with these bytes after the earlier ones.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let next = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Fnv1a(bytes.iter().fold(self.0, next))
    }

    /// Returns the hash with a list of values of eight bytes, and its length, after the earlier
    /// ones.
    #[cfg(any(test, feature = "cli", feature = "python"))]
    pub(crate) fn list(self, values: impl ExactSizeIterator<Item = u64>) -> Self {
        let first = self.bytes(&(values.len() as u64).to_le_bytes());
        values.fold(first, |hash, value| hash.bytes(&value.to_le_bytes()))
    }

    /// Returns the hash with a text, and its length, after the earlier ones.
    #[cfg(feature = "cuda")]
    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(&(text.len() as u64).to_le_bytes()).bytes(text.as_bytes())
    }

    /// Returns the number.
    pub(crate) const fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_rfc() {
        let hash = |text: &str| Fnv1a::new().bytes(text.as_bytes()).finish();
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn lists_with_the_same_bytes_differ() {
        let hash = |parts: &[&[u64]]| {
            let lists = parts.iter().map(|part| part.iter().copied());
            lists.fold(Fnv1a::new(), Fnv1a::list).finish()
        };
        assert_ne!(hash(&[&[1], &[2]]), hash(&[&[1, 2]]));
        assert_ne!(hash(&[&[1, 2], &[]]), hash(&[&[], &[1, 2]]));
    }
}
