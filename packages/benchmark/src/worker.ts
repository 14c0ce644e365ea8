/**
 * A process of the benchmark: `worker.ts upstream|relay|load JSON`. It prints one JSON line when it listens, or with
 * its result.
 */
import { writeSync } from "node:fs";
import { Load, type LoadOptions } from "./load/load.ts";
import { openSockets } from "./sockets/sockets.ts";
import { startRelay, type RelayOptions } from "./targets/relay.ts";
import { Upstream, type UpstreamOptions } from "./upstream/upstream.ts";

/**
 * Interval in ms at which a relay checks whether its parent process still runs. Otherwise it wakes only for its
 * sockets.
 */
const RELAY_TICK_MS = 50;

const [role, text = "{}"] = process.argv.slice(2);
const sockets = await openSockets();
if (role === "upstream") {
  const upstream = new Upstream(sockets, JSON.parse(text) as UpstreamOptions);
  const port = await upstream.listen();
  writeSync(1, `${JSON.stringify({ port, sockets: sockets.kind })}\n`);
  await untilParentEnds(1, () => upstream.tick());
} else if (role === "relay") {
  const port = await startRelay(sockets, JSON.parse(text) as RelayOptions);
  writeSync(1, `${JSON.stringify({ port, sockets: sockets.kind })}\n`);
  await untilParentEnds(RELAY_TICK_MS, () => undefined);
} else if (role === "load") {
  const result = await new Load(sockets, JSON.parse(text) as LoadOptions).run();
  writeSync(1, `${JSON.stringify(result)}\n`);
  process.exit(0);
} else {
  writeSync(2, "usage: worker.ts upstream|relay|load JSON\n");
  process.exit(2);
}

/** Runs until the parent process has ended, even if the parent was killed. */
async function untilParentEnds(tickMs: number, tick: () => void): Promise<void> {
  const parent = process.ppid;
  let ticks = 0;
  await sockets.run(tickMs, () => {
    tick();
    ticks += 1;
    return ticks % 1024 !== 0 || process.ppid === parent;
  });
  process.exit(0);
}
