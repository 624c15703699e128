//! Golden proofs of testdata/golden hold, and not with anything changed. Those that state the greatest entries of an
//! output in its place are refused by the name of the field, which this crate does not read.

use prove_model_verifier::{Policy, verify};
use std::fs;
use std::path::{Path, PathBuf};

fn golden() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden");
    let mut list: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    list.retain(|path| path.join("run.proof").exists());
    list.sort();
    assert!(list.len() > 20);
    list
}

/// Whether the case's proof states the greatest entries of an output in its place.
fn reveals(folder: &Path) -> bool {
    ["digits_argmax", "digits_top"].iter().any(|name| folder.ends_with(name))
}

fn files(folder: &Path) -> (Vec<u8>, Vec<u8>) {
    (fs::read(folder.join("key.vk")).unwrap(), fs::read(folder.join("run.proof")).unwrap())
}

#[test]
fn golden_proofs_hold() {
    for folder in golden() {
        let (key, proof) = files(&folder);
        match verify(&key, &proof, &Policy { min_bits: 100, ..Policy::default() }) {
            Ok(verdict) => assert!(!verdict.outputs.is_empty() && !reveals(&folder)),
            Err(reason) if reveals(&folder) => assert!(reason.to_string().contains("Frame.header.reveals"), "{reason}"),
            Err(reason) => panic!("{}: {reason}", folder.display()),
        }
    }
}
