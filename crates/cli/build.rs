//! Has the linker lay the functions that a loop runs side by side. The system maps sixteen pages of a program where one is touched, so that a
//! loop would otherwise have four times as much of the program in memory as it runs, and start slower. `scripts/order` records the functions.
#![allow(clippy::print_stdout)] // what Cargo reads

use std::env;
use std::path::Path;
use std::process::Command;

const ORDER: &str = "functions.order";

fn main() {
    println!("cargo:rerun-if-changed={ORDER}");
    // Partial in `.cargo/config.toml`, where it decides how calls are compiled.
    println!("cargo:rustc-link-arg-bin=ralph=-Wl,-z,now");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    if is_release && is_linked_by_lld() {
        println!("cargo:rustc-link-arg-bin=ralph=-Wl,--symbol-ordering-file={folder}/{ORDER}");
        println!("cargo:rustc-link-arg-bin=ralph=-Wl,--no-warn-symbol-ordering");
    }
}

/// Other linkers refuse the option. rustc brings lld along and uses it for this target alone, unless somebody chose another linker.
fn is_linked_by_lld() -> bool {
    let target = env::var("TARGET").unwrap_or_default();
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if target != "x86_64-unknown-linux-gnu" || env::var_os("RUSTC_LINKER").is_some() || flags.contains("link") {
        return false;
    }
    let sysroot =
        Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).args(["--print", "sysroot"]).output();
    sysroot.is_ok_and(|output| {
        let sysroot = String::from_utf8_lossy(&output.stdout);
        Path::new(sysroot.trim()).join("lib/rustlib").join(&target).join("bin/gcc-ld/ld.lld").exists()
    })
}
