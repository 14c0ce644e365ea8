/** The executor with a shared directory that fails, or that jobs of the same user write to. No command of Slurm is run. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { attemptId } from "@headroom/model";
import { StoreSet } from "@headroom/stores";
import { beforeEach, describe, expect, it } from "vitest";
import { HostileFolder } from "../../../../../tools/testing/hostile-folder.ts";
import type { ExecutorInput } from "../../executor.ts";
import type { RecordName, Records } from "../../job-protocol/attempt-records.ts";
import { AttemptFiles, UnreadableRecord } from "../../job-protocol/attempt-files.ts";
import { AttemptStore } from "../../job-protocol/attempt-store.ts";
import { requestedGraceMs } from "../agent/part-supervisor.ts";
import { slurmSettings } from "../settings.ts";
import { createSlurmExecutor } from "../slurm-executor.ts";
import { launchRecord } from "../testing/launch-record.ts";
import { secretFileOf, writeSecret } from "./secret-file.ts";
import { readState } from "../../job-protocol/recorded-state.ts";

const folder = HostileFolder.forEachTest();
let shared: string;
beforeEach(() => {
  shared = folder.shared();
});

const store = (): AttemptStore => new AttemptStore(shared, () => undefined, folder.at("key"));

function recorded(): AttemptFiles {
  const files = store().files("w1.1");
  mkdirSync(files.recordsDir);
  files.create("launch.json", launchRecord);
  return files;
}

describe("records that jobs of the same user write", () => {
  it("stop no worker: only authentic requests do", () => {
    const files = recorded();
    for (const name of ["exit.json", "fence.json", "failure.json", "stop.json"])
      writeFileSync(path.join(files.recordsDir, name), "{}");
    expect(requestedGraceMs(files, launchRecord)).toBeNull();
    files.create("failure.json", { part: 0 });
    expect(requestedGraceMs(files, launchRecord)).toBe(5_000);
    files.create("exit.json", { kind: "lost", endedAtMs: 1, detail: "" });
    expect(requestedGraceMs(files, launchRecord)).toBe(0);
  });

  it("lead the secret to no other file through a link", () => {
    const files = recorded();
    writeFileSync(folder.at("victim"), "kept");
    symlinkSync(folder.at("victim"), secretFileOf(files));
    writeSecret(files);
    expect(readFileSync(folder.at("victim"), "utf8")).toBe("kept");
    expect(readFileSync(secretFileOf(files), "utf8")).toBe(files.key.secret);
  });
});

class FailingFiles extends AttemptFiles {
  override read<Name extends RecordName>(name: Name): Records[Name] | null {
    if (name !== "claim.json") return super.read(name);
    throw new UnreadableRecord("claim.json cannot be read", {
      cause: Object.assign(new Error("EIO"), { code: "EIO" }),
    });
  }
}

describe("a file system that fails", () => {
  it("makes no record unreadable, so that no attempt is lost", () => {
    const files = new FailingFiles(recorded().key);
    expect(() => readState(files)).toThrow(/cannot be read/);
  });

  it("leaves no drafts of records that cannot be written", () => {
    const files = recorded();
    mkdirSync(path.join(files.recordsDir, "alive.json", "x"), { recursive: true });
    expect(() => files.write("alive.json", { count: 1, usage: [] })).toThrow(/alive\.json/);
    expect(readdirSync(files.recordsDir).toSorted()).toEqual(["alive.json", "launch.json"]);
  });

  it("counts as silence while it is not mounted: a stop is carried out later, and the attempt is not lost", async () => {
    const executor = createSlurmExecutor({
      id: "lab",
      settings: slurmSettings.parse({ directory: shared, commands: folder.at("none") }),
      stateDir: folder.at("state"),
      onProblem: () => undefined,
    });
    const told: ExecutorInput[] = [];
    executor.watch((input) => void told.push(input));
    renameSync(shared, `${shared}.away`);
    mkdirSync(shared);
    const stop = { kind: "stopGang", executor: "lab", graceTimeoutMs: 1, reason: "cancelled" } as const;
    executor.perform({ ...stop, attemptId: attemptId("w1.1") });
    await expect(executor.inventory()).rejects.toThrow(/is the file system mounted/);
    rmSync(shared, { recursive: true });
    renameSync(`${shared}.away`, shared);
    await expect(executor.inventory()).rejects.toThrow(/^stopGang of attempt w1.1: .*is the file system mounted/);
    expect(told).toEqual([]);
    await executor.close();
  });
});

it("copies inputs unless jobs read stores themselves", async () => {
  const stores = new StoreSet({ declarations: () => [], readSecret: () => "" });
  for (const readsStores of [false, true]) {
    const settings = slurmSettings.parse({ directory: shared, readsStores });
    const executor = createSlurmExecutor({ id: "lab", settings, stateDir: folder.at("state"), stores });
    expect(((await executor.inputCache?.()) ?? null) === null).toBe(readsStores);
    await executor.close();
  }
});

describe("a controller that is silent about its switches only", () => {
  it("is no answer, unlike that of a cluster without a topology plugin", async () => {
    const scontrol = folder.at("scontrol");
    writeFileSync(folder.at("squeue"), "#!/bin/sh\n", { mode: 0o755 });
    const answer = (error: string): void =>
      writeFileSync(
        scontrol,
        `#!/bin/sh
case "$2" in
  node) echo 'NodeName=n1 CPUTot=4 RealMemory=1000 State=IDLE Partitions=gpu' ;;
  partition) echo 'PartitionName=gpu Nodes=n1 State=UP' ;;
  *) echo '${error}' >&2; exit 1 ;;
esac
`,
        { mode: 0o755 },
      );
    const executor = createSlurmExecutor({
      id: "lab",
      settings: slurmSettings.parse({ directory: shared, commands: folder.root }),
      stateDir: folder.at("state"),
    });
    answer("slurm_load_topo error: Unable to contact slurm controller (connect failure)");
    await expect(executor.inventory()).rejects.toThrow(/Unable to contact/);
    answer("No topology information available");
    expect((await executor.inventory()).nodes).toMatchObject([{ id: "lab-n1", fabric: [] }]);
    await executor.close();
  });
});
