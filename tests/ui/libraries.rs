//! The crates that Cargo built for this test, as arguments of the compiler.
//!
//! Cargo names a library after its package and a hash of its features and profile, and a target folder may have several
//! of one package. Which of them belong to this test is in Cargo's fingerprints, in a format of its own. The messages
//! are compared with one version of Rust only, and so of Cargo.

use std::path::PathBuf;
use std::{env, fs};

use serde_json::Value;

pub(crate) struct Libraries(Vec<String>);

impl Libraries {
    /// Finds the direct dependencies of the running test.
    pub(crate) fn of_this_test() -> Self {
        // Such as target/debug/deps/ui-0123456789abcdef
        let program = env::current_exe().unwrap();
        let deps = program.parent().unwrap();
        let fingerprints = deps.with_file_name(".fingerprint");
        let (_, hash) = program.file_stem().unwrap().to_str().unwrap().rsplit_once('-').unwrap();
        let own = fingerprints.join(format!("azure-table-tests-{hash}/test-integration-test-ui.json"));
        let own: Value = serde_json::from_str(&fs::read_to_string(own).unwrap()).unwrap();
        let packages: Vec<PathBuf> = fs::read_dir(&fingerprints)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let mut arguments = vec![format!("-Ldependency={}", deps.display())];
        for dependency in own["deps"].as_array().unwrap() {
            let (name, fingerprint) = (dependency[1].as_str().unwrap(), dependency[3].as_u64().unwrap());
            let fingerprint = format!("{:016x}", fingerprint.swap_bytes());
            let is_its = |package: &&PathBuf| {
                let file = package.join(format!("lib-{name}"));
                fs::read_to_string(file).is_ok_and(|text| text == fingerprint)
            };
            // Procedural macros and build scripts have no such file.
            if let Some(package) = packages.iter().find(is_its) {
                let (_, hash) = package.to_str().unwrap().rsplit_once('-').unwrap();
                let library = deps.join(format!("lib{name}-{hash}.rlib"));
                arguments.push(format!("--extern={name}={}", library.display()));
            }
        }
        let has_client = arguments.iter().any(|it| it.starts_with("--extern=azure_table="));
        assert!(has_client, "no library of azure_table in {arguments:#?}");
        Self(arguments)
    }

    pub(crate) fn arguments(&self) -> &[String] {
        &self.0
    }
}
