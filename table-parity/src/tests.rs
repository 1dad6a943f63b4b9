//! The program: on emulators of every kind, on services with planted differences, on Azurite, and its facts themselves.
//!
//! `tests/` starts the program itself.

#[path = "../../tests/it/emulator/signed.rs"]
#[expect(dead_code, reason = "for requests without a recording")]
mod signed;

mod azurite;
mod emulators;
mod facts;
mod patterns;
mod planted;
mod planted_facts;
mod recorded;
mod recordings;
mod restored;
mod service;
mod unknowns;
mod unusable;
