//! The program `table-parity`.

fn main() -> std::process::ExitCode {
    table_parity::main()
}
