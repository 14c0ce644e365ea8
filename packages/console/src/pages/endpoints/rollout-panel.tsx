/** The rollout of an endpoint: step, share of requests, replicas, and the readings of both revisions with the verdict. */
import type { Endpoint } from "@headroom/protocol";
import { grouped, rolloutFigureText } from "@headroom/views";
import type { ReactElement } from "react";
import { Facts, type Fact } from "../../parts/facts.tsx";
import { Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Moment } from "../../parts/time-text.tsx";

type RolloutState = NonNullable<Endpoint["rollout"]>;

export function RolloutPanel({ rollout }: { readonly rollout: RolloutState }): ReactElement {
  const { number, fromNumber, cause, changed, actor, steps, step, replicas, requests, weightMilli, shadowMilli } =
    rollout;
  const facts: readonly Fact[] = [
    { name: "State", value: rollout.sentence },
    {
      name: "Started",
      value: (
        <>
          <Moment atMs={rollout.startedAtMs} /> by {actor}:{" "}
          {cause === "alias" ? "the alias of its model moved" : `changed ${changed.join(", ")}`}
        </>
      ),
    },
    { name: "Steps", value: steps === null ? "replica by replica" : stepsText(steps, step) },
    ...(shadowMilli === null
      ? []
      : [{ name: "Copied requests", value: `${shadowMilli / 10}%; no client gets the answers of the new revision` }]),
    ...(weightMilli === null ? [] : [{ name: "Requests now", value: `${weightMilli / 10}% to the new revision` }]),
    {
      name: "Replicas",
      value: `${replicas.canaryReady} of ${replicas.canary} new ones ready, ${replicas.stableReady} of ${replicas.stable} present ones`,
    },
    ...(requests === null
      ? []
      : [
          {
            name: "Compared",
            value: `${grouped(requests.canary)} requests of the new revision, ${grouped(requests.baseline)} of the present one`,
          },
        ]),
    ...rollout.figures.map((figure) => ({ name: names[figure.figure], value: rolloutFigureText(figure) })),
    { name: "Deadline", value: <Moment atMs={rollout.deadlineAtMs} /> },
  ];
  return (
    <Panel title={`Rollout of revision ${number} after ${fromNumber}`}>
      {rollout.verdict === null ? null : (
        <p className="px-4 pt-3">
          Verdict <Badge tone={rollout.verdict === "good" ? "good" : "wait"}>{verdicts[rollout.verdict]}</Badge>
        </p>
      )}
      <Facts facts={facts} />
    </Panel>
  );
}

const names = { errorRate: "Errors", ttft: "First token", tpot: "Per token", quality: "Score of answers" } as const;

const verdicts = { worse: "worse", suspect: "suspect", unknown: "too few requests", good: "not worse" } as const;

const stepsText = (steps: readonly number[], at: number): string =>
  `${steps.map((share) => (share === 0 ? "copies" : `${share}%`)).join(", ")}; now step ${at + 1}`;
