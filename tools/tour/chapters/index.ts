/** The chapters, in order. A new chapter is one file and one line here. */
import type { Chapter } from "../chapter.ts";
import { controlPlaneKilled } from "./control-plane-killed.ts";
import { failedAndRerun } from "./failed-and-rerun.ts";
import { lostLeaf } from "./lost-leaf.ts";
import { preemption } from "./preemption.ts";
import { size } from "./size.ts";
import { start } from "./start.ts";
import { trained } from "./trained.ts";
import { whatIf } from "./what-if.ts";

export const chapters: readonly Chapter[] = [
  start,
  controlPlaneKilled,
  failedAndRerun,
  preemption,
  size,
  trained,
  whatIf,
  lostLeaf,
];
