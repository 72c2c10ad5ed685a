// SPDX-License-Identifier: MIT
//
// Ids of flake.h and sno.h in Node, by koffi (`npm install koffi`). `make lib` builds the two libraries.
//
// Worker threads may share a generator, which lies in a SharedArrayBuffer: its memory stays where it is, and
// can't be transferred. Processes, such as cluster and child_process start, need a node each. Ids are
// BigInts, for JSON texts; those of layout js53 fit a Number. A draw that waits holds the event loop up
// for a millisecond or so: flake_try never does.
import koffi from "koffi";
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

function load(library, signatures) {
  const opened = koffi.load(library);
  return Object.fromEntries(signatures.map((text) => [text.match(/(\w+)\(/)[1], opened.func(text)]));
}
const flake = load("libflake.so.0", [
  "size_t flake_sizeof_gen()",
  "size_t flake_sizeof_options()",
  "int flake_options_set(void *options, const char *name, void *value, void *why)",
  "const char *flake_options_why(void *options)",
  "int flake_init(void *gen, void *options)",
  "int flake_next(void *gen, void *id)",
  "int flake_next_n(void *gen, void *ids, size_t n)",
  "int flake_uuid7(void *text)",
  "const char *flake_status_str(int status)",
]);
const sno = load("libsno.so.0", [
  "size_t sno_sizeof_gen()",
  "size_t sno_sizeof_snapshot()",
  "int sno_snapshot_set(void *snapshot, const char *name, const char *value, void *why)",
  "int sno_init(void *gen, void *snapshot, void *options, void *why)",
  "int sno_next_n(void *gen, uint8_t meta, void *ids, size_t n)",
  "void sno_encode_n(void *ids, size_t n, void *texts)",
  "const char *flake_status_str(int status)",
]);
const text = (bytes) => bytes.toString("utf8", 0, bytes.indexOf(0));
const zeros = (size) => new Uint8Array(new SharedArrayBuffer(size));

function check(status, why) {
  if (status !== 0) throw new Error(why ?? flake.flake_status_str(status));
}
function checkSno(status, why) {
  if (status !== 0) throw new Error(why ?? sno.flake_status_str(status));
}
/** A call that says in its last argument what it refuses. */
function told(call, ...words) {
  const why = Buffer.alloc(200);
  if (call(...words, why) !== 0) throw new Error(text(why));
}

/** 64-bit ids. */
class Generator {
  /** The options are those of flake_options in flake.h: {layout: "twitter", node: 7}. */
  static create(options) {
    const made = new Generator(zeros(flake.flake_sizeof_gen()).buffer);
    const packed = zeros(flake.flake_sizeof_options());
    made.texts = Object.values(options).map((value) => Buffer.from(`${value}\0`)); // some are referred to
    Object.keys(options).forEach((name, i) => told(flake.flake_options_set, packed, name, made.texts[i]));
    check(flake.flake_init(made.memory, packed), flake.flake_options_why(packed));
    return made;
  }
  /** In a worker: on `memory.buffer` of another's. */
  constructor(buffer) {
    this.memory = new Uint8Array(buffer);
    this.one = new BigUint64Array(1);
  }
  next() {
    check(flake.flake_next(this.memory, this.one));
    return this.one[0];
  }
  nextN(n) {
    const ids = new BigUint64Array(n);
    check(flake.flake_next_n(this.memory, ids, n));
    return ids;
  }
}

/** Greater than all that it returned before in this process, in whichever worker. */
function uuid7() {
  const text = Buffer.alloc(37);
  check(flake.flake_uuid7(text));
  return text.toString("latin1", 0, 36);
}

/** 80-bit ids, here as texts. Generators that run at once need partitions of their own. */
class SnoGenerator {
  constructor(partition) {
    this.memory = zeros(sno.sno_sizeof_gen());
    const start = zeros(sno.sno_sizeof_snapshot());
    told(sno.sno_snapshot_set, start, "partition", String(partition));
    told(sno.sno_init, this.memory, start, null);
  }
  next(meta = 0) {
    if (!(meta >= 0 && meta <= 255)) throw new RangeError("meta is 0 to 255"); // koffi would cut it off
    const [id, text] = [Buffer.alloc(10), Buffer.alloc(16)];
    checkSno(sno.sno_next_n(this.memory, meta, id, 1));
    sno.sno_encode_n(id, 1, text);
    return text.toString("latin1");
  }
}

if (!isMainThread) {
  const ids = new Generator(workerData);
  parentPort.postMessage(Array.from({ length: 100_000 }, () => ids.next()));
} else {
  const ids = Generator.create({ layout: "twitter", node: 7 });
  console.log("flake", String(ids.next()));
  console.log("uuid7", uuid7());
  const snos = new SnoGenerator(7);
  console.log("sno", snos.next(42));

  let begin = performance.now();
  const all = Array.from({ length: 1_000_000 }, () => ids.next());
  console.log(`one by one: ${Math.round(1e9 / (performance.now() - begin))} ids/s`);
  begin = performance.now();
  for (let i = 0; i < 1000; i++) all.push(...ids.nextN(1000));
  console.log(`in batches: ${Math.round(1e9 / (performance.now() - begin))} ids/s`);
  const start = () => once(new Worker(new URL(import.meta.url), { workerData: ids.memory.buffer }), "message");
  for (const [drawn] of await Promise.all([1, 2, 3, 4].map(start))) all.push(...drawn);
  if (new Set(all).size !== 2_400_000) throw new Error("an id came twice");
  console.log("4 threads: 2400000 ids, all differ");

  for (const refuse of [
    () => Generator.create({ layout: "twitter", node: 99999 }),
    () => new SnoGenerator(65536),
    () => snos.next(256),
    () => snos.next(-1),
  ]) {
    let refused;
    try {
      refuse();
    } catch (error) {
      refused = error.message;
    }
    if (!refused) throw new Error(`not refused: ${refuse}`);
    console.log("refused:", refused);
  }
}
