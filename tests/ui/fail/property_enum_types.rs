//! Enums and newtypes of types that cannot be stored.

use azure_table::TableProperty;

struct Opaque;

#[derive(TableProperty)]
struct Wrapped(Opaque);

#[derive(TableProperty)]
#[table(key)]
struct Weight(f64);

#[derive(TableProperty)]
#[table(integer)]
#[repr(i64)]
enum Large {
    Small = 1,
    Large = 5_000_000_000,
}

#[derive(TableProperty)]
#[table(integer)]
#[repr(i32)]
enum OtherNumber {
    One = 1,
    #[table(other)]
    Other(String),
}

#[derive(TableProperty)]
enum OtherText {
    One,
    #[table(other)]
    Other(i32),
}

fn main() {}
