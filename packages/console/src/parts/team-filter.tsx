import type { ReactElement } from "react";
import { useQuery } from "@tanstack/react-query";
import { useClient } from "../connect/session.ts";
import { teamsQuery } from "../data/queries.ts";
import { Select } from "./controls.tsx";

interface TeamFilterProps {
  /** `undefined`: all teams. */
  readonly team: string | undefined;
  readonly onTeam: (team: string | undefined) => void;
}

/** A selector that filters lists by team. */
export function TeamFilter({ team, onTeam }: TeamFilterProps): ReactElement {
  const { data: teams } = useQuery(teamsQuery(useClient()));
  const named = (teams ?? []).map(({ name }) => ({ value: name, label: name }));
  return (
    <Select
      label="Team"
      value={team ?? ""}
      options={[{ value: "", label: "All teams" }, ...named]}
      onValue={(value) => onTeam(value === "" ? undefined : value)}
    />
  );
}
