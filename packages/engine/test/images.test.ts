/** Work with a container image, and pools whose executor does or does not run images. */
import { checkInvariants } from "@headroom/engine-oracle";
import { explain } from "@headroom/explain";
import { workloadId } from "@headroom/model";
import { expect, it } from "vitest";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const seen = (images?: boolean) =>
  ({
    kind: "executorSeen",
    executor: {
      id: pool("H100").executor,
      kind: "local",
      capabilities: {
        checkpointOnRequest: true,
        resize: true,
        replaceWorkers: false,
        logs: true,
        ...(images === undefined ? {} : { images }),
      },
    },
  }) as const;

it.each([[undefined], [false]])(
  "waits while the executor states images: %s, and starts when it runs them",
  (images) => {
    const drive = new Drive();
    drive.receive(seen(images), applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }));
    drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
    const submit = (name: string, changes: object) =>
      drive.receive(command({ kind: "submitWorkload", spec: { ...spec(name), ...changes } }));
    submit("in an image", { image: "localhost/a:1" });
    submit("plain", {});
    expect([...drive.engine.state.attempts.values()].map((attempt) => attempt.workloadId)).toEqual(["w2"]);
    expect(explain(drive.engine, workloadId("w1"))).toMatchObject({
      kind: "blocked",
      reasons: [{ kind: "image", image: "localhost/a:1", pools: [] }],
    });
    expect(checkInvariants(drive.engine)).toEqual([]);
    drive.receive(seen(true));
    expect([...drive.engine.state.attempts.values()].map((attempt) => attempt.workloadId)).toContain("w1");
  },
);
