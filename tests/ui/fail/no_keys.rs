use azure_table::TableEntity;

#[derive(TableEntity)]
struct Blog {
    channel: String,
    text: String,
}

fn main() {}
