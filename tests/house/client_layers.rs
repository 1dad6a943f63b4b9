//! The layers of the client and of the pipeline: imports point downward, without cycles.

use xtask::layers::Layers;

use super::product;

#[test]
fn imports_of_the_client_go_downward() {
    let layers = Layers {
        folder: "azure-table/src/client",
        names: &[
            "client",
            "sas_url",
            "serde_handle",
            "settings",
            "azure_core_options",
            "effective_settings",
            "table",
            "service",
            "batching",
            "batch",
            "query",
            "ops",
            "table_handle",
            "shape",
            "poll",
        ],
    };
    let sources = product();
    layers.check_imports(sources, 100);
    layers.check_circles(sources);
}

#[test]
fn imports_of_batching_go_downward() {
    let layers = Layers {
        folder: "azure-table/src/client/batching",
        names: &["batching", "source", "engine", "partition", "outcome"],
    };
    layers.check_imports(product(), 20);
}

#[test]
fn imports_of_the_pipeline_go_downward() {
    let layers = Layers {
        folder: "azure-table/src/pipeline",
        names: &[
            "retry_loop",
            "read_back",
            "attempt",
            "notifications",
            "next_step",
            "pipeline",
            "settings",
            "auth",
            "shared_fetch",
            "options",
            "observer",
            "attempt_end",
            "lost_write",
            "skew",
            "retry",
            "location",
            "transport",
        ],
    };
    layers.check_imports(product(), 50);
}
