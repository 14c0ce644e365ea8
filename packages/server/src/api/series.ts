/** Series of a subject from the telemetry store. A subject that the reader may not see answers like one that does not exist. */
import type { Engine } from "@headroom/engine";
import type { NodeId, PoolName, TeamName, WorkloadId } from "@headroom/model";
import { METRICS_POINTS_DEFAULT, refuse } from "@headroom/protocol";
import type { ProblemError, SeriesQuery, SubjectSeries } from "@headroom/protocol";
import { isReadable } from "@headroom/views";
import type { Principal } from "../auth/authorize.ts";
import { readableTeams } from "../auth/team-tree.ts";
import type { ControlPlane } from "./control-plane.ts";

export async function seriesOf(
  { driver, telemetry }: ControlPlane,
  { subject, points = METRICS_POINTS_DEFAULT, fromMs, toMs }: SeriesQuery,
  principal: Principal,
): Promise<SubjectSeries> {
  const problem = await driver.read((engine) => absence(engine, subject, principal));
  if (problem !== null) throw problem;
  return telemetry.series({ subject, points, fromMs, toMs });
}

/** The problem if there is no such subject that the reader may see; else `null`. */
function absence({ state }: Engine, subject: string, principal: Principal): ProblemError | null {
  const at = subject.indexOf(":");
  const name = subject.slice(at + 1);
  const readable = readableTeams(state, principal);
  switch (subject.slice(0, Math.max(0, at))) {
    case "pool":
      return state.pools.has(name as PoolName) ? null : refuse("unknownPoolName", `There is no pool ${name}.`);
    case "node":
      return nodeAbsence(state, name);
    case "accelerator":
      return nodeAbsence(state, name.replace(/#\d+$/, ""));
    case "team":
      return state.teams.has(name as TeamName) && isReadable(readable, name)
        ? null
        : refuse("unknownTeamName", `There is no team ${name}.`);
    case "endpoint":
    case "replica": {
      const id = name.split("/", 1)[0] ?? "";
      const spec = state.workloads.get(id as WorkloadId)?.spec;
      return spec?.kind === "serve" && isReadable(readable, spec.team)
        ? null
        : refuse("unknownWorkload", `There is no endpoint with the id ${id}.`);
    }
    default:
      return null;
  }
}

const nodeAbsence = ({ nodes }: Engine["state"], id: string): ProblemError | null =>
  nodes.has(id as NodeId) ? null : refuse("unknownNode", `There is no node ${id}.`);
