/** Submitters become users and accounts of a real Slurm cluster. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../../tools/testing/rotating.ts";
import { ControlPlaneProcess } from "../conformance/control-plane-process.ts";
import { slurmExecutor } from "./testing/control-plane.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const shape = { nodes: 2, gpusPerNode: 4, cpusPerNode: 16, memoryMib: 64_000 };
const missing = userInfo().uid === 0 ? whyNoCluster(shape) : "only root submits jobs as other users";
if (missing !== null) process.stderr.write(`*** Submitters on Slurm were not tested: ${missing}\n`);

const PORT = 24_000 + (process.pid % 100);

describe.skipIf(missing !== null || !isTurnOf("submitters"))("submitters on a Slurm cluster", () => {
  let cluster: SlurmCluster;
  let plane: ControlPlaneProcess;
  let root: string;

  beforeAll(async () => {
    cluster = await SlurmCluster.start(shape);
    root = mkdtempSync(path.join(tmpdir(), "headroom-submitters-"));
    chmodSync(root, 0o711);
    const { settings, ...executor } = slurmExecutor("lab", path.join(root, "shared"), cluster);
    const rules = { userRule: "table", users: { alice: "nobody", bob: "games", eve: "root" }, accounts: { lab: "ml" } };
    plane = new ControlPlaneProcess(root, PORT, [{ ...executor, settings: { ...settings, ...rules } }]);
    await plane.start();
    await plane.hasNodes(2);
    await plane.apply({
      teams: [{ name: "lab" }, { name: "lab/nlp" }, { name: "guests" }],
    });
  }, 180_000);

  afterAll(async () => {
    await plane.kill();
    await cluster.stop();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  const train = (run: string, more: object = {}) => ({
    kind: "train",
    name: "w",
    team: "lab/nlp",
    run,
    retries: { max: 0 },
    gang: { workers: 2, accelerators: 3 },
    ...more,
  });
  const jobs = (): string =>
    execFileSync("squeue", ["--noheader", "--states=all", "--format=%u %a %T %j"], {
      env: { ...process.env, SLURM_CONF: cluster.configurationFile },
      encoding: "utf8",
    });

  it("runs a gang on two nodes as the user and under the account of the submitter", { timeout: 120_000 }, async () => {
    const run = 'echo "$(id -un) $HOME $USER"; echo kept > note; echo x > "$HEADROOM_CHECKPOINT_DIR/a"; sleep 2';
    const id = await plane.submit(train(run), "alice");
    expect(await plane.ended(id, 60_000)).toBe("succeeded");
    expect((await plane.logs(id)).match(/nobody \/nonexistent nobody/g)?.length).toBe(2);
    expect(jobs()).toMatch(/^nobody ml \S+ headroom-/m);
  });

  it("keeps records and logs of a user from another one, and a stop ends the job", { timeout: 120_000 }, async () => {
    const shared = path.join(root, "shared");
    const secret = await plane.submit(
      train("echo private; sleep 60", { gang: { workers: 1, accelerators: 1 } }),
      "alice",
    );
    await plane.hasPhase(secret, "running");
    const attempt = readdirSync(path.join(shared, "attempts")).find(
      (name) => name.startsWith(secret) && name.endsWith(",0"),
    );
    const look = `cat ${shared}/attempts/${attempt}/worker-0/stdout.log; ls ${shared}/attempts; cat ${shared}/work/*/dir/note`;
    const spy = await plane.submit(train(`${look}; true`, { gang: { workers: 1, accelerators: 1 } }), "bob");
    expect(await plane.ended(spy, 60_000)).toBe("succeeded");
    expect(await plane.logs(spy)).not.toMatch(/private|kept/);
    expect((await plane.logs(spy)).match(/Permission denied/g)?.length).toBe(2);
    await plane.stop(secret);
    expect(await plane.ended(secret, 60_000)).toBe("cancelled");
  });

  it("does not follow a user's link to the log of another user", { timeout: 120_000 }, async () => {
    const shared = path.join(root, "shared");
    const one = { gang: { workers: 1, accelerators: 1 } };
    const victim = await plane.submit(train("echo private", one), "alice");
    expect(await plane.ended(victim, 60_000)).toBe("succeeded");
    const thief = await plane.submit(train("true", one), "bob");
    expect(await plane.ended(thief, 60_000)).toBe("succeeded");
    const directoryOf = (id: string): string => {
      const name = readdirSync(path.join(shared, "attempts")).find(
        (each) => each.startsWith(id) && each.endsWith(",0"),
      );
      return path.join(shared, "attempts", name ?? "", "worker-0");
    };
    rmSync(directoryOf(thief), { recursive: true });
    symlinkSync(directoryOf(victim), directoryOf(thief));
    expect(await plane.logs(thief)).not.toContain("private");
  });

  it.each([
    ["a submitter without a user", "mallory", {}, "has no Slurm user"],
    ["a submitter who would be root", "eve", {}, "who is root"],
    ["a team without an account", "alice", { team: "guests" }, "has no Slurm account"],
  ])("refuses %s before a job exists", { timeout: 60_000 }, async (_, user, more, reason) => {
    const before = jobs().split("\n").length;
    const id = await plane.submit(train("true", more), user);
    expect(await plane.ended(id, 30_000)).toBe("failed");
    expect(await plane.describe(id)).toContain(reason);
    expect(jobs().split("\n").length).toBe(before);
  });
});
