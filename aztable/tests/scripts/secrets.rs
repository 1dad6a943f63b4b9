//! Secrets in wrong places: arguments, and the environment.

use crate::script::Script;
use crate::task::{Expected, Task};
use crate::world::Moment;

/// The secret of all scripts: base64, as a key or a signature is.
pub(crate) const SECRET: &str = "c2VjcmV0T2ZTY3JpcHRzMDEyMw";
/// The beginning of the key of the emulator's account.
const EMULATOR_KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq";

/// Returns whether a text has a secret.
pub(crate) fn has_secret(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.contains(SECRET) || text.contains(EMULATOR_KEY)
}

/// A command with a secret where none belongs.
pub(crate) fn misplaced(script: &mut Script<'_>, before: &Moment) -> Task {
    let random = &mut script.random;
    let key = *random
        .choice(&["AccountKey", "accountkey", "ACCOUNTKEY", "accountKey"])
        .unwrap();
    let signature = *random.choice(&["sig", "SIG", "Sig"]).unwrap();
    let text = match random.u8(..4) {
        0 => format!("AccountName=contoso;{key}={SECRET}=="),
        1 => format!("https://contoso.table.core.windows.net/?sv=2019-02-02&{signature}={SECRET}%3D"),
        2 => format!("TableEndpoint=https://x/;SharedAccessSignature=sv=1&{signature}={SECRET}"),
        _ => format!("{key}={SECRET}=="),
    };
    let table = format!("{text}/Rows");
    let option = format!("--{key}={SECRET}");
    let account = format!("--account={text}");
    let folder = format!("local:{text}/Rows");
    let words: Vec<&str> = match random.u8(..16) {
        0 => vec!["ls", &text],
        1 => vec!["ls", "--account", &text],
        2 => vec!["ls", &account],
        3 => vec!["query", &table],
        4 => vec!["export", &table, "secret.jsonl"],
        5 => vec!["ls", "--connection-string", &text],
        6 => vec!["ls", "--sas-url", &text],
        7 => vec!["ls", &option],
        8 => vec!["import", &text, "Rows", "--format", "jsonl", "--yes"],
        9 => vec!["backup", &text, "saved", "--yes"],
        10 => vec!["restore", "absent", "--into", &text, "--yes"],
        11 => vec!["copy", &table, "local:absent/Rows", "--yes"],
        12 => vec!["completions", &text],
        13 => vec!["export", &folder, "-"],
        14 => vec![&text],
        _ => vec!["diff", &table, &table],
    };
    let mut task = Task::new("secret", Expected::nothing(before, &[1, 2]));
    task.words(words);
    task.can_fail = false;
    if script.random.bool() {
        // A key that is no base64: the connection string cannot be used.
        let string = format!("DefaultEndpointsProtocol=http;AccountName=contoso;AccountKey=!{SECRET}");
        task.run.variables = vec![("AZURE_STORAGE_CONNECTION_STRING".into(), string)];
    }
    script.count("option", "secret");
    task
}
