// graphile-worker, with the settings its documentation gives for the highest throughput.
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const quiet = new Logger(() => () => {});

// The page on performance: batches of jobs fetched into a local queue, completions in batches.
const fastest = {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
};

// For a single job a local queue only adds a step; notifications wake the worker.
const prompt = { concurrentJobs: 1, maxPoolSize: 10 };

export class Peer {
    settings(mode) {
        return mode === "latency" ? prompt : fastest;
    }

    async open({ connection, queue, mode }) {
        this.task = queue;
        this.preset = { worker: { connectionString: connection, logger: quiet, ...this.settings(mode) } };
        this.utils = await makeWorkerUtils({ preset: this.preset });
        await this.utils.migrate();
    }

    async add(payloads) {
        if (payloads.length === 1)
            await this.utils.addJob(this.task, payloads[0]);
        else
            await this.utils.addJobs(payloads.map((payload) => ({ identifier: this.task, payload })));
    }

    async consume(delivered) {
        const taskList = { [this.task]: async (payload) => delivered([payload]) };
        this.runner = await run({ preset: this.preset, taskList, noHandleSignals: true });
    }

    async left() {
        const count = `select count(*)::int as left
            from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
            where t.identifier = $1`;
        const { rows } = await this.utils.withPgClient((client) => client.query(count, [this.task]));
        return rows[0].left;
    }

    async close() {
        await this.runner?.stop();
        await this.utils.release();
    }
}
