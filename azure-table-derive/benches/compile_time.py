#!/usr/bin/env python3
"""Compile time of 100 derived structs: `TableEntity` against serde's `Serialize` and `Deserialize`.

Makes a crate with 100 structs of 12 fields below `target`, builds its dependencies once, then compiles the crate five
times with each derive in turn (`cargo build`, debug) and prints the medians of the user CPU time, their ratio, and the
A/A ratio: serde against itself in the same run.
"""

import os
import pathlib
import resource
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRATE = ROOT / "target" / "compile-time"
ROUNDS = 5

FIELDS = [
    ("text", "String"), ("note", "Option<String>"), ("small", "i32"), ("other", "i32"), ("large", "i64"),
    ("count", "Option<i64>"), ("ratio", "f64"), ("flag", "bool"), ("moment", "DateTime"), ("id", "Guid"),
]


def structs(derive, attributes):
    for n in range(100):
        yield f"#[derive({derive})]\npub struct S{n} {{"
        yield f"    {attributes[0]}pub partition: String,\n    {attributes[1]}pub row: String,"
        for name, ty in FIELDS:
            yield f"    pub {name}: {ty},"
        yield "}"


SOURCES = {
    "serde": ("serde::Serialize, serde::Deserialize", ("", "")),
    "serde again": ("serde::Serialize, serde::Deserialize", ("", "")),
    "TableEntity": ("azure_table::TableEntity", ("#[table(partition_key)] ", "#[table(row_key)] ")),
}


def build():
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(["cargo", "build", "--quiet", "--offline"], cwd=CRATE, check=True,
                   env={**os.environ, "CARGO_INCREMENTAL": "0", "CARGO_TARGET_DIR": str(CRATE / "target")})
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    (CRATE / "src").mkdir(parents=True, exist_ok=True)
    (CRATE / "Cargo.toml").write_text(f"""[package]
name = "compile-time"
version = "0.0.0"
edition = "2024"

[workspace]

[dependencies]
azure-table = {{ path = "{ROOT / 'azure-table'}", default-features = false, features = ["derive"] }}
serde = {{ version = "1", features = ["derive"] }}
""")
    lock = ROOT / "Cargo.lock"
    (CRATE / "Cargo.lock").write_text(lock.read_text())
    times = {name: [] for name in SOURCES}
    for round_number in range(ROUNDS + 1):
        for name, (derive, attributes) in SOURCES.items():
            source = "\n".join(["use azure_table::{DateTime, Guid};", *structs(derive, attributes)])
            # Another text each time, so that the crate is compiled anew.
            (CRATE / "src/lib.rs").write_text(f"//! {name} {round_number}\n{source}\n")
            seconds = build()
            # The first round builds the dependencies.
            if round_number:
                times[name].append(seconds)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"100 structs of 12 fields, user CPU, median of {ROUNDS}")
    for name, median in medians.items():
        print(f"  {name:<12} {median:6.2f} s   ratio {median / medians['serde']:.2f}")
    print(f"  A/A {medians['serde again'] / medians['serde']:.3f}")


if __name__ == "__main__":
    sys.exit(main())
