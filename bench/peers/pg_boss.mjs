// pg-boss: jobs inserted, fetched and completed in arrays, without waiting between full fetches.
import { setTimeout as sleep } from "node:timers/promises";
import { PgBoss } from "pg-boss";

const fastest = { max: 10, batchSize: 1000, loops: 2, partition: true };
const prompt = { max: 10, useListenNotify: true, notify: true };

export class Peer {
    #stopping = false;
    #loops = [];

    settings(mode) {
        return mode === "latency" ? prompt : fastest;
    }

    async open({ connection, queue, mode }) {
        const { max, useListenNotify = false, notify = false } = this.settings(mode);
        this.queue = queue;
        this.latency = mode === "latency";
        this.boss = new PgBoss({ connectionString: connection, max, useListenNotify });
        this.boss.on("error", (error) => {
            throw error;
        });
        await this.boss.start();
        // A table of its own, so that completed jobs of earlier measurements are not in the way.
        await this.boss.createQueue(queue, { partition: true, notify });
    }

    async add(payloads) {
        if (payloads.length === 1)
            await this.boss.send(this.queue, payloads[0]);
        else
            await this.boss.insert(this.queue, payloads.map((data) => ({ data })));
    }

    async #loop(delivered) {
        while (!this.#stopping) {
            const jobs = await this.boss.fetch(this.queue, { batchSize: fastest.batchSize });
            if (jobs.length === 0) {
                await sleep(2);
                continue;
            }
            delivered(jobs.map((job) => job.data));
            await this.boss.complete(this.queue, jobs.map((job) => job.id));
        }
    }

    async consume(delivered) {
        if (this.latency)
            await this.boss.work(this.queue, {}, async (jobs) => delivered(jobs.map((job) => job.data)));
        else
            for (let i = 0; i < fastest.loops; i++)
                this.#loops.push(this.#loop(delivered));
    }

    async left() {
        const count = "select count(*)::int as left from pgboss.job where name = $1 and state <> 'completed'";
        const { rows } = await this.boss.getDb().executeSql(count, [this.queue]);
        return rows[0].left;
    }

    async close() {
        this.#stopping = true;
        await Promise.all(this.#loops);
        await this.boss.deleteQueue(this.queue);
        await this.boss.stop({ graceful: true });
    }
}
