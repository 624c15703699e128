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
  `--model=${join(digits, "digits.onnx")}`, `--calibration=${join(digits, "calibration.json")}`,
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
