import type { FabricRequest } from "../network/fabric-request.ts";
import type { StorageTier } from "../storage/axes.ts";
import { sizeFailures, type FailureReport, type FailureSizing } from "./failures.ts";
import { sizeNetwork, type JobMix, type NetworkReport } from "./network.ts";
import type { Impossible } from "./resolve.ts";
import { sizeServing, type ServingReport, type ServingSizing, type Unknown } from "./serving.ts";
import { sizeStorage, type StorageReport, type StorageSizing } from "./storage.ts";
import { sizeTraining, type TrainingReport } from "./training.ts";
import type { TrainingSizing } from "./training-setting.ts";

/** A question to the model. The command line, the API and the console use the same form. */
export type SizingQuestion =
  | { readonly kind: "training"; readonly training: TrainingSizing }
  | { readonly kind: "serving"; readonly serving: ServingSizing }
  | { readonly kind: "network"; readonly network: FabricRequest; readonly mix?: JobMix | undefined }
  | { readonly kind: "storage"; readonly storage: StorageSizing; readonly tiers: readonly StorageTier[] }
  | { readonly kind: "failures"; readonly failures: FailureSizing };

export type SizingAnswer =
  | TrainingReport
  | ServingReport
  | Unknown
  | NetworkReport
  | ({ readonly kind: "storage" } & StorageReport)
  | ({ readonly kind: "failures" } & FailureReport)
  | Impossible;

export function answerSizing(question: SizingQuestion): SizingAnswer {
  switch (question.kind) {
    case "training":
      return sizeTraining(question.training);
    case "serving":
      return sizeServing(question.serving);
    case "network":
      return sizeNetwork(question.network, question.mix);
    case "storage":
      return { kind: "storage", ...sizeStorage(question.storage, question.tiers) };
    case "failures":
      return { kind: "failures", ...sizeFailures(question.failures) };
  }
}
