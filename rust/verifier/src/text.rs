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

/// What a proof states that the tokens follow from: the logits at each position with the rule, if there is one, in units of
/// 2^−frac; or the indexes of the greatest at each position, the greatest first.
pub enum Model<'m> {
    Logits(&'m [i32], Option<Rule<'m>>, i32),
    Greatest(&'m [i32]),
}

fn greatest(logits: &[i32]) -> usize {
    (1..logits.len()).fold(0, |at, i| if logits[i] > logits[at] { i } else { at })
}

/// Checks tokens against what they follow from.
pub fn written(text: &Text, ids: &[i32], positions: &[i32], model: Model) -> Result<Written> {
    let n = positions.len();
    let (entries, what) = match model {
        Model::Logits(logits, ..) => (logits, "logits"),
        Model::Greatest(indexes) => (indexes, "tokens"),
    };
    require!(n > 0 && entries.len() % n == 0, "{} {what} at {n} positions", entries.len());
    let from = positions[0] as i64 + 1;
    let count = 1 + positions.windows(2).take_while(|pair| pair[1] == pair[0] + 1).count();
    let stays = positions[count - 1];
    if let Some(p) = positions[count..].iter().find(|&&p| p != stays) {
        return fail!("logits at position {p} do not follow those at {stays}");
    }
    let within = from >= 1 && from + count as i64 <= ids.len() as i64;
    require!(within, "{count} tokens written after {from}, of {} in all", ids.len());
    let (from, width) = (from as usize, entries.len() / n);
    let tokens = &ids[from..from + count];
    let mut ended = false;
    for (i, &id) in tokens.iter().enumerate() {
        let row = &entries[i * width..(i + 1) * width];
        let (chosen, how) = match model {
            Model::Logits(_, None, _) => (greatest(row), "the model's"),
            Model::Logits(_, Some(rule), frac) => (rule(row, frac, from + i), "the one that is drawn"),
            Model::Greatest(_) => (row[0] as usize, "the model's"),
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
        let check = |ids: &[i32], positions: &[i32], logits: &[i32]| written(&text, ids, positions, Model::Logits(logits, None, 0));
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
        let stated = |indexes: &[i32]| written(&text, &[9, 8, 2, 3], &[1, 2], Model::Greatest(indexes));
        assert_eq!(stated(&[2, 3]).unwrap().tokens, [2, 3]);
        assert_eq!(stated(&[2, 0, 3, 1]).unwrap().tokens, [2, 3]); // the greatest of two
        assert!(stated(&[2, 1]).is_err() && stated(&[2, 3, 3]).is_err());
        let rule: Rule = &|_, _, place| place;
        assert!(written(&text, &[0, 1, 2], &[0, 1], Model::Logits(&[0; 8], Some(rule), 0)).is_ok());
    }
}
