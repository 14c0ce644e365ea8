/** Remediation of drift over HTTP. */
import type { Answer, Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

const listRemediations = ({ remediations }: ControlPlane): Answer<"listRemediations"> => remediations.list();

const checkRemediation = (
  { remediations }: ControlPlane,
  { params: { name } }: Call<"checkRemediation">,
): Promise<Answer<"checkRemediation">> => remediations.check(name);

const listRemediationRuns = ({ remediations }: ControlPlane): Answer<"listRemediationRuns"> => ({
  items: [...remediations.runs()],
});

const getRemediationRun = (
  { remediations }: ControlPlane,
  { params: { id } }: Call<"getRemediationRun">,
): Answer<"getRemediationRun"> => remediations.run(id);

const cancelRemediationRun = (
  { remediations }: ControlPlane,
  { params: { id }, actor }: Call<"cancelRemediationRun">,
): Promise<Answer<"cancelRemediationRun">> => remediations.cancel(id, actor);

export const remediationHandlers = {
  listRemediations,
  checkRemediation,
  listRemediationRuns,
  getRemediationRun,
  cancelRemediationRun,
};
