/** The form of a hypothetical change: nodes by pool, figures of teams, the policy. */
import type { Fleet, Node, Policy, Team } from "@headroom/protocol";
import { useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { Button } from "../../parts/button.tsx";
import { Field, Select, inputClass } from "../../parts/controls.tsx";
import { Panel } from "../../parts/page.tsx";
import {
  domainsOf,
  fieldNumber,
  usableCount,
  type AddedPool,
  type AddedSite,
  type Change,
  type TeamChange,
  type TriedCap,
} from "./change.ts";

interface ChangeFormProps {
  readonly change: Change;
  readonly onChange: (change: Change) => void;
  /** The fleet's nodes; `null`: this form cannot change nodes. */
  readonly nodes: readonly Node[] | null;
  readonly fleet: Fleet;
  readonly teams: readonly Team[];
  readonly presets: readonly Policy[];
  readonly activePolicy: string;
  readonly children: ReactNode;
  /** Called when the user selects a site, switch or rack to be lost. */
  readonly onLose?: (domain: string | null) => void;
}

const emptyTeamChange: TeamChange = { guarantee: {}, limit: {} };

export function ChangeForm(props: ChangeFormProps): ReactElement {
  const { change, onChange, nodes, fleet, teams, presets, activePolicy, children } = props;
  const onLose = props.onLose ?? ((lost: string | null): void => onChange({ ...change, lost }));
  const types = fleet.acceleratorTypes.map(({ type }) => type);
  return (
    <Panel title="Change">
      <div className="flex flex-col gap-5 px-4 py-4">
        {nodes === null ? null : (
          <Field id="what-if-lost" label="Lose">
            <Select
              id="what-if-lost"
              label="Lose"
              value={change.lost ?? ""}
              options={[
                { value: "", label: "nothing" },
                ...domainsOf(nodes).map((domain) => ({ value: domain, label: domain })),
              ]}
              onValue={(domain) => onLose(domain === "" ? null : domain)}
            />
          </Field>
        )}
        {nodes === null ? null : (
          <PoolFields
            nodes={nodes}
            pools={fleet.pools.map(({ name }) => name)}
            counts={change.nodes}
            onCounts={(counts) => onChange({ ...change, nodes: counts })}
          />
        )}
        {nodes === null ? null : (
          <NewPoolFields
            sites={fleet.sites.map(({ name }) => name)}
            types={types}
            pool={change.pool}
            onPool={(pool) => onChange({ ...change, pool })}
          />
        )}
        {nodes === null ? null : (
          <CapFields domains={domainsOf(nodes)} cap={change.cap} onCap={(cap) => onChange({ ...change, cap })} />
        )}
        <Field id="what-if-policy" label="Policy">
          <Select
            id="what-if-policy"
            label="Policy"
            value={change.policy ?? ""}
            options={[
              { value: "", label: nodes === null ? "The recorded policies" : `Unchanged (${activePolicy})` },
              ...presets.map(({ name }) => ({ value: name, label: name })),
            ]}
            onValue={(name) => onChange({ ...change, policy: name === "" ? null : name })}
          />
        </Field>
        <TeamFields
          teams={teams}
          types={types}
          changes={change.teams}
          onChanges={(changes) => onChange({ ...change, teams: changes })}
        />
        {children}
      </div>
    </Panel>
  );
}

interface PoolFieldsProps {
  readonly nodes: readonly Node[];
  readonly pools: readonly string[];
  readonly counts: Change["nodes"];
  readonly onCounts: (counts: Change["nodes"]) => void;
}

function PoolFields({ nodes, pools, counts, onCounts }: PoolFieldsProps): ReactElement {
  return (
    <fieldset>
      <legend className="mb-1 font-medium">Add or remove nodes</legend>
      <div className="flex flex-col gap-2">
        {pools.map((pool) => {
          const there = usableCount(nodes, pool);
          const id = `what-if-pool-${pool}`;
          return (
            <label key={pool} htmlFor={id} className="flex items-center justify-between gap-2 text-ink-2">
              <span>
                {pool} <span className="text-ink-3">({there} up)</span>
              </span>
              <NumberInput
                id={id}
                value={counts[pool] ?? 0}
                min={-there}
                max={1000}
                onValue={(count) => onCounts({ ...counts, [pool]: count ?? 0 })}
              />
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}

interface CapFieldsProps {
  readonly domains: readonly string[];
  readonly cap: TriedCap | undefined;
  readonly onCap: (cap: TriedCap) => void;
}

/** A cap on the power of a site, a switch or a rack. */
function CapFields({ domains, cap = { domain: "", kilowatts: 0 }, onCap }: CapFieldsProps): ReactElement {
  return (
    <fieldset>
      <legend className="mb-1 font-medium">Cap power</legend>
      <div className="flex flex-col gap-2 text-ink-2">
        <div className="flex items-center justify-between gap-2">
          <span aria-hidden="true">Of</span>
          <Select
            label="Domain with the cap"
            value={cap.domain}
            options={[{ value: "", label: "nothing" }, ...domains.map((domain) => ({ value: domain, label: domain }))]}
            onValue={(domain) => onCap({ ...cap, domain })}
          />
        </div>
        <label htmlFor="what-if-cap" className="flex items-center justify-between gap-2">
          Power in kW
          <NumberInput
            id="what-if-cap"
            value={cap.kilowatts === 0 ? null : cap.kilowatts}
            min={1}
            max={CAP_KW_MAX}
            onValue={(kilowatts) => onCap({ ...cap, kilowatts: kilowatts ?? 0 })}
          />
        </label>
      </div>
    </fieldset>
  );
}

/** A gigawatt. */
const CAP_KW_MAX = 1_000_000;

interface NewPoolFieldsProps {
  readonly sites: readonly string[];
  /** Types of the fleet, suggested for the new pool. */
  readonly types: readonly string[];
  readonly pool: AddedPool | undefined;
  readonly onPool: (pool: AddedPool) => void;
}

/** Fields of an additional pool. The fleet need not have its accelerator type or its site. */
function NewPoolFields({ sites, types, pool, onPool }: NewPoolFieldsProps): ReactElement {
  const known: AddedPool = pool ?? {
    site: sites[0] ?? emptySite,
    acceleratorType: "",
    nodes: 0,
    acceleratorsPerNode: 8,
  };
  return (
    <fieldset>
      <legend className="mb-1 font-medium">Add a pool</legend>
      <div className="flex flex-col gap-2 text-ink-2">
        <label htmlFor="what-if-new-type" className="flex items-center justify-between gap-2">
          Type
          <input
            id="what-if-new-type"
            className={`${inputClass} w-28`}
            value={known.acceleratorType}
            maxLength={64}
            list="what-if-known-types"
            onChange={({ target }) => onPool({ ...known, acceleratorType: target.value })}
          />
          <datalist id="what-if-known-types">
            {types.map((type) => (
              <option key={type} value={type}>
                {type}
              </option>
            ))}
          </datalist>
        </label>
        <label htmlFor="what-if-new-nodes" className="flex items-center justify-between gap-2">
          New nodes
          <NumberInput
            id="what-if-new-nodes"
            value={known.nodes}
            min={0}
            max={1000}
            onValue={(nodes) => onPool({ ...known, nodes: nodes ?? 0 })}
          />
        </label>
        <label htmlFor="what-if-new-accelerators" className="flex items-center justify-between gap-2">
          Accelerators of each
          <NumberInput
            id="what-if-new-accelerators"
            value={known.acceleratorsPerNode}
            min={1}
            max={1024}
            onValue={(count) => onPool({ ...known, acceleratorsPerNode: count ?? 0 })}
          />
        </label>
        <div className="flex items-center justify-between gap-2">
          <span aria-hidden="true">Site</span>
          <Select
            label="Site of the new pool"
            value={typeof known.site === "string" ? siteValue(known.site) : newSite}
            options={[
              ...sites.map((site) => ({ value: siteValue(site), label: site })),
              { value: newSite, label: "a new site" },
            ]}
            onValue={(value) => onPool({ ...known, site: value === newSite ? emptySite : value.slice(1) })}
          />
        </div>
        {typeof known.site === "string" ? null : (
          <NewSiteFields site={known.site} onSite={(site) => onPool({ ...known, site })} />
        )}
      </div>
    </fieldset>
  );
}

/** Values of the list of sites: the name of a site could be any text, so a prefix tells it from a new site. */
const newSite = "new";
const siteValue = (site: string): string => `/${site}`;
const emptySite: AddedSite = { name: "", levels: "" };

interface NewSiteFieldsProps {
  readonly site: AddedSite;
  readonly onSite: (site: AddedSite) => void;
}

function NewSiteFields({ site, onSite }: NewSiteFieldsProps): ReactElement {
  return (
    <>
      <label htmlFor="what-if-new-site" className="flex items-center justify-between gap-2">
        Name of the site
        <input
          id="what-if-new-site"
          className={`${inputClass} w-28`}
          value={site.name}
          maxLength={63}
          onChange={({ target }) => onSite({ ...site, name: target.value })}
        />
      </label>
      <label htmlFor="what-if-new-levels" className="flex items-center justify-between gap-2">
        Fabric levels
        <input
          id="what-if-new-levels"
          className={`${inputClass} w-28`}
          value={site.levels}
          maxLength={200}
          placeholder="spine, leaf"
          onChange={({ target }) => onSite({ ...site, levels: target.value })}
        />
      </label>
    </>
  );
}

interface NumberInputProps {
  readonly id: string;
  readonly value: number | null;
  readonly min: number;
  readonly max: number;
  readonly onValue: (value: number | null) => void;
}

/** A field that keeps the typed text, and reports its number if that is within the bounds. */
function NumberInput({ id, value, min, max, onValue }: NumberInputProps): ReactElement {
  const [text, setText] = useState(value === null ? "" : String(value));
  const isWrong = (number: number | null | undefined): boolean =>
    number === undefined || (number !== null && (number < min || number > max));
  return (
    <input
      id={id}
      type="number"
      inputMode="numeric"
      min={min}
      max={max}
      className={`${inputClass} w-20`}
      value={text}
      aria-invalid={isWrong(fieldNumber(text))}
      onChange={({ target }) => {
        setText(target.value);
        const number = fieldNumber(target.value);
        if (number !== undefined && !isWrong(number)) onValue(number);
      }}
    />
  );
}

interface TeamFieldsProps {
  readonly teams: readonly Team[];
  readonly types: readonly string[];
  readonly changes: Change["teams"];
  readonly onChanges: (changes: Change["teams"]) => void;
}

function TeamFields({ teams, types, changes, onChanges }: TeamFieldsProps): ReactElement {
  const others = teams.filter(({ name }) => changes[name] === undefined);
  return (
    <div className="flex flex-col gap-3">
      <Field id="what-if-team" label="Change teams">
        <Select
          id="what-if-team"
          label="Change teams"
          value=""
          options={[
            { value: "", label: "Choose a team to change" },
            ...others.map(({ name }) => ({ value: name, label: name })),
          ]}
          onValue={(name) => {
            if (name !== "") onChanges({ ...changes, [name]: emptyTeamChange });
          }}
        />
      </Field>
      {teams.flatMap((team) => {
        const change = changes[team.name];
        if (change === undefined) return [];
        const { [team.name]: _gone, ...rest } = changes;
        return [
          <TeamFigures
            key={team.name}
            team={team}
            types={types}
            change={change}
            onChange={(next) => onChanges({ ...changes, [team.name]: next })}
            onRemove={() => onChanges(rest)}
          />,
        ];
      })}
    </div>
  );
}

interface TeamFiguresProps {
  readonly team: Team;
  readonly types: readonly string[];
  readonly change: TeamChange;
  readonly onChange: (change: TeamChange) => void;
  readonly onRemove: () => void;
}

/** Maximum amount, above that of any real fleet and low enough for exact sums. */
const AMOUNT_MAX = 1_000_000;

function TeamFigures({ team, types, change, onChange, onRemove }: TeamFiguresProps): ReactElement {
  const id = (what: string): string => `what-if-team-${team.name}-${what}`;
  return (
    <fieldset className="rounded-md border border-line px-3 pt-1 pb-3">
      <legend className="px-1 font-medium">{team.name}</legend>
      <div className="mb-2 flex items-center justify-between gap-2">
        <label htmlFor={id("weight")} className="flex items-center gap-2 text-ink-2">
          Weight
          <NumberInput
            id={id("weight")}
            value={team.weight ?? 1}
            min={0}
            max={AMOUNT_MAX}
            onValue={(weight) => onChange({ ...change, ...(weight === null ? {} : { weight }) })}
          />
        </label>
        <Button look="quiet" onClick={onRemove}>
          <span>
            Leave <span className="sr-only">{team.name} </span>as it is
          </span>
        </Button>
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-x-2 gap-y-1.5">
        <span aria-hidden="true" />
        <span aria-hidden="true" className="text-xs text-ink-3">
          Guarantee
        </span>
        <span aria-hidden="true" className="text-xs text-ink-3">
          Limit
        </span>
        {types.map((type) => (
          <div key={type} className="contents text-ink-2">
            <span aria-hidden="true" className="truncate text-ink-2">
              {type}
            </span>
            {(["guarantee", "limit"] as const).map((of) => (
              <div key={of}>
                <label htmlFor={id(`${of}-${type}`)} className="sr-only">
                  {of === "guarantee" ? "Guarantee" : "Limit"} of {type}
                </label>
                <NumberInput
                  id={id(`${of}-${type}`)}
                  value={team[of]?.[type] ?? null}
                  min={0}
                  max={AMOUNT_MAX}
                  onValue={(value) => onChange({ ...change, [of]: { ...change[of], [type]: value } })}
                />
              </div>
            ))}
          </div>
        ))}
      </div>
    </fieldset>
  );
}
