/** Readers of the event stream over raw sockets: they read everything up to an event, or stop reading once the stream has begun. */
import { connect } from "node:net";
import { tellParent } from "./messages.ts";
import type { ReadersConfig } from "./messages.ts";

const config = JSON.parse(process.argv[2] ?? "{}") as ReadersConfig;
const beganMs = performance.now();

/** Resolves with the count of events when the one with `untilSequence` has arrived; a stalled reader, when its stream has begun. */
function read({ port, token, untilSequence, isStalled }: ReadersConfig): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const socket = connect(port, "127.0.0.1");
  const last = Buffer.from(`{"sequence":${untilSequence},`);
  let count = 0;
  let tail = Buffer.alloc(0);
  socket.on("data", (piece: Buffer) => {
    if (isStalled) {
      socket.pause();
      resolve(0);
      return;
    }
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) count++;
    const seen = Buffer.concat([tail, piece]);
    tail = Buffer.from(seen.subarray(-last.length));
    if (!seen.includes(last)) return;
    socket.destroy();
    resolve(count);
  });
  socket.on("error", reject);
  socket.write(
    `GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nAccept: application/x-ndjson\r\n\r\n`,
  );
  return promise;
}

const counts = await Promise.all(Array.from({ length: config.readers }, () => read(config)));
tellParent({ elapsedMs: performance.now() - beganMs, lineCount: Math.min(...counts) });
// Stalled readers stay until the parent ends this process.
if (!config.isStalled) process.disconnect?.();
