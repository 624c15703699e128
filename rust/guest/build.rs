//! Places the program where `link.x` says.

fn main() {
    println!("cargo:rerun-if-changed=link.x");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        println!("cargo:rustc-link-arg=-T{}/link.x", std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    }
}
