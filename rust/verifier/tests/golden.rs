//! Golden proofs of testdata/golden hold, and not with anything changed.

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

fn files(folder: &Path) -> (Vec<u8>, Vec<u8>) {
    (fs::read(folder.join("key.vk")).unwrap(), fs::read(folder.join("run.proof")).unwrap())
}

#[test]
fn golden_proofs_hold() {
    for folder in golden() {
        let (key, proof) = files(&folder);
        match verify(&key, &proof, &Policy { min_bits: 100, ..Policy::default() }) {
            Ok(verdict) => assert!(!verdict.outputs.is_empty()),
            Err(reason) => panic!("{}: {reason}", folder.display()),
        }
    }
}

/// What is stated of the digits: where the greatest of ten numbers are. It is what the numbers say, and part of the digest.
#[test]
fn greatest_entries_are_stated() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden");
    let [plain, argmax, top] = ["digits", "digits_argmax", "digits_top"].map(|name| files(&folder.join(name)));
    let [plain, mut argmax, top] = [&plain, &argmax, &top].map(|(key, proof)| verify(key, proof, &Policy::default()).unwrap());
    let logits = &plain.outputs[0];
    assert!(plain.greatest.is_empty());
    let mut order: Vec<i32> = (0..logits.integers.len() as i32).collect();
    order.sort_by_key(|&i| -logits.integers[i as usize]);
    assert_eq!((&argmax.outputs[0].integers[..], argmax.greatest[0].top), (&order[..1], None));
    assert_eq!(argmax.outputs[0].name, format!("argmax of {}", logits.name));
    let stated = &top.greatest[0];
    assert_eq!((&top.outputs[0].integers[..], stated.output, stated.top), (&order[..3], 0, Some(3)));
    assert!(stated.range[0] < stated.range[1] && stated.of == logits.name);
    let digest = argmax.digest();
    argmax.greatest.clear();
    assert_ne!(argmax.digest(), digest);
}
