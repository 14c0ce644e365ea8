/** The disk of the control plane in a rule world: artifacts of MLflow runs, and logs of pods. It is the place of no rule but `logRules`. */
import path from "node:path";
import { Readable } from "node:stream";
import type { ReadonlyState } from "@headroom/engine";
import { collectLog } from "@headroom/executors/testing";
import type { LaunchGang } from "@headroom/model";
import { refuseRuled } from "../../mlflow/artifact-rules.ts";
import { ArtifactStore } from "../../mlflow/artifact-store.ts";
import { Fields } from "../../mlflow/fields.ts";
import { mlflowHandlers } from "../../mlflow/handlers.ts";
import { MlflowDatabase } from "../../mlflow/mlflow-database.ts";
import { MlflowError } from "../../mlflow/mlflow-error.ts";
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
    return within.split(path.sep)[0] === LOGS && this.#logRules.includes(rule);
  }

  log({ ...launch }: LaunchGang, text: string): Promise<void> {
    return collectLog(launch, text, { dir: path.join(this.#dir, LOGS, launch.attemptId), rules: this.#logRules });
  }

  /** Uploads to a run of the work, as MLflow's client does. Returns false if it is refused. */
  async upload({ workloadId }: LaunchGang, text: string): Promise<boolean> {
    const tags = [{ key: "headroom.workload_id", value: workloadId }];
    const { run } = this.#call("createRun", { experiment_id: "0", tags }) as unknown as CreatedRun;
    const at = `${proxiedPath(run.info.artifact_uri) ?? ""}/out`;
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

  /** The newest artifact, as work at any place gets it. */
  async read(): Promise<string> {
    const newest = this.#stored.at(-1);
    if (newest === undefined) return "";
    await refuseRuled(this.#parts, { artifact: newest.at, user, does: "given out" });
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
  readonly run: { readonly info: { readonly artifact_uri: string } };
}
