/** The chapters, in order. A new chapter is one file and one line here. Those whose programs are not installed are left out. */
import type { Chapter } from "../chapter.ts";
import { controlPlaneKilled } from "./control-plane-killed.ts";
import { failedAndRerun } from "./failed-and-rerun.ts";
import { lostLeaf } from "./lost-leaf.ts";
import { preemption } from "./preemption.ts";
import { retrained } from "./retrained.ts";
import { size } from "./size.ts";
import { slurmCluster, whyNoSlurmChapter } from "./slurm-cluster.ts";
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
  retrained,
  ...(whyNoSlurmChapter() === null ? [slurmCluster] : []),
];
