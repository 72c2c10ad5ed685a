// SPDX-License-Identifier: MIT
//
// node peers.mjs PEER IDS   times ids of an npm package in bursts, checks them outside the timed part,
// and writes a line of JSON about it, or about the lack of it. --list: the names. PEER_TRIALS in the
// environment adds one that repeats ids, one whose ids fall and one that dies: trials of what reports.
import { createRequire } from 'node:module';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

const most_ms = 1000;
const burst = 1024; // of the 4096 that flake-idgen has in a millisecond
const bursts = Math.max(8, Number(process.argv[3] ?? 100000) / burst);
const modules = createRequire(join(process.cwd(), 'node_modules', 'x.js'));

const flakeIdgen = (FlakeId) => {
    const generator = new FlakeId({ datacenter: 3, worker: 1 });
    return () => generator.next(); // 8 bytes; throws when the millisecond is spent
};

const peers = [
    ['flake-idgen', 'flake-idgen', (m) => flakeIdgen(m), (id) => id.toString('hex')],
    ['uuid-v1', 'uuid', (m) => () => m.v1()],
    ['uuid-v4', 'uuid', (m) => () => m.v4()],
    ['uuid-v7', 'uuid', (m) => () => m.v7()],
    ['uuidv7', 'uuidv7', (m) => () => m.uuidv7()],
    ['nanoid', 'nanoid', (m) => () => m.nanoid()],
    ['ulid', 'ulid', (m) => () => m.ulid()],
    ['ulid-monotonic', 'ulid', (m) => m.monotonicFactory()],
    ['crypto.randomUUID', null, () => () => randomUUID()],
    ['Date.now', null, () => () => Date.now()], // the floor in this language
];
if (process.env.PEER_TRIALS) {
    let drawn = 0;
    peers.push(['trial-repeats', null, () => () => drawn++ >> 1]); // each id twice
    peers.push(['trial-falls', null, () => () => String(drawn++ ^ 1).padStart(9, '0')]);
    peers.push(['trial-dies', null, () => () => { throw new Error('this trial dies'); }]);
}

// The next millisecond, so that a burst has all of its unit.
const nextMs = () => {
    for (const now = Date.now(); Date.now() === now;);
};

// The median of the bursts after the first quarter, which is for the compiler.
const measure = (next, text) => {
    const seen = new Set(), took = [];
    let falls = 0, newest = '';
    const until = Date.now() + most_ms;
    while (took.length < bursts && Date.now() < until) {
        const ids = new Array(burst).fill(null);
        nextMs();
        const began = process.hrtime.bigint();
        for (let k = 0; k < burst; k++) ids[k] = next();
        took.push(Number(process.hrtime.bigint() - began));
        for (const id of ids) {
            const latest = text(id);
            seen.add(latest);
            if (latest <= newest) falls++;
            newest = latest;
        }
    }
    const counted = took.slice(took.length / 4).sort((a, b) => a - b);
    const ids = took.length * burst;
    return { ns: counted[counted.length >> 1] / burst, ids, duplicates: ids - seen.size, falls };
};

if (process.argv[2] === '--list') console.log(peers.map(([name]) => name).join('\n'));
for (const [name, module, make, text = (id) => id] of peers) {
    if (name !== process.argv[2]) continue;
    let loaded = null, version = process.version.slice(1);
    if (module) {
        try {
            loaded = modules(module);
            version = modules(join(process.cwd(), 'node_modules', module, 'package.json')).version;
        } catch (error) {
            console.log(JSON.stringify({ name, skipped: `npm package ${module}: ${error.code}` }));
            continue;
        }
    }
    console.log(JSON.stringify({ name, version, ...measure(make(loaded), text) }));
}
