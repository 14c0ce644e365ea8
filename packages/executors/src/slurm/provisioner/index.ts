/** The provisioner of Slurm's cloud nodes, for `headroom provision slurm`. */
export { answerOrder, slurmProvisionerSettings } from "./slurm-provisioner.ts";
export type { OrderRequest, SlurmProvisionerSettings } from "./slurm-provisioner.ts";
