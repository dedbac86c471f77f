//! Values as they are stored: enums whose variants have names, and fields that are left out.

/// Whether a field says nothing, so that it is not written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Gives an enum without fields `ALL`, `name`, `parse` and `Display`, from one list in the order of `ALL`.
#[macro_export]
macro_rules! named {
    ($type:ident { $($variant:ident => $name:literal),+ }) => {
        impl $type {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name that is stored and that people see.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
