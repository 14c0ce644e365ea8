/** The disk of the control plane in a rule world: artifacts of MLflow runs, and logs of pods. It is the place of no rule but `logRules`. */
import path from "node:path";
import { Readable } from "node:stream";
import type { ReadonlyState } from "@headroom/engine";
import { collectLog } from "@headroom/executors/testing";
import type { LaunchGang } from "@headroom/model";
import { refuseRuled, rulesOfTags } from "../../mlflow/artifact-rules.ts";
import { ArtifactStore } from "../../mlflow/artifact-store.ts";
import { Fields } from "../../mlflow/fields.ts";
import { mlflowHandlers } from "../../mlflow/handlers.ts";
import { MlflowDatabase } from "../../mlflow/mlflow-database.ts";
import { MlflowError } from "../../mlflow/mlflow-error.ts";
import { WORKLOAD_TAG } from "../../mlflow/workload-links.ts";
import type { WorkloadRules } from "../../mlflow/workload-links.ts";
import { proxiedPath } from "../../mlflow/artifact-path.ts";

type Parts = Parameters<typeof refuseRuled>[0];
const LOGS = "logs";
const user = "ann";

export class PlaneDisk {
  readonly #dir: string;
  readonly #logRules: readonly string[];
  readonly #artifacts: ArtifactStore;
  readonly #database = new MlflowDatabase(":memory:", 0);
  readonly #handlers = mlflowHandlers(this.#database, () => {});
  readonly #parts: Parts;
  /** Artifacts that are there, by path. */
  readonly #stored: { readonly at: string; readonly text: string }[] = [];
  /** Artifacts that came before their run was linked to its workload: nothing could tell their rule then. */
  readonly #early = new Set<string>();

  constructor(dir: string, logRules: readonly string[], state: () => ReadonlyState) {
    this.#dir = dir;
    this.#logRules = logRules;
    this.#artifacts = new ArtifactStore(dir);
    const call: Parts["mlflow"]["call"] = ({ call: name, values, rules }) =>
      Promise.resolve({ status: 200, body: JSON.stringify(this.#call(name, values, rules)) });
    const driver = { read: (use: (engine: object) => unknown) => Promise.resolve(use({ state: state() })) };
    this.#parts = { mlflow: { call }, driver } as unknown as Parts;
  }

  /** Whether bytes of the rule may be at the path within the directory. */
  admits(within: string, rule: string): boolean {
    const [folder, ...rest] = within.split(path.sep);
    if (this.#early.has(rest.join("/"))) return true;
    return folder === LOGS && this.#logRules.includes(rule);
  }

  log({ ...launch }: LaunchGang, text: string): Promise<void> {
    return collectLog(launch, text, { dir: path.join(this.#dir, LOGS, launch.attemptId), rules: this.#logRules });
  }

  /** Uploads to a run of the work, as MLflow's client does. Returns false if it is refused. */
  async upload({ workloadId }: LaunchGang, text: string): Promise<boolean> {
    return this.#store(this.#createRun([{ key: WORKLOAD_TAG, value: workloadId }]).artifact_uri, text);
  }

  /** Uploads to a run that is linked to the work afterwards, as by a script that sets its tags at its end. */
  async uploadBeforeLink({ workloadId }: LaunchGang, text: string): Promise<void> {
    const { run_id, artifact_uri } = this.#createRun([]);
    const at = pathIn(artifact_uri);
    this.#early.add(at);
    await this.#store(artifact_uri, text);
    const tag = { run_id, key: WORKLOAD_TAG, value: workloadId };
    this.#call("setTag", tag, await rulesOfTags(this.#parts, tag));
  }

  #createRun(tags: readonly object[]): CreatedRun["run"]["info"] {
    return (this.#call("createRun", { experiment_id: "0", tags }) as unknown as CreatedRun).run.info;
  }

  async #store(artifactUri: string, text: string): Promise<boolean> {
    const at = pathIn(artifactUri);
    try {
      await refuseRuled(this.#parts, { artifact: at, user, does: "stored" });
    } catch (error) {
      if (error instanceof MlflowError) return false;
      throw error;
    }
    await this.#artifacts.write(at, Readable.from([Buffer.from(text)]), text.length);
    this.#stored.push({ at, text });
    return true;
  }

  /** The newest artifact, as work at any place gets it; `null`: it is refused. */
  async read(): Promise<string | null> {
    const newest = this.#stored.at(-1);
    if (newest === undefined) return "";
    try {
      await refuseRuled(this.#parts, { artifact: newest.at, user, does: "given out" });
    } catch (error) {
      if (error instanceof MlflowError) return null;
      throw error;
    }
    return newest.text;
  }

  close(): void {
    this.#database.close();
  }

  #call(name: keyof ReturnType<typeof mlflowHandlers>, values: unknown, rules?: WorkloadRules): object {
    return this.#handlers[name](new Fields(values, "body"), { nowMs: 0, user, rules });
  }
}

interface CreatedRun {
  readonly run: { readonly info: { readonly run_id: string; readonly artifact_uri: string } };
}

const pathIn = (artifactUri: string): string => `${proxiedPath(artifactUri) ?? ""}/out`;
