
// In the worker: takes the compiled verifier once, then files.
let engine;
let module;
onmessage = async ({ data }) => {
  try {
    if (data.wasm) {
      module = await WebAssembly.compile(data.wasm);
      engine = await start(module);
      // On a proof that is known to be valid, and altered is not. This also has the
      // browser compile what the next proof needs.
      const options = { minBits: 100, commitment: null, input: null, sampling: null, tokenizer: null, vocabulary: null };
      const { proof, key } = data.example;
      const right = engine.verify(proof, key, options).valid;
      proof[proof.length >> 1] ^= 1;
      if (!right || engine.verify(proof, key, options).valid) throw new Error("it is not right about a known proof");
      postMessage({ ready: true });
      return;
    }
    if (engine.over) engine = await start(module);
    let told = 0;
    const began = performance.now();
    const verdict = engine.verify(data.proof, data.key, data.options, (read, size) => {
      if (performance.now() - told < 30) return;
      told = performance.now();
      postMessage({ id: data.id, read, size });
    });
    postMessage({ id: data.id, verdict, milliseconds: performance.now() - began });
  } catch (problem) {
    postMessage({ id: data.id, problem: String(problem) });
  }
};
