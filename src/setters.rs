//! Methods of options.

/// Methods that return the options with one field set, each named after its field.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)+) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $field(self, $field: $type) -> Self {
            Self { $field, ..self }
        })+
    };
}
pub(crate) use setters;
