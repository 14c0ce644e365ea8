/** Accelerators of workers, where a worker may hold only a part of one. */
import { profileMilli } from "@headroom/engine";
import type { GangPart } from "@headroom/engine";

/** Thousandths of accelerators. */
export const milliIn = (parts: readonly GangPart[]): number =>
  parts.reduce((sum, { shape, workers }) => sum + workers * shape.accelerators * milliOfWorker(shape), 0);

const milliOfWorker = ({ shareMilli, profile }: GangPart["shape"]): number =>
  profile === undefined ? (shareMilli ?? 1000) : profileMilli(profile);
