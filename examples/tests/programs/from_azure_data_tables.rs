//! A move from the crate `azure_data_tables`.

use crate::output;

#[test]
fn filter_of_the_new_struct_finds_rows_once_they_have_types() {
    let expected = [
        "old struct   blog 1 has 7 views",
        "new struct   0 popular",
        "written      3 rows with their types",
        "new struct   blog 1 of Channel9 has 7 views",
        "new struct   blog 3 of Channel9 has 6 views",
    ];
    let text = output("from_azure_data_tables");
    // The first line names the account.
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected);
}
