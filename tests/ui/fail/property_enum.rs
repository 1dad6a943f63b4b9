//! Enums and newtypes as properties, with contradicting attributes.

use azure_table::TableProperty;

#[derive(TableProperty)]
enum Empty {}

#[derive(TableProperty)]
struct Pair(i32, i32);

#[derive(TableProperty)]
enum WithFields {
    Red,
    Rgb(u8, u8, u8),
    #[table(other)]
    Other,
}

#[derive(TableProperty)]
enum Names {
    Red,
    #[table(rename = "Red")]
    Green,
    #[table(alias = "Green")]
    Blue,
    #[table(alias = "Red")]
    Pink,
}

#[derive(TableProperty)]
#[table(integer, rename_all = "camelCase", key)]
enum Numbers {
    #[table(rename = "one")]
    One,
    #[table(alias = "zwei")]
    Two,
}

#[derive(TableProperty)]
#[table(key)]
enum Key {
    #[table(rename = "a/b")]
    First,
    #[table(integer)]
    Second,
    #[table(skip)]
    Third,
}

fn main() {}
