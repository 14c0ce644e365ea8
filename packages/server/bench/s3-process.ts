/** The small S3 server as a process of its own, with one object `big` of so many MiB: prints its address, and ends with its input. */
import { randomFillSync } from "node:crypto";
import { SmallS3Server } from "@headroom/stores/testing";

const MIB = 1_048_576;
const bytes = Buffer.allocUnsafe(Number(process.argv[2]) * MIB);
const block = randomFillSync(Buffer.alloc(MIB));
for (let at = 0; at < bytes.length; at += MIB) {
  block.writeUInt32LE(at / MIB);
  block.copy(bytes, at);
}
const server = new SmallS3Server();
server.objects.set("big", bytes);
const address = await server.listen();
// The first request computes the tag, which takes longer than clients wait.
await fetch(`${address}/lake/big`, { method: "HEAD" });
process.stdout.write(`${address}\n`);
process.stdin.on("end", () => process.exit(0)).resume();
