// Runs client specifications of shuffledp: randomizes a value on a device, exactly, from random bytes.
// One module without dependencies, for browsers and Node.js >= 18; docs/deploy-client.md has the language.
// In a shell, `node client.mjs client.json` answers a line with a value by a line with its message.

/** @typedef {number | bigint} Whole  a whole number; a bigint where it may be above 2^53 */
/** @typedef {{tape: Tape, number: number, slots: Whole[][]}} Machine  what an expression is evaluated with */
/** @typedef {(machine: Machine) => Whole[]} Run  a compiled expression */

const crypto_ = globalThis.crypto ?? (await import("node:crypto")).webcrypto;
const AGAIN = "take the specification again from where it was made.";
const PRIME = 2n ** 61n - 1n, MOST = 1e6, GUARD = 96n, MORE = 40n;
const BYTES = { int64: 8, uint64: 8, uint32: 4, uint8: 1 };
const KEYS = "digest eps0 format laws message program randomizer value vectors version";
const THRESHOLD = [0n, 2n ** 64n], LIMIT = [1n, 2n ** 63n], COUNT = [0n, BigInt(MOST)];
const SCALE = [1n, 2n ** 53n], WHOLE = [0n, 2n ** 53n], LIST = "list";

export class SpecificationError extends Error {}
const refuse = (/** @type {string} */ sentence) => { throw new SpecificationError(sentence); };
const fail = () => refuse(`the program fails on this value; ${AGAIN}`);
const short = (/** @type {bigint} */ n) => (n <= Number.MAX_SAFE_INTEGER && n >= Number.MIN_SAFE_INTEGER ? Number(n) : n);
const bitLength = (/** @type {bigint} */ n) => (n === 0n ? 0 : n.toString(2).length);

/** Random bytes in the order in which a program takes them: the system's, or recorded ones. */
class Tape {
  /** @param {Uint8Array | null} recorded */
  constructor(recorded) {
    this.recorded = recorded;
    this.data = recorded ?? new Uint8Array(0);
    this.view = new DataView(this.data.buffer, this.data.byteOffset, this.data.length);
    this.place = 0;
  }

  /** @param {number} size  @returns {number} where that many bytes begin in `view` */
  take(size) {
    if (this.place + size > this.data.length) {
      if (this.recorded) refuse(`${this.recorded.length} random bytes are too few for this message; give more.`);
      this.data = new Uint8Array(Math.max(size, 8192));
      for (let i = 0; i < this.data.length; i += 65536) crypto_.getRandomValues(this.data.subarray(i, i + 65536));
      this.view = new DataView(this.data.buffer);
      this.place = 0;
    }
    this.place += size;
    return this.place - size;
  }

  /** 1 with probability threshold/2^64: 16 bits mostly decide, and 48 more if they do not. */
  coins(/** @type {number} */ count, /** @type {number} */ top, /** @type {number} */ low) {
    const start = this.take(2 * count), heads = new Array(count), open = [];
    for (let i = 0; i < count; i += 1) {
      const first = this.view.getUint16(start + 2 * i, true);
      heads[i] = first < top ? 1 : 0;
      if (first === top) open.push(i);
    }
    for (const i of open) {
      const at = this.take(8);
      heads[i] = this.view.getUint32(at + 4, true) * 65536 + this.view.getUint16(at + 2, true) < low ? 1 : 0;
    }
    return heads;
  }

  /** Uniform below the limit: what is not below it is drawn again. */
  choices(/** @type {number} */ count, /** @type {bigint} */ limit, bits = bitLength(limit - 1n)) {
    /** @type {Whole[]} */ const found = new Array(count).fill(0);
    const width = bits <= 32 ? 4 : 8, unused = 8 * width - bits, most = short(limit);
    let open = bits === 0 ? [] : [...found.keys()];
    while (open.length) {
      const start = this.take(width * open.length);
      open = open.filter((i, k) => {
        const at = start + width * k;
        if (bits <= 32) found[i] = this.view.getUint32(at, true) >>> unused;
        else if (bits <= 53) found[i] = this.view.getUint32(at + 4, true) * 2 ** (32 - unused) + Math.floor(this.view.getUint32(at, true) / 2 ** unused);
        else found[i] = this.view.getBigUint64(at, true) >> BigInt(unused);
        return found[i] >= most;
      });
    }
    return found;
  }

  word() { return this.view.getBigUint64(this.take(8), true); }
}

/** Draws from a law: j, if j steps of its distribution function are at or below a uniform number. */
class Law {
  constructor(/** @type {any} */ said) {
    const texts = said?.weights ?? said?.ratio, right = Array.isArray(texts) && Object.keys(said).length === 1
      && texts.every((text) => typeof text === "string" && /^-?[0-9]{1,4000}$/.test(text));
    const numbers = right ? texts.map(BigInt) : [];
    const [a, b, c, d] = numbers, weights = right && said.weights;
    const good = weights ? numbers.every((n) => n >= 0n) && numbers.some((n) => n > 0n)
      : numbers.length === 4 && a > 0n && b <= 0n && c > 0n && d > 0n && a <= 10000n * (c + d > -b ? c + d : -b);
    if (!good) refuse(`a law of the specification has no valid weights; ${AGAIN}`);
    /** @param {bigint} bits  @returns {bigint[][]} numbers below and above 2^bits times each step */
    this.steps = (bits) => {
      const rows = weights ? numbers : [2n ** (bits + GUARD + MORE)];
      for (let j = 0n; !weights && rows[rows.length - 1] > 0n; j += 1n) {
        const factor = a + b * j;
        rows.push(factor > 0n ? (rows[rows.length - 1] * factor) / (c + d * j) : 0n);
      }
      const total = rows.reduce((sum, n) => sum + n, 0n);
      let sum = 0n;
      return rows.slice(0, -1).map((n) => {
        sum += n;
        if (weights) return [(sum << bits) / total, ((sum << bits) + total - 1n) / total];
        const part = (sum << (bits + GUARD)) / total;
        return [(part - 2n) >> GUARD, ((part + 2n) >> GUARD) + 1n];
      });
    };
    this.table = this.steps(64n);
  }

  invert(/** @type {bigint} */ digits, /** @type {Tape} */ tape) {
    for (let bits = 64n, steps = this.table; ; steps = this.steps(bits)) {
      let low = 0, high = steps.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (digits < steps[middle][1]) high = middle; else low = middle + 1;
      }
      if (low === steps.length || digits < steps[low][0]) return low;
      digits = (digits << 64n) | tape.word();
      bits += 64n;
    }
  }
}

// Every operation: its arguments (a range for a constant, LIST for an expression), and what it does with them.
/** @type {Record<string, [any[], (...given: any[]) => any]>} */
const OPERATIONS = {
  coins: [[LIST, THRESHOLD], (n, threshold) => {
    const top = Number(threshold >> 48n), low = Number(threshold & (2n ** 48n - 1n));
    return (m) => m.tape.coins(few(n(m)), top, low);
  }],
  choices: [[LIST, LIMIT], (n, limit, bits = bitLength(limit - 1n)) => (m) => m.tape.choices(few(n(m)), limit, bits)],
  subset: [[COUNT, LIMIT], (n, limit) => (m) => {
    const chosen = new Set();
    for (let last = limit - n; last < limit; last += 1n) {
      const [drawn] = m.tape.choices(1, last + 1n);
      chosen.add(chosen.has(drawn) ? short(last) : drawn);
    }
    return [...chosen];
  }],
  distinct: [[LIST, LIMIT], (n, limit) => (m) => {
    const found = new Set(), count = Math.min(few(n(m)), Number(limit));
    while (found.size < count) for (const drawn of m.tape.choices(count - found.size, limit)) found.add(drawn);
    return [...found];
  }],
  law: [[LIST, COUNT], (which, n, laws) => (m) => {
    const law = laws[first(which(m))] ?? fail(), start = m.tape.take(8 * Number(n)), { view } = m.tape;
    const words = Array.from({ length: Number(n) }, (_, i) => view.getBigUint64(start + 8 * i, true));
    return words.map((word) => law.invert(word, m.tape));
  }],
  heads: [[COUNT, COUNT], (n, coins) => (m) => Array.from({ length: Number(n) }, () => {
    const width = Math.ceil(Number(coins) / 8), start = m.tape.take(width);
    let ones = 0;
    for (let i = 0; i < Number(coins); i += 1) ones += (m.tape.view.getUint8(start + (i >> 3)) >> (i & 7)) & 1;
    return ones;
  })],
  round: [[SCALE], (scale) => (m) => {
    const exact = m.number * Number(scale), floor = Math.floor(exact), at = m.tape.take(8);
    const chance = m.tape.view.getUint32(at + 4, true) * 2 ** 21 + (m.tape.view.getUint32(at, true) >>> 11);
    return [floor + (chance < Math.floor((exact - floor) * 2 ** 53) ? 1 : 0)];
  }],
  let: [["name", LIST, LIST], (slot, bound, body) => (m) => { m.slots[slot] = bound(m); return body(m); }],
  if: [[LIST, LIST, LIST], (condition, then, otherwise) => (m) => (first(condition(m)) ? then(m) : otherwise(m))],
  add: [[LIST, LIST], (a, b) => (m) => both(a(m), b(m), plus)],
  minus: [[LIST, LIST], (a, b) => (m) => both(a(m), b(m), (x, y) => plus(x, -y))],
  equal: [[LIST, LIST], (a, b) => (m) => both(a(m), b(m), (x, y) => (x == y ? 1 : 0))], // a bigint may be as small as a number
  skip: [[LIST, LIST, WHOLE], (given, start, width, by = Number(width)) => (m) => {
    const numbers = given(m), from = first(start(m));
    return numbers.map((x) => (x < from ? x : plus(x, by)));
  }],
  fold: [[LIST, COUNT], (given, columns) => (m) => {
    const sums = new Array(Number(columns)).fill(0);
    given(m).forEach((x, i) => { if (sums.length) sums[i % sums.length] = plus(sums[i % sums.length], x); });
    return sums;
  }],
  hot: [[COUNT, LIST], (n, places) => (m) => {
    const row = new Array(Number(n)).fill(0);
    for (const place of places(m)) row[place < row.length && place >= 0 ? Number(place) : fail()] = 1;
    return row;
  }],
  where: [[LIST, LIST, LIST], (mask, given, others) => (m) => {
    const held = mask(m), numbers = given(m), left = others(m).values();
    return both(held, numbers, (marked, x) => (marked ? left.next().value ?? fail() : x));
  }],
  join: [[LIST, LIST], (a, b) => (m) => [...a(m), ...b(m)]],
  sort: [[LIST], (given) => (m) => [...given(m)].sort((x, y) => (x < y ? -1 : Number(x > y)))],
  pack: [[LIST], (given) => (m) => {
    const bits = given(m), bytes = new Array(Math.ceil(bits.length / 8)).fill(0);
    if (!bits.every((bit) => bit === 0 || bit === 1)) fail();
    bits.forEach((bit, i) => { bytes[i >> 3] |= bit << (7 - (i & 7)); });
    return bytes;
  }],
  hash: [[LIST, LIST, LIMIT], (seed, place, limit) => (m) => {
    const [a, b, c] = only(3, seed(m)).map(BigInt), x = BigInt(only(1, place(m))[0]);
    return [short(((a * x + b) * x + c) % PRIME % limit)];
  }],
  column: [[LIST, LIST, LIST], (column, row, owned) => (m) => {
    const [j] = only(1, column(m)), x = BigInt(only(1, row(m))[0]), [own] = only(1, owned(m));
    const odd = [...(BigInt(j) & x).toString(2)].filter((digit) => digit === "1").length % 2;
    return [odd == own ? short(BigInt(j) ^ (x & -x)) : j];
  }],
};
const first = (list) => (list.length ? list[0] : fail());
const only = (count, list) => (list.length === count ? list : fail());
const few = ([count]) => (count >= 0 && count <= MOST ? Number(count) : refuse(`the program makes ${count} numbers at once; ${AGAIN}`));
const both = (a, b, act) => only(b.length, a).map((x, i) => act(x, b[i]));
const plus = (x, y) => (Number.isSafeInteger(typeof x === typeof y ? x + y : null) ? x + y : short(BigInt(x) + BigInt(y)));

/** Compiles an expression, which is checked in full. @returns {Run} */
function compile(code, laws, names, depth = 0) {
  if (depth > 50) refuse(`the program has more than 50 levels; ${AGAIN}`);
  if (typeof code === "string") {
    if (/^[0-9]+$/.test(code)) { const list = [short(constant(code, THRESHOLD, "a constant"))]; return () => list; }
    if (code === "" || !names.includes(code)) refuse(`the name '${code.slice(0, 20)}' has no value; ${AGAIN}`);
    const slot = names.indexOf(code);
    return (m) => m.slots[slot];
  }
  const known = Array.isArray(code) && typeof code[0] === "string" && Object.hasOwn(OPERATIONS, code[0]);
  if (!known) refuse(`'${String(Array.isArray(code) ? code[0] : code).slice(0, 20)}' is no operation of this version; ${AGAIN}`);
  const [name, ...given] = code, [kinds, make] = OPERATIONS[name];
  if (given.length !== kinds.length) refuse(`the operation '${name}' has ${given.length} arguments instead of ${kinds.length}; ${AGAIN}`);
  if (name === "let") {
    const [called, bound, body] = given;
    if (typeof called !== "string" || !/^[A-Za-z]+$/.test(called)) refuse(`'${String(called).slice(0, 20)}' is no name; ${AGAIN}`);
    const slot = names.length, inner = [...names.map((each) => (each === called ? "" : each)), called];
    return make(slot, compile(bound, laws, names, depth + 1), compile(body, laws, inner, depth + 1));
  }
  const what = name === "coins" ? "the threshold of a coin" : `a number of '${name}'`;
  const made = kinds.map((kind, i) => (kind === LIST ? compile(given[i], laws, names, depth + 1) : constant(given[i], kind, what)));
  if (name === "subset" && made[0] > made[1]) refuse(`'subset' takes ${given[0]} of ${given[1]} numbers; ${AGAIN}`);
  if (name === "law" && /^[0-9]+$/.test(given[0]) && Number(given[0]) >= laws.length) refuse(`there is no law ${given[0]} among ${laws.length}; ${AGAIN}`);
  return name === "law" ? make(...made, laws) : make(...made);
}

function constant(text, [least, most], what) {
  if (typeof text !== "string" || !/^[0-9]{1,4000}$/.test(text)) refuse(`${what} is '${String(text).slice(0, 24)}', no decimal number; ${AGAIN}`);
  const number = BigInt(text);
  if (number < least || number > most) refuse(`${what} is ${text.slice(0, 24)}, outside ${least} .. ${most}; ${AGAIN}`);
  return number;
}

/** Are values, messages, the claim and the test vectors described as they have to be? */
function isDescribed({ value, message, randomizer, eps0, vectors }) {
  const isText = (text, form) => typeof text === "string" && form.test(text), any = /^/;
  const isSize = (n) => Number.isInteger(n) && n > 0 && n <= MOST;
  const has = (said, keys) => said !== null && typeof said === "object" && !Array.isArray(said) && Object.keys(said).sort().join(" ") === keys;
  const values = value?.kind === "number" ? has(value, "kind")
    : value?.kind === "bits" ? has(value, "kind length ones") && isSize(value.length) && isSize(value.ones) && value.ones <= value.length
      : has(value, "kind least most") && value.kind === "whole" && isText(value.least, /^(-1|0)$/)
        && isText(value.most, /^[0-9]{1,19}$/) && BigInt(value.most) < 2n ** 63n;
  const messages = has(message, "kind length type") && typeof message.type === "string" && Object.hasOwn(BYTES, message.type)
    && (message.kind === "messages" ? message.length === null : ["number", "list"].includes(message.kind) && isSize(message.length));
  const named = randomizer === null || (has(randomizer, "name parameters") && isText(randomizer.name, any)
    && randomizer.parameters !== null && typeof randomizer.parameters === "object" && !Array.isArray(randomizer.parameters)
    && Object.entries(randomizer.parameters).every(([name, text]) => isText(name, /^[ -~]*$/) && isText(text, any)));
  const claimed = eps0 === null || (isText(eps0, /^[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?$/) && Number.isFinite(Number(eps0)));
  return values && messages && named && claimed && Array.isArray(vectors) && vectors.length > 0
    && vectors.every((each) => has(each, "bytes message value") && isText(each.bytes, /^([0-9a-f]{2})*$/) && isText(each.message, /^(-?[0-9]+( -?[0-9]+)*)?$/) && isText(each.value, any));
}

/** A text as JSON in ASCII. */
const quoted = (/** @type {string} */ text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The text that the digest is of: keys in order, no spaces, ASCII. */
const canonical = (said) => (Array.isArray(said) ? `[${said.map(canonical).join(",")}]`
  : said && typeof said === "object" ? `{${Object.keys(said).sort().map((key) => `${quoted(key)}:${canonical(said[key])}`).join(",")}}`
    : typeof said === "string" ? quoted(said) : JSON.stringify(said));

const fromHex = (/** @type {string} */ text) => (/^([0-9a-fA-F]{2})*$/.test(text) ? null : refuse(`the bytes '${text.slice(0, 24)}' are no hexadecimal digits; give two for each byte.`)) ?? Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** A client as a specification describes it; `load` makes one. */
export class Client {
  constructor(/** @type {any} */ said) {
    const { value } = said;
    if (!isDescribed(said)) refuse(`the specification describes no values, messages or test vectors; ${AGAIN}`);
    this.document = said;
    const laws = Array.isArray(said.laws) ? said.laws.map((each) => new Law(each)) : refuse(`the laws are no list; ${AGAIN}`);
    this.run = compile(said.program, laws, value.kind === "number" ? [""] : ["value"]);
    this.random = new Tape(null);
  }

  /** The message of a value. @param {any} value  a number, a bigint, a text, or a list of bits
   * @param {Uint8Array | null} bytes  used instead of the system's random ones, for tests
   * @returns {Whole[]} */
  message(value, bytes = null) {
    const { kind, least, most, length, ones } = this.document.value;
    const text = Array.isArray(value) ? value.join(" ") : String(value).trim();
    const machine = { tape: bytes ? new Tape(bytes) : this.random, number: Number(text), slots: [[]] };
    let right = text !== "" && machine.number >= 0 && machine.number <= 1;
    if (kind === "bits") {
      machine.slots[0] = text.split(/\s+/).map(Number);
      const sum = machine.slots[0].filter((bit) => bit === 1).length;
      right = /^[01\s]+$/.test(text) && machine.slots[0].length === length && sum >= 1 && sum <= ones;
    } else if (kind === "whole") {
      right = /^-?[0-9]+$/.test(text) && BigInt(text) >= BigInt(least) && BigInt(text) <= BigInt(most);
      if (right) machine.slots[0] = BigInt(text) < 0n ? [] : [short(BigInt(text))];
    }
    if (!right) {
      const bits = `a list of ${length} bits with 1 to ${ones} ones`, whole = `a whole number in ${least} .. ${most}`;
      refuse(`the value '${text.slice(0, 40)}' is not ${{ number: "a number in [0, 1]", bits, whole }[kind]}; give another.`);
    }
    let found;
    try { found = this.run(machine); } catch (error) { if (error instanceof SpecificationError) throw error; fail(); }
    if (!this.isMessage(found)) fail();
    return found;
  }

  /** Are these numbers a message: as many as it has, each of its type? */
  isMessage(/** @type {Whole[]} */ numbers) {
    const { type, length } = this.document.message, bits = BigInt(8 * BYTES[type]), signed = type === "int64";
    const least = signed ? -(2n ** (bits - 1n)) : 0n, limit = signed ? 2n ** (bits - 1n) : 2n ** bits;
    return (length === null || numbers.length === length)
      && numbers.every((n) => (typeof n === "bigint" || Number.isSafeInteger(n)) && n >= least && n < limit);
  }

  /** The bytes to send: whole numbers of the type that the specification says, little-endian. */
  wire(/** @type {Whole[]} */ message) {
    const width = BYTES[this.document.message.type], bytes = new Uint8Array(width * message.length);
    message.forEach((number, i) => {
      let rest = BigInt.asUintN(64, BigInt(number));
      for (let k = 0; k < width; k += 1, rest >>= 8n) bytes[width * i + k] = Number(rest & 255n);
    });
    return bytes;
  }

  /** Fails if a test vector of the specification gives another message. */
  selfTest() {
    for (const [i, { value, bytes, message }] of this.document.vectors.entries()) {
      const found = this.message(value, fromHex(bytes)).join(" ");
      if (found !== message) refuse(`test vector ${i} gives '${found}' instead of '${message}'; do not use this client.`);
    }
  }

  /** One line of the protocol of `shuffledp audit --command`: a value, or a value and random bytes. */
  answer(/** @type {string} */ line) {
    const [value, bytes] = line.split(":");
    return this.message(value, bytes === undefined ? null : fromHex(bytes.trim())).join(" ");
  }
}

/** Checks a specification in full, its digest included. @param {string} text  @returns {Promise<Client>} */
export async function load(text) {
  let said;
  try { said = JSON.parse(text); } catch { refuse(`the specification is not JSON, or was cut off; ${AGAIN}`); }
  if (said?.format !== "shuffledp client") refuse(`the document has no "format": "shuffledp client"; ${AGAIN}`);
  if (said.version !== 1) refuse(`the specification has version ${String(said.version).slice(0, 20)}, and this client reads version 1; make it again with the version of shuffledp that you use.`);
  if (Object.keys(said).sort().join(" ") !== KEYS) refuse(`the specification lacks a key, or has an unknown one; ${AGAIN}`);
  if (!crypto_.subtle) refuse("the digest cannot be checked on a page without https; serve it with https, or from localhost.");
  const client = new Client(said), { digest, ...rest } = said;
  const hash = await crypto_.subtle.digest("SHA-256", new TextEncoder().encode(canonical(rest)));
  const found = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (found !== digest) refuse(`the digest is wrong, so that the document was changed; ${AGAIN}`);
  return client;
}

/** `node client.mjs client.json`: a line in, a line out. */
async function serve(/** @type {string} */ path) {
  const { readFileSync } = await import("node:fs"), { createInterface } = await import("node:readline");
  try {
    const client = await load(readFileSync(path, "utf8"));
    for await (const line of createInterface({ input: process.stdin })) process.stdout.write(`${client.answer(line)}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`, () => process.exit(1));
  }
}

if (globalThis.process?.versions?.node && process.argv[1]) {
  const { realpathSync } = await import("node:fs"), { pathToFileURL } = await import("node:url");
  if (import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
    if (process.argv.length === 3) await serve(process.argv[2]);
    else process.stderr.write("usage: node client.mjs client.json, with a value on each line of the input\n", () => process.exit(2));
  }
}
