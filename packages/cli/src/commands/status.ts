import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { instant, plural, shortDuration } from "../output/amounts.ts";
import { printable } from "../terminal.ts";
import { pairLines } from "../output/table.ts";

interface StatusCommandOptions {
  readonly json?: boolean;
}

export const statusCommand = defineCommand<StatusCommandOptions>({
  name: "status",
  summary: "Show the status of the control plane",
  options: [jsonOption],
  async run(context, { options }) {
    const client = await context.connect();
    const status = await client.status();
    if (options.json === true) {
      context.print(JSON.stringify(status, null, 2));
      return exitCode.ok;
    }
    const { nodes, accelerators, workloads, journal } = status;
    const pairs: [string, string][] = [
      [
        "control plane",
        `Headroom ${status.version}, ${status.mode}, up ${shortDuration(status.nowMs - status.startedAtMs)} (since ${instant(status.startedAtMs)})`,
      ],
      ...(status.paused === null ? [] : [["paused", status.paused] satisfies [string, string]]),
      [
        "nodes",
        `${nodes.up} up, ${nodes.lost} lost, ${nodes.draining} draining, ${nodes.inMaintenance} in maintenance`,
      ],
      ...status.executors.map(
        ({ name, phase, sinceMs, reason }) =>
          [
            `executor ${name}`,
            `${phase} since ${instant(sinceMs)}${reason === undefined ? "" : `: ${printable(reason)}`}`,
          ] satisfies [string, string],
      ),
      [
        "accelerators",
        `${accelerators.held} held, ${accelerators.foreign === undefined ? "" : `${accelerators.foreign} used by work that Headroom does not run, `}${accelerators.free} free, ${accelerators.unavailable} unavailable, ${accelerators.total} in all`,
      ],
      ...status.isolation.map(
        ({ executor, kind, notes }) =>
          [
            status.isolation.length === 1 ? "isolation" : `isolation ${executor}`,
            [kind, ...notes].join("; "),
          ] satisfies [string, string],
      ),
      ["workloads", `${workloads.unfinished} unfinished (${workloads.waiting} waiting), ${workloads.ended} ended`],
      ["waiting", `${plural(status.waitingTasks, "task")} for ${plural(status.waitingAccelerators, "accelerator")}`],
      ["policy", status.policy],
      ["events", `${status.sequence}, chain ${status.chain}`],
    ];
    if (journal !== null) {
      const sync = `${journal.syncLatencyP50Ms.toFixed(1)} ms (p99 ${journal.syncLatencyP99Ms.toFixed(1)} ms)`;
      pairs.push([
        "journal",
        `${plural(journal.syncs, "sync")}, ${journal.commandsPerSync.toFixed(1)} commands each, ${sync}; loop delay p99 ${journal.loopDelayP99Ms.toFixed(1)} ms`,
      ]);
    }
    context.print(...pairLines(pairs, context.paint));
    return exitCode.ok;
  },
});
