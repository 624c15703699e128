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

impl Model<'_> {
    /// The likeliest token of row i of n that may be written, as the first one of a text or as a later one; −1 if there is none.
    fn permitted(&self, text: &Text, i: usize, n: usize, first: bool) -> (i64, &'static str) {
        let may = |id: i64| text.may(id as u32, first);
        let token = match self {
            Model::Logits(logits, ..) => {
                let width = logits.len() / n;
                let row = &logits[i * width..(i + 1) * width];
                let better = |at: i64, id: i64| at < 0 || row[id as usize] > row[at as usize];
                (0..width as i64).filter(|&id| may(id)).fold(-1, |at, id| if better(at, id) { id } else { at })
            }
            Model::Greatest(indexes) => {
                let width = indexes.len() / n;
                indexes[i * width..(i + 1) * width].iter().map(|&id| id as i64).find(|&id| may(id)).unwrap_or(-1)
            }
        };
        (token, "the model's")
    }

    /// The token that follows from row i of n, at a place of the text, and how it does.
    fn choose(&self, i: usize, n: usize, place: usize) -> (i64, &'static str) {
        let row = |entries: &'_ [i32]| i * (entries.len() / n)..(i + 1) * (entries.len() / n);
        match self {
            Model::Logits(logits, None, _) => (greatest(&logits[row(logits)]) as i64, "the model's"),
            Model::Logits(logits, Some(rule), frac) => (rule(&logits[row(logits)], *frac, place) as i64, "the one that is drawn"),
            Model::Greatest(indexes) => (indexes[row(indexes).start] as i64, "the model's"),
        }
    }
}

/// Checks tokens against what they follow from. Of an encoder–decoder positions are the decoder's tokens.
pub fn written(text: &Text, ids: &[i32], positions: &[i32], model: Model) -> Result<Written> {
    let n = positions.len();
    let (entries, what) = match model {
        Model::Logits(logits, ..) => (logits, "logits"),
        Model::Greatest(indexes) => (indexes, "tokens"),
    };
    require!(n > 0 && entries.len() % n == 0, "{} {what} at {n} positions", entries.len());
    if !text.starts.is_empty() {
        return answered(text, ids, positions, &model);
    }
    let from = positions[0] as i64 + 1;
    let count = 1 + positions.windows(2).take_while(|pair| pair[1] == pair[0] + 1).count();
    let stays = positions[count - 1];
    if let Some(p) = positions[count..].iter().find(|&&p| p != stays) {
        return fail!("logits at position {p} do not follow those at {stays}");
    }
    let within = from >= 1 && from + count as i64 <= ids.len() as i64;
    require!(within, "{count} tokens written after {from}, of {} in all", ids.len());
    let from = from as usize;
    let tokens = &ids[from..from + count];
    let ended = follow(text, tokens, |i| model.choose(i, n, from + i))?;
    let last = tokens[count - 1];
    for (i, &id) in ids.iter().enumerate().skip(from + count) {
        require!(id == last, "token {i}, after the text, is {id} and not {last}, its last");
    }
    Ok(Written { prompt: all(&ids[..from]), tokens: all(tokens), ended })
}

/// Written for a segment of a text with logits at its last n positions, behind so many tokens; and the token that it leaves to be chosen. If
/// the segment follows, its first token is the model's too.
pub fn segment(text: &Text, ids: &[i32], n: usize, model: Model, before: usize, follows: bool) -> Result<(Written, u32)> {
    let entries = match model {
        Model::Logits(entries, ..) | Model::Greatest(entries) => entries,
    };
    require!(0 < n && n <= ids.len() && entries.len() % n == 0 && !entries.is_empty(), "{} logits at {n} positions", entries.len());
    let given = ids.len() - n + 1;
    let choose = |row: usize| model.choose(row, n, before + given + row);
    let mut ended = follow(text, &ids[given..], choose)?;
    let next = choose(n - 1).0 as u32;
    if !follows {
        return Ok((Written { prompt: all(&ids[..given]), tokens: all(&ids[given..]), ended }, next));
    }
    require!(given == 1, "the first token is the model's, and tokens that are not its own follow in one segment");
    let ends = text.ends.contains(&(ids[0] as u32));
    require!(!ends || ids.len() == 1, "the text goes on after token 0, {}, which ends it", ids[0]);
    ended |= ends;
    Ok((Written { prompt: Vec::new(), tokens: all(ids), ended }, next))
}

/// Whether the last of the tokens ends the text; an error unless each is the one that is chosen for its place.
fn follow(text: &Text, tokens: &[i32], choose: impl Fn(usize) -> (i64, &'static str)) -> Result<bool> {
    let mut ended = false;
    for (i, &id) in tokens.iter().enumerate() {
        let (chosen, how) = choose(i);
        require!(id as i64 == chosen, "the text does not follow from the logits: token {i} of the text is {id}, and {how} is {chosen}");
        ended = text.ends.contains(&(id as u32));
        require!(!ended || i == tokens.len() - 1, "the text goes on after token {i}, {id}, which ends it");
    }
    Ok(ended)
}

/// Written for an encoder–decoder: the decoder's tokens are what every text begins with and all that were written but the last,
/// which follows from the last logits.
fn answered(text: &Text, ids: &[i32], decoder: &[i32], model: &Model) -> Result<Written> {
    let (n, starts) = (decoder.len(), text.starts.len());
    let begins = n >= starts && all(&decoder[..starts]) == text.starts;
    require!(begins, "the decoder's text does not begin with the key's {starts} tokens");
    let drawn = matches!(model, Model::Logits(_, Some(_), _));
    require!(!(drawn && text.suppresses()), "its key has tokens that are not written, of which no rule for drawing says how");
    let choose = |row: usize| match text.suppresses() {
        true => model.permitted(text, row, n, row + 1 == starts),
        false => model.choose(row, n, row + 1),
    };
    let mut tokens = decoder[starts..].to_vec();
    let last = choose(n - 1).0;
    require!(last >= 0, "of the likeliest tokens that it states for the last of the text the model may write none");
    tokens.push(last as i32);
    let ended = follow(text, &tokens, |i| choose(starts - 1 + i))?;
    Ok(Written { prompt: all(ids), tokens: all(&tokens), ended })
}

fn all(ids: &[i32]) -> Vec<u32> {
    ids.iter().map(|&id| id as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn texts() {
        let text = Text { ends: vec![3], writes: true, ..Text::default() };
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

    #[test]
    fn answers() {
        let text = Text { ends: vec![3], writes: true, starts: vec![0, 9], ..Text::default() };
        let logits = [9, 0, 0, 0, 0, 0, 5, 5, 1, 2, 3, 4];
        let check = |decoder: &[i32], logits: &[i32]| written(&text, &[7, 8], decoder, Model::Logits(logits, None, 0));
        let found = check(&[0, 9, 2], &logits).unwrap();
        assert_eq!(found, Written { prompt: vec![7, 8], tokens: vec![2, 3], ended: true });
        assert_eq!(check(&[0, 9], &logits[..8]).unwrap().tokens, [2]);
        for decoder in [&[0][..], &[9, 0, 2], &[0, 9, 3], &[0, 8, 2]] {
            assert!(check(decoder, &logits[..decoder.len() * 4]).is_err(), "{decoder:?}");
        }
        assert!(check(&[0, 9, 3], &[0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 9]).is_err()); // goes on after an end
        assert_eq!(written(&text, &[7], &[0, 9, 2], Model::Greatest(&[5, 2, 3])).unwrap().tokens, [2, 3]);
        assert!(written(&text, &[7], &[0, 9, 2], Model::Greatest(&[5, 1, 3])).is_err());
        let rule: Rule = &|_, _, place| place;
        assert_eq!(written(&text, &[7], &[0, 9, 2], Model::Logits(&[0; 9], Some(rule), 0)).unwrap().tokens, [2, 3]);
    }

    /// Of tokens that are never written, or not first, the likeliest of the others follow.
    #[test]
    fn suppressed() {
        let text = Text { writes: true, starts: vec![0], suppressed: vec![2], suppressed_first: vec![3], ..Text::default() };
        let logits = [4, 5, 9, 8, 4, 5, 9, 8];
        let check = |decoder: &[i32], model| written(&text, &[], decoder, model).map(|w| w.tokens);
        assert_eq!(check(&[0, 1], Model::Logits(&logits, None, 0)).unwrap(), [1, 3]);
        assert_eq!(check(&[0, 1], Model::Greatest(&[2, 3, 1, 2, 3, 1])).unwrap(), [1, 3]);
        for other in [2, 3] {
            assert!(check(&[0, other], Model::Logits(&logits, None, 0)).is_err());
        }
        assert!(check(&[0], Model::Greatest(&[2, 3])).is_err()); // none of these
        let rule: Rule = &|_, _, _| 1;
        assert!(check(&[0], Model::Logits(&logits[..4], Some(rule), 0)).is_err());
    }
}
