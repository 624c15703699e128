// The page of the server: asks, shows what becomes of the proof, and has it verified.

const $ = (id) => document.getElementById(id);
let models = [];
let worker; // undefined where the build has no verifier
const pending = new Map(); // verifications, by number
let count = 0;

function headers(more) {
  const key = $("key").value.trim();
  return key === "" ? more : { ...more, Authorization: `Bearer ${key}` };
}

async function failure(response) {
  let message = `status ${response.status}`;
  try {
    message = (await response.json()).error.message;
  } catch {
    // no JSON: the status says what there is to say
  }
  return new Error(message);
}

async function get(path) {
  const response = await fetch(path, { headers: headers({}) });
  if (!response.ok) throw await failure(response);
  return response;
}

/** The events of a stream, as its data. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const event = { name: "", data: "" };
      for (const line of rest.slice(0, end).split("\n")) {
        if (line.startsWith("event: ")) event.name = line.slice(7);
        if (line.startsWith("data: ")) event.data += line.slice(6);
      }
      rest = rest.slice(end + 2);
      yield event;
    }
  }
}

async function list() {
  models = (await (await get("v1/models")).json()).data.filter((m) => m.max_tokens > 0);
  $("model").replaceChildren(...models.map((m) => new Option(m.id)));
  $("ask").disabled = models.length === 0;
  $("state").textContent = models.length === 0 ? "This server has no language model: docs/serve.md says how the others are asked." : "";
}

function element(parent, kind, name, text) {
  const e = document.createElement(kind);
  if (name) e.className = name;
  e.textContent = text ?? "";
  parent.append(e);
  return e;
}

function check(message, transfer) {
  if (!worker) return Promise.resolve({ valid: undefined });
  const id = ++count;
  return new Promise((resolve) => {
    pending.set(id, resolve);
    worker.postMessage({ id, ...message }, transfer);
  });
}

async function ask(prompt) {
  const model = models.find((m) => m.id === $("model").value);
  const known = $("commitment").value.trim().toLowerCase();
  const item = document.createElement("li");
  $("answers").prepend(item);
  element(item, "div", "question", prompt);
  const text = element(item, "div", "answer");
  const state = element(item, "div", "verdict", "answering …");
  state.setAttribute("role", "status");
  try {
    const seed = $("seed").value.trim();
    const body = { model: model.id, stream: true, prove: true };
    if (model.chat) body.messages = [{ role: "user", content: prompt }];
    else body.prompt = prompt;
    if (seed !== "") body.seed = Number(seed);
    const request = JSON.stringify(body);
    const path = model.chat ? "v1/chat/completions" : "v1/completions";
    const response = await fetch(path, { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: request });
    if (!response.ok) throw await failure(response);
    let receipt;
    for await (const { data } of events(response)) {
      if (data === "[DONE]") continue;
      const part = JSON.parse(data);
      if (part.error) throw new Error(part.error.message);
      for (const c of part.choices) text.textContent += c.delta?.content ?? c.text ?? "";
      receipt = part.receipt ?? receipt;
    }
    if (!receipt) throw new Error("the answer was cut short: it has no receipt");
    await follow(item, state, { answer: { receipt, choices: [{ text: text.textContent }] }, request, model, known });
  } catch (problem) {
    item.classList.add("invalid");
    state.textContent = problem.message;
  }
}

async function follow(item, state, { answer, request, model, known }) {
  const { receipt } = answer;
  for await (const { name, data } of events(await get(`v1/proofs/${receipt.proof}/events`))) {
    const e = JSON.parse(data);
    if (name === "progress") state.textContent = `proof: ${e.phase}${e.total > 0 ? `, ${Math.floor((100 * e.done) / e.total)} %` : ""} …`;
    else if (e.state === "failed") throw new Error(`the proof could not be made: ${e.error}`);
    else state.textContent = `proof: ${e.state} …`;
  }
  const [proof, key] = await Promise.all([`v1/proofs/${receipt.proof}/file`, `v1/keys/${receipt.commitment}`].map(async (path) => {
    const response = await get(path);
    if (response.status !== 200) throw new Error("the server has ended before the proof was made: it is made when it runs again");
    return response.arrayBuffer();
  }));
  const options = { request };
  if (known !== "") options.commitment = known;
  if (model.tokenizer) {
    const response = await fetch(`v1/models/${model.id}/tokenizer`, { headers: headers({}) });
    if (response.ok) options.tokenizer = await response.arrayBuffer();
  }
  links(item, proof, key);
  state.textContent = "verifying …";
  const result = await check({ answer, proof, key, options });
  if (result.valid === undefined) {
    state.textContent = "Proved. This build of the server has no verifier for browsers: verify the files with the command.";
    return;
  }
  item.classList.add(result.valid ? "valid" : "invalid");
  state.textContent = result.valid ? "VALID: verified in this browser" : `NOT VALID: ${result.reason}`;
  if (!result.valid) return;
  const facts = document.createElement("dl");
  const fact = (what, value) => {
    element(facts, "dt", "", what);
    element(facts, "dd", "", value);
  };
  fact("commitment", `${receipt.commitment}${known === "" ? " (not compared with one that you know)" : ""}`);
  fact("compared", result.compared.join(", "));
  if (result.texts > 0) fact("texts", `${result.texts} in this proof: whoever has its file can read all of them`);
  fact("security", `${Math.floor(result.security)} bits`);
  fact("proof", `${(result.bytes / 1e3).toFixed(1)} KB, verified in ${result.milliseconds.toFixed(0)} ms`);
  item.append(facts);
}

/** What whoever does not trust this page takes away. */
function links(item, proof, key) {
  const line = element(item, "div", "files");
  for (const [name, content] of [["x.proof", proof], ["x.vk", key]]) {
    const a = element(line, "a", "", name);
    a.href = URL.createObjectURL(new Blob([content]));
    a.download = name;
    line.append(" ");
  }
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const prompt = $("prompt").value;
  if (prompt !== "") ask(prompt);
});
$("key").addEventListener("change", () => start());

async function start() {
  try {
    await list();
    for (const e of document.querySelectorAll(".key")) e.hidden = $("key").value === "";
  } catch (problem) {
    $("state").textContent = problem.message;
  }
}

if ((await fetch("page/index.js", { method: "HEAD" })).ok) {
  worker = new Worker("page/worker.js", { type: "module" });
  worker.onmessage = ({ data }) => {
    pending.get(data.id)(data);
    pending.delete(data.id);
  };
}
await start();
document.body.setAttribute("data-ready", "");
