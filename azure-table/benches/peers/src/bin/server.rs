//! The server of the comparison: prints its address, then answers until its standard input ends.

use std::io::Read as _;
use std::time::Duration;

use azure_table_peers::server::serve;
use lexopt::prelude::{Long, ValueExt as _};
use tokio::net::TcpListener;

fn main() -> Result<(), lexopt::Error> {
    let (mut pages, mut latency, mut core) = (1_000_000, Duration::ZERO, None);
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("pages") => pages = arguments.value()?.parse()?,
            Long("latency-ms") => latency = Duration::from_millis(arguments.value()?.parse()?),
            Long("core") => core = Some(arguments.value()?.parse()?),
            _ => return Err(argument.unexpected()),
        }
    }
    if let Some(id) = core {
        core_affinity::set_for_current(core_affinity::CoreId { id });
    }
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|e| e.to_string())?;
        println!("{}", listener.local_addr().map_err(|e| e.to_string())?);
        serve(listener, pages, latency).await;
        Ok(())
    })
}
