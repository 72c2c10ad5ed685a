// SPDX-License-Identifier: MIT
//
// When a Node program needs IDs of flake.h and sno.h: by koffi (`npm install koffi`). `make lib` builds the two
// libraries.
//
// Worker threads may share a generator: pass its address to them. Processes, such as those of cluster and
// child_process, need a node each. IDs are BigInts, and strings in JSON; those of layout js53 fit a Number. A draw
// that waits blocks the event loop for a millisecond or so: flake_try never does.
import koffi from "koffi";
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

function load(library, signatures) {
  const opened = koffi.load(library);
  return Object.fromEntries(signatures.map((text) => [text.match(/(\w+)\(/)[1], opened.func(text)]));
}
// Generators are addresses.
const flake = load("libflake.so.0.4", [
  "uintptr_t flake_new(const char *config, void *why)",
  "int flake_free(uintptr_t gen, void *why)",
  "int flake_next(uintptr_t gen, void *id)",
  "int flake_next_n(uintptr_t gen, void *ids, size_t n)",
  "uintptr_t flake_gen_options(uintptr_t gen)",
  "int flake_decompose(uintptr_t layout, uint64_t id, void *parts)",
  "int flake_uuid7(void *text)",
  "const char *flake_status_str(int status)",
]);
const sno = load("libsno.so.0.4", [
  "uintptr_t sno_gen_new(const char *config, void *why)",
  "int sno_gen_free(uintptr_t gen, void *why)",
  "int sno_next_n(uintptr_t gen, uint8_t meta, void *ids, size_t n)",
  "void sno_encode_n(void *ids, size_t n, void *texts)",
]);

function check(status) {
  if (status !== 0) throw new Error(flake.flake_status_str(status));
}
/** The address of a generator; the words of a configuration are in flake.h, at flake_config. */
function made(call, config) {
  const why = Buffer.alloc(200);
  const gen = call(config, why);
  if (!gen) throw new Error(why.toString("utf8", 0, why.indexOf(0)));
  return gen;
}

/** A generator that is closed has no address. */
function opened(address) {
  if (!address) throw new Error("the generator is closed");
  return address;
}

function free(call, gen) {
  const why = Buffer.alloc(200);
  if (call(gen, why) !== 0) throw new Error(why.toString("utf8", 0, why.indexOf(0)));
}

/** 64-bit IDs. */
class Generator {
  static create(config) {
    return new Generator(made(flake.flake_new, config));
  }
  /** In a worker: with the `address` of another thread's. */
  constructor(address) {
    this.address = address;
    this.one = new BigUint64Array(1);
  }
  /** No thread may use it any more. */
  close() {
    const gen = this.address;
    this.address = 0;
    free(flake.flake_free, gen);
  }
  next() {
    check(flake.flake_next(opened(this.address), this.one));
    return this.one[0];
  }
  nextN(n) {
    const ids = new BigUint64Array(n);
    check(flake.flake_next_n(opened(this.address), ids, n));
    return ids;
  }
  decode(id) {
    const parts = new BigInt64Array(3); // flake_parts; a generator's options begin with its layout
    check(flake.flake_decompose(flake.flake_gen_options(opened(this.address)), id, parts));
    return { made: new Date(Number(parts[0])), node: Number(parts[1]), seq: Number(parts[2] & 0xffffffffn) };
  }
}

/** Greater than all that it returned before in this process, in whichever worker. */
function uuid7() {
  const text = Buffer.alloc(37);
  check(flake.flake_uuid7(text));
  return text.toString("latin1", 0, 36);
}

/** 80-bit IDs, here as texts: new SnoGenerator("node=7 dir=none"). */
class SnoGenerator {
  constructor(config) {
    this.address = made(sno.sno_gen_new, config);
  }
  close() {
    const gen = this.address;
    this.address = 0;
    free(sno.sno_gen_free, gen);
  }
  next(meta = 0) {
    if (!(meta >= 0 && meta <= 255)) throw new RangeError("meta is 0 to 255"); // koffi would truncate it
    const [id, text] = [Buffer.alloc(10), Buffer.alloc(16)];
    check(sno.sno_next_n(opened(this.address), meta, id, 1));
    sno.sno_encode_n(id, 1, text);
    return text.toString("latin1");
  }
}

if (!isMainThread) {
  const ids = new Generator(workerData);
  parentPort.postMessage(Array.from({ length: 100_000 }, () => ids.next()));
} else {
  const ids = Generator.create("twitter node=7 dir=none");
  const first = ids.next();
  console.log("flake", String(first));
  const parts = ids.decode(first);
  console.log(`made ${parts.made.toISOString().replace(/\.\d+/, "")} by node ${parts.node}`);
  console.log("uuid7", uuid7());
  // Bits of time, node and sequence of your own, in units of 10 ms since 2020.
  const own = Generator.create("layout=39-8-16 unit_ms=10 epoch_ms=1577836800000 node=200 dir=none");
  const id = own.next();
  console.log(`own ${id} of ${own.decode(id).made.getTime()} by node ${own.decode(id).node}`);
  own.close();
  own.close(); // does nothing
  const snos = new SnoGenerator("node=7 dir=none");
  console.log("sno", snos.next(42));

  let begin = performance.now();
  const all = Array.from({ length: 1_000_000 }, () => ids.next());
  console.log(`one by one: ${Math.round(1e9 / (performance.now() - begin))} ids/s`);
  begin = performance.now();
  for (let i = 0; i < 1000; i++) all.push(...ids.nextN(1000));
  console.log(`in batches: ${Math.round(1e9 / (performance.now() - begin))} ids/s`);
  const start = () => once(new Worker(new URL(import.meta.url), { workerData: ids.address }), "message");
  for (const [drawn] of await Promise.all([1, 2, 3, 4].map(start))) all.push(...drawn);
  if (new Set(all).size !== 2_400_000) throw new Error("an id came twice");
  console.log("4 threads: 2400000 ids, all differ");

  for (const refuse of [
    () => Generator.create("twitter node=99999 dir=none"),
    () => Generator.create("twitte"),
    () => Generator.create("twitter"),
    () => new SnoGenerator("node=65536 dir=none"),
    () => snos.next(256),
    () => snos.next(-1),
    () => own.next(),
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
  ids.close();
  snos.close();
}
