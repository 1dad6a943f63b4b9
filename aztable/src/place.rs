//! The places that commands name: accounts, folders, and tables in them.
//!
//! Defines the texts, not the connections: see `connection.rs`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use azure_table::TableName;

/// The error of a secret on the command line, which is in the list of processes and in the history of the shell.
pub(crate) const SECRET: &str = "a secret does not belong on the command line: write it to a file, named as @FILE";

/// Returns whether a word of the command line has a key or a signature.
pub(crate) fn has_secret(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let marks = ["sig=", "sig%3d", "accountkey", "sharedaccesssignature"];
    // A key is 64 bytes in base64.
    let is_key = |part: &str| part.trim_end_matches('=').len() >= 86 && part.ends_with("==");
    marks.iter().any(|mark| lower.contains(mark)) || word.split([';', ',', ' ']).any(is_key)
}

/// An account, or a folder with tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AccountPlace {
    /// The account that the options or the environment name.
    #[default]
    Default,
    /// An account by its name or the URL of its endpoint, with Entra ID.
    Named(String),
    /// An account whose connection string, or URL with a SAS, is in a file.
    File(PathBuf),
    /// A folder with tables.
    Folder(PathBuf),
}

impl FromStr for AccountPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let place = match text.strip_prefix("local:") {
            Some(folder) => Self::Folder(folder.into()),
            None => match text.strip_prefix('@') {
                Some(file) => Self::File(file.into()),
                None => Self::Named(text.into()),
            },
        };
        let is_name = |name: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            (3..=24).contains(&name.len()) && name.bytes().all(is_allowed)
        };
        match &place {
            _ if has_secret(text) => Err(SECRET.into()),
            Self::Named(name) if !name.contains("://") && !is_name(name) => Err(
                "an account is its name (3 to 24 lower-case letters and digits), the URL of its endpoint, @FILE or \
                 local:DIR"
                    .into(),
            ),
            Self::Folder(path) | Self::File(path) if path.as_os_str().is_empty() => Err("the path is empty".into()),
            _ => Ok(place),
        }
    }
}

impl fmt::Display for AccountPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("(default)"),
            Self::Named(name) => f.write_str(name),
            Self::File(path) => write!(f, "@{}", path.display()),
            Self::Folder(path) => write!(f, "local:{}", path.display()),
        }
    }
}

/// A table of a place: `TABLE`, `ACCOUNT/TABLE`, `@FILE/TABLE` or `local:DIR/TABLE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TablePlace {
    pub(crate) account: AccountPlace,
    pub(crate) table: TableName,
}

impl FromStr for TablePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (account, table) = match text.rsplit_once('/') {
            None => (AccountPlace::Default, text),
            Some((account, table)) => (account.parse()?, table),
        };
        let table = TableName::new(table).map_err(|error| error.to_string())?;
        Ok(Self { account, table })
    }
}

impl fmt::Display for TablePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.account {
            AccountPlace::Default => write!(f, "{}", self.table),
            account => write!(f, "{account}/{}", self.table),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_names_its_place() {
        for (text, account) in [
            ("Quakes", AccountPlace::Default),
            ("contoso/Quakes", AccountPlace::Named("contoso".into())),
            (
                "https://contoso.table.core.windows.net/Quakes",
                AccountPlace::Named("https://contoso.table.core.windows.net".into()),
            ),
            ("@secrets/staging/Quakes", AccountPlace::File("secrets/staging".into())),
            ("local:/var/tables/Quakes", AccountPlace::Folder("/var/tables".into())),
        ] {
            let place: TablePlace = text.parse().unwrap();
            assert_eq!((&place.account, place.table.as_str()), (&account, "Quakes"), "{text}");
        }
    }

    #[test]
    fn name_that_no_account_has_is_rejected_with_the_forms() {
        for text in [
            "loc:t3/Foo",
            "/Foo",
            "Contoso/Foo",
            "ab/Foo",
            "a_b_c/Foo",
            "abcdefghijklmnopqrstuvwxy/Foo",
        ] {
            let error = text.parse::<TablePlace>().unwrap_err();
            assert!(
                error.contains("3 to 24") && error.contains("local:DIR"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_secret_is_rejected() {
        for text in [
            "https://contoso.table.core.windows.net/?sv=1&SIG=abc/Quakes",
            "AccountName=contoso;accountkey=abc==/Quakes",
        ] {
            assert!(text.parse::<TablePlace>().unwrap_err().contains("@FILE"), "{text}");
        }
        let key = format!("{}==", "a".repeat(86));
        assert!(has_secret(&key) && has_secret(&format!("contoso;{key}")) && !has_secret("a=="));
    }
}
