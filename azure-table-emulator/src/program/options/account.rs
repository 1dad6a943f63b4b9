//! Accounts of the command line and of the environment. Errors never contain a key.

use std::{env, fs};

use azure_table_emulator::Emulator;

/// The environment variable with the accounts.
const VARIABLE: &str = "AZURE_TABLE_EMULATOR_ACCOUNTS";
const OPTION: &str = "--account";

/// The maximum length of an account name, which is less than that of a key.
const MAX_NAME: usize = 44;

fn is_name(text: &str) -> bool {
    let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(is_in_name) && !text.ends_with("-secondary")
}

/// An account besides the default one.
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) key: String,
    /// The key is in the command line.
    pub(crate) is_key_visible: bool,
}

impl Account {
    /// Reads the accounts of the environment, and the accounts of the options after them.
    pub(super) fn all(in_options: &[String]) -> Result<Vec<Self>, String> {
        let in_environment = env::var(VARIABLE).unwrap_or_default();
        let in_environment = in_environment.split(';').filter(|text| !text.is_empty());
        let texts = in_environment.map(|text| (VARIABLE, text));
        let mut accounts: Vec<Self> = Vec::new();
        for (source, text) in texts.chain(in_options.iter().map(|text| (OPTION, text.as_str()))) {
            let account = Self::parse(source, text)?;
            if accounts.iter().any(|known| known.name == account.name) {
                return Err(format!("{source} {}: it is set twice", account.name));
            }
            accounts.push(account);
        }
        Ok(accounts)
    }

    fn parse(source: &str, text: &str) -> Result<Self, String> {
        let (name, key) = text
            .split_once(':')
            .ok_or_else(|| format!("{source} needs NAME:@FILE, a file with the key in base64, or NAME:KEY"))?;
        // The key may stand before the colon by mistake, so the text is not shown.
        if !is_name(name) {
            return Err(format!(
                "{source}: the text before the colon is not the name of an account: 1 to {MAX_NAME} ASCII letters, \
                 digits and hyphens, and not -secondary at the end, which stands for a secondary endpoint"
            ));
        }
        let file = key.strip_prefix('@');
        let key = match file {
            Some(file) => fs::read_to_string(file).map_err(|e| format!("{source} {name}: {file}: {e}"))?,
            None => key.to_owned(),
        };
        let key = key.trim();
        Emulator::new()
            .account(name, key)
            .map_err(|e| format!("{source} {name}: {e}"))?;
        Ok(Self {
            name: name.to_owned(),
            key: key.to_owned(),
            is_key_visible: source == OPTION && file.is_none(),
        })
    }
}
