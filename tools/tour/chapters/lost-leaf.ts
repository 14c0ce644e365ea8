import type { Chapter } from "../chapter.ts";
import type { Stage } from "../stage.ts";

const LEAF = ["leaf-1", "leaf-2"] as const;
/** Work runs this long before its leaf is lost, so that the repeated work has a price that can be seen. */
const WORKED_MS = 3_000;

interface Incident {
  readonly title: string;
}

interface Drill {
  readonly id: string;
  readonly nodes: readonly string[];
  readonly expected: Effects & { readonly incidents: readonly { readonly workloads: number }[] };
  readonly observed: Effects;
}

interface Effects {
  readonly interruptedCount: number;
  readonly waitingCount: number;
  readonly lostMicroUsd: number;
  readonly work: readonly { readonly name: string; readonly againOn: readonly string[] }[];
}

export const lostLeaf: Chapter = {
  name: "lost-leaf",
  shows: "A lost leaf is one incident; its work runs again on the other leaf, and the price is known before and after.",
  needs: [],
  run: (stage) => stage.apart(play),
};

async function play(stage: Stage): Promise<void> {
  await stage.startFleet(4);
  const { items } = await stage.json<{ items: { id: string }[] }>("nodes");
  const nodes = items.map(({ id }) => id);
  stage.write("fleet.yaml", fleetOf(nodes));
  await stage.headroom("apply", "-f", "fleet.yaml", "--yes");
  await stage.headroom("run", "--name", "train", "--workers", "2", "--gpus", "2", "--cores", "0", "--", "sleep 3600");
  const { attempt } = await stage.until("the work runs", async () => {
    const { attempts } = await stage.json<{ attempts: Attempt[] }>("show", "train");
    const running = attempts.find(
      ({ phase, startedAtMs }) => phase === "running" && Date.now() - startedAtMs > WORKED_MS,
    );
    return running === undefined ? null : { attempt: running };
  });
  const on = attempt.workers.map(({ node }) => node);
  const leaf = LEAF[nodes.indexOf(on[0] ?? "") < 2 ? 0 : 1];
  const lost = nodes.filter((_, index) => LEAF[index < 2 ? 0 : 1] === leaf);
  stage.equal("the gang runs within one leaf", on.toSorted(), lost.toSorted());

  stage.note(`the ports of ${leaf} go down: ${lost.length} nodes report it`);
  const faults = [{ code: "link-down", severity: "critical", detail: "port down" }];
  for (const node of lost)
    await stage.request("POST", `/v1/nodes/${node}/faults`, { faults }, { "idempotency-key": `tour-${node}` });
  await stage.headroom("incident", "list");
  const { items: incidents } = await stage.json<{ items: Incident[] }>("incident", "list");
  stage.equal("the faults of all nodes are one incident", incidents.length, 1);
  stage.matches("the incident names the leaf", incidents[0]?.title ?? "", new RegExp(`leaf local/${leaf}\\b`));

  await stage.headroom("drill", "lose", leaf);
  await stage.headroom("drill", "lose", leaf, "--real", "--yes", "--for", "1h");
  const drill = await stage.until("the work runs again", async () => {
    const shown = await stage.json<Drill>("drill", "show", "d1");
    return shown.observed.interruptedCount === 1 && shown.observed.waitingCount === 0 ? shown : null;
  });
  await stage.headroom("drill", "show", drill.id);
  const { expected, observed } = drill;
  stage.equal(
    "one incident is expected of the loss, and it hits the work",
    expected.incidents.map(({ workloads }) => workloads),
    [1],
  );
  stage.equal(
    "the work runs again on the other leaf, as expected",
    [expected, observed].map(({ work }) => work.map(({ name, againOn }) => [name, againOn.toSorted()])),
    Array.from({ length: 2 }, () => [["train", nodes.filter((node) => !lost.includes(node)).toSorted()]]),
  );
  stage.holds("the repeated work has a price", observed.lostMicroUsd > 0, observed);
  await stage.headroom("drill", "cancel", drill.id);
  const { items: entries } = await stage.json<{ items: unknown[] }>("calendar");
  stage.equal("the leaf takes work again", entries, []);
}

interface Attempt {
  readonly phase: string;
  readonly startedAtMs: number;
  readonly workers: readonly { readonly node: string }[];
}

const fleetOf = (nodes: readonly string[]): string => `kind: fleet
sites:
  - name: local
    fabric: [leaf, node]
    pools:
      - name: local
        accelerator: slot
        price: 2.00 USD/h
        labels: { headroom.drills: allowed }
        nodeLabels:
${nodes.map((node, index) => `          ${node}: { leaf: ${LEAF[index < 2 ? 0 : 1]} }`).join("\n")}
`;
