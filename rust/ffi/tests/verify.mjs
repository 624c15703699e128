// node verify.mjs MODULE KEY PROOF: what verify.c does, through the WebAssembly module; prints the time of a verification.
import { readFileSync } from 'node:fs';

const [module, ...files] = process.argv.slice(2);
const { instance } = await WebAssembly.instantiate(readFileSync(module), {});
const pm = instance.exports;

function place(bytes) {
  const at = pm.prove_model_room(bytes.length);
  new Uint8Array(pm.memory.buffer, at, bytes.length).set(bytes);
  return [at, bytes.length];
}

function string(at) {
  const memory = new Uint8Array(pm.memory.buffer, at);
  return new TextDecoder().decode(memory.slice(0, memory.indexOf(0)));
}

const [key, proof] = files.map((name) => place(readFileSync(name)));
let outcome, best = Infinity;
for (let i = 0; i < 10; i++) {
  if (outcome !== undefined) pm.prove_model_free(outcome);
  const started = performance.now();
  outcome = pm.prove_model_verify(...key, ...proof, 0, 100);
  best = Math.min(best, performance.now() - started);
}
const reason = string(pm.prove_model_reason(outcome));
if (reason !== '') console.log(reason);
const count = pm.prove_model_room(8);
for (let i = 0; i < pm.prove_model_tensors(outcome, true); i++) {
  const at = pm.prove_model_reals(outcome, true, i, count);
  const [length] = new Uint32Array(pm.memory.buffer, count, 1);
  const [first] = new Float64Array(pm.memory.buffer, at, Math.min(length, 1));
  console.log(`${string(pm.prove_model_name(outcome, true, i))}: ${length} numbers, the first is ${Number(first.toPrecision(6))}`);
}
pm.prove_model_free(outcome);
console.error(`${best.toFixed(2)} ms`);
process.exit(reason === '' ? 0 : 1);
