/**
 * Kills a control plane, its store and its workers at requests of uploads, downloads and checkpoint drains. Afterwards every place
 * of a version must have the bytes of its digest, no version that was seen may be gone, no attempt may have read or resumed
 * from other bytes than those of its versions, and the cache must serve what it held without a request to the store.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { draw } from "@headroom/model";
import { SmallS3Server } from "@headroom/stores/testing";
import type { ServedRequest } from "@headroom/stores/testing";
import { removeDirectory, temporaryDirectory } from "../../src/driver/testing/bench-home.ts";
import { compareBytes, digestAt } from "./byte-checks.ts";
import { endLife, startLife } from "./store-life.ts";
import type { StoreLife } from "./store-life.ts";

export interface ByteReport {
  /** Kills by victim and by the kind of transfer whose request they met. */
  readonly kills: Readonly<Record<string, number>>;
  readonly removals: number;
  readonly registered: number;
  readonly resumes: number;
  readonly reads: number;
  readonly violations: readonly string[];
}

const PARTS = 4;
const PART_BYTES = 60_000;
/** Requests of a life after which the next kill comes at the latest, and the time after which it comes without one. */
const REQUESTS_MAX = 14;
const PATIENCE_MS = 3_000;
const STORE_DOWN_MS = 150;
const SETTLE_MS = 120_000;
/** Looks at the worker, 100 ms apart, that must find the same one before its disk is lost. */
const QUIET_LOOKS = 10;

/** Checkpoints with a list of their sums, and a check of the one that it resumes from. */
const training = (home: string): string => `
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
  for part in 1 2 3; do head -c ${PART_BYTES} /dev/urandom > "$at/part-$part"; done
  echo $step > "$at/step"; (cd "$at" && sha256sum part-1 part-2 part-3 > sums)
  echo "{\\"kind\\":\\"checkpoint\\",\\"step\\":$step,\\"path\\":\\"step-$step\\"}" >> "$HEADROOM_PROGRESS_FILE"
  rm -rf "$HEADROOM_CHECKPOINT_DIR/step-$((step - 6))"
  sleep 0.3
done`;

const making = `set -e; rm -rf out; mkdir out
for part in ${Array.from({ length: PARTS }, (_, at) => at).join(" ")}; do head -c ${PART_BYTES} /dev/urandom > out/part-$part; done
echo '{"kind":"artifact","name":"model:made","path":"out"}' >> "$HEADROOM_PROGRESS_FILE"`;

const reading = (home: string): string => `
(cd "$HEADROOM_INPUT_0" && sha256sum --status -c sums) || echo "attempt $HEADROOM_ATTEMPT_ID read other bytes" >> "${home}/broken"
echo "$HEADROOM_ATTEMPT_ID" >> "${home}/reads"`;

interface Plan {
  readonly seed: number;
  readonly killCount: number;
}

export async function killDuringTransfers(plan: Plan): Promise<ByteReport> {
  const kills = new ByteKills(plan);
  try {
    return await kills.run();
  } finally {
    await kills.close();
  }
}

class ByteKills {
  readonly #plan: Plan;
  readonly #home = temporaryDirectory();
  readonly #server = new SmallS3Server();
  readonly #kills: Record<string, number> = {};
  /** Versions that a life has shown, with their digests. */
  readonly #seen = new Map<string, string | null>();
  #life: StoreLife | null = null;
  #port = 0;
  #removals = 0;
  #works = 0;
  #requests = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  async run(): Promise<ByteReport> {
    mkdirSync(this.#home, { recursive: true });
    writeFileSync(path.join(this.#home, "key"), "key");
    const endpoint = await this.#server.listen();
    this.#port = Number(new URL(endpoint).port);
    const { client } = await this.#start();
    const keys = { accessKey: `file:${this.#home}/key`, secretKey: `file:${this.#home}/key` };
    await client.declareStore("lake", { type: "s3", settings: { bucket: "lake", endpoint, ...keys } });
    const trained = await this.#submit("ft", training(this.#home), {
      checkpointStore: "lake",
      checkpointKeep: 2,
      retries: { max: 1_000, backoffMs: 1 },
    });
    for (let kill = 0; kill < this.#plan.killCount; kill++) await this.#killOnce(kill);
    this.#server.faultOf = () => null;
    writeFileSync(path.join(this.#home, "enough"), "");
    await this.#settled(trained);
    const violations = [...(await this.#compared()), ...(await this.#cacheViolations()), ...this.#lines("broken")];
    return {
      kills: this.#kills,
      removals: this.#removals,
      registered: this.#seen.size,
      resumes: this.#lines("resumes").length,
      reads: this.#lines("reads").length,
      violations,
    };
  }

  async close(): Promise<void> {
    await endLife(this.#life);
    this.#killWorker();
    await this.#server.close().catch(() => {});
    removeDirectory(this.#home);
  }

  /** One upload and one download begin; the kill comes at a request of a drawn number. */
  async #killOnce(kill: number): Promise<void> {
    const { seed } = this.#plan;
    const life = this.#life ?? (await this.#start());
    await this.#transfers(life);
    const at = 1 + (draw(seed, kill, "request") % REQUESTS_MAX);
    const met = await this.#request(at);
    const victim = (["control plane", "control plane", "store", "worker"] as const)[draw(seed, kill, "victim") % 4];
    const label = `${victim} at ${met === null ? "rest" : transferOf(met)}`;
    this.#kills[label] = (this.#kills[label] ?? 0) + 1;
    if (victim === "store") return this.#killStore();
    const isDiskLost = victim === "worker" && draw(seed, kill, "removal") % 2 === 0;
    // A disk is not lost below an attempt that has just found its checkpoint there.
    if (victim === "control plane" || isDiskLost) await endLife(life);
    if (victim === "worker") this.#killWorker();
    if (isDiskLost) {
      await this.#quietWorkers();
      rmSync(path.join(this.#home, "checkpoints"), { recursive: true, force: true });
      this.#removals++;
    }
    if (victim !== "control plane" && !isDiskLost) return;
    await this.#look((await this.#start()).client);
  }

  /** The request of the store with this number from now on, or `null` after some time. Some requests meet faults. */
  #request(number: number): Promise<ServedRequest | null> {
    const { promise, resolve } = Promise.withResolvers<ServedRequest | null>();
    const timer = setTimeout(() => resolve(null), PATIENCE_MS);
    let left = number;
    this.#server.faultOf = (request) => {
      if (--left === 0) {
        clearTimeout(timer);
        resolve(request);
        // Half of the kills come before the answer, half while it is sent.
        return number % 2 === 0 ? "cut" : null;
      }
      return draw(this.#plan.seed, this.#requests++, "fault") % 25 === 0 ? 503 : null;
    };
    return promise;
  }

  async #killStore(): Promise<void> {
    await this.#server.close();
    await sleep(STORE_DOWN_MS);
    await this.#server.listen(this.#port);
  }

  async #transfers({ client }: StoreLife): Promise<void> {
    const number = ++this.#works;
    await this.#submit(`make-${number}`, making, { produces: ["model:made"], data: { store: "lake" } });
    const digest = this.#plant(number);
    await client.registerArtifact({
      kind: "dataset",
      name: `d${number}`,
      team: null,
      digest,
      bytes: null,
      inputs: [],
      places: [{ store: "lake", uri: `s3://lake/raw/d${number}`, state: "declared" }],
    });
    await this.#submit(`read-${number}`, reading(this.#home), { data: { inputs: [`dataset:d${number}@1`] } });
  }

  /** Content of a data set, and its digest. */
  #plant(number: number): string {
    const sums: string[] = [];
    for (let part = 0; part < PARTS; part++) {
      const bytes = randomBytes(PART_BYTES);
      this.#server.objects.set(`raw/d${number}/part-${part}`, bytes);
      sums.push(`${createHash("sha256").update(bytes).digest("hex")}  part-${part}\n`);
    }
    this.#server.objects.set(`raw/d${number}/sums`, Buffer.from(sums.join("")));
    return digestAt(this.#server, `s3://lake/raw/d${number}`);
  }

  async #submit(name: string, run: string, more: object): Promise<string> {
    const retries = { max: 100, backoffMs: 1 };
    const spec = { kind: "train", name, run, gang: { accelerators: 0 }, retries, ...more };
    const { workloadId } = await (this.#life ?? (await this.#start())).client.submitWorkload(spec as never);
    return workloadId;
  }

  async #start(): Promise<StoreLife> {
    this.#life = await startLife(this.#home);
    return this.#life;
  }

  #killWorker(): void {
    try {
      process.kill(Number(readFileSync(path.join(this.#home, "worker.pid"), "utf8")), "SIGKILL");
    } catch {
      // It has not started, or has ended.
    }
  }

  /** A supervisor that was started before the control plane ended can still start an attempt that has found its checkpoint. */
  async #quietWorkers(): Promise<void> {
    const file = path.join(this.#home, "worker.pid");
    for (let same = 0, before = ""; same < QUIET_LOOKS;) {
      const pid = existsSync(file) ? readFileSync(file, "utf8") : "";
      // A worker is killed once: its number may soon belong to another process.
      if (pid !== before) this.#killWorker();
      same = pid === before ? same + 1 : 0;
      before = pid;
      await sleep(100);
    }
  }

  /** Notes all versions that this life shows. */
  async #look(client: StoreLife["client"]): Promise<void> {
    for (const name of ["model:made", "checkpoint:ft"]) {
      const { items } = await client
        .listArtifactVersions(name, { limit: 500, deleted: true })
        .catch(() => ({ items: [] }));
      for (const { ref, digest } of items) this.#seen.set(ref, digest);
    }
  }

  /** All work has ended, and the last checkpoint of the training is stored or given up. */
  async #settled(trained: string): Promise<void> {
    const untilMs = performance.now() + SETTLE_MS;
    const { client } = this.#life ?? (await this.#start());
    for (let same = 0, before = ""; same < 3;) {
      if (performance.now() > untilMs) throw new Error(`the work did not settle: ${before}`);
      await sleep(500);
      const { items } = await client.listWorkloads({ limit: 500 });
      const left = items.filter(({ phase }) => phase !== "succeeded").map(({ name, phase }) => `${name} ${phase}`);
      const { storedCheckpoint, checkpoint } = await client.getWorkload(trained);
      const now = JSON.stringify([left, storedCheckpoint, checkpoint?.step]);
      same = left.length === 0 && now === before ? same + 1 : 0;
      before = now;
    }
  }

  async #compared(): Promise<readonly string[]> {
    const { client } = this.#life ?? (await this.#start());
    const before = new Map(this.#seen);
    await this.#look(client);
    const violations = await compareBytes(client, this.#server, ["model:made", "checkpoint:ft"]);
    for (const [ref, digest] of before)
      if (this.#seen.get(ref) !== digest) violations.push(`${ref} had the digest ${digest ?? ""}, which is gone`);
    const made = [...this.#seen.keys()].filter((ref) => ref.startsWith("model:")).length;
    if (made !== this.#works) violations.push(`${this.#works} workloads made a model, and ${made} are registered`);
    return violations;
  }

  /** After a last kill, work that reads what the cache held gets it without a request. */
  async #cacheViolations(): Promise<readonly string[]> {
    await endLife(this.#life);
    const { client } = await this.#start();
    const [cache] = (await client.storeCaches()).items;
    const held = (cache?.items ?? []).filter(({ uri }) => uri.startsWith("s3://lake/raw/"));
    if (held.length === 0) return ["the cache is empty after a restart"];
    const from = this.#server.requests.length;
    const again = held.slice(0, 12).map(({ uri }) => uri.slice("s3://lake/raw/".length));
    const untilMs = performance.now() + SETTLE_MS;
    for (const name of again)
      await this.#submit(`again-${name}`, reading(this.#home), { data: { inputs: [`dataset:${name}@1`] } });
    for (;;) {
      const { items } = await client.listWorkloads({ limit: 500 });
      if (items.every(({ phase }) => phase === "succeeded")) break;
      if (performance.now() > untilMs) return ["work that reads the cache did not end"];
      await sleep(100);
    }
    const reads = this.#server.requests.slice(from).filter(({ method, key }) => method === "GET" && key !== "");
    return reads.map(({ key }) => `${key} was in the cache, and was read again`);
  }

  #lines(name: string): readonly string[] {
    const file = path.join(this.#home, name);
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }
}

function transferOf({ method, key }: ServedRequest): string {
  if (key.includes("/checkpoint/")) return method === "DELETE" ? "the removal of a checkpoint" : "a drain";
  return method === "PUT" || method === "POST" ? "an upload" : "a download";
}
