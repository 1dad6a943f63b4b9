//! The options of the control port. Errors never contain the token.

use std::net::{IpAddr, Ipv4Addr};
use std::{env, fs};

use crate::options::arguments::ControlArguments;
use crate::token::Token;

/// The environment variable with the token.
const VARIABLE: &str = "AZURE_TABLE_EMULATOR_CONTROL_TOKEN";

/// The number of requests that the log keeps by default.
const LOG_LENGTH: usize = 1_000;

/// The options of the control port.
pub(crate) struct ControlOptions {
    pub(crate) port: u16,
    pub(crate) host: IpAddr,
    pub(crate) names: Vec<String>,
    pub(crate) token: Option<Token>,
    /// The number of requests that the log keeps.
    pub(crate) log_length: usize,
    /// The token is in the command line.
    pub(crate) is_token_visible: bool,
}

impl ControlOptions {
    pub(super) fn of(arguments: ControlArguments) -> Result<Option<Self>, String> {
        let Some(port) = arguments.port else {
            let has_others = arguments.host.is_some() || arguments.requests.is_some() || !arguments.names.is_empty();
            if has_others || arguments.token.is_some() {
                let why =
                    "--control-host, --control-name, --control-requests and --control-token need --control, the port";
                return Err(why.to_owned());
            }
            return Ok(None);
        };
        let host = arguments.host.unwrap_or(Ipv4Addr::LOCALHOST.into());
        let is_token_visible = arguments.token.as_ref().is_some_and(|token| !token.starts_with('@'));
        let token = match arguments.token {
            Some(token) => Some(read("--control-token", &token)?),
            None => env::var(VARIABLE)
                .ok()
                .map(|token| read(VARIABLE, &token))
                .transpose()?,
        };
        if token.is_none() && !host.to_canonical().is_loopback() {
            return Err(format!(
                "--control-host {host}: it is reachable from other machines; set --control-token @FILE"
            ));
        }
        Ok(Some(Self {
            port,
            host,
            names: arguments.names,
            token,
            log_length: arguments.requests.unwrap_or(LOG_LENGTH),
            is_token_visible,
        }))
    }
}

/// Reads a token, or the file that contains it.
fn read(source: &str, text: &str) -> Result<Token, String> {
    let token = match text.strip_prefix('@') {
        Some(file) => &fs::read_to_string(file).map_err(|e| format!("{source}: {file}: {e}"))?,
        None => text,
    };
    Token::new(token).map_err(|why| format!("{source}: {why}"))
}
