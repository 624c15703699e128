
// The page: takes files, has the worker verify them, and shows the verdict.

const $ = (id) => document.getElementById(id);
const files = { proof: undefined, key: undefined, input: undefined, tokenizer: undefined, vocabulary: undefined, classes: undefined };
const magic = { proof: "PM.prf\r\n", key: "PM.key\r\n" };
let run = 0; // the last that was begun

function decoded(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

/** A proof and its key that are a part of the page. */
function example() {
  const [proof, key] = $("example-source").textContent.split(" ").map(decoded);
  return { proof, key };
}

/** The verifier, in a worker that is made from this page's own text. */
async function launch() {
  const packed = decoded($("wasm").textContent);
  const wasm = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  const source = URL.createObjectURL(new Blob([$("worker-source").textContent], { type: "text/javascript" }));
  const worker = new Worker(source);
  const ready = new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.ready ? resolve(worker) : reject(new Error(data.problem)));
    worker.onerror = (event) => reject(new Error(event.message || "the worker does not start"));
  });
  worker.postMessage({ wasm, example: example() }, [wasm]);
  return ready;
}
const verifier = launch();
verifier.then(() => document.body.setAttribute("data-ready", ""), (problem) => refuse(`the verifier does not run in this browser: ${problem.message}`, "stopped"));

// tenths writes bits of security, rounded down.
function tenths(bits) {
  return (Math.floor(10 * bits) / 10).toFixed(1);
}

function bytesOf(size) {
  return size < 1e3 ? `${size} B` : size < 1e6 ? `${(size / 1e3).toFixed(1)} KB` : `${(size / 1e6).toFixed(2)} MB`;
}

function take(kind, file) {
  files[kind] = file;
  const chosen = $(`${kind}-chosen`);
  chosen.replaceChildren(...(file ? [isolated(file.name), `, ${bytesOf(file.size)}`] : ["none chosen"]));
  $("verify").disabled = !(files.proof && files.key);
  if (files.proof && files.key && $("form").checkValidity()) verify();
}

/** What a dropped file is: proofs and keys say so in their first bytes, tokenizers and names of classes by what they hold. */
async function kindOf(file) {
  const head = new TextDecoder("latin1").decode(await file.slice(0, 8).arrayBuffer());
  const binary = Object.keys(magic).find((kind) => magic[kind] === head);
  if (binary) return binary;
  if (/\.model$/i.test(file.name)) return "tokenizer";
  if (/\.txt$/i.test(file.name)) return "classes";
  if (file.size > 1 << 28) return "input";
  try {
    const document = JSON.parse(await file.text());
    if (document.model?.vocab) return "tokenizer";
    if (document.format === "prove-model vocabulary") return "vocabulary";
    if (document.id2label || (Array.isArray(document) && typeof document[0] === "string")) return "classes";
  } catch {
    // no JSON: an array, or whoever reads it says what it is not
  }
  return "input";
}

/** Names of classes, by their entry: of a list, of "id2label" in a config.json, or a name a line. */
async function readClasses(file) {
  const text = (await file.text()).replace(/^\ufeff/, "");
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    return text.replace(/\r?\n$/, "").split(/\r?\n/);
  }
  const names = document?.id2label ?? document;
  if (names === null || typeof names !== "object") throw new InputError("the names of classes are neither a list nor in a config.json");
  const list = [];
  for (const [i, name] of Object.entries(names)) if (/^\d{1,7}$/.test(i)) list[i] = String(name);
  return list;
}

/** How tokens were drawn, as the form says; null if it says nothing. */
function sampling() {
  const seed = $("seed").value.trim();
  if (seed === "") return null;
  return { seed, temperature: Number($("temperature").value || 1), topK: Number($("top-k").value || 0), topP: Number($("top-p").value || 1) };
}

async function verify() {
  const mine = ++run;
  $("working").hidden = false;
  $("progress").removeAttribute("value");
  $("result").hidden = true;
  $("status").textContent = "verifying";
  try {
    const read = async (file) => new Uint8Array(await file.arrayBuffer());
    const [proof, key] = [await read(files.proof), await read(files.key)];
    const options = {
      minBits: Number($("bits").value), commitment: $("commitment").value.trim() || null, sampling: sampling(),
      input: files.input ? await readInput(await read(files.input)) : null,
      tokenizer: files.tokenizer ? await read(files.tokenizer) : null,
      vocabulary: files.vocabulary ? await read(files.vocabulary) : null,
    };
    const names = files.classes ? await readClasses(files.classes) : [];
    const worker = await verifier;
    if (mine !== run) return;
    worker.onmessage = ({ data }) => {
      if (data.id !== run) return;
      if (data.verdict) show(data.verdict, { names, sampling: options.sampling, milliseconds: data.milliseconds });
      else if (data.problem) refuse(data.problem, "stopped");
      else $("progress").value = data.read / data.size;
    };
    worker.onerror = (event) => refuse(event.message, "stopped");
    worker.postMessage({ id: mine, proof, key, options });
  } catch (problem) {
    if (mine === run) refuse(problem.message, "unread");
  }
}

function refuse(reason, kind) {
  show({ valid: false, kind, reason }, { names: [], sampling: null });
}

/** Why a proof is not accepted, in words for everybody. */
const because = {
  proof: "The proof does not hold: it or the key was changed after it was made, or it was never right. Its numbers contradict each other. Do not rely on anything that it claims.",
  malformed: "A file is not what it should be: not a proof or key of prove-model, or one that was damaged or cut off on its way. Do not rely on anything that it claims.",
  model: "The key is not that of the model whose commitment you entered. The proof may be right about another model; about yours it says nothing.",
  input: "The proof is not about the input that you gave. It may be right about another one; about yours it says nothing.",
  weak: "The key gives less security than you ask for: a forger would need less work than you allow.",
  vocabulary: "The vocabulary is not the one of this model. Take the one that came with the key, x.vk.vocabulary.",
  tokenizer: "The tokenizer is not the one of this model, so the words that it would show are not those that the model read and wrote. Take the one that came with the model.",
  option: "Something that you entered cannot be understood.",
  unread: "A file that you gave beside the proof cannot be read.",
  stopped: "The verifier could not finish, so nothing is known of the proof.",
};

function inPlainWords({ valid, kind, text }, drawn) {
  if (valid && text?.written && text.promptTokens.length === 0) return "The model wrote exactly this of exactly the recording that the proof states.";
  if (valid && text?.written) return "The model wrote exactly this answer to exactly this prompt.";
  if (valid) return text ? "The model read exactly this text and gave exactly these scores." : "The model gives exactly this output for exactly this input.";
  if (kind !== "drawn") return because[kind];
  return drawn
    ? "The words are not those that this seed draws from the model's scores: the seed or the settings are others than those of the proof, or the answer was changed."
    : "The words are not those with the model's highest scores. Either the answer was changed, or its words were drawn by lot: then enter the seed and the settings, which whoever made the proof has to tell you.";
}

function fact(title, ...content) {
  const value = element("dd");
  value.append(...content);
  $("facts").append(element("dt", title), value);
  return value;
}

/** Which model it was, as far as the page knows. */
function modelView(commitment, wanted) {
  const p = element("p", wanted ? "It was the model whose commitment you entered: " : "Which model it was: the one with this commitment, which the key stands for. Compare it with the one that the model's owner has published: ");
  p.append(element("span", commitment, { class: "hex" }));
  return p;
}

/** What a valid proof states, in the order in which people ask. */
function statementView(verdict, names, drawn) {
  const proved = $("proved");
  const nameOf = (i) => {
    if (names[i] !== undefined) return isolated(names[i]);
    return document.createTextNode(verdict.text ? `token ${i}` : `class ${i}`);
  };
  if (verdict.text) proved.append(textView(verdict.text, drawn, askTokenizer));
  let canvases = [];
  if (!verdict.text) {
    const pictured = verdict.inputs.filter((t) => !t.ids && images(t));
    const scored = verdict.outputs.filter(scores);
    const found = pictured.length === 1 && scored.length === 1 && verdict.outputs.length === 1 ? images(pictured[0]) : undefined;
    if (found && found.count === scores(scored[0]).count) canvases = pictures(pictured[0], found);
    for (const t of verdict.inputs) if (!(canvases.length > 0 && t === pictured[0])) proved.append(inputView(t));
  }
  if (!verdict.text?.written) for (const t of verdict.outputs) proved.append(outputView(t, canvases, nameOf));
  if (verdict.vocabulary) {
    proved.append(element("p", files.vocabulary
      ? "Names are those of the model's vocabulary, which the key has the digest of. Which strings the numbers of the input stand for is not checked here: prove-model verify does."
      : `The numbers stand for strings, which is not checked here. The model's vocabulary, with the digest ${verdict.vocabulary}, says for which.`, { class: "note" }));
  }
  if (names.length > 0) proved.append(element("p", "The names of classes are those of your file: the proof knows classes by their number alone.", { class: "note" }));
  if (files.input) {
    proved.append(element("p", `The input is the one in ${printable(files.input.name)}${verdict.clamped ? `, of which ${verdict.clamped} values are beyond the model's range` : ""}.`));
  }
  proved.append(modelView(verdict.commitment, $("commitment").value.trim()));
}

function detailsView(verdict, milliseconds) {
  const { total, proven, work } = verdict.security;
  fact("Commitment", verdict.commitment).className = "hex";
  fact("Security", `${tenths(total)} bits = ${tenths(proven)} proven + ${number(work)} of work in the weakest round`);
  const clipped = verdict.saturated.filter((s) => s.count > 0);
  if (clipped.length > 0) fact("Clipped", clipped.map((s) => `at most ${s.count} of ${s.of} values at ${printable(s.where)}`).join("; "));
  else if (verdict.saturated.length > 0) fact("Clipped", `none of ${verdict.saturated.reduce((n, s) => n + s.of, 0)} values inside the model`);
  for (const hidden of verdict.hidden) {
    fact("Not stated", `${printable(hidden.words)}: the proof says that there is one, and nothing else of it but what follows from what it states.`);
  }
  if (verdict.weightsHiddenFor > 0) {
    fact("Hidden", `The model's weights and everything between input and output are not in this proof, and nothing about them can be computed from it: not from ${verdict.weightsHiddenFor} proofs of this model together, if whoever made them used the program as it is. What is stated above is not hidden, nor is the model's architecture.`);
  } else if (verdict.masked) fact("Hidden", "Everything between input and output, but not the model's weights.");
  fact("Bounds", "not certified here: that no integer of the model is too large for the proof's arithmetic rests on who issued the key");
  if (verdict.text?.tokenizer) fact("Tokenizer", `SHA-256 ${verdict.text.tokenizer}`).className = "hex";
  fact("Verified", `${bytesOf(verdict.bytes)} in ${milliseconds.toFixed(0)} ms`);
  if (verdict.text?.written) $("tensors").append(tokensView(verdict.text.tokens));
  for (const [word, list] of [["Input", verdict.inputs], ["Output", verdict.outputs]]) {
    for (const t of list) $("tensors").append(heading(word, t), numbersOf(t));
  }
}

function askTokenizer() {
  $("more").open = true;
  $("tokenizer").focus();
}

function show(verdict, { names, sampling: drawn, milliseconds }) {
  $("working").hidden = true;
  const result = $("result");
  result.hidden = false;
  result.className = verdict.valid ? "valid" : "invalid";
  $("verdict").textContent = verdict.valid ? "Valid" : "Not valid";
  $("plain").textContent = inPlainWords(verdict, drawn);
  $("reason").textContent = printable(verdict.reason);
  $("technical").hidden = verdict.valid;
  $("details").hidden = !verdict.valid;
  for (const id of ["proved", "facts", "tensors"]) $(id).replaceChildren();
  if (verdict.valid) {
    statementView(verdict, names, drawn);
    detailsView(verdict, milliseconds);
  } else if (["drawn", "tokenizer", "vocabulary", "option"].includes(verdict.kind)) {
    $("more").open = true;
  }
  $("status").textContent = verdict.valid ? `the proof is valid: ${$("plain").textContent}` : `the proof is not valid: ${$("plain").textContent} ${printable(verdict.reason)}`;
  $("verdict").focus({ preventScroll: false });
}

$("example").addEventListener("click", () => {
  const { proof, key } = example();
  for (const kind of ["input", "tokenizer", "vocabulary", "classes"]) take(kind, undefined);
  for (const id of ["seed", "commitment"]) $(id).value = "";
  take("key", new File([key], "the example's key"));
  take("proof", new File([proof], "the example's proof"));
});
for (const kind of Object.keys(files)) $(kind).addEventListener("change", (event) => take(kind, event.target.files[0]));
for (const id of ["seed", "temperature", "top-k", "top-p", "commitment", "bits"]) {
  $(id).addEventListener("change", () => {
    if (files.proof && files.key && $("form").checkValidity()) verify();
  });
}
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  verify();
});
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("over");
});
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", async (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  const dropped = await Promise.all(Array.from(event.dataTransfer.files, async (file) => [await kindOf(file), file]));
  if (dropped.some(([kind]) => !magic[kind])) $("more").open = true;
  for (const [kind, file] of dropped.toSorted(([a], [b]) => !!magic[a] - !!magic[b])) take(kind, file); // proof and key last
});
