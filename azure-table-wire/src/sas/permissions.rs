//! The permissions of shared access signatures: sets of letters, always written in the order that the service requires.

use std::fmt;
use std::ops::BitOr;
use std::str::FromStr;

use crate::error::error_text::Shown;
use crate::error::{Error, Result};

macro_rules! letters {
    ($(#[$doc:meta])* $name:ident { $($(#[$letter_doc:meta])* $constant:ident = $letter:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(u16);

        impl $name {
            const LETTERS: &'static [(Self, char)] = &[$((Self::$constant, $letter)),+];

            /// All of these.
            pub const ALL: Self = Self(0 $(| Self::$constant.0)+);

            letters!(@constants 1, $($(#[$letter_doc])* $constant,)+);
        }

        /// Parses letters in any order. [`Display`](fmt::Display) writes them in the service's order.
        impl FromStr for $name {
            type Err = Error;

            /// # Errors
            /// - `InvalidInput`: the text is empty, or a letter is unknown or repeated.
            fn from_str(text: &str) -> Result<Self> {
                let one = |letter| Self::LETTERS.iter().find(|(_, known)| *known == letter).map(|(one, _)| one.0);
                let read = text.chars().try_fold(0, |all, letter| one(letter).filter(|one| all & one == 0).map(|one| all | one));
                read.filter(|all| *all != 0).map(Self).ok_or_else(|| {
                    let why = format!("{} {}: it has letters of {} once each, and at least one", stringify!($name), Shown(text), Self::ALL);
                    Error::invalid_input(why)
                })
            }
        }

        impl BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Self::LETTERS
                    .iter()
                    .filter(|(one, _)| self.0 & one.0 != 0)
                    .try_for_each(|(_, letter)| write!(f, "{letter}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
    (@constants $bit:expr, $(#[$doc:meta])* $constant:ident, $($rest:tt)*) => {
        $(#[$doc])*
        pub const $constant: Self = Self($bit);
        letters!(@constants $bit << 1, $($rest)*);
    };
    (@constants $bit:expr,) => {};
}

letters! {
    /// The permissions of a `TableSas`. Combine them with `|`.
    TablePermissions {
        /// Read and query entities.
        READ = 'r',
        /// Insert entities.
        ADD = 'a',
        /// Replace and merge entities.
        ///
        /// An upsert needs `ADD` as well.
        UPDATE = 'u',
        /// Delete entities.
        DELETE = 'd',
    }
}

letters! {
    /// The permissions of an `AccountSas`. Combine them with `|`.
    AccountPermissions {
        /// Read entities and the service's properties.
        READ = 'r',
        /// Set the service's properties, create tables.
        WRITE = 'w',
        /// Delete tables and entities.
        DELETE = 'd',
        /// List tables.
        LIST = 'l',
        /// Insert entities.
        ADD = 'a',
        /// Create tables.
        CREATE = 'c',
        /// Replace and merge entities.
        ///
        /// An upsert needs `ADD` as well.
        UPDATE = 'u',
    }
}

letters! {
    /// The kinds of resources that an `AccountSas` covers. Combine them with `|`.
    AccountResources {
        /// The service: its properties and statistics.
        SERVICE = 's',
        /// Tables: create, delete, list.
        TABLES = 'c',
        /// Entities.
        ENTITIES = 'o',
    }
}

letters! {
    /// The services that an `AccountSas` covers. Combine them with `|`.
    AccountServices {
        /// Blob storage.
        BLOB = 'b',
        /// Queue storage.
        QUEUE = 'q',
        /// Table storage.
        TABLE = 't',
        /// Azure Files.
        FILE = 'f',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_written_in_the_order_of_the_service() {
        let all = TablePermissions::DELETE | TablePermissions::UPDATE | TablePermissions::ADD | TablePermissions::READ;
        assert_eq!(all, TablePermissions::ALL);
        assert_eq!(AccountPermissions::ALL.to_string(), "rwdlacu");
        assert_eq!(AccountResources::ALL.to_string(), "sco");
        assert_eq!(all.to_string(), "raud");
        assert_eq!("duar".parse::<TablePermissions>().unwrap(), all);
        assert_eq!(
            "ol".parse::<AccountResources>().unwrap_err().to_string(),
            r#"AccountResources "ol": it has letters of sco once each, and at least one"#
        );
        assert!(
            ["", "rr", "rx", "r a"]
                .iter()
                .all(|wrong| wrong.parse::<TablePermissions>().is_err())
        );
        let some = AccountPermissions::UPDATE | AccountPermissions::READ | AccountPermissions::CREATE;
        assert_eq!(some.to_string(), "rcu");
        assert_eq!(
            format!("{:?}", AccountResources::ENTITIES | AccountResources::SERVICE),
            "AccountResources(so)"
        );
    }
}
