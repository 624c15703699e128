// Verifies proofs of prove-model, in browsers and in Node. See index.d.ts.
import "./wasm_exec.js";
import { start } from "./engine.js";
import { InputError, givenInput, readInput } from "./input.js";
import { answers } from "./receipt.js";

export { InputError, readInput };

let compiled; // the module, once
let engine; // what runs it, until it ends

async function load() {
  const url = new URL("./verifier.wasm", import.meta.url);
  if (url.protocol === "file:" && typeof process !== "undefined" && process.versions?.node) {
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  }
  return WebAssembly.compile(await (await fetch(url)).arrayBuffer());
}

/** Bytes of a file, whatever it comes as. */
async function bytes(file, what) {
  if (typeof file?.arrayBuffer === "function") file = await file.arrayBuffer(); // Blob, File, Response
  if (file instanceof ArrayBuffer) return new Uint8Array(file);
  if (ArrayBuffer.isView(file)) return new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
  throw new TypeError(`the ${what} is not an ArrayBuffer, a typed array, a Blob or a Response`);
}

/** How tokens were drawn, as the command says it. */
function rule({ seed, temperature = 1, topK = 0, topP = 1 }) {
  if (typeof seed !== "bigint" && !Number.isSafeInteger(seed)) throw new TypeError("sampling.seed is not an integer; a large one is a bigint");
  if (!Number.isInteger(topK)) throw new TypeError("sampling.topK is not an integer");
  return { seed: String(seed), temperature: Number(temperature), topK, topP: Number(topP) };
}

export async function verify(proof, key, { input, minBits = 100, commitment, tokenizer, vocabulary, sampling, onProgress } = {}) {
  if (!Number.isInteger(minBits) || minBits < 1) throw new RangeError("minBits is not an integer of at least 1");
  if (commitment !== undefined && !/^[0-9a-fA-F]{64}$/.test(commitment)) throw new TypeError("commitment: want 64 hexadecimal digits");
  const [proofBytes, keyBytes] = [await bytes(proof, "proof"), await bytes(key, "key")];
  const read = Array.isArray(input) && input.length > 0 && input.every((array) => array?.values instanceof Float64Array);
  const arrays = input === undefined ? null : read ? input : givenInput(input);
  compiled ??= load();
  if (!engine || (await engine).over) engine = compiled.then(start);
  const options = {
    minBits, commitment: commitment ?? null, input: arrays, sampling: sampling === undefined ? null : rule(sampling),
    tokenizer: tokenizer === undefined ? null : await bytes(tokenizer, "tokenizer"),
    vocabulary: vocabulary === undefined ? null : await bytes(vocabulary, "vocabulary"),
  };
  return (await engine).verify(proofBytes, keyBytes, options, onProgress);
}

export const verifyAnswer = answers(verify);
