/**
 * The history of one workload, told about this workload: placements, stops, preemptions with their ground, nominations,
 * growth and shrinking. Progress reports are not included.
 */
import { capitalized, rolloutEventText } from "./rollout-text.ts";
import { groundText, typesText } from "./scale-text.ts";
import type { Event, EventEnvelope, EvictionPlan } from "@headroom/protocol";
import { nodesText, ranksText } from "./event-sentence.ts";
import { checkpointWaitText, planSentence, stopReasonText, stopText, victimSentence } from "./eviction-text.ts";
import { durationText, plural } from "./plain-text.ts";
import { movementText } from "./store-event-text.ts";
import { dependencySentence, exitSentence } from "./workload-view.ts";
import { execText } from "./exec-text.ts";
import { changesText } from "./workload-changes.ts";

export interface StoryLine {
  readonly sequence: number;
  readonly atMs: number;
  readonly sentence: string;
  /** The attempts that the event is about; empty: it is about the workload, or a future attempt. */
  readonly attemptIds: readonly string[];
  /** Preemptor, victims and ground of a preemption; absent: there was none. */
  readonly plan?: EvictionPlan;
}

type OfKind<Kind extends Event["kind"]> = Extract<Event, { readonly kind: Kind }>;

/** Processes the events in order. Placements and nominations show which attempts belong to the workload. */
export class Story {
  readonly #workloadId: string;
  readonly #attempts = new Map<string, { readonly task: number; readonly number: number }>();

  constructor(workloadId: string) {
    this.#workloadId = workloadId;
  }

  /** Sets known attempts, for a history whose beginning is not read. */
  learn({ id, task, number }: { readonly id: string; readonly task: number; readonly number: number }): void {
    this.#attempts.set(id, { task, number });
  }

  attempts(): { readonly id: string; readonly task: number; readonly number: number }[] {
    return [...this.#attempts].map(([id, attempt]) => ({ id, ...attempt }));
  }

  taskOf(attemptId: string): number | null {
    return this.#attempts.get(attemptId)?.task ?? null;
  }

  /** A name such as `Attempt 2` or `Task 7, attempt 1`; `null`: the attempt does not belong to this workload. */
  #nameOf(attemptId: string): string | null {
    const known = this.#attempts.get(attemptId);
    if (known === undefined) return null;
    return known.task === 0 ? `Attempt ${known.number}` : `Task ${known.task}, attempt ${known.number}`;
  }

  knows(attemptId: string): boolean {
    return this.#attempts.has(attemptId);
  }

  /** A line of the history; `null`: the event does not concern this workload. */
  tell({ sequence, event }: EventEnvelope): StoryLine | null {
    const sentence = this.#sentence(event);
    if (sentence === null) return null;
    const line = { sequence, atMs: event.atMs, sentence, attemptIds: this.#about(event) };
    if (event.kind !== "evictionPlanned") return line;
    const { kind: _kind, version: _version, atMs: _atMs, ...plan } = event;
    return { ...line, plan };
  }

  #about(event: Event): readonly string[] {
    if (event.kind === "evictionPlanned")
      return event.victims.flatMap(({ attemptId }) => (this.knows(attemptId) ? [attemptId] : []));
    if (event.kind === "placementNominated") return [event.nomination.attemptId];
    return "attemptId" in event && this.knows(event.attemptId) ? [event.attemptId] : [];
  }

  #sentence(event: Event): string | null {
    if (event.kind === "evictionPlanned") return this.#planSentence(event);
    if (event.kind === "placementNominated") return this.#nominationSentence(event);
    if (event.kind === "opportunisticJobRelabelled") return this.#opportunisticJobSentence(event);
    if ("workloadId" in event) return event.workloadId === this.#workloadId ? this.#ownSentence(event) : null;
    if (!("attemptId" in event)) return null;
    const name = this.#nameOf(event.attemptId);
    return name === null ? null : attemptSentence(event, name);
  }

  /**
   * Lines for both sides: for the work that continues on idle capacity, and for the work that gets its team's place.
   */
  #opportunisticJobSentence({ attemptId, workloadId }: OfKind<"opportunisticJobRelabelled">): string | null {
    const name = this.#nameOf(attemptId);
    if (name !== null)
      return `${name} continues as an opportunistic job: its team's cells are given to workload ${workloadId}.`;
    return workloadId === this.#workloadId
      ? `It is given the cells of its team that attempt ${attemptId} held, which continues as an opportunistic job.`
      : null;
  }

  #planSentence(event: OfKind<"evictionPlanned">): string | null {
    if (event.workloadId === this.#workloadId) return planSentence(event);
    const victims = event.victims.filter(({ attemptId }) => this.knows(attemptId));
    return victims.length === 0 ? null : victimSentence(event, victims);
  }

  #nominationSentence({ nomination }: OfKind<"placementNominated">): string | null {
    if (nomination.workloadId !== this.#workloadId) return null;
    this.learn({ ...nomination, id: nomination.attemptId });
    const what = plural(nomination.workers.length, nomination.growth ? "further worker" : "worker");
    return `It is nominated for ${what} on ${nodesText(nomination.workers)}, which are being freed.`;
  }

  /** Facts that the ends of attempts do not show, such as the wait for a dependency. */
  #endCause({ reason }: OfKind<"workloadEnded">): string {
    return reason.kind === "dependencyNotMet" ? ` ${dependencySentence(undefined, reason)}` : "";
  }

  #ownSentence(event: Extract<Event, { readonly workloadId: string | null }>): string | null {
    switch (event.kind) {
      case "workloadSubmitted":
        return `${event.actor} submitted it.`;
      case "workloadRerun":
        return `${event.actor} ran it again.`;
      case "workloadChanged":
        return `${event.actor} changed it: ${changesText(event.changes)}.`;
      case "workloadHeld":
        return `${event.actor} held it: no further task starts.`;
      case "workloadReleased":
        return `${event.actor} released it.`;
      case "workloadStopRequested":
        return `${event.actor} stopped it.`;
      case "taskStopRequested":
        return `${event.actor} stopped its task ${event.task}.`;
      case "rolloutStarted":
      case "rolloutSteered":
      case "rolloutSized":
      case "rolloutEnded":
        return capitalized(rolloutEventText(event));
      case "endpointScaled":
        return `${event.actor} set ${plural(event.replicas, "replica")}${groundText(event.ground)}${typesText(event.acceleratorTypes)}.`;
      case "workloadEnded":
        return `It ended: ${event.phase}.${this.#endCause(event)}`;
      case "gangPlaced": {
        this.learn({ ...event, id: event.attemptId });
        const kept = event.launchAtMs === undefined ? "" : " It keeps this place during its back-off.";
        return `${this.#nameOf(event.attemptId)} was placed: ${plural(event.workers.length, "worker")} on ${nodesText(event.workers)}.${kept}`;
      }
      case "hotSpareReleased":
        return `It took the hot spare ${event.nodeId}.`;
      default:
        return null;
    }
  }
}

/** Events of attempts; `null` for progress reports and checkpoints, which pages show separately. */
function attemptSentence(event: Extract<Event, { readonly attemptId: string }>, name: string): string | null {
  switch (event.kind) {
    case "backoffEnded":
      return `${name} is launched: its back-off is over.`;
    case "bytesTransferred":
      return `${name} ${movementText(event)}.`;
    case "attemptStarted":
      return `${name} started.`;
    case "replicaReady":
      return `${name} takes requests.`;
    case "replicaNotReady":
      return `${name} answers no more: ${event.detail}`;
    case "execStarted":
      return `${event.actor} ran ${execText(event)} in worker ${event.worker} of ${name}.`;
    case "predictionCorrected":
      return `${name} has run longer than predicted; its expected run time is now ${durationText(event.prediction.durationMs)}.`;
    case "attemptStopRequested":
      return `${name} is being stopped: ${stopText(event)}.`;
    case "checkpointRequested":
      return `${name} was asked for a checkpoint before it stops.`;
    case "checkpointWaitEnded":
      return `${name} is stopped now: ${checkpointWaitText[event.outcome]}.`;
    case "attemptEnded": {
      const exit = event.exit === null ? "" : `, ${exitSentence(event.exit)}`;
      return `${name} ended: ${event.outcome}${exit}${event.detail === "" ? "" : ` (${event.detail})`}.`;
    }
    case "artifactNotRegistered":
      return `${name} succeeded, but ${event.name} was not registered: ${event.detail}`.replace(/\.?$/, ".");
    case "gangShrinkRequested":
      return `It shrinks to ${plural(event.workers, "worker")}: ${stopReasonText[event.reason]}.`;
    case "workersLeft":
      return "Its stopped workers have ended.";
    case "gangGrown":
      return `It grows by ${plural(event.workers.length, "worker")} on ${nodesText(event.workers)}.`;
    case "joinFailed":
      return `It stays at ${plural(event.workers, "worker")}: further workers did not start (${event.detail}).`;
    case "gangDegraded":
      return event.ahead === true
        ? `${name} gives up ${ranksText(event.lostRanks)} on node ${event.nodeId}, which is going away.`
        : `${name} lost ${ranksText(event.lostRanks)} with node ${event.nodeId}.`;
    case "workersReplaced":
      return `It gets ${plural(event.workers.length, "replacement worker")} on ${nodesText(event.workers)}.`;
    case "workersJoined":
      return "Its replacement workers have joined.";
    case "nominationWithdrawn":
      return `Its nomination is withdrawn: ${event.reason}.`;
    default:
      return null;
  }
}
