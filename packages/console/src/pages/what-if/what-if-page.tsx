/**
 * The what-if page: a forecast without and with a change, or recorded work under another policy. The engine computes
 * both.
 */
import { getRouteApi } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { fleetQuery, nodesQuery, policyQuery, presetsQuery, teamsQuery } from "../../data/queries.ts";
import { Segments } from "../../parts/controls.tsx";
import { Page } from "../../parts/page.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { whatIfDefault, type WhatIfTime } from "../../routes/search-params.ts";
import { noChange } from "./change.ts";
import { NextHours } from "./next-hours.tsx";
import { RecordedPast } from "./recorded-past.tsx";

const route = getRouteApi("/what-if");

const times: readonly { readonly value: WhatIfTime; readonly label: string }[] = [
  { value: "next", label: "The next hours" },
  { value: "past", label: "Recorded work" },
];

export function WhatIfPage(): ReactElement {
  const { of = whatIfDefault } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useClient();
  const [change, setChange] = useState(noChange);
  const nodes = useQuery(nodesQuery(client));
  const fleet = useQuery(fleetQuery(client));
  const teams = useQuery(teamsQuery(client));
  const presets = useQuery(presetsQuery(client));
  const policy = useQuery(policyQuery(client));
  const answers = [nodes, fleet, teams, presets, policy];
  const error = answers.find((answer) => answer.error !== null)?.error;
  const isThere =
    nodes.data !== undefined &&
    fleet.data !== undefined &&
    teams.data !== undefined &&
    presets.data !== undefined &&
    policy.data !== undefined;
  const Shown = of === "past" ? RecordedPast : NextHours;
  return (
    <Page
      title="What if"
      layout="flow"
      summary={
        of === "past"
          ? "Recorded work under another policy, or with other teams"
          : "A forecast with and without a change; nothing is recorded"
      }
      toolbar={
        <Segments
          label="Which time"
          name="time"
          value={of}
          options={times}
          onValue={(time) => void navigate({ search: time === whatIfDefault ? {} : { of: time }, replace: true })}
        />
      }
    >
      {isThere ? (
        <Shown
          change={change}
          onChange={setChange}
          nodes={nodes.data}
          fleet={fleet.data}
          teams={teams.data}
          presets={presets.data.items}
          activePolicy={policy.data.name}
        />
      ) : error === undefined ? (
        <Loading label="Loading the fleet" />
      ) : (
        <Failure error={error} onRetry={() => void Promise.all(answers.map((answer) => answer.refetch()))} />
      )}
    </Page>
  );
}
