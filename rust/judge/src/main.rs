//! Says of keys and proofs what prove-model-verifier says of them.
//!
//! `judge KEY PROOF [TIMES]` verifies files, so many times, and prints what the proof states; `judge chain KEY PROOF…` the proofs of a
//! text's segments, in order; `judge chain-from DIGEST KEY PROOF…` those behind the first of them, of which only the statement is
//! read, which must have that digest. Without arguments it reads
//! pairs of a key and a proof, each after its length in four bytes, little-endian, and answers each with a line: `valid`,
//! `proof` or `key`, for what is refused, and a space and the cause. `judge links` does so for two keys and a link.

use prove_model_verifier::{Key, Kind, Pinned, Policy, Verdict, check_link};
use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &arguments[..] {
        [] => pairs(),
        [what] if what == "links" => links(),
        [chain, key, proofs @ ..] if chain == "chain" => segments(key, proofs, None),
        [chain, from, key, proofs @ ..] if chain == "chain-from" => segments(key, proofs, Some(from)),
        [key, proof] => files(key, proof, 1),
        [key, proof, times] => files(key, proof, times.parse().unwrap_or(1)),
        _ => Err(io::Error::other("usage: judge [links | KEY PROOF [TIMES] | chain KEY PROOF… | chain-from DIGEST KEY PROOF…]")),
    };
    if let Err(problem) = done {
        eprintln!("judge: {problem}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn pairs() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while !input.fill_buf()?.is_empty() {
        let (key, proof) = (file(&mut input)?, file(&mut input)?);
        let line = match Key::read(&key) {
            Err(reason) => format!("key {}", reason.cause()),
            Ok(mut key) => match key.verify(&proof, &Policy::default()) {
                Err(reason) => format!("proof {}", reason.cause()),
                Ok(_) => "valid".to_string(),
            },
        };
        writeln!(output, "{}", line.replace('\n', " "))?;
        output.flush()?;
    }
    Ok(())
}

fn links() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while !input.fill_buf()?.is_empty() {
        let (former, key, link) = (file(&mut input)?, file(&mut input)?, file(&mut input)?);
        let line = match check_link(&former, &key, &link, 1) {
            Err(reason) => format!("{} {}", if reason.kind() == Kind::Key { "key" } else { "proof" }, reason.cause()),
            Ok(_) => "valid".to_string(),
        };
        writeln!(output, "{}", line.replace('\n', " "))?;
        output.flush()?;
    }
    Ok(())
}

fn file(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn files(key: &str, proof: &str, times: usize) -> io::Result<()> {
    let (key, proof) = (std::fs::read(key)?, std::fs::read(proof)?);
    let policy = Policy { min_bits: 1, ..Policy::default() };
    let started = std::time::Instant::now();
    for _ in 1..times {
        prove_model_verifier::verify(&key, &proof, &policy).map_err(io::Error::other)?;
    }
    let verdict = prove_model_verifier::verify(&key, &proof, &policy).map_err(io::Error::other)?;
    let seconds = started.elapsed().as_secs_f64() / times as f64;
    print(&verdict);
    println!("{:.2} ms", 1000.0 * seconds);
    Ok(())
}

fn segments(key: &str, paths: &[String], from: Option<&str>) -> io::Result<()> {
    let key = std::fs::read(key)?;
    let files = paths.iter().map(std::fs::read).collect::<io::Result<Vec<_>>>()?;
    let proofs: Vec<&[u8]> = files.iter().map(|f| &f[..]).collect();
    let mut key = Key::read(&key).map_err(io::Error::other)?;
    let mut digest = [0; 32];
    let (pinned, rest) = match (from, proofs.split_first()) {
        (Some(hex), Some((first, rest))) => {
            for (byte, at) in digest.iter_mut().zip((0..hex.len()).step_by(2)) {
                *byte = u8::from_str_radix(hex.get(at..at + 2).unwrap_or("-"), 16).map_err(io::Error::other)?;
            }
            (Some(Pinned { statement: &digest, proof: first }), rest)
        }
        _ => (None, &proofs[..]),
    };
    let policy = Policy { min_bits: 1, ..Policy::default() };
    for verdict in key.verify_chain(rest, pinned, &policy).map_err(io::Error::other)? {
        if let Some(written) = &verdict.written {
            println!("{:?} {:?}", written.prompt, written.tokens);
        }
    }
    Ok(())
}

fn print(verdict: &Verdict) {
    let commitment: String = verdict.commitment.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("commitment {commitment}");
    for (what, list) in [("input", &verdict.inputs), ("output", &verdict.outputs)] {
        for t in list {
            let first: Vec<String> = (0..t.integers.len().min(8)).map(|i| t.real(i).to_string()).collect();
            println!("{what} {} {:?} {}", t.name, t.shape, first.join(" "));
        }
    }
    println!("{} bits, {} of them proven", verdict.strength.total_bits(), verdict.strength.proven_bits());
    for text in verdict.written.iter().chain(&verdict.texts) {
        println!("wrote {:?} after {:?}, ended: {}", text.tokens, text.prompt, text.ended);
    }
    if let Some(digest) = &verdict.vocabulary {
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("strings not checked: the vocabulary has the digest {digest}");
    }
    for h in &verdict.hidden {
        let commitment: String = h.commitment.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
        println!("hidden {} {} {:?} {commitment}", if h.input { "input" } else { "output" }, h.name, h.shape);
    }
    for s in &verdict.saturated {
        println!("saturated {} of {} at {}", s.count, s.of, s.steps.join(", "));
    }
}
