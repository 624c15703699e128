/** A dense, row-major tensor of real numbers. */
export interface Tensor {
  name: string;
  /** Empty for a scalar. */
  shape: number[];
  values: Float64Array;
  /** Whether the entries are indexes, such as tokens or positions, and no quantities. */
  ids: boolean;
}

/** A token with its proved logit; null where a proof states which tokens have the greatest in place of these. */
export interface Token {
  id: number;
  logit: number | null;
  /** Its text; null without the tokenizer. It may be a part of a character. */
  piece: string | null;
}

/** What a proof states of a text. */
export interface Text {
  /** The SHA-256 of the tokenizer's file; null if the model came without one. */
  tokenizer: string | null;
  /** Whether the proof states which part the model wrote. If not, all tokens are the prompt. */
  written: boolean;
  /** null without the tokenizer. */
  prompt: string | null;
  /** What the model wrote; null without the tokenizer. */
  answer: string | null;
  promptTokens: number[];
  /** Tokens of the prompt that its text does not show: special ones, or unknown. With the tokenizer. */
  hidden?: number;
  /** Those that were written, with the one of the others that has the greatest logit, where logits are stated. */
  tokens: (Token & { other: Token | null })[];
  /** Whether the last token ends a text; if not, whoever made the proof stopped there. */
  ended?: boolean;
}

/** How tokens were drawn: what the command takes as --seed, --temperature, --top-k and --top-p. */
export interface Sampling {
  seed: number | bigint;
  /** Default: 1. */
  temperature?: number;
  /** Default: 0, all. */
  topK?: number;
  /** Default: 1, all. */
  topP?: number;
}

/** How many values of a place were, at most, clamped to the range that calibration gave it. */
export interface Saturation {
  where: string;
  count: number;
  of: number;
}

/** What a valid proof states: the quantised model with the commitment maps the inputs to the outputs, exactly. */
export interface Valid {
  valid: true;
  kind: "";
  reason: "";
  /** The digest of the key, in hexadecimal: it stands for the model. Compare it with one from a source that you trust. */
  commitment: string;
  /** What the model was run on, as it was rounded. */
  inputs: Tensor[];
  outputs: Tensor[];
  /** null unless the model is one of language, and the proof of one text. */
  text: Text | null;
  /** The texts of a proof of several. Its inputs and outputs have these along their first axis. */
  texts: Text[];
  /** The digest of the key's vocabulary, "" if its model takes numbers and gives numbers. Which strings the numbers of inputs stand for is not checked. */
  vocabulary: string;
  /** Entries of the given input that are beyond the model's range: the proof is the same for all of these. */
  clamped: number;
  saturated: Saturation[];
  /** The proof says nothing of the values inside of the model, nor how many were clamped. */
  masked: boolean;
  /** Inputs and outputs that the proof does not state, each also in words. */
  hidden: { input: boolean; name: string; words: string }[];
  /** For how many proofs the key hides its weights, which only its holder can count; 0 if it does not hide them. */
  weightsHiddenFor: number;
  /** Size of the proof. */
  bytes: number;
  /** Bits of the weakest round: in all, those proven against any prover, and what proofs of work add. */
  security: { total: number; proven: number; work: number };
}

export interface NotValid {
  valid: false;
  /**
   * Why, in a word: another key than the one of the commitment, another input, less security, tokens that do not follow
   * from the logits by the rule that was given, another tokenizer, an option or a file that cannot be read, a verifier
   * that stopped, or a proof that does not hold.
   */
  kind: "model" | "input" | "weak" | "drawn" | "tokenizer" | "vocabulary" | "option" | "malformed" | "stopped" | "proof";
  /** Why, in a sentence. It may hold names from the files: show it as text, never as HTML. */
  reason: string;
}

export type Verdict = Valid | NotValid;

/** Numbers, nested or not. */
export type Numbers = ArrayLike<number> | ArrayLike<bigint> | readonly Numbers[];

/** The arrays of an input. */
export type Arrays = {
  /** Empty where there is none; else it must be that of an input. */
  name: string;
  /** null where nothing is known but the number of the values; else it must be the input's, but for a batch of one. */
  shape: number[] | null;
  values: Float64Array;
}[];

export interface Options {
  /** The proof must be about this: arrays by the names of the model's inputs, one array, or what readInput gives. */
  input?: Record<string, Numbers> | Numbers | Arrays;
  /** The least security of the weakest round, proofs of work included. Default: 100. */
  minBits?: number;
  /** No other key than the one with this commitment, 64 hexadecimal digits, is accepted. */
  commitment?: string;
  /** The file of the tokenizer, tokenizer.json or tokenizer.model, which must be the key's: the verdict has the text. */
  tokenizer?: Content;
  /** The file of the key's vocabulary, of a model that takes strings or names classes: outputs get the names. */
  vocabulary?: Content;
  /** How the tokens of a text were drawn; without it each must be the likeliest. */
  sampling?: Sampling;
  /** Is told, while the proof is verified, how many of its bytes have been read. */
  onProgress?: (read: number, size: number) => void;
}

export type Content = ArrayBuffer | ArrayBufferView | Blob | Response;

/**
 * Verifies a proof against a key. A proof that does not hold, and files that are not what they should be, give a verdict
 * that says why; only wrong arguments throw.
 *
 * The work is done on the calling thread: in a page that should stay responsive, call this in a worker.
 */
export function verify(proof: Content, key: Content, options?: Options): Promise<Verdict>;

/** The arrays of an input file: JSON (nested lists, lists by name, or "input_data"), .npy or .npz. Throws InputError. */
export function readInput(bytes: Uint8Array): Promise<Arrays>;

/** What is wrong with an input, in a sentence. */
export class InputError extends Error {}

/** What `prove-model serve` signs about an answer, as it is in the answer's body. */
export interface Receipt {
  version: 1;
  answer: string;
  /** Seconds since 1970. */
  created: number;
  model: string;
  commitment: string;
  /** The id of the proof: GET /v1/proofs/ID/file. */
  proof: string;
  /** SHA-256 of the request's body. */
  request: string;
  /** Of a text: SHA-256 of the tokenizer's file and of the answer, the tokens, and how they were drawn. */
  tokenizer?: string;
  text?: string;
  prompt_tokens?: number[];
  tokens?: number[];
  sampling?: { seed: string; temperature: string; top_k: number; top_p: string };
  /** With whose texts the answer's may stand in one proof, where they can be read: of the same API key, or anybody's. */
  shared?: "key" | "all";
  /** Where it stands in a proof of several texts, from 1 on, in a receipt that was signed once that was known. */
  joint?: { proof: string; text_id: number; texts: number };
  /** Of arrays: the digests of their values, by name. */
  inputs?: Record<string, string>;
  outputs?: Record<string, string>;
  public_key: string;
  signature: string;
}

export interface AnswerOptions {
  /** The commitment of the model that you know. */
  commitment?: string;
  /** The body of the request, as it was sent. */
  request?: string;
  /** The public key of the server that must have signed, in base64. */
  publicKey?: string;
  /** The file of the tokenizer: the text is compared too. */
  tokenizer?: Content;
  /** Default: 100. */
  minBits?: number;
  onProgress?: (read: number, size: number) => void;
}

export interface AnswerVerdict {
  valid: boolean;
  /** As of a proof, or "receipt": it does not hold, or is not about the proof or the answer. */
  kind: "" | NotValid["kind"] | "receipt";
  reason: string;
  receipt: Receipt;
  /** Of the proof, null if that was not looked at. */
  verdict: Verdict | null;
  /** What held: signature, request, inputs, tokens, text, outputs. */
  compared: string[];
}

/** Holds an answer of `prove-model serve`, or its receipt alone, together with the proof and the key. Its body is an object or JSON. */
export function verifyAnswer(answer: object | string, proof: Content, key: Content, options?: AnswerOptions): Promise<AnswerVerdict>;
