/**
 * Carries out effects: records a launch, creates its pods without a node, and binds them when all exist. Requests stops and checkpoints.
 * Every effect is idempotent.
 */
import path from "node:path";
import type { CheckpointGang, LaunchGang, NodeId, StopGang } from "@headroom/model";
import { acceleratorIndices } from "@headroom/model";
import { inTurns, makeAttemptDirectories } from "../../job-protocol/attempt-directories.ts";
import { checkpointDirOf } from "../../job-protocol/attempt-environments.ts";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { LaunchRecord, LogLimits } from "../../job-protocol/attempt-records.ts";
import { checkpointRootOf, requestRootOf, syncDirectory, workRootOf } from "../../job-protocol/attempt-files.ts";
import { taskDirName } from "../../job-protocol/attempt-names.ts";
import { partFiles } from "../../job-protocol/attempt-parts.ts";
import type { AttemptStore } from "../../job-protocol/attempt-store.ts";
import { requestCheckpoint, requestedUntilMs } from "../../job-protocol/checkpoint-request.ts";
import type { PreparedLaunch, ResumePoint } from "../../job-protocol/checkpoint-restore.ts";
import type { ReadingRules } from "../../job-protocol/input-rules.ts";
import { refuseInputs } from "../../job-protocol/input-rules.ts";
import { StagingFailure } from "../../job-protocol/input-staging.ts";
import { recordLost, voidAttempt } from "../../job-protocol/lost-attempt.ts";
import { readState } from "../../job-protocol/recorded-state.ts";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import { requestStop } from "../../job-protocol/stop-request.ts";
import { workerEnvironments } from "../../job-protocol/worker-environment.ts";
import { AdoptedLaunch, isAdopted } from "../adoption/adopted-launch.ts";
import { recordAdoptedLoss } from "../adoption/held-pods.ts";
import type { PodAdoption } from "../adoption/pod-adoption.ts";
import { messageOf } from "../api/connection.ts";
import type { NewObject, Outcome, PodApi } from "../api/pod-api.ts";
import type { ClusterCopy } from "../cluster-copy.ts";
import type { KubernetesFleetNode } from "../fleet/cluster-nodes.ts";
import type { KubernetesSettings } from "../settings.ts";
import type { GangWatch } from "./gang-watch.ts";
import { allOf, PodActions } from "./pod-actions.ts";
import { logRuleOf } from "./log-collector.ts";
import type { PodMount, PodPlan } from "./pod-documents.ts";
import { podDocuments, rendezvousOf, serviceDocument } from "./pod-documents.ts";
import { DENIALS_MIN } from "./gang-judge.ts";
import { baseName, carriesAttempt } from "./pod-names.ts";
import { namespaceOf, serviceAccountOf } from "./submitter-names.ts";
import type { PodTransfers } from "./pod-transfers.ts";
import type { PodPlace, WatchedGang } from "./watched-gang.ts";
import { delayRetry, readPlace, recordPlace } from "./watched-gang.ts";
import { tooLong } from "./worker-command.ts";

export interface PodLauncherSetup {
  readonly store: AttemptStore;
  readonly api: PodApi;
  readonly copy: ClusterCopy;
  readonly settings: KubernetesSettings;
  readonly installation: string;
  readonly log: LogLimits;
  readonly watch: GangWatch;
  /** Files of a job: in the shared directory, if there is one. */
  readonly jobFiles: (files: AttemptFiles) => AttemptFiles;
  /** Absent: no stores are declared. */
  readonly stores?: ReadingRules | undefined;
  /** `null`: paths and URIs are passed on, and nothing is uploaded. */
  readonly transfers: PodTransfers | null;
  /** `null`: pods of others are left alone. */
  readonly adoption: PodAdoption | null;
  readonly onProblem: (message: string) => void;
  /** Called before attempts are given back because the cluster does not answer. */
  readonly onSilence: (detail: string) => void;
}

/** A decided node takes no work. */
class UnusableNode extends Error {
  override readonly name = "UnusableNode";
  readonly node: KubernetesFleetNode;

  constructor(node: KubernetesFleetNode) {
    super(`${node.name}: ${node.outOfService ?? ""}`);
    this.node = node;
  }
}

/** Without a shared directory: reports go to the log, and checkpoints cannot be requested. */
const LOG_OF_CONTAINER = "/proc/1/fd/1";
const NO_REQUEST = "/run/headroom/checkpoint-request.json";
const CONTAINER_CHECKPOINTS = "/tmp/headroom-checkpoints";

/** The reverse of `nodeIdOf`. */
const nodeNameOf = ({ executor }: LaunchGang, id: NodeId): string => id.slice(executor.length + 1);

export class PodLauncher {
  readonly #setup: PodLauncherSetup;
  readonly #actions: PodActions;
  readonly #adopted: AdoptedLaunch;
  /** Launches that this process got. After a restart the engine repeats those that have not started. */
  readonly #effects = new Map<string, LaunchGang>();
  readonly #starting = new Set<string>();
  #bindingCount = 0;

  constructor(setup: PodLauncherSetup) {
    this.#setup = setup;
    this.#actions = new PodActions(setup.api);
    this.#adopted = new AdoptedLaunch({ ...setup, attemptsDir: setup.store.attemptsDir });
  }

  /** Whether pods of an attempt are being bound. */
  get isBinding(): boolean {
    return this.#bindingCount > 0;
  }

  async launch(effect: LaunchGang): Promise<void> {
    const { store, watch } = this.#setup;
    const files = store.filesOf(effect.attemptId);
    const { name } = files.key;
    if (watch.hasEnded(name)) return;
    const state = readState(files);
    if (state.kind === "absent" && watch.knows(name)) return;
    if (state.kind === "absent" || state.kind === "unclaimed") {
      this.#effects.set(name, effect);
      try {
        if (state.kind === "absent") {
          if (isAdopted(effect)) await this.#adopted.record(files, effect, this.#nodesOf(effect));
          else {
            await this.#recordLaunch(files, await this.#stage(effect, name));
          }
        }
      } catch (error) {
        return this.#cannotLaunch(files, effect, error);
      }
    }
    const watched = watch.track(effect.attemptId, files);
    if (watched !== null && readState(files).kind === "unclaimed") await this.start(watched);
  }

  /** The launch with paths in the shared directory in the places of URIs. Throws a `StagingFailure` or a `RefusedGang`. */
  async #stage(effect: LaunchGang, name: string): Promise<PreparedLaunch> {
    const { transfers, stores, settings } = this.#setup;
    if (transfers === null) {
      refuseInputs(effect, stores);
      return { launch: effect, staged: [], resume: null };
    }
    const { also: resume, ...staged } = await transfers.staging.stage(effect, name, async (bring) =>
      transfers.outputs === null
        ? null
        : transfers.outputs.restore(effect, checkpointDirOf(settings.directory ?? "", effect), bring),
    );
    return { ...staged, resume };
  }

  /** Creates the pods of an attempt that has none, or not all, and begins to bind them. */
  async start(watched: WatchedGang): Promise<void> {
    const effect = this.#effects.get(watched.name);
    if (effect === undefined || this.#starting.has(watched.name)) return;
    this.#starting.add(watched.name);
    try {
      await this.#start(watched, effect);
    } catch (error) {
      this.#cannotLaunch(watched.files, effect, error);
    } finally {
      this.#starting.delete(watched.name);
    }
  }

  async stop(effect: StopGang): Promise<void> {
    const { store, watch } = this.#setup;
    const files = store.filesOf(effect.attemptId);
    const { name } = files.key;
    const state = readState(files);
    if (state.kind === "absent") {
      if (!watch.hasEnded(name)) watch.tellLost(name, effect.attemptId, "It was never launched here.");
      return;
    }
    watch.track(effect.attemptId, files);
    if (state.kind === "ended") return;
    // Its pods have no node and get none: the tidying removes them.
    if (state.kind === "unclaimed" && voidAttempt(files, "It was stopped before it started."))
      return watch.notice(name);
    requestStop(files, effect);
    watch.notice(name);
  }

  requestCheckpoint({ attemptId, untilMs }: CheckpointGang): void {
    const { store, watch, jobFiles } = this.#setup;
    const files = store.filesOf(attemptId);
    if (readState(files).kind !== "running") return;
    watch.track(attemptId, files);
    const own = jobFiles(files);
    // A request that is repeated after a restart must not extend the deadline.
    if (requestedUntilMs(own) === null) requestCheckpoint(own, untilMs);
  }

  forget(name: string): void {
    this.#effects.delete(name);
  }

  async #start(watched: WatchedGang, effect: LaunchGang): Promise<void> {
    const { watch, onProblem, settings } = this.#setup;
    const { files, memory } = watched;
    if (!(await this.#completeNodes(watched, effect))) return this.#wait(watched, this.#setup.copy.problem);
    if (isAdopted(effect)) return this.#startAdopted(watched, effect);
    const plan = this.#planOf(files, effect);
    const service = serviceDocument(plan);
    const objects = podDocuments(plan);
    const outcomes = [
      ...(await allOf(objects, (pod) => this.#createPod(pod, effect, plan))),
      ...(service === null ? [] : [await this.#setup.api.create("services", service)]),
    ];
    const refused = outcomes.find((each) => each.kind === "refused");
    if (refused !== undefined) return watch.refuse(files, refused.detail);
    const unknown = outcomes.find((each) => each.kind === "unknown");
    if (unknown !== undefined) {
      onProblem(`Attempt ${watched.attemptId}: its pods could not be created: ${unknown.detail}`);
      memory.startedWaitingAtMs ??= performance.now();
      if (performance.now() - memory.startedWaitingAtMs > settings.startTimeoutMs) throw new Error(unknown.detail);
      const isSilent = outcomes.every((each) => each.kind === "unknown" && each.isSilent === true);
      return this.#wait(watched, isSilent ? unknown.detail : null);
    }
    const place = { version: 1, namespace: namespaceOf(effect, settings), base: plan.identity.base } as const;
    await this.#bind(watched, place, plan.nodes);
  }

  async #startAdopted(watched: WatchedGang, effect: LaunchGang): Promise<void> {
    const place = readPlace(watched.files);
    if (place === null) throw new Error("the record of its pods is missing");
    const nodes = this.#nodesOf(effect);
    if (!(await this.#adopted.mark(effect, place))) return this.#wait(watched, this.#setup.copy.problem);
    await this.#bind(watched, place, nodes);
    const names = nodes.map(({ name }) => name);
    this.#setup.adoption?.tellBound(place.namespace, place.pods ?? [], names);
  }

  /**
   * `silence`: the server did not answer. If that lasts, the attempt is given back, so that it runs in another cluster: its pods have no node
   * and get none.
   */
  #wait(watched: WatchedGang, silence: string | null): void {
    const nowMs = performance.now();
    delayRetry(watched);
    watched.silentSinceMs = silence === null ? null : (watched.silentSinceMs ?? nowMs);
    if (silence === null || watched.silentSinceMs === null) return;
    if (nowMs - watched.silentSinceMs < this.#setup.settings.giveBackAfterMs) return;
    this.#setup.onSilence(silence);
    throw new Error(`the cluster did not answer (${silence})`);
  }

  /** The claim comes before the first binding: from then on the attempt may run, and a stop waits for its end. */
  async #bind(watched: WatchedGang, place: PodPlace, nodes: readonly KubernetesFleetNode[]): Promise<void> {
    const { files, name } = watched;
    const supervisor = { pid: process.pid, startTicks: 0 };
    if (!files.create("claim.json", { kind: "supervised", bootId: "", supervisor, jobId: place.base })) return;
    const ranks = nodes.map((_, rank) => rank);
    const names = nodes.map((node) => node.name);
    this.#bindingCount += 1;
    const binding = await this.#actions.bind(place, ranks, names).finally(() => (this.#bindingCount -= 1));
    watched.retries = 0;
    delayRetry(watched);
    if (binding.kind === "impossible") {
      const detail = `Its pods could not be bound: ${binding.detail}.`;
      await this.#actions.endAdopted(watched, place);
      if (!recordAdoptedLoss(files, files.readIfSound("launch.json"), detail)) recordLost(files, { detail });
    }
    this.#setup.watch.notice(name);
  }

  /** A pod that exists may be the attempt's own: the answer about its creation was lost, or another process created it. */
  async #createPod(pod: NewObject, { attemptId }: LaunchGang, { identity }: PodPlan): Promise<Outcome> {
    const { api } = this.#setup;
    const outcome = await api.create("pods", pod);
    if (outcome.kind !== "conflict") return outcome;
    try {
      const found = await api.find(pod.metadata.namespace, pod.metadata.name);
      if (found === null) return { kind: "unknown", detail: outcome.detail };
      if (carriesAttempt(found, identity, attemptId)) return { kind: "done" };
      return { kind: "refused", detail: `the pod ${pod.metadata.name} belongs to something else` };
    } catch (error) {
      return { kind: "unknown", detail: messageOf(error) };
    }
  }

  #cannotLaunch(files: AttemptFiles, effect: LaunchGang, error: unknown): void {
    const { watch } = this.#setup;
    const detail = `It could not be launched: ${messageOf(error)}.`;
    this.#setup.transfers?.staging.release(files.key.name);
    if (error instanceof StagingFailure && error.lossCause !== null) {
      recordLost(files, { detail: error.message, cause: error.lossCause });
      watch.track(effect.attemptId, files);
      return;
    }
    if (error instanceof RefusedGang) {
      recordLost(files, { detail, cause: error.lossCause });
      watch.track(effect.attemptId, files);
      return;
    }
    const known = readState(files);
    if (error instanceof UnusableNode) watch.leaveNode(error.node.name, error.node.outOfService ?? error.message);
    if (known.kind === "absent") watch.tellLost(files.key.name, effect.attemptId, detail);
    else if (known.kind === "unclaimed" && voidAttempt(files, detail)) watch.notice(files.key.name);
  }

  /**
   * A list may have left out a decided node. Returns false while the cluster does not say whether there is one: a silent cluster loses no
   * launch.
   */
  async #completeNodes({ memory }: WatchedGang, effect: LaunchGang): Promise<boolean> {
    const { api, copy } = this.#setup;
    if (copy.problem !== null) return false;
    try {
      for (const name of new Set(effect.workers.map(({ node }) => nodeNameOf(effect, node)))) {
        if (copy.hasNode(name)) continue;
        const node = await api.findNode(name);
        memory.denials = node === null ? memory.denials + 1 : 0;
        if (node !== null) copy.putNode(node);
        else if (memory.denials < DENIALS_MIN) return false;
      }
      return true;
    } catch {
      return false;
    }
  }

  /** Throws if a node cannot run what was decided. */
  #nodesOf(effect: LaunchGang): readonly KubernetesFleetNode[] {
    const names = new Set(effect.workers.map(({ node }) => nodeNameOf(effect, node)));
    const nodes = this.#setup.copy.nodesNamed(names);
    return effect.workers.map(({ node: id }) => {
      const node = nodes.get(id);
      if (node === undefined) throw new Error(`the node ${id} is not in the cluster's list`);
      if (node.outOfService !== null) throw new UnusableNode(node);
      return node;
    });
  }

  #planOf(files: AttemptFiles, launch: LaunchGang): PodPlan {
    const { settings, installation } = this.#setup;
    const record = files.read("launch.json");
    const place = readPlace(files);
    if (record === null || place === null) throw new Error("the record of its launch is missing");
    return {
      launch,
      identity: { base: place.base, installation },
      nodes: this.#nodesOf(launch),
      environments: record.environments,
      workingDir: record.workingDir === "" ? null : record.workingDir,
      mounts: (rank) => [
        ...this.#mountsOf(files, launch, rank),
        ...(place.inputs ?? []).map((subPath) => ({ subPath, readOnly: true })),
      ],
      settings,
    };
  }

  /** A pod sees its own directories alone, and requests only to read them. */
  #mountsOf({ key }: AttemptFiles, launch: LaunchGang, rank: number): readonly PodMount[] {
    const below = (root: string, name: string): string => path.join(path.basename(root), name);
    return [
      { subPath: below(workRootOf(key.homeDir), key.name), readOnly: false },
      { subPath: below(workRootOf(key.homeDir), `${key.name},${rank}`), readOnly: false },
      { subPath: below(requestRootOf(key.homeDir), key.name), readOnly: true },
      { subPath: below(checkpointRootOf(key.homeDir), taskDirName(launch)), readOnly: false },
    ];
  }

  /** The record and its names are on disk before a pod is created. */
  async #recordLaunch(files: AttemptFiles, { launch: effect, staged, resume }: PreparedLaunch): Promise<void> {
    const { store, log, installation, settings, jobFiles, transfers } = this.#setup;
    const { spec, attemptId, workloadId, sequence, workers } = effect;
    // Refuses before anything exists what the rules do not map.
    serviceAccountOf(effect, settings);
    const base = baseName(installation, attemptId);
    makeAttemptDirectories(files, 0);
    const own = jobFiles(files);
    await inTurns(workers.length, (rank) => {
      makeAttemptDirectories(partFiles(files.key, rank), 1);
      if (own !== files) makeAttemptDirectories(partFiles(own.key, rank), 0);
    });
    if (own !== files) makeAttemptDirectories(own, 0);
    const environments = this.#environmentsOf(own, { effect, base, resume });
    const record: LaunchRecord = {
      attemptId,
      workloadId,
      sequence,
      // Pods outlive this machine.
      bootId: "",
      run: spec.run,
      workingDir: spec.dir ?? (settings.directory === undefined ? "" : own.jobDir),
      checkpointDir: environments[0]?.["HEADROOM_CHECKPOINT_DIR"] ?? "",
      graceTimeoutMs: spec.graceTimeoutMs,
      log,
      environments,
      parts: workers.map(({ node }, rank) => ({ node: nodeNameOf(effect, node), ranks: [rank] })),
    };
    transfers?.outputs?.order(own, effect);
    const inputs = staged.map((each) => path.relative(settings.directory ?? "", each));
    const place = { version: 1, namespace: namespaceOf(effect, settings), base } as const;
    const logRule = logRuleOf(spec.data?.rule, settings.logRules);
    await recordPlace(files, {
      ...place,
      ...(logRule === null ? {} : { logRule }),
      ...(inputs.length === 0 ? {} : { inputs }),
    });
    await files.writeDurably("launch.json", record);
    await syncDirectory(store.attemptsDir);
    const refusal = environments.map((each) => tooLong(spec.run, each)).find((each) => each !== null);
    if (refusal !== undefined && refusal !== null) this.#setup.watch.refuse(files, refusal);
  }

  /** The image decides `PATH` and the variables of a login, such as `HOME`. */
  #environmentsOf(
    own: AttemptFiles,
    {
      effect,
      base,
      resume,
    }: { readonly effect: LaunchGang; readonly base: string; readonly resume: ResumePoint | null },
  ): readonly Readonly<Record<string, string>>[] {
    const { settings } = this.#setup;
    const { directory } = settings;
    const { address, port } = rendezvousOf(effect, base, settings);
    const place = {
      progressFile: LOG_OF_CONTAINER,
      checkpointRequestFile: directory === undefined ? NO_REQUEST : own.checkpointRequestFile,
      checkpointDir:
        directory === undefined
          ? (effect.spec.checkpointDir ?? CONTAINER_CHECKPOINTS)
          : checkpointDirOf(directory, effect),
      resume,
      session: {},
      // A container has the devices that the device plugin chose, counted from 0.
      devices: effect.workers.map(({ accelerators }) => ({
        vendor: "none" as const,
        indices: acceleratorIndices(accelerators).map((_, index) => index),
      })),
    };
    return workerEnvironments(effect, place).map(({ PATH: _path, ...environment }, rank) => ({
      ...environment,
      ...(effect.spec.env["PATH"] === undefined ? {} : { PATH: effect.spec.env["PATH"] }),
      ...(directory === undefined ? {} : { HEADROOM_PROGRESS_FILE: partFiles(own.key, rank).progressFile }),
      MASTER_ADDR: address,
      MASTER_PORT: String(port),
    }));
  }
}
