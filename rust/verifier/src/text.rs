//! Text that the model wrote (docs/protocol.md, "Text that the model generates").

use crate::error::{Result, fail, require};
use crate::key::Text;
use alloc::vec::Vec;

/// The text that a valid proof states: the tokens of the prompt, and those that the model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The tokens that were given.
    pub prompt: Vec<u32>,
    /// The tokens that follow these.
    pub tokens: Vec<u32>,
    /// Whether the last token is one that ends a text. If not, the prover stopped there.
    pub ended: bool,
}

/// Which token follows from logits (in units of 2^−frac, at a place of the text), if it is not the greatest.
pub type Rule<'r> = &'r dyn Fn(&[i32], i32, usize) -> usize;

fn greatest(logits: &[i32]) -> usize {
    (1..logits.len()).fold(0, |at, i| if logits[i] > logits[at] { i } else { at })
}

/// Checks tokens against logits, which are those at each position.
pub fn written(text: &Text, rule: Option<Rule>, ids: &[i32], positions: &[i32], logits: &[i32], frac: i32) -> Result<Written> {
    let n = positions.len();
    require!(n > 0 && logits.len() % n == 0, "{} logits at {n} positions", logits.len());
    let from = positions[0] as i64 + 1;
    let count = 1 + positions.windows(2).take_while(|pair| pair[1] == pair[0] + 1).count();
    let stays = positions[count - 1];
    if let Some(p) = positions[count..].iter().find(|&&p| p != stays) {
        return fail!("logits at position {p} do not follow those at {stays}");
    }
    let within = from >= 1 && from + count as i64 <= ids.len() as i64;
    require!(within, "{count} tokens written after {from}, of {} in all", ids.len());
    let (from, width) = (from as usize, logits.len() / n);
    let tokens = &ids[from..from + count];
    let mut ended = false;
    for (i, &id) in tokens.iter().enumerate() {
        let row = &logits[i * width..(i + 1) * width];
        let (chosen, how) = match rule {
            None => (greatest(row), "the model's"),
            Some(rule) => (rule(row, frac, from + i), "the one that is drawn"),
        };
        let same = id as i64 == chosen as i64;
        require!(same, "the text does not follow from the logits: token {i} of the text is {id}, and {how} is {chosen}");
        ended = text.ends.contains(&(id as u32));
        require!(!ended || i == count - 1, "the text goes on after token {i}, {id}, which ends it");
    }
    let last = tokens[count - 1];
    for (i, &id) in ids.iter().enumerate().skip(from + count) {
        require!(id == last, "token {i}, after the text, is {id} and not {last}, its last");
    }
    let all = |ids: &[i32]| ids.iter().map(|&id| id as u32).collect();
    Ok(Written { prompt: all(&ids[..from]), tokens: all(tokens), ended })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn texts() {
        let text = Text { tokenizer: None, template: None, ends: vec![3], writes: true };
        let logits = [0, 0, 5, 5, 1, 2, 3, 4];
        let check = |ids: &[i32], positions: &[i32], logits: &[i32]| written(&text, None, ids, positions, logits, 0);
        let found = check(&[9, 8, 2, 3, 3], &[1, 2], &logits).unwrap();
        assert_eq!(found, Written { prompt: vec![9, 8], tokens: vec![2, 3], ended: true });
        assert!(!check(&[9, 8, 2], &[1, 1], &logits).unwrap().ended);
        for (ids, positions) in [
            (&[9, 8, 3, 3][..], &[1, 2][..]), // the first of several
            (&[9, 8, 2, 3, 2], &[1, 2]),      // goes on
            (&[9, 8, 2], &[1, 2]),            // ends too soon
            (&[9, 8, 2, 3], &[1, 3]),         // leaves a gap
            (&[9, 8, 2, 3], &[-2, -1]),
        ] {
            assert!(check(ids, positions, &logits).is_err(), "{ids:?} {positions:?}");
        }
        assert!(check(&[9, 8, 3, 3], &[1, 2], &[0, 0, 0, 9, 0, 0, 0, 9]).is_err()); // goes on after an end
        let rule: Rule = &|_, _, place| place;
        assert!(written(&text, Some(rule), &[0, 1, 2], &[0, 1], &[0; 8], 0).is_ok());
    }
}
