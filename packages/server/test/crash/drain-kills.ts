/**
 * Kills a control plane and its work while checkpoints are drained to a store, removes the local checkpoints now and then, and
 * compares the store with the registry: every place of a version must have the bytes of its digest, and no attempt may
 * resume from anything but a whole checkpoint.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { draw } from "@headroom/model";
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";
import { digestOfFiles } from "@headroom/platform";
import { SmallS3Server } from "@headroom/stores/testing";
import { removeDirectory, temporaryDirectory } from "../../src/driver/testing/bench-home.ts";

export interface DrainReport {
  readonly kills: number;
  readonly workerKills: number;
  readonly removals: number;
  readonly registered: number;
  readonly resumes: number;
  readonly violations: readonly string[];
}

/** Writes checkpoints of three files with a list of their sums, and resumes from the one that it is given. */
const work = (home: string): string => `
echo $$ > "${home}/worker.pid"
step=0
if [ -n "$HEADROOM_RESUME_CHECKPOINT" ]; then
  (cd "$HEADROOM_RESUME_CHECKPOINT" && sha256sum --status -c sums && test "$(cat step)" = "$HEADROOM_RESUME_STEP") ||
    echo "attempt $HEADROOM_ATTEMPT_ID got a broken checkpoint of step $HEADROOM_RESUME_STEP" >> "${home}/broken"
  echo "$HEADROOM_RESUME_STEP" >> "${home}/resumes"
  step=$HEADROOM_RESUME_STEP
fi
until [ -e "${home}/enough" ]; do
  step=$((step + 1)); at="$HEADROOM_CHECKPOINT_DIR/step-$step"; rm -rf "$at"; mkdir -p "$at"
  for part in 1 2 3; do head -c 200000 /dev/urandom > "$at/part-$part"; done
  echo $step > "$at/step"; (cd "$at" && sha256sum part-1 part-2 part-3 > sums)
  echo "{\\"kind\\":\\"checkpoint\\",\\"step\\":$step,\\"path\\":\\"step-$step\\"}" >> "$HEADROOM_PROGRESS_FILE"
  rm -rf "$HEADROOM_CHECKPOINT_DIR/step-$((step - 6))"
  sleep 0.1
done`;

interface Life {
  readonly process: ChildProcess;
  readonly client: HeadroomClient;
}

export async function killDuringDrains({
  seed,
  killCount,
}: {
  readonly seed: number;
  readonly killCount: number;
}): Promise<DrainReport> {
  const home = temporaryDirectory();
  const server = new SmallS3Server();
  const counts = { workerKills: 0, removals: 0 };
  let life: Life | null = null;
  try {
    const endpoint = await server.listen();
    mkdirSync(home, { recursive: true });
    writeFileSync(path.join(home, "key"), "key");
    life = await start(home);
    const keys = { accessKey: `file:${home}/key`, secretKey: `file:${home}/key` };
    await life.client.declareStore("lake", { type: "s3", settings: { bucket: "lake", endpoint, ...keys } });
    const { workloadId } = await life.client.submitWorkload({
      kind: "train",
      name: "ft",
      run: work(home),
      gang: { accelerators: 0 },
      retries: { max: 1_000, backoffMs: 1 },
      checkpointStore: "lake",
      checkpointKeep: 2,
    } as never);
    let requests = 0;
    server.faultOf = () =>
      draw(seed, requests++, "fault") % 20 === 0 ? (([503, "cut"] as const)[requests % 2] ?? null) : null;
    for (let kill = 0; kill < killCount; kill++) {
      await sleep(200 + (draw(seed, kill, "delay") % 1_200));
      await ended(life);
      if (draw(seed, kill, "worker") % 2 === 0) {
        counts.workerKills += killWorker(home) ? 1 : 0;
        if (draw(seed, kill, "removal") % 2 === 0) {
          rmSync(path.join(home, "checkpoints"), { recursive: true, force: true });
          counts.removals += 1;
        }
      }
      life = await start(home);
    }
    server.faultOf = () => null;
    writeFileSync(path.join(home, "enough"), "");
    await settled(life.client, workloadId);
    const { registered, violations } = await compared(life.client, server);
    const lines = (name: string): readonly string[] => {
      const file = path.join(home, name);
      return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
    };
    return {
      kills: killCount,
      ...counts,
      registered,
      resumes: lines("resumes").length,
      violations: [...violations, ...lines("broken")],
    };
  } finally {
    await ended(life);
    killWorker(home);
    await server.close();
    removeDirectory(home);
  }
}

async function start(home: string): Promise<Life> {
  const script = path.join(import.meta.dirname, "store-control-plane.ts");
  const env = { ...process.env, HEADROOM_ISOLATION: "none" };
  const child = spawn(process.execPath, [script, home], { env, stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (data: Buffer) => resolve(data.toString()));
    child.once("exit", (code) => reject(new Error(`the control plane ended with ${code}`)));
  });
  const { url, token } = JSON.parse(line) as { readonly url: string; readonly token: string };
  const client = createHttpClient({
    baseUrl: url,
    token,
    fetch: (target, request) => fetch(target, request as RequestInit),
    newIdempotencyKey: () => crypto.randomUUID(),
  });
  return { process: child, client };
}

async function ended(life: Life | null): Promise<void> {
  if (life === null || life.process.exitCode !== null) return;
  const exit = new Promise((resolve) => life.process.once("exit", resolve));
  life.process.kill("SIGKILL");
  await exit;
}

function killWorker(home: string): boolean {
  try {
    process.kill(Number(readFileSync(path.join(home, "worker.pid"), "utf8")), "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

/** The work has ended, its last checkpoint is stored or given up, and dropped ones are removed. */
async function settled(client: HeadroomClient, workloadId: string): Promise<void> {
  const untilMs = performance.now() + 60_000;
  for (let same = 0, before = ""; same < 8;) {
    if (performance.now() > untilMs) throw new Error(`${workloadId} did not settle: ${before}`);
    await sleep(1_000);
    const { phase, storedCheckpoint, checkpoint } = await client.getWorkload(workloadId);
    const now = JSON.stringify([phase, storedCheckpoint, checkpoint?.step]);
    same = phase === "succeeded" && now === before ? same + 1 : 0;
    before = now;
  }
}

/** Every verified place of every version must have exactly the bytes of the digest. */
async function compared(client: HeadroomClient, server: SmallS3Server) {
  const violations: string[] = [];
  const { items } = await client.listArtifactVersions("checkpoint:ft", { limit: 500, deleted: true });
  for (const { ref, digest, deleted } of items) {
    if (deleted) continue;
    const { places } = await client.getArtifactVersion(ref);
    for (const { uri, state } of places)
      if (state === "verified" && digestAt(server, uri) !== digest) violations.push(`${ref} is not at ${uri}`);
  }
  if (items.length === 0) violations.push("no checkpoint was registered");
  return { registered: items.length, violations };
}

/** As `contentDigest` of a directory. */
function digestAt({ objects }: SmallS3Server, uri: string): string {
  const key = uri.replace("s3://lake/", "");
  const files = [...objects].filter(([each]) => each.startsWith(`${key}/`));
  const hashed = files.map(([each, bytes]) => ({
    name: each.slice(key.length + 1),
    hex: createHash("sha256").update(bytes).digest("hex"),
    bytes: bytes.length,
  }));
  return digestOfFiles(hashed.toSorted((left, right) => (left.name < right.name ? -1 : 1))).digest;
}
