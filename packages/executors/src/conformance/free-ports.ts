/** Ports for the servers of a cluster under test. */
import { createServer } from "node:net";

/** Free ports of the range, searched from a place that depends on the process, so that two clusters rarely meet. */
export async function freePortsIn(
  range: { readonly first: number; readonly size: number },
  count: number,
): Promise<number[]> {
  const found: number[] = [];
  for (let step = 0; step < range.size && found.length < count; step++) {
    const port = range.first + ((process.pid * 7 + step) % range.size);
    if (await isFree(port)) found.push(port);
  }
  if (found.length < count) throw new Error(`fewer than ${count} free ports from ${range.first}`);
  return found;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
