
// The page: takes files, has the worker verify them, and shows the verdict.

const $ = (id) => document.getElementById(id);
const files = { proof: undefined, key: undefined, input: undefined };
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
verifier.then(() => document.body.setAttribute("data-ready", ""), (problem) => refuse(`the verifier does not run in this browser: ${problem.message}`));

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

/** What a dropped file is: proofs and keys say so in their first bytes. */
async function kindOf(file) {
  const head = new TextDecoder("latin1").decode(await file.slice(0, 8).arrayBuffer());
  return Object.keys(magic).find((kind) => magic[kind] === head) ?? "input";
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
    const arrays = files.input ? await readInput(await read(files.input)) : undefined;
    const options = {
      minBits: Number($("bits").value), commitment: $("commitment").value.trim() || null,
      names: arrays?.names ?? null, values: arrays?.values ?? null,
    };
    const worker = await verifier;
    if (mine !== run) return;
    worker.onmessage = ({ data }) => {
      if (data.id !== run) return;
      if (data.verdict) show(data.verdict, data.milliseconds);
      else if (data.problem) refuse(data.problem);
      else $("progress").value = data.read / data.size;
    };
    worker.onerror = (event) => refuse(event.message);
    worker.postMessage({ id: mine, proof, key, options });
  } catch (problem) {
    if (mine === run) refuse(problem.message);
  }
}

function refuse(reason) {
  show({ valid: false, reason });
}

function fact(title, ...content) {
  const value = element("dd");
  value.append(...content);
  $("facts").append(element("dt", title), value);
  return value;
}

function show(verdict, milliseconds) {
  $("working").hidden = true;
  const result = $("result");
  result.hidden = false;
  result.className = verdict.valid ? "valid" : "invalid";
  $("verdict").textContent = verdict.valid ? "Valid" : "Not valid";
  $("reason").textContent = verdict.valid ? "" : printable(verdict.reason);
  $("facts").replaceChildren();
  $("tensors").replaceChildren();
  if (verdict.valid) {
    const wanted = $("commitment").value.trim();
    fact("Commitment", verdict.commitment).className = "hex";
    fact("Model", wanted ? "the one of the commitment that was asked for" : "whoever has this commitment: compare it with one from a source that you trust");
    fact("Input", files.input ? `the one in ${printable(files.input.name)}${verdict.clamped ? `, of which ${verdict.clamped} values are beyond the model's range` : ""}` : "as stated below");
    const { total, proven, work } = verdict.security;
    fact("Security", `${tenths(total)} bits = ${tenths(proven)} proven + ${number(work)} of work in the weakest round`);
    const clipped = verdict.saturated.filter((s) => s.count > 0);
    if (clipped.length > 0) fact("Clipped", clipped.map((s) => `at most ${s.count} of ${s.of} values at ${printable(s.where)}`).join("; "));
    else if (verdict.saturated.length > 0) fact("Clipped", `none of ${verdict.saturated.reduce((n, s) => n + s.of, 0)} values inside the model`);
    fact("Bounds", "not certified here: that no integer of the model is too large for the proof's arithmetic rests on who issued the key");
    fact("Verified", `${bytesOf(verdict.bytes)} in ${milliseconds.toFixed(0)} ms`);
    verdict.inputs.forEach((t, i) => $("tensors").append(view("Input", t, i)));
    verdict.outputs.forEach((t, i) => $("tensors").append(view("Output", t, i)));
  }
  $("status").textContent = verdict.valid ? "the proof is valid" : `the proof is not valid: ${printable(verdict.reason)}`;
  $("verdict").focus({ preventScroll: false });
}

$("example").addEventListener("click", () => {
  const { proof, key } = example();
  take("input", undefined);
  take("key", new File([key], "the example's key"));
  take("proof", new File([proof], "the example's proof"));
});
for (const kind of Object.keys(files)) $(kind).addEventListener("change", (event) => take(kind, event.target.files[0]));
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
  for (const file of event.dataTransfer.files) take(await kindOf(file), file);
});
