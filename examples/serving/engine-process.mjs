// The process of the engine: the server starts it, sends requests as messages and gets events back. llama.cpp runs in
// its own process because it aborts on unexpected input; the server survives that and restarts it.
import { Scheduler } from "./scheduler.mjs";
const [engineName, path, slotCount] = process.argv.slice(2);
const STATS_MS = 100;

async function createEngine() {
  if (engineName === "builtin")
    return (await import("./builtin-engine.mjs")).createBuiltinEngine(path, Number(slotCount));
  return (await import("./llama-engine.mjs")).createLlamaEngine(path, Number(slotCount));
}

const engine = await createEngine();
/** Text of one turn of the event loop is sent as one message. */
const outbox = [];
const post = (message) => {
  if (outbox.length === 0) setImmediate(() => process.connected && process.send(outbox.splice(0), () => {}));
  outbox.push(message);
};
const scheduler = new Scheduler(engine, (id, event) => post({ id, ...event }));
process.on("message", ({ kind, id, request }) =>
  kind === "cancel" ? scheduler.cancel(id) : scheduler.submit(id, request),
);
process.on("disconnect", () => process.exit(0)); // the server is gone
process.on("SIGTERM", () => {}); // a signal may reach the whole process group; the server stops this process when its streams have ended
process.on("SIGINT", () => {});
const { context, vocabulary, name } = engine;
post({ kind: "ready", name, context, vocabulary, pid: process.pid });
setInterval(() => post({ kind: "stats", stats: scheduler.stats }), STATS_MS).unref();
