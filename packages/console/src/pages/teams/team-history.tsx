/** Accelerators that one team held over the last day or month. */
import type { Team } from "@headroom/protocol";
import { useState } from "react";
import type { ReactElement } from "react";
import { Select } from "../../parts/controls.tsx";
import { Panel } from "../../parts/page.tsx";
import { SubjectHistory } from "../../parts/subject-history.tsx";

export function TeamHistory({ teams }: { readonly teams: readonly Team[] }): ReactElement {
  const [chosen, setChosen] = useState<string | null>(null);
  const name = teams.find((team) => team.name === chosen)?.name ?? teams[0]?.name ?? "default";
  return (
    <Panel title="One team over time">
      <div className="px-4 pt-2">
        <Select
          label="Team"
          value={name}
          options={teams.map((team) => ({ value: team.name, label: team.name }))}
          onValue={setChosen}
        />
      </div>
      <SubjectHistory
        subject={`team:${name}`}
        title={`Held by ${name}`}
        unit="accelerators held, teams below included"
        metrics={[{ metric: "held", label: "held", tone: "run" }]}
      />
    </Panel>
  );
}
