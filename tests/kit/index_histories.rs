//! Random histories of declared indexes on both services, calm and at their worst.

use azure_table_tests::explorations::index_histories::{Setting, run};

#[test]
fn random_histories_of_several_writers_agree_with_a_model() {
    for setting in Setting::ALL {
        let calls = azure_table_tests::scenario::of_all(400) as usize;
        let counts = run(setting, 7, calls);
        assert!(
            counts.written > calls / 4 && counts.rejected > calls / 8 && counts.reads > calls / 2,
            "{counts}"
        );
        println!("{}: {counts}", setting.name);
    }
}
