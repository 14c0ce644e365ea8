/** A control plane as a process of its own, for kills: `node store-control-plane.ts HOME` prints its URL and token. */
import { startControlPlane } from "../../src/server.ts";

const [home = ""] = process.argv.slice(2);
const log = {
  info: () => undefined,
  warn: () => undefined,
  error: (message: string) => process.stderr.write(`${message}\n`),
};
const local = { slotCount: 1, accelerators: "declared" } as const;
const onFatal = (error: Error): void => {
  process.stderr.write(`${error.message}\n`);
  process.exit(70);
};
const running = await startControlPlane({ home, port: 0, local, log, onFatal });
process.stdout.write(`${JSON.stringify({ url: running.url, token: running.token })}\n`);
