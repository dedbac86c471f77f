//! How the `ralph` program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Every agent and every check starts the program again as its reaper. At a fixed address there is nothing to relocate, which is
    // most of the cost of such a start and a good part of the memory of a loop. Libraries, heap and stack stay at random addresses.
    let is = |key: &str, value: &str| std::env::var(key).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bin=ralph=-no-pie");
    }
}
