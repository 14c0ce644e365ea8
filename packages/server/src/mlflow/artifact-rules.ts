/**
 * Data rules of artifacts. The disk of the control plane is the place of no rule, so runs of work with one keep their artifacts in a
 * store that admits the rule (`artifact_location` of the experiment). Those that came before the run had its tag are not given out:
 * the place of a reader is not known.
 */
import type { ReadonlyState } from "@headroom/engine";
import { workloadId } from "@headroom/model";
import { artifactSegments } from "./artifact-path.ts";
import { quoted } from "./fields.ts";
import { MlflowError } from "./mlflow-error.ts";
import type { MlflowParts } from "./mlflow-routes.ts";
import type { Tag } from "./tags.ts";
import { WORKLOAD_TAG } from "./workload-links.ts";
import type { LinkedArtifact, LinkedWorkload, WorkloadRules } from "./workload-links.ts";

type RuleParts = Pick<MlflowParts, "mlflow" | "driver">;

/**
 * Rejects if the path is that of a run, or of a model of a run, of a workload with a data rule. Where places admit data rules, also if bytes
 * would be stored at a path of no run: nothing tells whose they are.
 */
export async function refuseRuled(
  { mlflow, driver }: RuleParts,
  { artifact, user, does }: { readonly artifact: string; readonly user: string; readonly does: "stored" | "given out" },
): Promise<void> {
  const values = { path: artifactSegments(artifact).join("/") };
  if (values.path === "") return;
  const answer = await mlflow.call({ call: "artifactWorkloads", values, source: "query", user });
  if (answer.status !== 200)
    throw new MlflowError(
      "TEMPORARILY_UNAVAILABLE",
      "The run of the artifact could not be found; try again in a moment.",
    );
  const { workloads, isOfRun } = JSON.parse(answer.body) as LinkedArtifact;
  if (does === "stored" && !isOfRun && (await driver.read(({ state }) => admitsRules(state))))
    throw new MlflowError(
      "PERMISSION_DENIED",
      "Places of this fleet have data with rules, and the artifact belongs to no run, so the rule of its data is not known. Log it in a run (mlflow.start_run), or create the experiment with an artifact_location in a store.",
    );
  if (workloads.length === 0) return;
  const unruled = workloads.filter(({ rule }) => rule === undefined);
  if (unruled.length > 0) await record({ mlflow, driver }, { ids: unruled.map(({ id }) => id), user });
  const [first] = await driver.read(({ state }) => workloads.flatMap((linked) => refusalsOf(state, linked)));
  if (first === undefined) return;
  throw new MlflowError(
    "PERMISSION_DENIED",
    `${first}, so its artifacts are not ${does} by the control plane. ${remedies[does]}`,
  );
}

const admitsRules = ({ sites, pools }: ReadonlyState): boolean =>
  [...sites.values(), ...pools.values()].some(({ data }) => (data?.rules ?? []).length > 0);

/** Records the rules of workloads to which earlier builds of Headroom linked runs, while the engine knows the workloads. */
export async function recordRules({ mlflow, driver }: RuleParts): Promise<void> {
  if (!mlflow.hasDatabase) return;
  const user = "headroom";
  const { status, body } = await mlflow.call({ call: "unruledWorkloads", values: {}, source: "query", user });
  if (status === 200) await record({ mlflow, driver }, { ids: JSON.parse(body) as readonly string[], user });
}

async function record(
  { mlflow, driver }: RuleParts,
  { ids, user }: { readonly ids: readonly string[]; readonly user: string },
): Promise<void> {
  const rules = await rulesOf(driver, ids);
  if (rules.size > 0) await mlflow.call({ call: "recordRules", values: {}, source: "query", user, rules });
}

/** Why the artifacts of a workload are refused: at most one reason. */
function refusalsOf(state: ReadonlyState, linked: LinkedWorkload): readonly string[] {
  const work = state.workloads.get(workloadId(linked.id));
  const rule = work === undefined ? linked.rule : (work.spec.data?.rule ?? null);
  if (rule === null) return [];
  const id = quoted(linked.id);
  if (rule === undefined) return [`The workload ${id} of the run is not known, nor is the rule of its data`];
  return [`The data of ${work?.spec.name ?? id} has the rule ${rule}`];
}

/** Rules of the workloads that the tags of a request name. `undefined`: it names none. */
export async function rulesOfTags(
  { driver }: Pick<MlflowParts, "driver">,
  values: unknown,
): Promise<WorkloadRules | undefined> {
  const fields = (values ?? {}) as { readonly tags?: unknown };
  const tags = [fields, ...(Array.isArray(fields.tags) ? (fields.tags as unknown[]) : [])] as readonly Partial<Tag>[];
  const ids = tags.flatMap((tag) => (tag?.key === WORKLOAD_TAG && typeof tag.value === "string" ? [tag.value] : []));
  return ids.length === 0 ? undefined : rulesOf(driver, ids);
}

const rulesOf = (driver: MlflowParts["driver"], ids: readonly string[]): Promise<WorkloadRules> =>
  driver.read(({ state: { workloads } }) => {
    const known = ids.flatMap((id) => workloads.get(workloadId(id)) ?? []);
    return new Map(known.map(({ id, spec }) => [id, spec.data?.rule ?? null]));
  });

const remedies = {
  stored: "Create the experiment with an artifact_location in a store that admits the rule.",
  "given out":
    "An operator finds them in mlflow-artifacts of the state directory, and moves them to a store that admits the rule.",
};
