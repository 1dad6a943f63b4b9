//! The server of the comparison. It prints two addresses, plain and over TLS, and runs until its input ends.
//!
//! `--certificate FILE` names the file that it writes its certificate to, which is new at each start.

mod responses;

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lexopt::prelude::{Long, ValueExt as _};
use responses::serve;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut pages, mut latency, mut file) = (1_000_000, Duration::ZERO, None);
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("pages") => pages = arguments.value()?.parse()?,
            Long("latency-ms") => latency = Duration::from_millis(arguments.value()?.parse()?),
            Long("certificate") => file = Some(PathBuf::from(arguments.value()?)),
            _ => return Err(argument.unexpected().into()),
        }
    }
    let generated = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    if let Some(file) = file {
        std::fs::write(file, generated.cert.pem())?;
    }
    let key = PrivateKeyDer::Pkcs8(generated.signing_key.serialize_der().into());
    let config = ServerConfig::builder().with_no_client_auth();
    let tls = TlsAcceptor::from(Arc::new(
        config.with_single_cert(vec![generated.cert.der().clone()], key)?,
    ));
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let [plain, secure] = [
            TcpListener::bind("127.0.0.1:0").await?,
            TcpListener::bind("127.0.0.1:0").await?,
        ];
        println!("{} {}", plain.local_addr()?, secure.local_addr()?);
        serve([(plain, None), (secure, Some(tls))], pages, latency).await;
        Ok(())
    })
}
