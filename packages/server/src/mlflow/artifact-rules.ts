/**
 * Data rules of artifacts. The disk of the control plane is the place of no rule, so runs of work with one keep their artifacts in a
 * store that admits the rule (`artifact_location` of the experiment). Those that came before the run had its tag are not given out:
 * the place of a reader is not known.
 */
import { workloadId } from "@headroom/model";
import { artifactSegments } from "./artifact-path.ts";
import { MlflowError } from "./mlflow-error.ts";
import type { MlflowParts } from "./mlflow-routes.ts";

/** Rejects if the path is that of a run, or of a model of a run, of a workload with a data rule. */
export async function refuseRuled(
  { mlflow, driver }: MlflowParts,
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
  const { workloads } = JSON.parse(answer.body) as { readonly workloads: readonly string[] };
  if (workloads.length === 0) return;
  const ruled = await driver.read(({ state }) =>
    workloads.flatMap((id) => {
      const work = state.workloads.get(workloadId(id));
      const rule = work?.spec.data?.rule;
      return work === undefined || rule === undefined ? [] : [{ name: work.spec.name, rule }];
    }),
  );
  const [first] = ruled;
  if (first === undefined) return;
  throw new MlflowError(
    "PERMISSION_DENIED",
    `The data of ${first.name} has the rule ${first.rule}, so its artifacts are not ${does} by the control plane. ${remedies[does]}`,
  );
}

const remedies = {
  stored: "Create the experiment with an artifact_location in a store that admits the rule.",
  "given out":
    "An operator finds them in mlflow-artifacts of the state directory, and moves them to a store that admits the rule.",
};
