// Drives a queue for Node.js by its own library, counts every job, prints the result as a line of JSON.
//
//   node run.mjs '{"peer": "graphile_worker", "connection": "postgres://...", "queue": "q", "mode": "stream", ...}'
//
// Modes: stream (add and work at the same time), deep (add all, then work all), latency (one at a time).
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const defaults = { mode: "stream", seconds: 2, warmup: 0.5, jobs: 10000, body: 100, batch: 500, producers: 2,
                   window: 20000, quiet: 10 };
const config = { ...defaults, ...JSON.parse(process.argv[2]) };

// The books: what was added and how often each job came. A body carries its sequence number and time.
const books = { added: 0, delivered: 0, doubled: 0, damaged: 0, seen: new Uint8Array(1 << 24) };
const latencies = [];
let nextSeq = 0;
let measuring = false;
let lastDelivery = 0;
let wake = () => {};

// Text that does not compress; each body is another piece of it.
const noise = randomBytes(3 << 20).toString("base64");

function payload() {
    const body = { seq: nextSeq++, since: performance.now(), fill: "" };
    const room = Math.max(0, config.body - JSON.stringify(body).length);
    const at = (body.seq * 61) % (noise.length - room);
    body.fill = noise.slice(at, at + room);
    return body;
}

function delivered(bodies) {
    lastDelivery = performance.now();
    for (const { seq, since } of bodies) {
        if (!(seq < nextSeq)) {
            books.damaged++;
        } else if (books.seen[seq]++ > 0) {
            books.doubled++;
        } else {
            books.delivered++;
            if (measuring)
                latencies.push(lastDelivery - since);
        }
    }
    wake();
}

async function add(peer, count) {
    const bodies = Array.from({ length: count }, payload);
    await peer.add(bodies);
    books.added += count;
}

// Producers that keep a window of jobs open, so that workers always find full batches.
async function produce(peer, done) {
    while (!done()) {
        if (nextSeq - books.delivered < config.window)
            await add(peer, config.batch);
        else
            await sleep(1);
    }
}

async function drained() {
    lastDelivery = Math.max(lastDelivery, performance.now());
    while (books.delivered < books.added && performance.now() - lastDelivery < config.quiet * 1000)
        await sleep(2);
}

async function manyProducers(peer, done) {
    await Promise.all(Array.from({ length: config.producers }, () => produce(peer, done)));
}

async function stream(peer) {
    const start = performance.now() + config.warmup * 1000;
    const end = start + config.seconds * 1000;
    let before = 0;
    let begin = 0;
    await peer.consume(delivered);
    setTimeout(() => {
        measuring = true;
        before = books.delivered;
        begin = performance.now();
    }, config.warmup * 1000);
    await manyProducers(peer, () => performance.now() >= end);
    await drained();
    return { through_per_s: ((books.delivered - before) * 1000) / (lastDelivery - begin) };
}

async function deep(peer) {
    const begin = performance.now();
    config.window = Infinity;
    await manyProducers(peer, () => nextSeq >= config.jobs);
    const filled = performance.now();
    await peer.consume(delivered);
    await drained();
    return { add_per_s: (books.added * 1000) / (filled - begin),
             through_per_s: (books.delivered * 1000) / (lastDelivery - filled) };
}

async function latency(peer) {
    const end = performance.now() + (config.warmup + config.seconds) * 1000;
    await peer.consume(delivered);
    setTimeout(() => (measuring = true), config.warmup * 1000);
    while (performance.now() < end) {
        const arrived = new Promise((resolve) => (wake = resolve));
        await add(peer, 1);
        await Promise.race([arrived, sleep(config.quiet * 1000, null, { ref: false })]);
    }
    await drained();
    return { through_per_s: latencies.length / config.seconds };
}

function percentile(sorted, share) {
    return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] * 1000 : 0;
}

// Acknowledgements travel after the deliveries; nothing may be left when all have come.
async function leftOver(peer) {
    const end = performance.now() + config.quiet * 1000;
    let left = await peer.left();
    while (left > 0 && performance.now() < end) {
        await sleep(20);
        left = await peer.left();
    }
    return left;
}

function report(result, left, settings) {
    latencies.sort((a, b) => a - b);
    const { user, system } = process.cpuUsage();
    const lost = books.added - books.delivered;
    const wrong = lost + books.doubled + books.damaged + left > 0;
    console.log(JSON.stringify({
        ...result, settings, added: books.added, delivered: books.delivered, acked: books.added - left, lost,
        doubled: books.doubled, damaged: books.damaged, left, samples: latencies.length,
        deliver_p50_us: percentile(latencies, 0.5), deliver_p99_us: percentile(latencies, 0.99),
        load_cpu_us_per_job: (user + system) / Math.max(1, books.delivered), verdict: wrong ? "wrong" : "ok",
    }));
    process.exitCode = wrong ? 1 : 0;
}

async function main() {
    const { Peer } = await import(`./${config.peer}.mjs`);
    const peer = new Peer();
    await peer.open(config);
    const result = await { stream, deep, latency }[config.mode](peer);
    const left = await leftOver(peer);
    await peer.close();
    report(result, left, peer.settings(config.mode));
}

await main();
