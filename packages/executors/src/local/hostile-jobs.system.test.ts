/**
 * Tests jobs without isolation that try to hold their accelerators, to reach files of the control plane through links in
 * their own directories, or to spoil later attempts. All of them run under one executor: what one leaves must not harm
 * the next.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { attemptId } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConformanceWorld, isRunning, outputHas } from "../conformance/conformance-world.ts";
import type { Observer } from "../conformance/observer.ts";
import type { Executor } from "../executor.ts";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import { AttemptStore } from "../job-protocol/attempt-store.ts";
import { createLocalExecutor } from "./local-executor.ts";

const SECRET = "secret-of-the-control-plane";
/** Lines that would be reported if they were read as a progress file. */
const secretLines = `{"kind":"checkpoint","step":1,"path":"${SECRET}"}\n`.repeat(3);

let world: ConformanceWorld;
let executor: Executor;
let observer: Observer;
let token: string;

beforeAll(async () => {
  world = await ConformanceWorld.create({
    id: "local",
    open: (homeDir) =>
      createLocalExecutor({ homeDir, accelerators: "declared", isolation: "none", onProblem: () => undefined }),
  });
  ({ executor, observer } = world.watched());
  token = path.join(world.homeDir, "token");
  writeFileSync(token, secretLines, { mode: 0o600 });
});
afterAll(() => world.dispose());

const filesOf = ({ attemptId: id }: LaunchGang): AttemptFiles => new AttemptStore(world.homeDir, () => {}).filesOf(id);
const home = (text: string): string => text.replaceAll("HOME_DIR", world.homeDir);

/** Launches all commands at once, and waits for the end of each. */
async function runAll(commands: readonly string[]): Promise<readonly LaunchGang[]> {
  const launches = commands.map((run) => world.launch(home(run)));
  for (const launch of launches) executor.perform(launch);
  await Promise.all(launches.map((launch) => observer.end(launch.attemptId)));
  return launches;
}

const stops = ["exit 0", "exit 9", "kill -KILL $$", "kill -SEGV $$", "sleep 0.1", "exec sleep 0.1"].flatMap((end) => [
  `kill -STOP $PPID; ${end}`,
  `kill -TSTP $PPID; kill -STOP $PPID; ${end}`,
  `p=$PPID; (setsid sh -c "for i in 1 2 3; do kill -STOP $p; sleep 0.3; done" &) ; kill -STOP $p; ${end}`,
]);
const hugeFiles = ["15T", "1T", "9G", "100M"].flatMap((size) => [
  `truncate -s ${size} "$HEADROOM_PROGRESS_FILE"`,
  `truncate -s ${size} "$HEADROOM_PROGRESS_FILE"; echo '{"kind":"progress","step":1}' >> "$HEADROOM_PROGRESS_FILE"`,
]);
/** The processes lose their session, their group and their environment, but keep a pipe. Their pids are in `pids`. */
const escapes = ["sleep 600", "yes", "sh -c 'while echo x >&2; do :; done'", "sh -c 'sleep 600 >&2'"].map(
  (command) => `setsid env -i ${command} & echo $! >> HOME_DIR/pids; sleep 0.2; exit 0`,
);

it("a job that holds its accelerators ends all the same", async () => {
  const launches = await runAll([...stops, ...hugeFiles, ...escapes]);
  expect(launches).toHaveLength(30);
  const pids = readFileSync(path.join(world.homeDir, "pids"), "utf8").trim().split("\n").map(Number);
  expect(pids).toHaveLength(escapes.length);
  expect(pids.filter(isRunning)).toEqual([]);
});

it("a supervisor that was stopped while no control plane ran is found by the next start", async () => {
  const first = world.open();
  const launch = world.launch("kill -STOP $PPID; exit 0");
  first.perform(launch);
  while (!filesOf(launch).has("running.json")) await new Promise((resolve) => setTimeout(resolve, 10));
  await first.close();
  const second = world.watched();
  expect(await second.observer.end(launch.attemptId)).toMatchObject({ attemptId: launch.attemptId });
});

describe("a link in a job's own directory", () => {
  const names = ["token", "attempts/.key"];
  const readers = names.flatMap((name) => [
    `ln -sf HOME_DIR/${name} "$HEADROOM_PROGRESS_FILE"`,
    `ln -f HOME_DIR/${name} "$HEADROOM_PROGRESS_FILE"`,
    `ln -s HOME_DIR/${name} a; ln -s "$PWD/a" "$HEADROOM_PROGRESS_FILE"`,
    `ln -s ../../../${name} "$HEADROOM_PROGRESS_FILE"`,
    `echo > "$HEADROOM_PROGRESS_FILE"; sleep 0.1; ln -sf HOME_DIR/${name} "$HEADROOM_PROGRESS_FILE"`,
    `d=$(dirname "$HEADROOM_PROGRESS_FILE"); mkdir HOME_DIR/d$$; ln HOME_DIR/${name} HOME_DIR/d$$/progress.jsonl; mv "$d" "$d.old"; ln -s HOME_DIR/d$$ "$d"`,
    `d=$(dirname "$HEADROOM_PROGRESS_FILE"); mkdir HOME_DIR/d$$; cp HOME_DIR/token HOME_DIR/d$$/progress.jsonl; mv "$d" "$d.old"; ln -s ../d$$ "$d"`,
    `ln -s /proc/self/fd/0 "$HEADROOM_PROGRESS_FILE"`,
    `ln -s /proc/$PPID/environ "$HEADROOM_PROGRESS_FILE"`,
    `mknod "$HEADROOM_PROGRESS_FILE" p`,
    `mkdir "$HEADROOM_PROGRESS_FILE"`,
    `ln -s "$HEADROOM_PROGRESS_FILE" "$HEADROOM_PROGRESS_FILE"`,
    `ln -s /dev/zero "$HEADROOM_PROGRESS_FILE"`,
    `ln -s /dev/tty "$HEADROOM_PROGRESS_FILE"`,
    `cd ..; ln -s HOME_DIR/${name} x; mv -T x progress.jsonl`,
  ]);

  it("leads no reader to another file", async () => {
    expect(readers).toHaveLength(30);
    const launches = await runAll(readers.map((run) => `${run}; sleep 0.5; exit 0`));
    const told = launches.flatMap(({ attemptId: id }) => observer.of(id));
    expect(JSON.stringify(told)).not.toContain(SECRET);
  });

  const drafts = `for p in $(seq 1 200) ${process.pid}; do ln -sf HOME_DIR/token "$HEADROOM_CHECKPOINT_REQUEST_FILE.$p"; done`;
  const writers = [
    drafts,
    `${drafts}; cp HOME_DIR/token "$HEADROOM_CHECKPOINT_REQUEST_FILE"`,
    `ln -sf HOME_DIR/token "$HEADROOM_CHECKPOINT_REQUEST_FILE"`,
    `ln -f HOME_DIR/token "$HEADROOM_CHECKPOINT_REQUEST_FILE"`,
    `ln -s nothing "$HEADROOM_CHECKPOINT_REQUEST_FILE"`,
    `mkdir -p "$HEADROOM_CHECKPOINT_REQUEST_FILE/x/y"`,
    `mkfifo "$HEADROOM_CHECKPOINT_REQUEST_FILE"`,
    `mkdir "$HEADROOM_CHECKPOINT_REQUEST_FILE"; ln -s HOME_DIR/token "$HEADROOM_CHECKPOINT_REQUEST_FILE/token"`,
    `d=$(dirname "$HEADROOM_CHECKPOINT_REQUEST_FILE"); mv "$d" "$d.old"; ln -s HOME_DIR/trap "$d"`,
    `d=$(dirname "$HEADROOM_CHECKPOINT_REQUEST_FILE"); rm -rf "$d"; ln -s ../trap "$d"`,
    `d=$(dirname "$HEADROOM_CHECKPOINT_REQUEST_FILE"); rm -rf "$d"; touch "$d"`,
    `d=$(dirname "$HEADROOM_CHECKPOINT_REQUEST_FILE"); rm -rf "$d"`,
    `d=$(dirname "$HEADROOM_PROGRESS_FILE"); for p in ${process.pid} 1; do ln -s HOME_DIR/token "$d/checkpoint-request.json.$p"; done`,
    `d=$(dirname "$HEADROOM_PROGRESS_FILE"); ln -s HOME_DIR/token "$d/checkpoint-request.json"`,
    `ln -sf HOME_DIR/trap/checkpoint-request.json "$HEADROOM_CHECKPOINT_REQUEST_FILE"`,
  ];

  it("leads no request of the control plane to another file", async () => {
    const trap = path.join(world.homeDir, "trap");
    await runAll(["mkdir HOME_DIR/trap"]);
    const launches = [...writers, ...writers].map((run) => world.launch(home(`${run}; echo ready; exec sleep 600`)));
    for (const launch of launches) executor.perform(launch);
    for (const launch of launches) await outputHas(executor, launch.attemptId, "ready");
    await Promise.all(launches.map((launch) => observer.running(launch.attemptId)));
    for (const launch of launches) {
      executor.perform(world.checkpoint(launch));
      executor.perform(world.stop(launch, 0));
    }
    await Promise.all(launches.map((launch) => observer.end(launch.attemptId)));
    expect(readFileSync(token, "utf8")).toBe(secretLines);
    expect(existsSync(path.join(trap, "checkpoint-request.json"))).toBe(false);
  });
});

describe("what a job puts in the places of later attempts", () => {
  const places = ["work/N", "requests/N", "attempts/N", "attempts/.claims/N"];
  const deeds = places.flatMap((place) => [
    `mkdir -p HOME_DIR/${place}; echo x > HOME_DIR/${place}/claimed`,
    `ln -s HOME_DIR/trap HOME_DIR/${place}`,
    `ln -s /nothing HOME_DIR/${place}`,
    `echo x > HOME_DIR/${place}`,
    `mkfifo HOME_DIR/${place}`,
    `mkdir -p HOME_DIR/${place}/dir/dir; chmod 0 HOME_DIR/${place}`,
  ]);
  const records = ["launch.json", "claim.json", "exit.json", "workers.json", "running.json"].map(
    (name) => `mkdir -p HOME_DIR/attempts/N; echo '{"version":2,"mac":"","record":{}}' > HOME_DIR/attempts/N/${name}`,
  );
  const logs = [
    "mkdir -p HOME_DIR/attempts/N/worker-0; ln -s HOME_DIR/token HOME_DIR/attempts/N/worker-0/stdout.log",
    "mkdir -p HOME_DIR/attempts/N; ln -s HOME_DIR/token HOME_DIR/attempts/N/supervisor.log",
    "mkdir -p HOME_DIR/work/N/dir; ln -s HOME_DIR/token HOME_DIR/work/N/progress.jsonl",
  ];
  const all = [...deeds, ...records, ...logs];

  it("costs none of them", async () => {
    expect(all.length).toBeGreaterThanOrEqual(30);
    const later = all.map((_, index) => attemptId(`later${index}.1`));
    await runAll([all.map((deed, index) => deed.replaceAll("/N", `/${later[index] ?? ""}`)).join("; ")]);
    const launches = later.map((id) => ({ ...world.launch("echo fine; exit 4"), attemptId: id }));
    for (const launch of launches) executor.perform(launch);
    const exits = await Promise.all(launches.map((launch) => observer.exits(launch.attemptId)));
    expect(exits).toEqual(launches.map(() => [{ kind: "exited", worker: 0, code: 4 }]));
    expect(readFileSync(token, "utf8")).toBe(secretLines);
  });
});
