use azure_table::TableEntity;

#[derive(TableEntity)]
struct Blog(String, String);

#[derive(TableEntity)]
enum Item {
    Blog,
    Comment,
}

fn main() {}
