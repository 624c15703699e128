// Package tokenizer turns text into the token ids of a language model, and ids into text,
// with the same results as the library that the model was made with.
//
// [Open] reads a tokenizer.json, a SentencePiece model (tokenizer.model) or the tokenizer
// in a GGUF file. A text is processed in these steps:
//
//	added tokens are cut out ─ normalisers ─ splitters ─ model: byte-level or
//	character BPE, WordPiece, Unigram, SentencePiece's BPE ─ the tokens that a template puts around
//
// Decoders turn ids back into text. Files give splitters as regular expressions with
// look-ahead, which those of Go do not have. This package recognises the published expressions
// and has code for each. Anything unknown is refused by name, since a text that is split
// in another way is another input to the model.
package tokenizer
