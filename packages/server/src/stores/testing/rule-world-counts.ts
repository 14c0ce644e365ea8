/** Events of a rule world, counted: a sample asserts that every route was taken. */
export interface RuleWorldCounts {
  /** Attempts that had their inputs, and those that were refused them. */
  started: number;
  refusedStarts: number;
  /** Commands and declarations that were refused. */
  refusals: number;
  registered: number;
  uploads: number;
  drains: number;
  resumes: number;
  /** Starts in the pool whose nodes share a directory, and of those in a directory that the work names. */
  clusterStarts: number;
  namedStarts: number;
  /** Artifacts of MLflow runs that the control plane took, and those that it refused. */
  mlflowUploads: number;
  mlflowRefusals: number;
  /** Artifacts that came before their run was linked to its workload, and starts to which the newest artifact was not given. */
  mlflowLinks: number;
  mlflowWithheld: number;
  movedNodes: number;
  files: number;
  /** Files and jobs with bytes of a rule. */
  ruled: number;
}

export const noCounts = (): RuleWorldCounts => ({
  started: 0,
  refusedStarts: 0,
  refusals: 0,
  registered: 0,
  uploads: 0,
  drains: 0,
  resumes: 0,
  clusterStarts: 0,
  namedStarts: 0,
  mlflowUploads: 0,
  mlflowRefusals: 0,
  mlflowLinks: 0,
  mlflowWithheld: 0,
  movedNodes: 0,
  files: 0,
  ruled: 0,
});
