/** A dense, row-major tensor of real numbers. */
export interface Tensor {
  name: string;
  /** Empty for a scalar. */
  shape: number[];
  values: Float64Array;
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
  reason: "";
  /** The digest of the key, in hexadecimal: it stands for the model. Compare it with one from a source that you trust. */
  commitment: string;
  /** What the model was run on, as it was rounded. */
  inputs: Tensor[];
  outputs: Tensor[];
  /** Entries of the given input that are beyond the model's range: the proof is the same for all of these. */
  clamped: number;
  saturated: Saturation[];
  /** Size of the proof. */
  bytes: number;
  /** Bits of the weakest round: in all, those proven against any prover, and what proofs of work add. */
  security: { total: number; proven: number; work: number };
}

export interface NotValid {
  valid: false;
  /** Why, in a sentence. It may hold names from the files: show it as text, never as HTML. */
  reason: string;
}

export type Verdict = Valid | NotValid;

/** Numbers, nested or not. */
export type Numbers = ArrayLike<number> | ArrayLike<bigint> | readonly Numbers[];

/** The arrays of an input; names are empty where there are none. */
export interface Arrays {
  names: string[];
  values: Float64Array[];
}

export interface Options {
  /** The proof must be about this: arrays by the names of the model's inputs, one array, or what readInput gives. */
  input?: Record<string, Numbers> | Numbers | Arrays;
  /** The least security of the weakest round, proofs of work included. Default: 100. */
  minBits?: number;
  /** No other key than the one with this commitment, 64 hexadecimal digits, is accepted. */
  commitment?: string;
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

/** The arrays of an input file: JSON with "input_data", .npy or .npz. Throws InputError. */
export function readInput(bytes: Uint8Array): Promise<Arrays>;

/** What is wrong with an input, in a sentence. */
export class InputError extends Error {}
