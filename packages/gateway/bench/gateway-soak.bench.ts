/**
 * Memory over time, under a constant rate of requests and with idle streams open. The full run: `--seconds 3600 --rate
 * 2000 --streams 10000`. With `--report-only` grown memory is reported only.
 */
import {
  ask,
  bar,
  FastUpstream,
  measuredBar,
  numberArgument,
  open,
  report,
  requestBytes,
  residentMib,
  startProcess,
  temporaryFolder,
} from "./harness.ts";

/** Memory is flat if its trend over the second half of the run adds at most this share of its mean. */
const GROWTH_SHARE_MAX = 0.05;
const seconds = numberArgument("seconds", 60);
const rate = numberArgument("rate", 500);
const streamCount = numberArgument("streams", 1000);
const folder = temporaryFolder();
const upstream = new FastUpstream();
upstream.keepsSeen = false;
const url = await upstream.start();
const gateway = await startProcess(
  folder.path,
  `access: open\nbounds: { connections: 30000, idleTimeout: 3h }\npools: [{ name: p, engine: vllm, concurrencyMax: 30000, betweenBytesTimeout: 2h, replicas: [${url}] }]\nmodels: [{ name: m, allowFields: [mock], pools: [p] }]\n`,
  "soak",
);

let requestNumber = 0;
for (let at = 0; at < streamCount; at++) {
  const socket = await open(gateway.url);
  socket.on("data", () => undefined);
  socket.write(
    requestBytes({ mode: "stream", tokens: 100_000, everyMs: 20_000 + (at % 1000) * 20, id: requestNumber++ }),
  );
}
report(`${streamCount} streams open, ${residentMib(gateway.pid).toFixed(0)} MiB`);

let failedCount = 0;
let doneCount = 0;
let due = 0;
const startedAtMs = performance.now();
const sockets = await Promise.all(Array.from({ length: 64 }, () => open(gateway.url)));
const free = [...sockets];
const pacer = setInterval(() => {
  const target = ((performance.now() - startedAtMs) / 1000) * rate;
  while (due < target && free.length > 0) {
    due++;
    const socket = free.pop()!;
    const id = requestNumber++;
    void ask(socket, requestBytes({ mode: id % 10 === 0 ? "stream" : "whole", tokens: 3, everyMs: 5, id })).then(
      (answer) => {
        if (answer?.status === 200) doneCount++;
        else failedCount++;
        free.push(socket);
      },
    );
  }
}, 2);

const samples: { readonly atS: number; readonly mib: number }[] = [];
const heap: number[] = [];
const everyS = Math.max(1, seconds / 60);
for (let atS = everyS; atS <= seconds; atS += everyS) {
  await new Promise((resolve) => setTimeout(resolve, everyS * 1000));
  samples.push({ atS, mib: residentMib(gateway.pid) });
  const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  heap.push(Number(/^nodejs_heap_size_used_bytes (\d+)/m.exec(metrics)?.[1] ?? 0) / 2 ** 20);
}
clearInterval(pacer);
// Requests in flight finish first: destroying their sockets would count them as failed.
for (let waits = 0; free.length < sockets.length && waits < 100; waits++) {
  await new Promise((resolve) => setTimeout(resolve, 100));
}
failedCount += sockets.length - free.length;

/** Trend of memory over the second half of the run, by least squares. The first half is warm-up. */
function trend(): { readonly meanMib: number; readonly mibPerHour: number; readonly growthMib: number } {
  const late = samples.slice(Math.floor(samples.length / 2));
  const meanAt = late.reduce((sum, { atS }) => sum + atS, 0) / late.length;
  const meanMib = late.reduce((sum, { mib }) => sum + mib, 0) / late.length;
  const covariance = late.reduce((sum, { atS, mib }) => sum + (atS - meanAt) * (mib - meanMib), 0);
  const variance = late.reduce((sum, { atS }) => sum + (atS - meanAt) ** 2, 0);
  const mibPerS = covariance / variance;
  return { meanMib, mibPerHour: mibPerS * 3600, growthMib: mibPerS * (late.at(-1)!.atS - late[0]!.atS) };
}
const last = samples.at(-1)!;
const { meanMib, mibPerHour, growthMib } = trend();
const middle = samples[Math.floor(samples.length / 2)]!;
report(
  `${seconds} s at ${Math.round(doneCount / seconds)} requests/s (asked: ${rate}) beside ${streamCount} streams: ${doneCount} answered, ${failedCount} failed`,
);
report(
  `resident ${samples.map(({ mib }) => mib.toFixed(0)).join(" ")} MiB; second half ${(last.mib - middle.mib).toFixed(1)} MiB, ${mibPerHour.toFixed(1)} MiB an hour`,
);
report(`heap in use ${heap.map((mib) => mib.toFixed(0)).join(" ")} MiB`);
for (const socket of sockets) socket.destroy();
await gateway.kill();
upstream.close();
folder.remove();
bar(failedCount === 0, `${failedCount} requests failed.`);
measuredBar(
  growthMib <= GROWTH_SHARE_MAX * meanMib,
  `memory grew by ${growthMib.toFixed(1)} MiB in the second half, more than ${GROWTH_SHARE_MAX * 100}% of ${meanMib.toFixed(0)} MiB.`,
);
process.exit();
