// Tests of the package as built (go run ./web/build) against the command:
//
//   PROVE_MODEL_WEB=dist PROVE_MODEL_FILES=folder PROVE_MODEL_COMMAND=bin/prove-model node --test web/npm/test/*.mjs
//
// PROVE_MODEL_FILES is what web/testfiles wrote.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";

const root = resolve(import.meta.dirname, "../../..");
const made = resolve(process.env.PROVE_MODEL_FILES);
const { verify, readInput, InputError } = await import(pathToFileURL(resolve(process.env.PROVE_MODEL_WEB, "npm/index.js")));
const golden = join(root, "testdata/golden");

const files = (folder) => [readFileSync(join(folder, "run.proof")), readFileSync(join(folder, "key.vk"))];

function command(folder) {
  const args = ["verify", "--json", "--min-bits", "1", "--proof", join(folder, "run.proof"), "--vk", join(folder, "key.vk")];
  return JSON.parse(spawnSync(resolve(process.env.PROVE_MODEL_COMMAND), args, { maxBuffer: 1 << 30 }).stdout);
}

const plain = (tensors) => tensors.map(({ name, shape, values }) => ({ name, shape, values: Array.from(values, (v) => v + 0) }));
const zeros = (tensors) => tensors.map((t) => ({ ...t, values: t.values.map((v) => v + 0) }));

for (const name of readdirSync(golden)) {
  test(`golden ${name}: what the command says`, async () => {
    const folder = join(golden, name);
    const verdict = await verify(...files(folder), { minBits: 1 });
    const want = command(folder);
    assert.equal(verdict.reason, "");
    assert.equal(verdict.valid, true);
    assert.equal(verdict.commitment, want.model_commitment);
    assert.deepEqual(plain(verdict.inputs), zeros(want.inputs));
    assert.deepEqual(plain(verdict.outputs), zeros(want.outputs));
    assert.equal(verdict.security.total, want.security_bits);
    assert.equal(verdict.bytes, want.proof_bytes);
    assert.equal(verdict.masked, want.masked ?? false);
    assert.equal(verdict.weightsHiddenFor, want.weights_hidden_for_proofs ?? 0);
    assert.deepEqual(verdict.saturated, (want.saturated ?? []).map(({ where, count, of }) => ({ where, count, of })));
  });
}

/** Numbers that are the same every time. */
function random(seed) {
  return (n) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
}

test("200 altered proofs and keys are refused with a sentence", async () => {
  const next = random(1);
  const small = ["conv", "linear", "transpose", "digits", "averagepool", "division"];
  for (let i = 0; i < 200; i++) {
    const [proof, key] = files(join(golden, small[i % small.length]));
    const kind = next(5);
    const at = next(proof.length);
    if (kind < 3) proof[at] ^= 1 << next(8);
    const cut = kind === 3 ? proof.subarray(0, at) : proof;
    if (kind === 4) key[next(key.length)] ^= 1 << next(8);
    const verdict = await verify(cut, key, { minBits: 1 });
    assert.equal(verdict.valid, false);
    assert.match(verdict.reason, /[a-z]{3}/);
  }
});

test("files that are no proofs", async () => {
  const [proof, key] = files(join(golden, "conv"));
  for (const [p, k] of [[new Uint8Array(), key], [key, key], [proof, proof], [proof, new Uint8Array(5)], [new Uint8Array(1 << 20), key]]) {
    const verdict = await verify(p, k);
    assert.equal(verdict.valid, false);
    assert.match(verdict.reason, /\w/);
  }
  await assert.rejects(verify("proof", key), TypeError);
  await assert.rejects(verify(proof, undefined), TypeError);
});

test("a proof of several megabytes, with progress", async () => {
  const [proof, key] = files(join(made, "large"));
  assert.ok(proof.length > 3e6);
  const told = [];
  const verdict = await verify(new Blob([proof]), key.buffer.slice(key.byteOffset, key.byteOffset + key.length), { onProgress: (read, size) => told.push([read, size]) });
  assert.equal(verdict.valid, true, verdict.reason);
  assert.deepEqual(told.at(-1), [proof.length, proof.length]);
  proof[proof.length - 1e6] ^= 1;
  assert.equal((await verify(proof, key)).valid, false);
});

test("names come as they are", async () => {
  const verdict = await verify(...files(join(made, "names")));
  assert.match(verdict.inputs[0].name, /^<img src=x onerror="/);
});

test("what is asked for besides", async () => {
  const [proof, key] = files(join(golden, "digits"));
  const { commitment } = await verify(proof, key);
  assert.equal((await verify(proof, key, { commitment: commitment.toUpperCase() })).valid, true);
  assert.match((await verify(proof, key, { commitment: "00".repeat(32) })).reason, /another model's/);
  assert.match((await verify(proof, key, { minBits: 120 })).reason, /100\.0 bits.*100 bits accepts it/);
  await assert.rejects(verify(proof, key, { commitment: "00" }), /64 hexadecimal/);
  await assert.rejects(verify(proof, key, { minBits: 0 }), RangeError);
});

test("the input in all its forms", async () => {
  const [proof, key] = files(join(golden, "digits"));
  const pixels = (await verify(proof, key)).inputs[0].values;
  const nested = Array.from({ length: 8 }, (_, y) => Array.from(pixels.subarray(8 * y, 8 * y + 8)));
  const json = new TextEncoder().encode(JSON.stringify({ input_data: [[[nested]]] }));
  for (const input of [pixels, [nested], [[nested]], Array.from(pixels), { image: [nested] }, { image: Float32Array.from(pixels) }, await readInput(json)]) {
    assert.equal((await verify(proof, key, { input })).valid, true);
  }
  const other = pixels.slice();
  other[20] += 0.25;
  for (const input of [other, { image: other }, pixels.subarray(1), { image: pixels, more: [1] }, []]) {
    assert.match((await verify(proof, key, { input })).reason, /another input/);
  }
  // Names and shapes are the model's, but for a batch of one.
  for (const [input, want] of [[{ picture: pixels }, /"picture" is given/], [nested, /shape \[8 8\]/], [{ image: [[nested.map((row) => [...row, 0]).slice(0, 7)]] }, /shape \[1 1 7 9\]/],
    [Array.from(pixels, (p) => [p]), /shape \[64 1\]/]]) {
    const verdict = await verify(proof, key, { input });
    assert.equal(verdict.kind, "input");
    assert.match(verdict.reason, want);
  }
  assert.equal((await verify(proof, key, { input: { arr_0: pixels } })).valid, true);
  await assert.rejects(verify(proof, key, { input: [[1, 2], [3]] }), InputError);
  other[20] = 1000;
  assert.match((await verify(proof, key, { input: [...pixels.subarray(0, 63), NaN] })).reason, /NaN/);
  await assert.rejects(verify(proof, key, { input: ["a"] }), InputError);
  await assert.rejects(verify(proof, key, { input: null }), InputError);
});

/** An .npy file. */
function npy(descr, shape, data, fortran = false) {
  const text = `{'descr': '${descr}', 'fortran_order': ${fortran ? "True" : "False"}, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
  const header = Buffer.from(text.padEnd(117) + "\n", "latin1");
  return new Uint8Array(Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), Buffer.from([header.length & 255, header.length >> 8]), header, Buffer.from(data.buffer)]));
}

/** An .npz file, each member stored or packed. */
function npz(members, method) {
  const locals = [];
  const central = [];
  let at = 0;
  for (const [name, content] of Object.entries(members)) {
    const packed = method === 8 ? deflateRawSync(content) : content;
    const title = Buffer.from(name);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50);
    local.writeUInt16LE(method, 8);
    local.writeUInt16LE(title.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt16LE(title.length, 28);
    entry.writeUInt32LE(at, 42);
    locals.push(local, title, packed);
    central.push(entry, title);
    at += 30 + title.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(Object.keys(members).length, 10);
  end.writeUInt32LE(at, 16);
  return new Uint8Array(Buffer.concat([...locals, ...central, end]));
}

test("input files", async () => {
  const one = Array.from((await readInput(npy("<f4", [3], Float32Array.of(1, -2, 0.5))))[0].values);
  assert.deepEqual(one, [1, -2, 0.5]);
  for (const [type, array] of [["<f8", Float64Array], ["|i1", Int8Array], ["<i2", Int16Array], ["<i4", Int32Array], ["|u1", Uint8Array], ["<u2", Uint16Array], ["<u4", Uint32Array]]) {
    assert.deepEqual(Array.from((await readInput(npy(type, [2], array.of(1, 100))))[0].values), [1, 100]);
  }
  assert.deepEqual(Array.from((await readInput(npy("<i8", [2], BigInt64Array.of(-5n, 7n))))[0].values), [-5, 7]);
  assert.deepEqual(Array.from((await readInput(npy("<f2", [4], Uint16Array.of(0x3c00, 0xc100, 0x0001, 0x7c00))))[0].values), [1, -2.5, 2 ** -24, Infinity]);
  const turned = await readInput(npy("<f8", [2, 3], Float64Array.of(1, 4, 2, 5, 3, 6), true));
  assert.deepEqual(Array.from(turned[0].values), [1, 2, 3, 4, 5, 6]);
  for (const method of [0, 8]) {
    const found = await readInput(npz({ "b.npy": npy("<f8", [1], Float64Array.of(2)), "a.npy": npy("<f8", [2], Float64Array.of(1, 3)) }, method));
    assert.deepEqual(found.map(({ name }) => name), ["b", "a"]);
    assert.deepEqual(found.map(({ values }) => Array.from(values)), [[2], [1, 3]]);
  }
  const good = npz({ "a.npy": npy("<f8", [2], Float64Array.of(1, 3)) }, 8);
  const next = random(7);
  for (let i = 0; i < 300; i++) { // damaged files give a sentence, or other numbers
    const bad = good.slice(0, i % 3 ? good.length : next(good.length));
    if (bad.length > 4) bad[4 + next(bad.length - 4)] ^= 1 << next(8);
    await readInput(bad).catch((problem) => assert.ok(problem instanceof InputError, String(problem)));
  }
  const text = async (json) => (await readInput(new TextEncoder().encode(json))).map(({ name, shape, values }) => [name, shape, ...values]);
  assert.deepEqual(await text("[1, true, \"-Infinity\"]"), [["", null, 1, 1, -Infinity]]);
  assert.deepEqual(await text('{"b": [[1, 2]], "a": 3}'), [["b", [1, 2], 1, 2], ["a", null, 3]]);
  assert.deepEqual(await text('{"input_data": [[1, 2]], "input_shapes": [[2, 1]]}'), [["", [2, 1], 1, 2]]);
  for (const bad of ["", "{", "[1, [2]]", "[[1], [2, 3]]", "null", '"NaN"', '{"input_data": 1}', '{"input_data": [["a"]]}', '{"input_data": [{"a": 1}]}', "\x93NUMPY"]) {
    await assert.rejects(readInput(new Uint8Array(Buffer.from(bad, "latin1"))), InputError);
  }
  await assert.rejects(readInput(npy(">f8", [1], Float64Array.of(1))), InputError);
  await assert.rejects(readInput(npy("<f8", [2], Float64Array.of(1))), InputError);
});
