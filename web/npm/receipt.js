// Holds an answer of `prove-model serve`, its receipt and its proof together. See index.d.ts.

const encoder = new TextEncoder();

/** JSON as RFC 8785 writes it, of what a receipt has: members in the order of their names, on one line. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

async function digest(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (b) => b.toString(16).padStart(2, "0")).join("");
}

/** The digest of numbers: eight bytes each, the least significant first. */
function digestOf(values) {
  const view = new DataView(new ArrayBuffer(8 * values.length));
  values.forEach((v, i) => view.setFloat64(8 * i, v, true));
  return digest(view.buffer);
}

const decoded = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

const imported = (bytes) => crypto.subtle.importKey("raw", bytes, { name: "Ed25519" }, false, ["verify"]);

/** Whether there is Ed25519 here: whether the base point, 4/5, is taken for a key. */
async function hasEd25519() {
  try {
    await imported(Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? 0x58 : 0x66)));
    return true;
  } catch {
    return false;
  }
}

/** Whether a receipt's signature holds; undefined if that cannot be told here. */
async function signed(receipt) {
  if (!(await hasEd25519())) return undefined;
  const { signature, ...rest } = receipt;
  try {
    const key = await imported(decoded(receipt.public_key));
    return await crypto.subtle.verify("Ed25519", key, decoded(signature), encoder.encode(`prove-model receipt\n${canonical(rest)}`));
  } catch {
    return false;
  }
}

class Refused extends Error {}

function refuse(reason) {
  throw new Refused(reason);
}

const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);

/** The arrays of a request, as the server has read them. */
function arraysOf(request) {
  const body = JSON.parse(request);
  return (body.inputs ?? []).map(({ name, shape, datatype, data }) => {
    const flat = [data].flat(Infinity).map(Number);
    return { name, shape, values: Float64Array.from(flat, datatype === "FP32" ? Math.fround : undefined) };
  });
}

/** Makes verifyAnswer of a function that verifies proofs. */
export function answers(verify) {
  return async function verifyAnswer(answer, proof, key, { commitment, request, publicKey, tokenizer, minBits = 100, onProgress } = {}) {
    if (typeof answer === "string") answer = JSON.parse(answer);
    const receipt = answer.receipt ?? answer;
    const compared = [];
    let verdict = null;
    try {
      if (receipt?.version !== 1 || typeof receipt.signature !== "string") refuse("there is no receipt that this program reads");
      const signature = await signed(receipt);
      if (signature === false) refuse("the receipt's signature does not hold");
      if (signature) compared.push("signature");
      if (publicKey !== undefined && publicKey !== receipt.public_key) refuse("the receipt is of another server");
      if (publicKey !== undefined && !signature) refuse("this browser cannot check signatures (Ed25519)");
      if (commitment !== undefined && commitment.toLowerCase() !== receipt.commitment) refuse("the receipt is about another model");
      const options = { minBits, commitment: receipt.commitment, onProgress };
      if (request !== undefined) {
        if ((await digest(encoder.encode(request))) !== receipt.request) refuse("the receipt is about another request");
        compared.push("request");
        const arrays = arraysOf(request);
        for (const a of arrays) {
          if ((await digestOf(a.values)) !== receipt.inputs?.[a.name]) refuse("the receipt is about other inputs than the request has");
        }
        if (arrays.length > 0) options.input = arrays;
      }
      if (tokenizer !== undefined) options.tokenizer = tokenizer;
      const drawn = receipt.sampling;
      if (drawn) options.sampling = { seed: BigInt(drawn.seed), temperature: Number(drawn.temperature), topK: drawn.top_k, topP: Number(drawn.top_p) };
      verdict = await verify(proof, key, options);
      if (!verdict.valid) return { valid: false, kind: verdict.kind, reason: verdict.reason, receipt, verdict, compared };
      if (options.input) compared.push("inputs");
      if (receipt.tokens) await compareText(answer, receipt, verdict, compared);
      else await compareArrays(answer, receipt, verdict, compared);
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      return { valid: false, kind: "receipt", reason: problem.message, receipt, verdict, compared };
    }
    return { valid: true, kind: "", reason: "", receipt, verdict, compared };
  };
}

const isOf = (text, receipt) => text.written && same(text.promptTokens, receipt.prompt_tokens) && same(text.tokens.map((x) => x.id), receipt.tokens);

/** The text of a proof that a receipt is about. Of several it is the one that the receipt says or, since an answer's receipt comes before
 * that is known, the first with its tokens. */
function textOf(receipt, { text, texts }) {
  const place = receipt.joint;
  if (texts.length === 0) {
    if (place) refuse("the receipt is about one of several texts, and the proof is of one");
    return text;
  }
  if (!receipt.shared) refuse(`the receipt's proof is of its text alone, and this is a proof of ${texts.length} texts`);
  if (!place) return texts.find((t) => isOf(t, receipt)) ?? refuse(`the receipt is about another text: none of the ${texts.length} has its tokens`);
  if (place.texts !== texts.length || !Number.isInteger(place.text_id) || place.text_id < 1 || place.text_id > texts.length) {
    refuse(`the receipt is about text ${place.text_id} of a proof of ${place.texts}, and this is a proof of ${texts.length}`);
  }
  return texts[place.text_id - 1];
}

async function compareText(answer, receipt, verdict, compared) {
  const t = textOf(receipt, verdict);
  if (!t || !isOf(t, receipt)) refuse("the proof is about other tokens than the receipt");
  compared.push("tokens");
  const choices = answer.choices ?? [];
  if (choices.length > 1) refuse(`the answer has ${choices.length} texts, and a receipt is of one`);
  for (const text of [choices[0]?.message?.content, choices[0]?.text]) {
    if (text === undefined || text === null) continue;
    if ((await digest(encoder.encode(text))) !== receipt.text) refuse("the answer has another text than its receipt says");
  }
  if (t.answer === null) return;
  // An answer that a stop has ended is a beginning of what the model wrote.
  let found = false;
  const whole = Array.from(t.answer);
  for (let n = whole.length; n >= 0 && !found; n--) found = (await digest(encoder.encode(whole.slice(0, n).join("")))) === receipt.text;
  if (!found) refuse("the model wrote another text than the receipt says");
  compared.push("text");
}

async function compareArrays(answer, receipt, verdict, compared) {
  if (verdict.text?.written || verdict.texts.length > 0) refuse("the receipt is not about what the proof is about");
  for (const [name, want] of Object.entries(receipt.outputs ?? {})) {
    const output = verdict.outputs.find((o) => o.name === name);
    if (!output || (await digestOf(output.values)) !== want) refuse("the receipt has other outputs than the proof");
  }
  for (const { name, data } of answer.outputs ?? []) {
    if ((await digestOf(data)) !== receipt.outputs?.[name]) refuse("the answer has other outputs than its receipt says");
  }
  compared.push("outputs");
}
