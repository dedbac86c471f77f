use std::path::PathBuf;

use super::*;

fn write(root: &Path, path: &str, content: &str) {
    let path: PathBuf = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn only_what_is_neither_tree_nor_by_product_counts() {
    let root = tempfile::tempdir().unwrap();
    let tree = HashSet::from([b"src/lib.rs".to_vec()]);
    write(root.path(), "src/lib.rs", "a");
    let start = beside(root.path(), &tree);
    write(root.path(), "src/lib.rs", "other");
    write(root.path(), "target/debug/app", "");
    write(root.path(), "src/__pycache__/lib.pyc", "");
    assert_eq!(beside(root.path(), &tree), start);
    write(root.path(), "local/settings.py", "x");
    let with_settings = beside(root.path(), &tree);
    assert_ne!(with_settings, start);
    write(root.path(), "local/settings.py", "longer");
    assert_ne!(beside(root.path(), &tree), with_settings);
}

#[test]
fn installed_packages_count_by_name() {
    let root = tempfile::tempdir().unwrap();
    let tree = HashSet::new();
    write(root.path(), "node_modules/left-pad/index.js", "");
    write(root.path(), ".venv/lib/python3.11/site-packages/six.py", "");
    let before = beside(root.path(), &tree);
    write(root.path(), "node_modules/left-pad/index.js", "changed");
    assert_eq!(beside(root.path(), &tree), before);
    write(root.path(), ".venv/lib/python3.11/site-packages/attrs.py", "");
    let with_attrs = beside(root.path(), &tree);
    assert_ne!(with_attrs, before);
    write(root.path(), "node_modules/right-pad/index.js", "");
    assert_ne!(beside(root.path(), &tree), with_attrs);
}
