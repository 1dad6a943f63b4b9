//! The sessions in `guide.md` are what the program prints.
//!
//! A block marked `console` has commands after `$ `, each with its output and notes below it. All blocks run in order
//! in one fresh folder. Besides `aztable`, a command may be `cat FILE`. Times, ETags and signatures are placeholders.
//! With `AZTABLE_UPDATE_GUIDE=1` the test writes the outputs instead.

use std::fs;
use std::process::Command;

use crate::program::Folder;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/guide.md");

#[test]
fn sessions_are_what_the_program_prints() {
    let folder = Folder::new();
    let guide = fs::read_to_string(GUIDE).unwrap();
    let (mut replayed, mut in_session, mut commands) = (Vec::new(), false, 0);
    for line in guide.lines() {
        let is_fence = line.starts_with("```");
        if is_fence {
            in_session = line == "```console";
        }
        if let (true, Some(command)) = (in_session, line.strip_prefix("$ ")) {
            replayed.push(line.to_owned());
            replayed.extend(run(&folder, command).lines().map(masked));
            commands += 1;
        } else if !in_session || is_fence {
            replayed.push(line.to_owned());
        }
    }
    let replayed = replayed.join("\n") + "\n";
    if std::env::var_os("AZTABLE_UPDATE_GUIDE").is_some() {
        fs::write(GUIDE, &replayed).unwrap();
    } else {
        assert_eq!(guide, replayed, "run this test with AZTABLE_UPDATE_GUIDE=1");
    }
    assert!(commands > 20, "{commands}");
}

#[test]
fn guide_and_readme_name_every_command() {
    let help = Folder::new().run(&["--help"]).done();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let guide = fs::read_to_string(GUIDE).unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for name in names
        .into_iter()
        .filter(|name| !["help", "completions", "man"].contains(name))
    {
        assert!(readme.contains(&format!("`{name}`")), "README.md does not name {name}");
        assert!(
            guide.contains(&format!("$ aztable {name} ")),
            "guide.md does not run {name}"
        );
    }
}

/// Runs a command in the shell of the guide: the program, with what it reads and writes.
fn run(folder: &Folder, command: &str) -> String {
    let program = env!("CARGO_BIN_EXE_aztable");
    let command = match command.strip_prefix("aztable ") {
        Some(arguments) => format!("'{program}' {arguments}"),
        None => command.to_owned(),
    };
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(folder.path());
    shell
        .env_remove("AZURE_STORAGE_CONNECTION_STRING")
        .env("COLUMNS", "100");
    let output = shell.stdin(std::process::Stdio::null()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a line with placeholders for what differs in each run.
fn masked(line: &str) -> String {
    let mut line = line.to_owned();
    for (before, after, placeholder) in [
        ("W/\"datetime'", "'", "TIME"),
        ("W/\\\"datetime'", "'", "TIME"),
        ("&se=", "&", "TIME"),
        ("Timestamp  ", "\n", "TIME"),
        ("expiry  ", "\n", "TIME"),
        ("sig=", "\n", "SIGNATURE"),
        ("(request ", ")", "ID"),
    ] {
        if let Some((head, rest)) = line.split_once(before) {
            let padding = &rest[..rest.len() - rest.trim_start().len()];
            let tail = rest.find(after).map_or("", |at| &rest[at..]);
            line = format!("{head}{before}{padding}{placeholder}{tail}");
        }
    }
    line
}
