// The package against a server, which is asked with the openai package of npm (PROVE_MODEL_CLIENT is where it is installed).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

const root = resolve(import.meta.dirname, "../../..");
const { verifyAnswer } = await import(pathToFileURL(resolve(process.env.PROVE_MODEL_WEB, "npm/index.js")));
const { OpenAI } = createRequire(resolve(process.env.PROVE_MODEL_CLIENT, "x.js"))("openai");
const messages = [{ role: "user", content: "The capital of France is" }];

const folder = mkdtempSync(join(tmpdir(), "serve-"));
const digits = join(root, "testdata/digits");
const server = spawn(resolve(process.env.PROVE_MODEL_COMMAND), [
  "serve", "--listen=127.0.0.1:0", `--data=${join(folder, "data")}`, "--no-cache", "--quiet", `--model=${join(root, "testdata/story")}`,
  `--model=${join(digits, "digits.onnx")}`, `--calibration=${join(digits, "calibration.json")}`, "--batch=16",
], { stdio: ["ignore", "pipe", "inherit"] });
after(async () => {
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill("SIGTERM");
  assert.equal(await ended, 0);
  rmSync(folder, { recursive: true });
});
const url = await new Promise((resolve, reject) => {
  server.on("exit", () => reject(new Error("the server has ended")));
  createInterface(server.stdout).on("line", (line) => line.startsWith("ready ") && resolve(line.slice(6).trim()));
});

/** The files of an answer's proof, which is waited for. */
async function filesOf({ proof, receipt }) {
  for (;;) {
    const response = await fetch(url + proof.url + "/file");
    assert.ok(response.ok);
    if (response.status === 200) return [await response.arrayBuffer(), await (await fetch(`${url}/v1/keys/${receipt.commitment}`)).arrayBuffer()];
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const publicKey = async () => (await (await fetch(`${url}/v1/receipts/key`)).json()).public_key;
const tokenizer = async () => (await fetch(`${url}/v1/models/story/tokenizer`)).arrayBuffer();

test("an answer of the openai package", async () => {
  let request;
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", fetch: (address, init) => ((request = init.body), fetch(address, init)) });
  const answer = await client.chat.completions.create({ model: "story", messages, seed: 20, temperature: 1.5, stop: "!" });
  const files = await filesOf(answer);
  const commitment = answer.proof.model_commitment;
  const result = await verifyAnswer(answer, ...files, { request, commitment, publicKey: await publicKey(), tokenizer: await tokenizer() });
  assert.equal(result.reason, "");
  assert.equal(result.valid, true);
  assert.deepEqual(result.compared, ["signature", "request", "tokens", "text"]);
  assert.ok(result.verdict.text.answer.startsWith(answer.choices[0].message.content));

  const altered = async (change, options) => {
    const other = structuredClone(answer);
    change(other);
    return (await verifyAnswer(other, ...files, options)).reason;
  };
  assert.match(await altered((a) => (a.choices[0].message.content = "Lyon")), /another text/);
  assert.match(await altered((a) => (a.receipt.tokens[0] = 30)), /signature/);
  assert.match(await altered((a) => (a.receipt.public_key = "x")), /signature/);
  assert.match(await altered(() => {}, { request: "{}" }), /another request/);
  assert.match(await altered(() => {}, { commitment: "0".repeat(64) }), /another model/);
  assert.match(await altered(() => {}, { publicKey: "x" }), /another server/);
  assert.match((await verifyAnswer({}, ...files)).reason, /no receipt/);
  const second = await client.completions.create({ model: "story", prompt: "The capital of" });
  assert.match((await verifyAnswer(second, ...files)).reason, /other tokens|follow/);
});

test("a stream", async () => {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
  let text = "";
  let last;
  for await (const part of await client.chat.completions.create({ model: "story", messages, stream: true })) {
    text += part.choices[0]?.delta?.content ?? "";
    last = part.receipt ? part : last;
  }
  assert.equal(text, " Paris. It lies on the Seine!");
  const result = await verifyAnswer({ ...last, choices: [{ text }] }, ...(await filesOf(last)), { tokenizer: await tokenizer() });
  assert.deepEqual([result.valid, result.compared], [true, ["signature", "tokens", "text"]]);
});

test("answers that are proved together", async () => {
  let answers, files, verdicts, together;
  for (let attempt = 1; attempt <= 10; attempt++) { // those that wait while one is proved are
    answers = await Promise.all([1, 2, 3, 4, 5, 6].map(async (n) => {
      const body = JSON.stringify({ model: "story", prompt: Array(n).fill(attempt) });
      return (await fetch(`${url}/v1/completions`, { method: "POST", headers: { "Content-Type": "application/json" }, body })).json();
    }));
    files = await Promise.all(answers.map(filesOf));
    verdicts = [];
    for (const [i, a] of answers.entries()) verdicts.push(await verifyAnswer(a, ...files[i], { tokenizer: await tokenizer() }));
    const records = await Promise.all(answers.map(async (a) => (await fetch(url + a.proof.url)).json()));
    together = answers.map((a, i) => ({ a, i, joint: records[i].joint })).filter((x) => x.joint);
    if (together.length > 1) break;
  }
  assert.deepEqual(verdicts.map((v) => [v.valid, v.reason]), verdicts.map(() => [true, ""]));
  for (const v of verdicts) assert.deepEqual(v.compared, ["signature", "tokens", "text"]);
  const place = (a) => fetch(`${url}${a.proof.url}/receipt`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(a.receipt) });
  const { a, i, joint } = together.find(({ joint }) => together.some((o) => o.joint.proof === joint.proof && o.joint.text_id !== joint.text_id));
  assert.equal(verdicts[i].verdict.texts.length, joint.texts);
  assert.equal(verdicts[i].verdict.text, null);
  assert.equal(verdicts[i].verdict.texts[joint.text_id - 1].answer, a.choices[0].text);
  const placed = await (await place(a)).json();
  assert.deepEqual(placed.joint, joint);
  assert.equal((await verifyAnswer(placed, ...files[i])).reason, "");
  const swapped = { ...placed, joint: { ...joint, text_id: (joint.text_id % joint.texts) + 1 } };
  assert.match((await verifyAnswer(swapped, ...files[i])).reason, /signature/);
  const single = await (await fetch(`${url}/v1/completions`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ model: "story", prompt: [1, 2, 3, 4], alone: true }),
  })).json();
  assert.equal(single.receipt.shared, undefined);
  const alone = await filesOf(single);
  assert.match((await verifyAnswer(single, ...files[i])).reason, /of its text alone/);
  assert.match((await verifyAnswer(placed, ...alone)).reason, /one of several texts/);
});

// What another server might sign: the places that there are not, and those of other texts.
test("hostile places", async () => {
  const { answers: make } = await import(pathToFileURL(resolve(process.env.PROVE_MODEL_WEB, "npm/receipt.js")));
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"]);
  const base64 = (bytes) => Buffer.from(bytes).toString("base64");
  const sorted = (v) => (Array.isArray(v) ? v.map(sorted) : v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : v);
  const publicBytes = base64(await crypto.subtle.exportKey("raw", pair.publicKey));
  const sign = async (more) => {
    const rest = { version: 1, commitment: "", request: "", prompt_tokens: [2], tokens: [3], text: "", public_key: publicBytes, ...more };
    const message = new TextEncoder().encode(`prove-model receipt\n${JSON.stringify(sorted(rest))}`);
    return { ...rest, signature: base64(await crypto.subtle.sign("Ed25519", pair.privateKey, message)) };
  };
  const text = (token) => ({ written: true, promptTokens: [token], tokens: [{ id: token + 1 }], answer: null });
  const several = { valid: true, text: null, texts: [text(1), text(2), text(3)], outputs: [] };
  const one = { valid: true, text: text(2), texts: [], outputs: [] };
  const reason = async (more, verdict = several) => (await make(async () => verdict)(await sign(more), null, null)).reason;
  const at = (text_id, texts = 3) => ({ shared: "all", joint: { proof: "x", text_id, texts } });
  assert.equal(await reason(at(2)), "");
  assert.equal(await reason({ shared: "key" }), "");
  assert.equal(await reason({}, one), "");
  assert.equal(await reason({ shared: "all" }, one), "");
  assert.match(await reason(at(1)), /other tokens/);
  for (const id of [0, 4, -1, 2 ** 60, 1.5, "2", null]) assert.match(await reason(at(id)), /is about text/, String(id));
  assert.match(await reason(at(2, 4)), /of a proof of 4/);
  assert.match(await reason(at(2), one), /one of several texts/);
  assert.match(await reason({}), /of its text alone/);
  assert.match(await reason({ joint: at(2).joint }), /of its text alone/);
  assert.match(await reason({ shared: "all", tokens: [9] }), /none of the 3/);
});

test("arrays", async () => {
  const data = JSON.parse(readFileSync(join(digits, "input.json"))).input_data[0];
  const request = JSON.stringify({ inputs: [{ name: "image", shape: [1, 1, 8, 8], datatype: "FP32", data }] });
  const response = await fetch(`${url}/v2/models/digits/infer`, { method: "POST", headers: { "Content-Type": "application/json" }, body: request });
  const answer = await response.json();
  const files = await filesOf(answer);
  const result = await verifyAnswer(answer, ...files, { request });
  assert.deepEqual([result.valid, result.reason, result.compared], [true, "", ["signature", "request", "inputs", "outputs"]]);
  answer.outputs[0].data[0] += 1;
  assert.match((await verifyAnswer(answer, ...files)).reason, /other outputs/);
});
