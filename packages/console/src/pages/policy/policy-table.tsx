/**
 * All policies side by side, with a column for each policy and a row for each setting. Differences from the active
 * policy are marked.
 */
import { canonicalJson, presetPurposes, presets as shipped } from "@headroom/model";
import type { Policy } from "@headroom/protocol";
import { policyLines } from "@headroom/views";
import { useState } from "react";
import type { ReactElement } from "react";
import { Button } from "../../parts/button.tsx";
import { Badge } from "../../parts/phase-badge.tsx";

interface PolicyTableProps {
  readonly policies: readonly Policy[];
  readonly active: Policy;
  readonly isBusy: boolean;
  readonly onChoose: (policy: Policy) => void;
}

/**
 * Policies are compared by content: a user's policy can have a preset's name, and an older preset can differ from the
 * present one.
 */
export const isSamePolicy = (left: Policy, right: Policy): boolean => canonicalJson(left) === canonicalJson(right);

export function PolicyTable({ policies, active, isBusy, onChoose }: PolicyTableProps): ReactElement {
  const [isAll, setIsAll] = useState(false);
  const settings = policies.map(linesByName);
  const names = [...new Set(settings.flatMap((lines) => [...lines.keys()]))];
  const activeLines = linesByName(active);
  const differing = names.filter((name) => settings.some((lines) => lines.get(name) !== activeLines.get(name)));
  const rows = isAll ? names : differing;
  return (
    <div className="px-4 pb-6 md:px-6">
      <label className="mb-3 flex items-center gap-2 text-ink-2">
        <input
          type="checkbox"
          className="accent-accent"
          checked={isAll}
          onChange={({ target }) => setIsAll(target.checked)}
        />
        Show settings that are equal in all policies
      </label>
      <div
        role="region"
        aria-label="Policies compared"
        tabIndex={0}
        className="scroll-thin relative max-h-[calc(100dvh-12rem)] overflow-auto rounded-lg border border-line bg-surface"
      >
        <table className="text-left">
          <thead className="sticky top-0 z-10 bg-surface align-top">
            <tr>
              <th
                scope="col"
                className="sticky left-0 min-w-32 bg-surface px-4 py-3 text-xs font-medium text-ink-3 md:min-w-44"
              >
                Setting
              </th>
              {policies.map((policy) => (
                <th
                  key={canonicalJson(policy)}
                  scope="col"
                  className="min-w-56 border-l border-line px-3 py-3 font-normal"
                >
                  <PolicyHead
                    policy={policy}
                    isActive={isSamePolicy(policy, active)}
                    isBusy={isBusy}
                    onChoose={() => onChoose(policy)}
                  />
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line align-top">
            {rows.map((name) => (
              <tr key={name}>
                <th scope="row" className="sticky left-0 bg-surface px-4 py-1.5 font-normal text-ink-2">
                  {name}
                </th>
                {settings.map((lines, column) => (
                  <Cell key={column} text={lines.get(name)} activeText={activeLines.get(name)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

interface PolicyHeadProps {
  readonly policy: Policy;
  readonly isActive: boolean;
  readonly isBusy: boolean;
  readonly onChoose: () => void;
}

function PolicyHead({ policy, isActive, isBusy, onChoose }: PolicyHeadProps): ReactElement {
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex min-h-8 items-center justify-between gap-2">
        <span className="text-base font-semibold">{policy.name}</span>
        {isActive ? (
          <Badge tone="good">Active</Badge>
        ) : (
          <Button disabled={isBusy} aria-label={`Activate ${policy.name}`} onClick={onChoose}>
            Activate
          </Button>
        )}
      </div>
      <p className="text-xs text-ink-2">{purposeOf(policy)}</p>
    </div>
  );
}

function Cell({
  text,
  activeText,
}: {
  readonly text: string | undefined;
  readonly activeText: string | undefined;
}): ReactElement {
  const differs = text !== activeText;
  return (
    <td className={`border-l border-line px-3 py-1.5 ${differs ? "bg-wait-soft" : "text-ink-2"}`}>
      {text ?? "–"}
      {differs ? <span className="sr-only"> (differs from the active policy)</span> : null}
    </td>
  );
}

export function linesByName(policy: Policy): ReadonlyMap<string, string> {
  return new Map(
    policyLines(policy).map(({ section, knob, text }) => [
      section === "Order" || section === "Round" ? knob : `${section}: ${knob}`,
      text,
    ]),
  );
}

const purposeOf = (policy: Policy): string => {
  const preset = shipped.get(policy.name);
  const isPreset = preset !== undefined && canonicalJson(preset) === canonicalJson(policy);
  return (isPreset ? presetPurposes[policy.name] : undefined) ?? "A policy of your own, or one of an older version.";
};
