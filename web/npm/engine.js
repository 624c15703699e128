// Runs the verifier, a Go program compiled to WebAssembly. wasm_exec.js, which comes
// with Go, has set globalThis.Go.

/** What the verdict says when the verifier itself ends: memory, or the depth of calls. */
const stopped = "the verifier stopped, as it would for files that ask for more memory than there is";

/** Starts the verifier from its module or the bytes of it, and returns a function that verifies. */
export async function start(module) {
  const go = new globalThis.Go();
  const compiled = module instanceof WebAssembly.Module ? module : await WebAssembly.compile(module);
  const instance = await WebAssembly.instantiate(compiled, go.importObject);
  delete globalThis.proveModelVerifier;
  let over = false;
  go.run(instance).catch(() => {}).finally(() => (over = true));
  const call = globalThis.proveModelVerifier;
  delete globalThis.proveModelVerifier;
  return {
    /** The verdict. A verifier that has ended says so in it, and cannot be used again. */
    verify(proof, key, options, progress) {
      let verdict;
      try {
        verdict = over ? undefined : call(key, proof, options, progress ?? (() => {}));
      } catch {
        over = true;
      }
      over ||= verdict === undefined;
      return verdict ?? { valid: false, kind: "stopped", reason: stopped };
    },
    get over() {
      return over;
    },
  };
}
