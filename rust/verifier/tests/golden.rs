//! Golden proofs of testdata/golden and testdata/masked hold, and not with anything changed.

use prove_model_verifier::{Key, Pinned, Policy, check_link, verify};
use std::fs;
use std::path::{Path, PathBuf};

fn cases(folder: &str, least: usize) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder);
    let mut list: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    list.retain(|path| path.join("run.proof").exists());
    list.sort();
    assert!(list.len() >= least);
    list
}

fn files(folder: &Path) -> (Vec<u8>, Vec<u8>) {
    (fs::read(folder.join("key.vk")).unwrap(), fs::read(folder.join("run.proof")).unwrap())
}

#[test]
fn golden_proofs_hold() {
    for (of, least) in [("golden", 20), ("masked", 10)] {
        for folder in cases(of, least) {
            let (key, proof) = files(&folder);
            match verify(&key, &proof, &Policy { min_bits: 100, ..Policy::default() }) {
                Ok(verdict) => assert!(!verdict.outputs.is_empty() && verdict.masked == (of == "masked")),
                Err(reason) => panic!("{}: {reason}", folder.display()),
            }
        }
    }
}

/// A masked proof states what the plain one of the same run does, but for how many values were saturated.
#[test]
fn masked_proofs_state_the_same() {
    for masked in cases("masked", 10).into_iter().filter(|folder| !folder.to_string_lossy().ends_with("_hidden")) {
        let plain = masked.parent().unwrap().join("../golden").join(masked.file_name().unwrap());
        let [(key, proof), (_, hidden)] = [files(&plain), files(&masked)];
        let masked_key = fs::read(masked.join("key.vk")).unwrap();
        let [plain, masked] = [(&key, &proof), (&masked_key, &hidden)].map(|(key, proof)| verify(key, proof, &Policy::default()).unwrap());
        let integers = |list: &[prove_model_verifier::Tensor]| list.iter().map(|t| t.integers.clone()).collect::<Vec<_>>();
        assert_eq!(integers(&plain.inputs), integers(&masked.inputs));
        assert_eq!(integers(&plain.outputs), integers(&masked.outputs));
        assert!(masked.saturated.is_empty());
    }
}

/// Every word of a masked proof counts.
#[test]
fn masked_proofs_do_not_hold_altered() {
    let folder = cases("masked", 10).into_iter().find(|folder| folder.ends_with("function")).unwrap();
    let (key, proof) = files(&folder);
    for at in (0..proof.len()).step_by(proof.len() / 60) {
        let mut altered = proof.clone();
        altered[at] ^= 1 << (at % 8);
        let policy = Policy { skip_checksum: true, ..Policy::default() };
        let end = proof.len() - 32; // of what the proof says
        assert_eq!(verify(&key, &altered, &policy).is_ok(), at >= end, "byte {at} of {}", proof.len());
    }
}

/// What an encoder–decoder wrote, whose key says what its decoder's texts begin with.
#[test]
fn an_answer_is_stated() {
    let (key, proof) = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/answer"));
    let written = verify(&key, &proof, &Policy::default()).unwrap().written.unwrap();
    assert_eq!((&written.prompt[..], &written.tokens[..], written.ended), (&[10, 8, 25, 3, 40][..], &[31, 34, 31][..], false));
}

/// What a model of speech heard and wrote, without the tokens that its key suppresses.
#[test]
fn a_transcript_is_stated() {
    let (key, proof) = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/transcript"));
    let verdict = verify(&key, &proof, &Policy::default()).unwrap();
    let written = verdict.written.unwrap();
    assert_eq!((&written.prompt[..], written.tokens.len(), verdict.inputs[1].integers.len()), (&[][..], 3, 16000));
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

/// Three texts in one proof: what each says is the model's answer to its prompt.
#[test]
fn several_texts_are_stated() {
    let (key, proof) = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/texts"));
    let verdict = verify(&key, &proof, &Policy::default()).unwrap();
    assert!(verdict.written.is_none() && verdict.inputs[0].shape == [3, 1, 6]);
    let texts: Vec<_> = verdict.texts.iter().map(|t| (&t.prompt[..], &t.tokens[..])).collect();
    assert_eq!(texts, [(&[1, 5, 9][..], &[27, 27, 27][..]), (&[4], &[36, 37]), (&[7, 7], &[16])]);
}

/// Links of keys of the same weights hold, in which every word counts. One of different weights does not, whose prover opens the trees
/// as they are.
#[test]
fn links_hold_of_the_same_weights() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/links");
    let mut seen = [0; 2];
    for folder in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let [former, key, link] = ["former.vk", "key.vk", "key.vk.link"].map(|name| fs::read(folder.join(name)).unwrap());
        let different = folder.to_string_lossy().ends_with("_different");
        seen[different as usize] += 1;
        match check_link(&former, &key, &link, 40) {
            Ok(strength) => assert!(!different && strength.total_bits() >= 40.0),
            Err(reason) => assert!(different && reason.cause().contains("committed values"), "{}: {reason}", folder.display()),
        }
        assert!(check_link(&key, &former, &link, 1).is_err() && check_link(&former, &key, &link, 110).is_err());
        for at in (0..link.len()).step_by(link.len() / 40) {
            let mut altered = link.clone();
            altered[at] ^= 1 << (at % 8);
            assert!(check_link(&former, &key, &altered, 1).is_err(), "{}: byte {at}", folder.display());
        }
    }
    assert_eq!(seen, [3, 1]);
}

/// Three segments of a text are a chain; without one, in another order, altered or alone they are none.
#[test]
fn segments_are_a_chain() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/chain");
    let file = |name: &str| fs::read(folder.join(name)).unwrap();
    let key = file("key.vk");
    let [one, two, three] = ["1.proof", "2.proof", "3.proof"].map(file);
    let mut key = Key::read(&key).unwrap();
    let policy = Policy::default();
    let chain = key.verify_chain(&[&one, &two, &three], None, &policy).unwrap();
    let segments: Vec<_> = chain.iter().map(|v| v.segment.clone().unwrap()).collect();
    assert_eq!(segments.iter().map(|s| (s.first, s.follows)).collect::<Vec<_>>(), [(0, false), (5, true), (8, false)]);
    let written: Vec<_> = chain.iter().map(|v| v.written.clone().unwrap()).map(|w| (w.prompt.len(), w.tokens.len())).collect();
    assert_eq!(written, [(3, 2), (0, 3), (2, 0)]);
    for list in [vec![&two, &three], vec![&one, &three], vec![&one, &three, &two], vec![&one, &one], vec![&one, &two, &two]] {
        let list: Vec<&[u8]> = list.into_iter().map(|f| &f[..]).collect();
        assert!(key.verify_chain(&list, None, &policy).is_err());
    }
    assert!(key.verify(&one, &policy).is_ok() && key.verify(&two, &policy).unwrap_err().cause().contains("verify the chain"));
    let from = |key: &mut Key, statement: &[u8; 32], proof: &[u8], rest: &[&[u8]]| {
        key.verify_chain(rest, Some(Pinned { statement, proof }), &policy).is_ok()
    };
    assert!(from(&mut key, &segments[0].statement, &one, &[&two, &three]) && from(&mut key, &segments[1].statement, &two, &[&three]));
    assert!(!from(&mut key, &segments[1].statement, &one, &[&two]) && !from(&mut key, &segments[0].statement, &one, &[&three]));
    // Every byte of a header counts: of roots, row lengths, lengths, of the predecessor.
    let end = 2 + 8 + two[8] as usize + ((two[9] as usize) << 7) - 128;
    for at in 10..end.min(600) {
        let mut altered = two.clone();
        altered[at] ^= 1;
        assert!(key.verify_chain(&[&one, &altered], None, &Policy { skip_checksum: true, ..policy }).is_err(), "byte {at}");
    }
    assert!(key.verify_chain(&[&one, &two, &three], None, &policy).is_ok());
}
