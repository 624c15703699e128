// Reads the arrays of an input: of a file (JSON, .npy, .npz), or of JavaScript.

/** What is wrong with an input, in a sentence. */
export class InputError extends Error {}

/**
 * The arrays of a file, by its content: a list of {name, shape, values}, the name empty where the file has none, the
 * shape null where it has none: a flat list.
 * @param {Uint8Array} bytes
 */
export async function readInput(bytes) {
  if (starts(bytes, [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59])) return [{ name: "", ...npy(bytes) }];
  if (starts(bytes, [0x50, 0x4b])) return npz(bytes);
  let document;
  try {
    document = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new InputError("the input is neither JSON nor a NumPy file (.npy, .npz)");
  }
  if (Array.isArray(document) || typeof document === "number") return [{ name: "", ...nested(document) }];
  if (document === null || typeof document !== "object") throw new InputError("the input is not numbers");
  const data = document.input_data;
  if (data === undefined) return byName(document);
  if (!Array.isArray(data)) throw new InputError('"input_data" of the input is no list, of the numbers for each input of the model');
  const shapes = Array.isArray(document.input_shapes) && document.input_shapes.length === data.length ? document.input_shapes : [];
  return data.map((list, i) => {
    const array = nested(list);
    const fits = Array.isArray(shapes[i]) && shapes[i].reduce((a, b) => a * b, 1) === array.values.length;
    return { name: "", ...array, ...(fits ? { shape: shapes[i] } : {}) };
  });
}

/**
 * The arrays of a value: an object of arrays by name, or one array, nested or not.
 */
export function givenInput(input) {
  if (ArrayBuffer.isView(input) || Array.isArray(input)) return [{ name: "", ...nested(input) }];
  if (input === null || typeof input !== "object") throw new InputError("an input is an array, or arrays by name");
  return byName(input);
}

function byName(object) {
  return Object.keys(object).map((name) => ({ name, ...nested(object[name]) }));
}

function starts(bytes, magic) {
  return magic.every((b, i) => bytes[i] === b);
}

const notFinite = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };

/** The numbers of a nested list, end to end, and its shape: null for a flat list, which says nothing of axes. */
function nested(list) {
  if (typeof list === "number") list = [list];
  if (list instanceof Float64Array) return { shape: null, values: list };
  const isList = (item) => Array.isArray(item) || ArrayBuffer.isView(item);
  if (!isList(list)) throw new InputError("the input holds something that is not a list of numbers");
  const shape = [];
  for (let first = list; isList(first); first = first[0]) shape.push(first.length);
  const uneven = () => new InputError("the input's lists are nested unevenly");
  const out = [];
  const stack = [[list, 0]];
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    if (top[1] === top[0].length) {
      stack.pop();
      continue;
    }
    const item = top[0][top[1]++];
    if (isList(item)) {
      if (item.length !== shape[stack.length]) throw uneven();
      stack.push([item, 0]);
      continue;
    }
    if (stack.length !== shape.length) throw uneven();
    if (typeof item === "number") out.push(item);
    else if (typeof item === "bigint") out.push(Number(item));
    else if (typeof item === "boolean") out.push(item ? 1 : 0);
    else if (Object.hasOwn(notFinite, item)) out.push(notFinite[item]);
    else throw new InputError("the input holds something that is not a number");
  }
  return { shape: shape.length > 1 ? shape : null, values: Float64Array.from(out) };
}

const entry = {
  f2: [2, (v, i) => half(v.getUint16(i, true))],
  f4: [4, (v, i) => v.getFloat32(i, true)],
  f8: [8, (v, i) => v.getFloat64(i, true)],
  i1: [1, (v, i) => v.getInt8(i)],
  i2: [2, (v, i) => v.getInt16(i, true)],
  i4: [4, (v, i) => v.getInt32(i, true)],
  i8: [8, (v, i) => Number(v.getBigInt64(i, true))],
  u1: [1, (v, i) => v.getUint8(i)],
  u2: [2, (v, i) => v.getUint16(i, true)],
  u4: [4, (v, i) => v.getUint32(i, true)],
  u8: [8, (v, i) => Number(v.getBigUint64(i, true))],
  b1: [1, (v, i) => v.getUint8(i)],
};

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

/** One array in NumPy's format, in row-major order. */
function npy(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const cut = () => new InputError("the NumPy array is cut off");
  if (bytes.length < 12) throw cut();
  const wide = bytes[6] > 1;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = (wide ? 12 : 10) + length;
  if (start > bytes.length) throw cut();
  const header = new TextDecoder("latin1").decode(bytes.subarray(start - length, start));
  const m = /^\{'descr': '([<>|=])([a-z]\d+)', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\), *\}\s*$/.exec(header);
  if (!m || m[1] === ">" || !entry[m[2]]) throw new InputError("the NumPy array has a type or an order that is not read");
  const shape = m[4].split(",").filter((s) => s.trim()).map(Number);
  const size = shape.reduce((a, b) => a * b, 1);
  const [width, get] = entry[m[2]];
  if (bytes.length - start !== size * width) throw new InputError(`the NumPy array has ${bytes.length - start} bytes of data, and needs ${size * width}`);
  const flat = new Float64Array(size);
  for (let i = 0; i < size; i++) flat[i] = get(view, start + i * width);
  return { shape, values: m[3] === "True" && shape.length > 1 ? rowMajor(flat, shape) : flat };
}

/** Turns an array round whose first axis is the fastest. */
function rowMajor(flat, shape) {
  const strides = [];
  shape.reduce((step, n, axis) => ((strides[axis] = step), step * n), 1);
  const index = shape.map(() => 0);
  const out = new Float64Array(flat.length);
  for (let i = 0, at = 0; i < flat.length; i++) {
    out[i] = flat[at];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += strides[axis];
      if (++index[axis] < shape[axis]) break;
      at -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return out;
}

const mostUnpacked = 1 << 28; // bytes of an archive's member

/** The arrays of an archive, in its order. */
async function npz(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const bad = () => new InputError("the .npz file is damaged");
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw bad();
  const arrays = [];
  let at = view.getUint32(end + 16, true);
  try {
    for (let left = view.getUint16(end + 10, true); left > 0; left--) {
      if (view.getUint32(at, true) !== 0x02014b50) throw bad();
      const method = view.getUint16(at + 10, true);
      const size = view.getUint32(at + 20, true);
      const nameLength = view.getUint16(at + 28, true);
      const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
      const local = view.getUint32(at + 42, true);
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      const packed = bytes.subarray(start, start + size);
      if (packed.length !== size) throw bad();
      arrays.push({ name: name.replace(/\.npy$/, ""), ...npy(method === 0 ? packed : await inflate(packed, method, bad)) });
      at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
  } catch (problem) {
    throw problem instanceof InputError ? problem : bad();
  }
  return arrays;
}

async function inflate(packed, method, bad) {
  if (method !== 8) throw bad();
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > mostUnpacked) throw new InputError("the .npz file unpacks to too much");
    parts.push(next.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
