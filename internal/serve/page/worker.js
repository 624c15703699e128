// Verifies answers beside the page, which stays responsive.
import { verifyAnswer } from "./index.js";

onmessage = async ({ data }) => {
  const { id, answer, proof, key, options } = data;
  try {
    const began = performance.now();
    const result = await verifyAnswer(answer, proof, key, options);
    const milliseconds = performance.now() - began;
    const { valid, reason, compared, verdict } = result;
    const { bytes, security, texts } = verdict ?? {};
    postMessage({ id, valid, reason, compared, security: security?.total, texts: texts?.length ?? 0, bytes, milliseconds });
  } catch (problem) {
    postMessage({ id, valid: false, reason: String(problem), compared: [] });
  }
};
