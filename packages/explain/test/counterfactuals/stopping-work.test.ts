import { expect, it } from "vitest";
import { Drive, applied, command, node, pool, site, spec, team } from "@headroom/engine/testing";
import { smallestChanges } from "../../src/index.ts";

it("names the end of work that is already stopping, if its usage is all that blocks", () => {
  const drive = new Drive();
  const research = { ...team("research"), userLimit: { accelerators: 4 } };
  drive.receive(applied({ sites: [site], pools: [pool("H100")], teams: [research] }));
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100", { acceleratorCount: 8 }) });
  for (const name of ["running", "waiting"])
    drive.receive(
      command({ kind: "submitWorkload", spec: spec(name, { team: research.name, gang: { accelerators: 4 } }) }),
    );
  const [running, waiting] = [...drive.engine.state.workloads.keys()];
  drive.receive(command({ kind: "stopWorkload", workloadId: running! }));
  const [attempt] = [...drive.engine.state.attempts.values()];
  expect(attempt?.stop?.reason).toBe("cancelled");
  const ends = smallestChanges(drive.engine, waiting!).find(({ change }) => change.kind === "afterEnds");
  expect(ends?.change).toMatchObject({ count: 1, workloadId: running });
});
