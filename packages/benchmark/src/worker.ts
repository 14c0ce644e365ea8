/** A process of the benchmark: `worker.ts upstream|load JSON`. Prints one JSON line when it listens, or with its result. */
import { writeSync } from "node:fs";
import { Load, type LoadOptions } from "./load/load.ts";
import { openSockets } from "./sockets/sockets.ts";
import { Upstream, type UpstreamOptions } from "./upstream/upstream.ts";

const [role, text = "{}"] = process.argv.slice(2);
const sockets = await openSockets();
if (role === "upstream") {
  const upstream = new Upstream(sockets, JSON.parse(text) as UpstreamOptions);
  const port = await upstream.listen();
  const parent = process.ppid;
  writeSync(1, `${JSON.stringify({ port, sockets: sockets.kind })}\n`);
  let ticks = 0;
  await sockets.run(1, () => {
    upstream.tick();
    ticks += 1;
    // Ends with its parent process, also when the parent was killed.
    return ticks % 1024 !== 0 || process.ppid === parent;
  });
  process.exit(0);
} else if (role === "load") {
  const result = await new Load(sockets, JSON.parse(text) as LoadOptions).run();
  writeSync(1, `${JSON.stringify(result)}\n`);
  process.exit(0);
} else {
  writeSync(2, "usage: worker.ts upstream|load JSON\n");
  process.exit(2);
}
