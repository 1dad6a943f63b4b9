//! Random histories of declared indexes on both services, calm and at their worst.

use azure_table_tests::explorations::index_histories::{Setting, run};

#[test]
fn random_histories_of_several_writers_agree_with_a_model() {
    for setting in Setting::ALL {
        let counts = run(setting, 7, 400);
        assert!(
            counts.written > 100 && counts.rejected > 50 && counts.reads > 200,
            "{counts}"
        );
        println!("{}: {counts}", setting.name);
    }
}
