/** Sentences about pools whose executor lacks an ability that work needs. */
import type { BlockedReason } from "@headroom/model";
import { grouped, plural } from "./plain-text.ts";

export const imageSentence = ({
  image,
  pools,
  placeableWorkers,
  workers,
}: BlockedReason & { readonly kind: "image" }): string =>
  pools.length === 0
    ? `Image: no pool runs container images, as ${image} needs.`
    : `Image: ${grouped(placeableWorkers)} of ${plural(workers, "worker")} ${placeableWorkers === 1 ? "fits" : "fit"} in pools that run container images (${pools.join(", ")}).`;

export const secretsSentence = ({
  pools,
  placeableWorkers,
  workers,
}: BlockedReason & { readonly kind: "secrets" }): string =>
  pools.length === 0
    ? "Secrets: no pool gives the workers the secrets that they name (`secrets` of a Kubernetes executor)."
    : `Secrets: ${grouped(placeableWorkers)} of ${plural(workers, "worker")} ${placeableWorkers === 1 ? "fits" : "fit"} in pools that give the workers their secrets (${pools.join(", ")}).`;
