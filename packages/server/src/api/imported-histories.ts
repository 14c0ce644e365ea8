/** Past work of clusters: names of the cluster become teams and submitters by the rules of the executor. */
import { createHash } from "node:crypto";
import type { PastNames } from "@headroom/executors";
import { canonicalJson, teamName } from "@headroom/model";
import type { ExecutorId, ImportedHistory, PastRun, ImportedUse } from "@headroom/model";
import { refuse, UNMAPPED_ACCOUNTS_MAX } from "@headroom/protocol";
import type { HistoryImport, HistoryRequest, ImportedHistoryView } from "@headroom/protocol";
import { historyView, hoursOf } from "@headroom/views";
import { command } from "./calls.ts";
import type { Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

export function importedHistory({ driver }: ControlPlane, call: Call<"importedHistory">): Promise<ImportedHistoryView> {
  const { name } = call.params;
  return driver.read(({ state }) => {
    const history = state.importedHistories.get(name);
    if (history === undefined)
      throw refuse(
        "noHistory",
        `No past work of ${name} was imported: headroom executor history ${name} --import FILE`,
      );
    return historyView(state, history);
  });
}

export async function importHistory(plane: ControlPlane, call: Call<"importHistory">): Promise<HistoryImport> {
  const { name } = call.params;
  const isDryRun = call.query.dryRun === true;
  const names = pastNamesOf(plane, name);
  const { history, unmapped } = mappedHistory(name, call.body, names);
  if (history.uses.length === 0) throw refuse("invalidRequest", noTeam(name, unmapped));
  const before = await plane.driver.read(({ state }) => state.importedHistories.get(name));
  const action = before === undefined ? "imported" : before.digest === history.digest ? "unchanged" : "replaced";
  if (!isDryRun && action !== "unchanged") {
    const change = { kind: "importHistory", history } as const;
    await command(plane, call, { kind: "setExecutor", executor: name, change }, "executorSet");
  }
  return plane.driver.read(({ state }) => {
    const recorded = state.importedHistories.get(name);
    const isRecorded = recorded?.digest === history.digest;
    return {
      action,
      dryRun: isDryRun,
      history: historyView(state, isRecorded ? recorded : { ...history, importedAtMs: null, actor: call.actor }),
      unmapped,
    };
  });
}

function pastNamesOf({ executorService }: ControlPlane, name: ExecutorId): PastNames {
  const declaration = executorService.list().find(({ id }) => id === name)?.declaration ?? null;
  if (declaration === null)
    throw refuse("unknownExecutor", `No executor ${name} is declared. List them: headroom executor list`);
  const type = executorService.types.find((each) => each.name === declaration.type);
  if (type?.pastNames === undefined)
    throw refuse("invalidRequest", `Executors of the type ${declaration.type} have no history that can be imported.`);
  return type.pastNames(declaration.settings);
}

type Unmapped = HistoryImport["unmapped"];

interface Mapped {
  readonly history: ImportedHistory;
  readonly unmapped: Unmapped;
}

function mappedHistory(executor: ExecutorId, body: HistoryRequest, names: PastNames): Mapped {
  const missing = new Map<string, number>();
  const owner = ({ account, user }: { readonly account: string; readonly user: string }) => {
    const team = names.teamOf(account);
    return team === null ? null : { team: teamName(team), actor: names.actorOf(user) };
  };
  const uses = body.uses.flatMap(({ account, user, ...use }): readonly ImportedUse[] => {
    const who = owner({ account, user });
    if (who === null) missing.set(account, (missing.get(account) ?? 0) + use.acceleratorMs);
    return who === null ? [] : [{ ...who, ...use }];
  });
  const runs = body.runs.flatMap(({ account, user, ...run }): readonly PastRun[] => {
    const who = owner({ account, user });
    return who === null ? [] : [{ ...who, ...run }];
  });
  const content = {
    source: body.source,
    fromMs: body.fromMs,
    toMs: body.toMs,
    jobCount: body.jobCount,
    leftOutCount: body.leftOutCount,
    unreadCount: body.unreadCount,
    uses: uses.toSorted((left, right) => left.toMs - right.toMs),
    runs: runs.toSorted((left, right) => left.submittedAtMs - right.submittedAtMs),
  };
  const digest = createHash("sha256").update(canonicalJson(content)).digest("hex");
  const unmapped = [...missing]
    .map(([account, acceleratorMs]) => ({ account, acceleratorHours: hoursOf(acceleratorMs) }))
    .toSorted((left, right) => right.acceleratorHours - left.acceleratorHours)
    .slice(0, UNMAPPED_ACCOUNTS_MAX);
  return { history: { executor, digest, ...content }, unmapped };
}

function noTeam(name: string, unmapped: Unmapped): string {
  if (unmapped.length === 0) return "The history has no use of accelerators.";
  const shown = unmapped.slice(0, 5).map(({ account }) => account);
  return `No account of the history has a team by the rules of the executor ${name}: ${shown.join(", ")}. Map them in its settings: accounts for Slurm; adoptTeams or namespaces for Kubernetes.`;
}
